internal import SwiftSyntax
internal import SwiftSyntaxMacros

/// The members of a type that matter to a model.
struct ModelMembers {
  private(set) var stored: [StoredProperty] = []
  private(set) var computed: [String] = []
  /// Stored properties whose names or presence the source does not tell.
  private(set) var unreadable: [Syntax] = []
  private(set) var codingKeys: EnumDeclSyntax?
  /// The type's own `recordType`.
  private(set) var recordType: DeclSyntax?
  /// Members that have names of what an expansion makes.
  private(set) var generated: [String: DeclSyntax] = [:]
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
        unreadable += members.compactMap { $0.decl.as(VariableDeclSyntax.self) }
          .filter { !StoredProperty.all(of: $0).isEmpty }.map { Syntax($0) }
      }
    default:
      let name = member.asProtocol((any NamedDeclSyntax).self)?.name.text
      if let name, ["Fields", "CodingKeys"].contains(name) { generated[name] = member }
    }
  }

  private mutating func add(_ variable: VariableDeclSyntax) {
    if variable.isStatic {
      if variable.names.contains("recordType") { recordType = DeclSyntax(variable) }
      if variable.names.contains("recordNameKey") { generated["recordNameKey"] = DeclSyntax(variable) }
      return
    }
    let properties = StoredProperty.all(of: variable)
    stored += properties
    computed += variable.names.filter { name in !properties.contains { $0.name == name } }
    if variable.isLazy { return }
    unreadable += variable.bindings.filter { !$0.pattern.is(IdentifierPatternSyntax.self) }.map { Syntax($0.pattern) }
  }
}

extension DeclGroupSyntax {
  /// The name of the type that is declared.
  var typeName: TokenSyntax? { asProtocol((any NamedDeclSyntax).self)?.name }

  /// The modifier that members need to be as accessible as the type, with a space after it; none up to `internal`.
  func accessForMembers(in context: some MacroExpansionContext) -> String {
    if let own = modifiers.accessLevel { return Self.spelled(own) }
    // A type within `public extension` is public without saying so.
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
  /// The keyword of the access level, where there is one; `private(set)` is none.
  fileprivate var accessLevel: Keyword? {
    for modifier in self where modifier.detail == nil {
      guard case .keyword(let keyword) = modifier.name.tokenKind else { continue }
      if [.public, .open, .package, .internal, .fileprivate, .private].contains(keyword) { return keyword }
    }
    return nil
  }
}
