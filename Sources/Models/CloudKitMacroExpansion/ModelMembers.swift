internal import SwiftSyntax
internal import SwiftSyntaxMacros

/// The members of a type that are relevant for a model.
struct ModelMembers {
  private(set) var stored: [StoredProperty] = []
  private(set) var computed: [String] = []
  /// Stored properties whose presence depends on a condition.
  private(set) var conditional: [VariableDeclSyntax] = []
  /// Stored properties that are declared together, as a tuple.
  private(set) var tuples: [PatternBindingSyntax] = []
  private(set) var codingKeys: EnumDeclSyntax?
  /// The type's own `recordType` or `RecordType`, each with its name.
  private(set) var recordTypes: [(name: String, declaration: DeclSyntax)] = []
  /// Declarations with the names of generated members.
  private(set) var generated: [String: DeclSyntax] = [:]
  /// The static properties that name coding keys, with their values.
  private(set) var keyed: [(name: String, value: ExprSyntax)] = []
  private(set) var hasInitializer = false
  private(set) var hasDecoding = false
  private(set) var hasEncoding = false

  init() {}

  init(of declaration: some DeclGroupSyntax) {
    for member in declaration.memberBlock.members { add(member.decl) }
  }

  private mutating func add(_ member: DeclSyntax) {
    switch member.as(DeclSyntaxEnum.self) {
    case .variableDecl(let variable): add(variable)
    case .enumDecl(let type) where type.name.text == "CodingKeys": codingKeys = type
    case .initializerDecl(let initializer):
      hasInitializer = true
      let labels = initializer.signature.parameterClause.parameters.map(\.firstName.text)
      hasDecoding = hasDecoding || labels == ["from"]
    case .functionDecl(let function) where function.name.text == "encode":
      hasEncoding = hasEncoding || function.signature.parameterClause.parameters.map(\.firstName.text) == ["to"]
    case .ifConfigDecl(let condition):
      for clause in condition.clauses {
        guard case .decls(let members) = clause.elements else { continue }
        conditional += members.compactMap { $0.decl.as(VariableDeclSyntax.self) }
          .filter { !StoredProperty.all(of: $0).isEmpty }
      }
    default:
      let name = member.asProtocol((any NamedDeclSyntax).self)?.name.text
      if let name, ["Fields", "CodingKeys", "queryKey"].contains(name) { generated[name] = member }
    }
  }

  private mutating func add(_ variable: VariableDeclSyntax) {
    if variable.isStatic {
      for name in ["recordType", "RecordType"] where variable.names.contains(name) {
        recordTypes.append((name, DeclSyntax(variable)))
      }
      for name in ["recordNameKey", "assetKeys", "systemKeys", "referenceActions", "fieldProperties"]
      where variable.names.contains(name) {
        generated[name] = DeclSyntax(variable)
      }
      for binding in variable.bindings {
        guard let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.plainName,
          ["systemKeys", "assetKeys", "referenceActions", "mergeRules"].contains(name),
          let value = binding.initializer?.value
        else { continue }
        keyed.append((name, value))
      }
      return
    }
    let properties = StoredProperty.all(of: variable)
    stored += properties
    computed += variable.names.filter { name in !properties.contains { $0.name == name } }
    if variable.isLazy { return }
    tuples += variable.bindings.filter { !$0.pattern.is(IdentifierPatternSyntax.self) }
  }
}

extension DeclGroupSyntax {
  /// The name of the declared type.
  var typeName: TokenSyntax? { asProtocol((any NamedDeclSyntax).self)?.name }

  /// Returns the access modifier for generated members, followed by a space; empty up to `internal`.
  func accessForMembers(in context: some MacroExpansionContext) -> String {
    if let own = modifiers.accessLevel { return Self.spelled(own) }
    // A type in a `public extension` is public without a modifier of its own.
    let enclosing = context.lexicalContext.first?.as(ExtensionDeclSyntax.self)
    return enclosing?.modifiers.accessLevel.map(Self.spelled) ?? ""
  }

  private static func spelled(_ level: Keyword) -> String {
    switch level {
    case .public, .open: "public "
    case .package: "package "
    default: ""
    }
  }
}

extension DeclModifierListSyntax {
  /// The keyword of the access level, if there is one. `private(set)` does not count.
  fileprivate var accessLevel: Keyword? {
    for modifier in self where modifier.detail == nil {
      guard case .keyword(let keyword) = modifier.name.tokenKind else { continue }
      if [.public, .open, .package, .internal, .fileprivate, .private].contains(keyword) { return keyword }
    }
    return nil
  }
}
