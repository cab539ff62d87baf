internal import SwiftDiagnostics
internal import SwiftSyntax
internal import SwiftSyntaxMacros

extension ModelReader {
  /// Adds a property that is a system value of the record.
  mutating func addSystemValue(_ property: StoredProperty, as name: String, at node: Syntax) {
    guard let attribute = property.systemAttribute else { return }
    if let field = property.fieldAttribute {
      report(field, "'\(property.name)' is a system value and cannot be a field.")
    }
    let argument = attribute.argument(labeled: nil)
    guard let value = argument?.as(MemberAccessExprSyntax.self)?.declName.baseName.plainName else {
      let node = argument.map { Syntax($0) } ?? Syntax(attribute)
      return report(node, "A system value must be written as a case, such as .creationDate.")
    }
    if model.systemKeys.contains(where: { $0.value == value }) {
      report(attribute, "Another property already is the system value '\(value)'.")
    }
    if property.letKeyword != nil || !property.isOptional { reportNotOptional(property) }
    guard claim(name, at: node) else { return }
    let key = ModelDeclaration.Key(property: property, fieldName: name)
    model.systemKeys.append(ModelDeclaration.SystemKey(key: key, value: value))
  }

  /// Reports a system value that is not an optional variable. A model that has not been saved has no system values.
  private mutating func reportNotOptional(_ property: StoredProperty) {
    var changes: [FixIt.Change] = []
    if let keyword = property.letKeyword {
      changes.append(.replace(oldNode: Syntax(keyword), newNode: Syntax(keyword.with(\.tokenKind, .keyword(.var)))))
    }
    if let type = property.type, !property.isOptional {
      let optional = OptionalTypeSyntax(
        leadingTrivia: type.leadingTrivia,
        wrappedType: type.trimmed,
        trailingTrivia: type.trailingTrivia
      )
      changes.append(.replace(oldNode: Syntax(type), newNode: Syntax(optional)))
    }
    let message = MacroExpansionFixItMessage("Make it an optional variable")
    report(
      property.node,
      "'\(property.name)' is a system value, which a new model does not have. Make it an optional variable.",
      fixIts: changes.isEmpty ? [] : [FixIt(message: message, changes: changes)]
    )
  }

  /// Reports an argument `asset` that cannot be read from the source.
  mutating func checkAssetArgument(of property: StoredProperty) {
    guard let argument = property.fieldAttribute?.argument(labeled: "asset"),
      !argument.is(BooleanLiteralExprSyntax.self)
    else { return }
    report(argument, "The argument 'asset' must be true or false.")
  }
}
