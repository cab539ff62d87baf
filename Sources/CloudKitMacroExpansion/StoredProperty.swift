internal import SwiftSyntax

/// A stored property of a type, as far as its source tells. What its type is, nobody needs to know.
struct StoredProperty {
  /// The name as it is written, with backticks where it is a keyword.
  let written: String
  /// The name itself.
  let name: String
  /// Where to point in a diagnostic about the property.
  let node: Syntax
  /// The `let` that makes it one that cannot be set again.
  let letKeyword: TokenSyntax?
  let initialValue: ExprSyntax?
  /// Whether its type is spelled as an optional.
  let isOptional: Bool
  /// The attribute that names its field.
  let fieldAttribute: AttributeSyntax?

  /// Whether it has a value before an initializer sets one.
  var hasDefault: Bool { initialValue != nil || (isOptional && letKeyword == nil) }

  /// The stored properties that a declaration makes: none where they are computed, static or lazy.
  static func all(of variable: VariableDeclSyntax) -> [StoredProperty] {
    guard !variable.isStatic, !variable.isLazy else { return [] }
    let isLet = variable.bindingSpecifier.tokenKind == .keyword(.let)
    // In `let a, b: String` the type follows the last of those that have it.
    var type: TypeSyntax?
    return variable.bindings.reversed().compactMap { binding in
      type = binding.typeAnnotation?.type ?? (binding.initializer == nil ? type : nil)
      guard !binding.isComputed, let pattern = binding.pattern.as(IdentifierPatternSyntax.self) else { return nil }
      return StoredProperty(
        written: pattern.identifier.text,
        name: pattern.identifier.plainName,
        node: Syntax(pattern),
        letKeyword: isLet ? variable.bindingSpecifier : nil,
        initialValue: binding.initializer?.value,
        isOptional: type?.isOptional ?? false,
        fieldAttribute: variable.attribute(named: "CKField")
      )
    }.reversed()
  }
}

extension VariableDeclSyntax {
  /// Whether it belongs to the type rather than to its values.
  var isStatic: Bool { has(.static) || has(.class) }
  var isLazy: Bool { has(.lazy) }

  private func has(_ keyword: Keyword) -> Bool {
    modifiers.contains { $0.name.tokenKind == .keyword(keyword) }
  }

  /// The names that it declares, stored or computed.
  var names: [String] { bindings.compactMap { $0.pattern.as(IdentifierPatternSyntax.self)?.identifier.plainName } }
}

extension PatternBindingSyntax {
  /// Whether it is computed: observers alone leave it stored.
  var isComputed: Bool {
    switch accessorBlock?.accessors {
    case nil: false
    case .getter: true
    case .accessors(let accessors):
      !accessors.allSatisfy { [.keyword(.willSet), .keyword(.didSet)].contains($0.accessorSpecifier.tokenKind) }
    }
  }
}

extension WithAttributesSyntax {
  /// The first attribute of that name, with or without its module.
  func attribute(named name: String) -> AttributeSyntax? {
    attributes.lazy.compactMap { $0.as(AttributeSyntax.self) }.first { $0.attributeName.lastName == name }
  }
}

extension TypeSyntaxProtocol {
  fileprivate var isOptional: Bool {
    `is`(OptionalTypeSyntax.self) || `is`(ImplicitlyUnwrappedOptionalTypeSyntax.self) || lastName == "Optional"
  }

  /// The type's name without what it lies in.
  var lastName: String {
    self.as(MemberTypeSyntax.self)?.name.text ?? self.as(IdentifierTypeSyntax.self)?.name.text ?? trimmedDescription
  }
}

extension TokenSyntax {
  /// The text without backticks.
  var plainName: String { identifier?.name ?? text }
}

extension ExprSyntaxProtocol {
  /// The text of a plain string literal as it is spelled; names on the server have nothing to be escaped.
  var literalText: String? {
    guard let literal = self.as(StringLiteralExprSyntax.self), literal.segments.count == 1 else { return nil }
    return literal.segments.first?.as(StringSegmentSyntax.self)?.content.text
  }
}
