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
  /// The maximum size of a schema text in bytes, far more than any schema needs. Longer texts are rejected unread. [E]
  static let sizeLimit = 4_000_000

  private var lexer: SchemaLexer
  private var token: SchemaLexer.Token
  private var grants: [(role: String, place: SchemaPlace)] = []
  private(set) var schema = Schema(roles: [], types: [:])
  /// The positions of type (`Note`) and field (`Note.title`) declarations, for errors found in the comparison with
  /// another schema.
  private(set) var places: [String: SchemaPlace] = [:]

  /// Parses a whole text.
  init(_ text: String) throws(SchemaError) {
    lexer = SchemaLexer(text)
    token = try lexer.next()
    try expect("DEFINE")
    try expect("SCHEMA")
    while token.kind != .end {
      if token.is("CREATE") {
        try role()
      } else if token.is("RECORD") {
        try recordType()
      } else {
        throw unexpected("\"CREATE\" or \"RECORD\"")
      }
      try expect(mark: ";")
    }
    for grant in grants where !schema.roles.contains(grant.role) && !SchemaRole.predefined.contains(grant.role) {
      throw SchemaError("Unknown role '\(grant.role)'", at: grant.place)
    }
    schema.completePredefinedTypes()
  }

  private mutating func role() throws(SchemaError) {
    try expect("CREATE")
    try expect("ROLE")
    let place = token.place
    let name = try identifier()
    // Names that begin with an underscore are reserved for the system. [FW]
    guard !name.hasPrefix("_") else { throw SchemaError("Invalid role name '\(name)'", at: place) }
    guard schema.roles.insert(name).inserted else { throw SchemaError("Duplicate role '\(name)'", at: place) }
  }

  private mutating func recordType() throws(SchemaError) {
    try expect("RECORD")
    try expect("TYPE")
    let place = token.place
    let name = try identifier()
    guard Schema.isName(name) || name == ShareState.recordType else {
      throw SchemaError("Invalid record type name '\(name)'", at: place)
    }
    guard schema.types[name] == nil else { throw SchemaError("Duplicate record type '\(name)'", at: place) }
    places[name] = place
    schema.types[name] = Schema.RecordType()
    try expect(mark: "(")
    if token.is(mark: ")") { return try advance() }
    repeat {
      if token.is("GRANT") { try grant(of: name) } else { try field(of: name) }
    } while try accept(mark: ",")
    try expect(mark: ")", orRather: "\",\" or \")\"")
  }

  private mutating func grant(of type: String) throws(SchemaError) {
    try expect("GRANT")
    var permissions: Set<SchemaPermission> = []
    repeat {
      guard case .word(let word) = token.kind, let permission = SchemaPermission(rawValue: word.uppercased()) else {
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
  }

  private mutating func field(of type: String) throws(SchemaError) {
    let place = token.place
    let name = try identifier()
    let system = Schema.SystemField(rawValue: name)
    guard system != nil || Schema.isField(name, of: type) else {
      throw SchemaError("Invalid field name '\(name)'", at: place)
    }
    guard places.updateValue(place, forKey: "\(type).\(name)") == nil else {
      throw SchemaError("Duplicate field '\(name)'", at: place)
    }
    let typePlace = token.place
    var field = try dataType()
    if let system, field != Schema.Field(type: Schema.FieldType(system.type)) {
      throw SchemaError("The type of system field '\(name)' cannot change", at: typePlace)
    }
    while let option = SchemaIndexes.keywords.first(where: { token.is($0.keyword) }) {
      field.indexes.insert(option.index)
      guard system != nil || field.indexes.mayIndex(field.type) else {
        throw SchemaError("Field '\(name)' of type \(field.type.name) cannot be \(option.keyword)", at: token.place)
      }
      try advance()
    }
    if let system {
      if !field.indexes.isEmpty { schema.types[type]?.systemIndexes[system] = field.indexes }
    } else {
      schema.types[type]?.fields[name] = field
    }
  }

  private mutating func dataType() throws(SchemaError) -> Schema.Field {
    guard token.is("LIST") else { return try primitiveType() }
    try advance()
    try expect(mark: "<")
    var field = try primitiveType()
    field.type.isList = true
    try expect(mark: ">")
    return field
  }

  private mutating func primitiveType() throws(SchemaError) -> Schema.Field {
    let isEncrypted = try accept("ENCRYPTED")
    if !isEncrypted, try accept("NUMBER") {
      guard try accept("PREFERRED") else { return Schema.Field(type: Schema.FieldType(.double), number: .undecided) }
      try expect("AS")
      guard token.is("INT64") || token.is("DOUBLE") else { throw unexpected("\"INT64\" or \"DOUBLE\"") }
      return Schema.Field(type: Schema.FieldType(token.is("INT64") ? .int64 : .double), number: try preferred())
    }
    let names = isEncrypted ? Self.encryptable : Self.primitives
    guard let found = names.first(where: { token.is($0.key) }) else {
      throw unexpected("one of " + names.keys.sorted().map { "\"\($0)\"" }.joined(separator: ", "))
    }
    try advance()
    return Schema.Field(type: Schema.FieldType(found.value, isEncrypted: isEncrypted))
  }

  private mutating func preferred() throws(SchemaError) -> Schema.Number {
    try advance()
    return .preferred
  }

  private static let primitives: [String: EmulatorValueType] = [
    "ASSET": .asset, "BYTES": .bytes, "DOUBLE": .double, "INT64": .int64, "LOCATION": .location,
    "REFERENCE": .reference, "STRING": .string, "TIMESTAMP": .timestamp,
  ]
  private static let encryptable = primitives.filter { $0.value != .asset && $0.value != .reference }
}

extension SchemaParser {
  /// Reads a name: a quoted identifier, or a word that is not reserved. [FW]
  fileprivate mutating func identifier() throws(SchemaError) -> String {
    let name: String
    switch token.kind {
    case .quoted(let text): name = text
    case .word(let text) where !SchemaWriter.reserved.contains(text.lowercased()) && Schema.isName(text): name = text
    default: throw unexpected("an identifier")
    }
    try advance()
    return name
  }

  fileprivate mutating func advance() throws(SchemaError) {
    token = try lexer.next()
  }

  fileprivate mutating func accept(_ keyword: String) throws(SchemaError) -> Bool {
    guard token.is(keyword) else { return false }
    try advance()
    return true
  }

  fileprivate mutating func accept(mark: Character) throws(SchemaError) -> Bool {
    guard token.is(mark: mark) else { return false }
    try advance()
    return true
  }

  fileprivate mutating func expect(_ keyword: String, orRather words: String? = nil) throws(SchemaError) {
    guard try accept(keyword) else { throw unexpected(words ?? "\"\(keyword)\"") }
  }

  fileprivate mutating func expect(mark: Character, orRather words: String? = nil) throws(SchemaError) {
    guard try accept(mark: mark) else { throw unexpected(words ?? "\"\(mark)\"") }
  }

  fileprivate func unexpected(_ expected: String) -> SchemaError {
    SchemaError("Encountered \(token.text)", at: token.place, expected: expected)
  }
}
