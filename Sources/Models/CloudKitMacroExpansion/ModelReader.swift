internal import CloudKitSchema
internal import Facts
internal import SwiftDiagnostics
internal import SwiftSyntax
internal import SwiftSyntaxBuilder
internal import SwiftSyntaxMacros

/// Reads a model from the source of a type and collects the problems that prevent it from being one.
struct ModelReader {
  private(set) var problems: [Diagnostic] = []
  var model = ModelDeclaration()
  private var members = ModelMembers()
  /// The names that are already used in the record, with their declarations.
  private var usedNames: [String: Syntax] = [:]

  init(
    _ attribute: AttributeSyntax,
    on declaration: some DeclGroupSyntax,
    in context: some MacroExpansionContext
  ) {
    guard readKind(of: declaration, attribute) else { return }
    let isNested = context.lexicalContext.first?.asProtocol((any DeclGroupSyntax).self) != nil
    if isNested, let modifier = declaration.modifiers.first(where: { $0.name.tokenKind == .keyword(.private) }) {
      // The extension is generated at file level.
      let change = FixIt.replace(
        message: MacroExpansionFixItMessage("Make it fileprivate"),
        oldNode: modifier.name,
        newNode: modifier.name.with(\.tokenKind, .keyword(.fileprivate))
      )
      report(modifier, "A nested type marked @CKModel cannot be private. Make it fileprivate.", fixIts: [change])
    }
    model.access = declaration.accessForMembers(in: context)
    members = ModelMembers(of: declaration)
    members.conditional.forEach { report($0, "A stored property of a model cannot be inside #if.") }
    members.tuples.forEach { reportTuple($0) }
    readRecordType(attribute, of: declaration)
    readIdentity(attribute, of: declaration)
    if let codingKeys = members.codingKeys { readFields(from: codingKeys) } else { readFields() }
    if model.fields.isEmpty, problems.isEmpty {
      report(attribute, "A model needs at least one stored property besides its identity.")
    }
    readCoding(of: declaration)
    if problems.isEmpty { checkDeclaredKeys(of: declaration) }
  }

  mutating func report(_ node: some SyntaxProtocol, _ text: String, notes: [Note] = [], fixIts: [FixIt] = []) {
    problems.append(
      Diagnostic(node: node, message: MacroExpansionErrorMessage(text), notes: notes, fixIts: fixIts)
    )
  }

  // MARK: - Type

  private mutating func readKind(of declaration: some DeclGroupSyntax, _ attribute: AttributeSyntax) -> Bool {
    if declaration.is(StructDeclSyntax.self) { return true }
    guard let type = declaration.as(ClassDeclSyntax.self) else {
      report(attribute, "@CKModel can only be applied to structs and final classes.")
      return false
    }
    model.isClass = true
    if type.modifiers.contains(where: { $0.name.tokenKind == .keyword(.final) }) { return true }
    var finalType = type.classKeyword
    finalType.leadingTrivia = []
    let modifier = DeclModifierSyntax(
      leadingTrivia: type.modifiers.isEmpty ? type.classKeyword.leadingTrivia : [],
      name: .keyword(.final, trailingTrivia: .space)
    )
    let change = FixIt(
      message: MacroExpansionFixItMessage("Make it final"),
      changes: [
        .replace(
          oldNode: Syntax(type),
          newNode: Syntax(
            type.with(\.classKeyword, finalType).with(\.modifiers, type.modifiers + [modifier])
          )
        )
      ]
    )
    report(type.classKeyword, "A class marked @CKModel must be final.", fixIts: [change])
    return false
  }

  private mutating func readRecordType(_ attribute: AttributeSyntax, of declaration: some DeclGroupSyntax) {
    let argument = attribute.argument(labeled: "recordType")
    if let own = members.recordTypes.first {
      let second = members.recordTypes.dropFirst().first.map { Syntax($0.declaration) }
      if let other = argument.map({ Syntax($0) }) ?? second {
        let note = Note(node: Syntax(own.declaration), message: MacroExpansionNoteMessage("The type declares it here."))
        report(other, "The record type is declared twice.", notes: [note])
      }
      if own.name != "recordType" { model.recordType = "Self.\(own.name)" }
      return
    }
    let node = argument.map { Syntax($0) } ?? declaration.typeName.map { Syntax($0) } ?? Syntax(attribute)
    guard let name = argument.map(\.literalText) ?? declaration.typeName?.plainName else {
      return report(node, "The record type must be a plain string literal. To compute it, declare `recordType`.")
    }
    guard CKSchema.isName(name) else {
      return report(
        node,
        "'\(name)' is not a valid record type: it must start with a letter (A–Z), followed by letters, digits and "
          + "underscores. Set it with @CKModel(recordType:)."
      )
    }
    model.recordType = "\"\(name)\""
  }

  // MARK: - Identity

  private mutating func readIdentity(_ attribute: AttributeSyntax, of declaration: some DeclGroupSyntax) {
    let stored =
      members.stored.first { $0.name == "recordName" } ?? members.stored.first { $0.name == "id" }
    let computed = members.computed.first { $0 == "recordName" } ?? members.computed.first { $0 == "id" }
    guard let name = stored?.name ?? computed else {
      return report(
        attribute,
        "A model needs an identity: a property `id` of type String, UUID or integer, or a String `recordName`.",
        fixIts: [declaration.addingIdentity]
      )
    }
    model.isIdentifiable = name == "id"
    guard let stored else { return }
    check(stored)
    if let attribute = stored.fieldAttribute {
      report(attribute, "The identity '\(name)' is the record name and cannot be a field.")
    }
    if let attribute = stored.systemAttribute {
      report(attribute, "The identity '\(name)' is the record name and cannot be another system value.")
    }
    model.identity = ModelDeclaration.Key(property: stored, fieldName: name)
  }

  // MARK: - Fields

  private mutating func readFields() {
    if let identity = model.identity { usedNames[identity.fieldName] = identity.property.node }
    for property in members.stored where property.name != model.identity?.property.name {
      if property.systemAttribute != nil {
        addSystemValue(property, as: property.name, at: property.node)
        continue
      }
      check(property)
      checkAssetArgument(of: property)
      let argument = property.fieldAttribute?.argument(labeled: nil)
      guard let name = argument.map(\.literalText) ?? property.name else {
        report(argument.map { Syntax($0) } ?? property.node, "A field name must be a plain string literal.")
        continue
      }
      let node = argument.map { Syntax($0) } ?? property.node
      if CKSchema.isName(name), CKSchema.systemNames[name] != nil {
        report(node, "Queries use '\(name)' for a system field. Set another field name with @CKField.")
      }
      add(property, as: name, at: node)
    }
  }

  /// Reads the fields from coding keys. System names are allowed here, because the schema may already use them.
  private mutating func readFields(from codingKeys: EnumDeclSyntax) {
    model.makesCodingKeys = false
    let cases = codingKeys.memberBlock.members.flatMap {
      $0.decl.as(EnumCaseDeclSyntax.self)?.elements.map { $0 } ?? []
    }
    for element in cases {
      let node = element.rawValue.map { Syntax($0.value) } ?? Syntax(element.name)
      guard let property = members.stored.first(where: { $0.name == element.name.plainName }) else {
        report(element.name, "There is no stored property '\(element.name.plainName)' for this coding key.")
        continue
      }
      if property.systemAttribute == nil { check(property) }
      checkAssetArgument(of: property)
      guard let name = element.rawValue.map(\.value.literalText) ?? element.name.plainName else {
        report(node, "The raw value of a coding key must be a plain string literal.")
        continue
      }
      if property.name == model.identity?.property.name {
        usedNames[name] = node
        model.identity = ModelDeclaration.Key(property: property, fieldName: name)
      } else if property.systemAttribute != nil {
        addSystemValue(property, as: name, at: node)
      } else {
        add(property, as: name, at: node)
      }
    }
    let coded = Set(cases.map(\.name.plainName))
    for property in members.stored {
      if let attribute = property.fieldAttribute,
        ["asset", "reference"].allSatisfy({ attribute.argument(labeled: $0) == nil }) || !coded.contains(property.name)
      {
        report(attribute, "@CKField has no effect in a type with its own CodingKeys.")
      } else if let name = property.fieldAttribute?.argument(labeled: nil) {
        report(name, "The type's own CodingKeys set the field name.")
      }
      let isIdentity = property.name == model.identity?.property.name
      if !coded.contains(property.name), isIdentity || !property.hasDefault {
        let reason = isIdentity ? "is the identity" : "has no default value"
        report(property.node, "'\(property.name)' \(reason), so CodingKeys must have a case for it.")
      }
    }
  }

  private mutating func add(_ property: StoredProperty, as name: String, at node: Syntax) {
    guard CKSchema.isName(name) else {
      return report(
        node,
        "'\(name)' is not a valid field name: it must start with a letter (A–Z), followed by letters, digits and "
          + "underscores."
      )
    }
    if claim(name, at: node) { model.fields.append(ModelDeclaration.Key(property: property, fieldName: name)) }
  }

  /// Returns whether no other property has the coding key; reports one that does.
  mutating func claim(_ name: String, at node: Syntax) -> Bool {
    guard let other = usedNames[name] else {
      usedNames[name] = node
      return true
    }
    let note = Note(node: other, message: MacroExpansionNoteMessage("The name is already used here."))
    report(node, "The name '\(name)' is already used.", notes: [note])
    return false
  }

  /// Reports a constant with an initial value, which could be written but never read back.
  private mutating func check(_ property: StoredProperty) {
    guard let keyword = property.letKeyword, property.initialValue != nil else { return }
    let variable = TokenSyntax.keyword(
      .var,
      leadingTrivia: keyword.leadingTrivia,
      trailingTrivia: keyword.trailingTrivia
    )
    let change = FixIt.replace(
      message: MacroExpansionFixItMessage("Make it a variable"),
      oldNode: keyword,
      newNode: variable
    )
    report(
      property.node,
      "'\(property.name)' is a constant with a value, which cannot be read from a record. "
        + "Make it a variable or static.",
      fixIts: [change]
    )
  }

  /// Reports the keys in the type's declarations that no property has.
  private mutating func checkDeclaredKeys(of declaration: some DeclGroupSyntax) {
    let (keys, type) = (model.keys.map(\.fieldName), declaration.typeName?.plainName ?? "")
    for (name, value) in members.keyed {
      for literal in value.keyLiterals {
        guard let key = literal.literalText, !keys.contains(key) else { continue }
        let change = Words.nearest(to: key, among: keys).map { near in
          var literalOfNear = StringLiteralExprSyntax(content: near)
          (literalOfNear.leadingTrivia, literalOfNear.trailingTrivia) = (literal.leadingTrivia, literal.trailingTrivia)
          return FixIt.replace(
            message: MacroExpansionFixItMessage("Replace it with '\(near)'"),
            oldNode: literal,
            newNode: ExprSyntax(literalOfNear)
          )
        }
        report(literal, Words.noProperty(key, of: "\(type).\(name)", among: keys), fixIts: change.map { [$0] } ?? [])
      }
    }
  }

  // MARK: - Coding

  private mutating func readCoding(of declaration: some DeclGroupSyntax) {
    let generated =
      ["Fields", "recordNameKey", "queryKey", "fieldProperties"] + (model.assets.isEmpty ? [] : ["assetKeys"])
      + (model.systemKeys.isEmpty ? [] : ["systemKeys"]) + (model.references.isEmpty ? [] : ["referenceActions"])
    for name in generated {
      guard let own = members.generated[name] else { continue }
      report(own, "@CKModel generates '\(name)', so the type cannot declare it.")
    }
    if let alias = members.generated["CodingKeys"] {
      report(alias, "CodingKeys must be an enum declared in the type marked @CKModel.")
    }
    let inherited = Set(declaration.inheritanceClause?.inheritedTypes.map(\.type.lastName) ?? [])
    model.isDecodable = !inherited.contains("Encodable") || inherited.contains("Decodable")
    model.isEncodable = !inherited.contains("Decodable") || inherited.contains("Encodable")
    model.makesDecoding = model.isDecodable && !members.hasDecoding
    model.makesEncoding = model.isEncodable && !members.hasEncoding
    model.makesEmptyInitializer =
      model.isClass && model.makesDecoding && !members.hasInitializer && members.stored.allSatisfy(\.hasDefault)
  }
}
