internal import SwiftSyntax

/// A stored property of a type, as far as it can be read from the source. Its type is not needed.
struct StoredProperty {
  /// The name as written, with backticks if it is a keyword.
  let written: String
  /// The name without backticks.
  let name: String
  /// The node that diagnostics about the property point to.
  let node: Syntax
  /// The `let` keyword, if the property is a constant.
  let letKeyword: TokenSyntax?
  let initialValue: ExprSyntax?
  /// Its type, if it is written.
  let type: TypeSyntax?
  /// The attribute that sets how it is stored.
  let fieldAttribute: AttributeSyntax?
  /// The attribute that makes it a system value.
  let systemAttribute: AttributeSyntax?

  /// Whether its type is written as an optional.
  var isOptional: Bool { type?.isOptional ?? false }
  /// Whether it is marked to be stored as an asset.
  var isAsset: Bool {
    fieldAttribute?.argument(labeled: "asset")?.as(BooleanLiteralExprSyntax.self)?.literal.tokenKind == .keyword(.true)
  }
  /// The action of its references as written, such as `.deleteSelf`; nil if none is set.
  var referenceAction: String? { fieldAttribute?.argument(labeled: "reference")?.trimmedDescription }

  /// Whether it has a value before an initializer sets one.
  var hasDefault: Bool { initialValue != nil || (isOptional && letKeyword == nil) }

  /// Returns the stored properties of a declaration. Computed, static and lazy ones are left out.
  static func all(of variable: VariableDeclSyntax) -> [StoredProperty] {
    guard !variable.isStatic, !variable.isLazy else { return [] }
    let isLet = variable.bindingSpecifier.tokenKind == .keyword(.let)
    // In `let a, b: String`, the type is written only after the last name.
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
        type: type,
        fieldAttribute: variable.attribute(named: "CKField"),
        systemAttribute: variable.attribute(named: "CKSystem")
      )
    }.reversed()
  }
}

extension VariableDeclSyntax {
  /// Whether it belongs to the type, not to its instances.
  var isStatic: Bool { has(.static) || has(.class) }
  var isLazy: Bool { has(.lazy) }

  private func has(_ keyword: Keyword) -> Bool {
    modifiers.contains { $0.name.tokenKind == .keyword(keyword) }
  }

  /// The names of the declared properties, stored or computed.
  var names: [String] { bindings.compactMap { $0.pattern.as(IdentifierPatternSyntax.self)?.identifier.plainName } }
}

extension PatternBindingSyntax {
  /// Whether it is computed. A property with only observers is stored.
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
  /// Returns the first attribute with a name, with or without its module.
  func attribute(named name: String) -> AttributeSyntax? {
    attributes.lazy.compactMap { $0.as(AttributeSyntax.self) }.first { $0.attributeName.lastName == name }
  }
}

extension AttributeSyntax {
  /// Returns the expression of an argument.
  func argument(labeled label: String?) -> ExprSyntax? {
    arguments?.as(LabeledExprListSyntax.self)?.first { $0.label?.text == label }?.expression
  }
}

extension TypeSyntaxProtocol {
  fileprivate var isOptional: Bool {
    `is`(OptionalTypeSyntax.self) || `is`(ImplicitlyUnwrappedOptionalTypeSyntax.self) || lastName == "Optional"
  }

  /// The type's name without the types and modules that contain it.
  var lastName: String {
    self.as(MemberTypeSyntax.self)?.name.text ?? self.as(IdentifierTypeSyntax.self)?.name.text ?? trimmedDescription
  }
}

extension TokenSyntax {
  /// The name without backticks.
  var plainName: String { identifier?.name ?? text }
}

extension ExprSyntaxProtocol {
  /// The text of a plain string literal as written. Names on the server need no escapes.
  var literalText: String? {
    guard let literal = self.as(StringLiteralExprSyntax.self), literal.segments.count == 1 else { return nil }
    return literal.segments.first?.as(StringSegmentSyntax.self)?.content.text
  }
}

extension ExprSyntax {
  /// The keys of a dictionary literal, or the elements of an array literal; empty for other expressions.
  var keyLiterals: [ExprSyntax] {
    if let list = self.as(ArrayExprSyntax.self) { return list.elements.map(\.expression) }
    guard case .elements(let elements)? = self.as(DictionaryExprSyntax.self)?.content else { return [] }
    return elements.map(\.key)
  }
}
