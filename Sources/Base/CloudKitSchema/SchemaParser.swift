/// Parses Apple's schema language, by the grammar in "Integrating a Text-Based Schema into Your Workflow". [FW]
///
///     create-schema: DEFINE SCHEMA [ { create-role | record-type } ";" ] ...
///     create-role:   CREATE ROLE %role-name%
///     record-type:   RECORD TYPE %type-name% ( { [ %field-name% data-type [ field-options [..] ] ]
///                      | [ GRANT { READ | CREATE | WRITE } [, ... ] TO %role-name% ] } ["," ... ] )
///     field-options: QUERYABLE | SORTABLE | SEARCHABLE
///     data-type:     primitive-type | LIST "<" primitive-type ">"
///
/// The grammar does not nest, so no text can exhaust the stack.
struct SchemaParser {
  private var lexer: SchemaLexer
  private var token: SchemaLexer.Token
  private var grants: [(role: String, place: CKSchema.Place)] = []
  private(set) var schema = CKSchema()
  private(set) var lines: [SchemaLine] = []
  /// The names of the fields declared so far in the current record type.
  private var declared: Set<String> = []
  /// The comments of the tokens of the current statement so far, with the line breaks before its first token.
  private var trivia: [SchemaLine.Trivia]?

  /// Parses a whole text.
  init(_ text: String) throws(CKSchemaError) {
    lexer = SchemaLexer(text)
    token = try lexer.next()
    try expect("DEFINE")
    try expect("SCHEMA")
    finish(.head)
    while token.kind != .end {
      if token.is("CREATE") {
        try role()
      } else if token.is("RECORD") {
        try recordType()
      } else {
        throw unexpected("\"CREATE\" or \"RECORD\"")
      }
    }
    trivia = token.trivia
    finish(.end)
    for grant in grants where !schema.roles.contains(grant.role) && !CKSchema.Role.predefined.contains(grant.role) {
      throw CKSchemaError("Unknown role '\(grant.role.prefix(200))'", at: grant.place)
    }
  }

  /// Adds a statement whose last token has been read. Comments after it on the same line belong to it.
  private mutating func finish(_ statement: SchemaLine.Statement, at place: CKSchema.Place = CKSchema.Place()) {
    var line = SchemaLine(statement: statement, place: place, leading: trivia ?? [])
    let comments = token.trivia.prefix { $0 != .lineBreak }
    if statement != .end, token.kind == .end || comments.count < token.trivia.count {
      line.trailing = comments.compactMap { if case .comment(let text) = $0 { text } else { nil } }
      token.trivia.removeFirst(comments.count)
    }
    lines.append(line)
    trivia = nil
  }

  private mutating func role() throws(CKSchemaError) {
    try expect("CREATE")
    try expect("ROLE")
    let place = token.place
    let name = try identifier()
    // Names that begin with an underscore are reserved for the system. [FW]
    guard !name.hasPrefix("_") else { throw CKSchemaError("Invalid role name '\(name.prefix(200))'", at: place) }
    guard schema.roles.insert(name).inserted else { throw CKSchemaError("Duplicate role '\(name)'", at: place) }
    try expect(mark: ";")
    finish(.role(name), at: place)
  }

  private mutating func recordType() throws(CKSchemaError) {
    try expect("RECORD")
    try expect("TYPE")
    let place = token.place
    let name = try identifier()
    guard CKSchema.isName(name) || name == CKSchema.shareType else {
      throw CKSchemaError("Invalid record type name '\(name.prefix(200))'", at: place)
    }
    guard schema.types[name] == nil else { throw CKSchemaError("Duplicate record type '\(name)'", at: place) }
    schema.types[name] = CKSchema.RecordType()
    declared = []
    try expect(mark: "(")
    finish(.opening(name), at: place)
    if !token.is(mark: ")") {
      var isLast = false
      repeat {
        let (statement, place) = token.is("GRANT") ? try grant(of: name) : try field(of: name)
        isLast = try !accept(mark: ",")
        finish(statement, at: place)
      } while !isLast
    }
    try expect(mark: ")", orRather: "\",\" or \")\"")
    try expect(mark: ";")
    finish(.closing(name))
  }

  private mutating func grant(
    of type: String
  ) throws(CKSchemaError) -> (SchemaLine.Statement, CKSchema.Place) {
    try expect("GRANT")
    var permissions: Set<CKSchema.Permission> = []
    repeat {
      guard case .word(let word) = token.kind, let permission = CKSchema.Permission(rawValue: word.uppercased()) else {
        throw unexpected("\"READ\", \"CREATE\" or \"WRITE\"")
      }
      permissions.insert(permission)
      try advance()
    } while try accept(mark: ",")
    try expect("TO", orRather: "\",\" or \"TO\"")
    let place = token.place
    let role = try identifier()
    grants.append((role, place))
    schema.types[type]?.grants[role, default: []].formUnion(permissions)
    return (.grant(type, role, permissions), place)
  }

  private mutating func field(
    of type: String
  ) throws(CKSchemaError) -> (SchemaLine.Statement, CKSchema.Place) {
    let place = token.place
    let name = try identifier()
    let system = CKSchema.SystemField(rawValue: name)
    guard system != nil || CKSchema.isField(name, of: type) else {
      throw CKSchemaError("Invalid field name '\(name.prefix(200))'", at: place)
    }
    guard declared.insert(name).inserted else { throw CKSchemaError("Duplicate field '\(name)'", at: place) }
    let typePlace = token.place
    var field = try dataType()
    if let system, field != CKSchema.Field(type: CKSchema.FieldType(system.type)) {
      throw CKSchemaError("The type of system field '\(name)' cannot change", at: typePlace)
    }
    while let option = CKSchema.Indexes.named.first(where: { token.is($0.keyword) }) {
      field.indexes.insert(option.index)
      guard system != nil || field.indexes.mayIndex(field.type) else {
        throw CKSchemaError("Field '\(name)' of type \(field.type.name) cannot be \(option.keyword)", at: token.place)
      }
      try advance()
    }
    if let system {
      if !field.indexes.isEmpty { schema.types[type]?.systemIndexes[system] = field.indexes }
    } else {
      schema.types[type]?.fields[name] = field
    }
    return (.field(type, name, field), place)
  }

  private mutating func dataType() throws(CKSchemaError) -> CKSchema.Field {
    guard token.is("LIST") else { return try primitiveType() }
    try advance()
    try expect(mark: "<")
    var field = try primitiveType()
    field.type.isList = true
    try expect(mark: ">")
    return field
  }

  private mutating func primitiveType() throws(CKSchemaError) -> CKSchema.Field {
    let isEncrypted = try accept("ENCRYPTED")
    if !isEncrypted, try accept("NUMBER") {
      guard try accept("PREFERRED") else {
        return CKSchema.Field(type: CKSchema.FieldType(.double), number: .undecided)
      }
      try expect("AS")
      guard token.is("INT64") || token.is("DOUBLE") else { throw unexpected("\"INT64\" or \"DOUBLE\"") }
      return CKSchema.Field(type: CKSchema.FieldType(token.is("INT64") ? .int64 : .double), number: try preferred())
    }
    let names = isEncrypted ? Self.encryptable : Self.primitives
    guard let found = names.first(where: { token.is($0.key) }) else {
      throw unexpected("one of " + names.keys.sorted().map { "\"\($0)\"" }.joined(separator: ", "))
    }
    try advance()
    return CKSchema.Field(type: CKSchema.FieldType(found.value, isEncrypted: isEncrypted))
  }

  private mutating func preferred() throws(CKSchemaError) -> CKSchema.Number {
    try advance()
    return .preferred
  }

  private static let primitives: [String: CKSchema.ValueType] = [
    "ASSET": .asset, "BYTES": .bytes, "DOUBLE": .double, "INT64": .int64, "LOCATION": .location,
    "REFERENCE": .reference, "STRING": .string, "TIMESTAMP": .timestamp,
  ]
  private static let encryptable = primitives.filter { $0.value != .asset && $0.value != .reference }
}

extension SchemaParser {
  /// Reads a name: a quoted identifier, or a word that is not reserved. [FW]
  fileprivate mutating func identifier() throws(CKSchemaError) -> String {
    let name: String
    switch token.kind {
    case .quoted(let text): name = text
    case .word(let text) where !SchemaWriter.reserved.contains(text.lowercased()) && CKSchema.isName(text): name = text
    default: throw unexpected("an identifier")
    }
    try advance()
    return name
  }

  fileprivate mutating func advance() throws(CKSchemaError) {
    // Line breaks within a statement are not kept by the canonical layout.
    trivia = trivia.map { $0 + token.trivia.filter { $0 != .lineBreak } } ?? token.trivia
    token = try lexer.next()
  }

  fileprivate mutating func accept(_ keyword: String) throws(CKSchemaError) -> Bool {
    guard token.is(keyword) else { return false }
    try advance()
    return true
  }

  fileprivate mutating func accept(mark: Character) throws(CKSchemaError) -> Bool {
    guard token.is(mark: mark) else { return false }
    try advance()
    return true
  }

  fileprivate mutating func expect(_ keyword: String, orRather words: String? = nil) throws(CKSchemaError) {
    guard try accept(keyword) else { throw unexpected(words ?? "\"\(keyword)\"") }
  }

  fileprivate mutating func expect(mark: Character, orRather words: String? = nil) throws(CKSchemaError) {
    guard try accept(mark: mark) else { throw unexpected(words ?? "\"\(mark)\"") }
  }

  fileprivate func unexpected(_ expected: String) -> CKSchemaError {
    CKSchemaError("Encountered \(token.text)", at: token.place, expected: expected)
  }
}
