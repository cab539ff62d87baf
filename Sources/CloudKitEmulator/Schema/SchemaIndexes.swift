/// The indexes of one field. Without the right index, the service rejects queries on the field. (reference 5.1, 7.2)
/// [L3]
struct SchemaIndexes: OptionSet, Sendable, Hashable {
  let rawValue: UInt8

  /// For equality comparisons. [FW]
  static let queryable = SchemaIndexes(rawValue: 1)
  /// For word searches. [FW]
  static let searchable = SchemaIndexes(rawValue: 2)
  /// For range comparisons and sorting. [FW]
  static let sortable = SchemaIndexes(rawValue: 4)

  /// The keywords, in the order in which the service exports them. [C]
  static let keywords: [(keyword: String, index: SchemaIndexes)] = [
    ("QUERYABLE", .queryable), ("SEARCHABLE", .searchable), ("SORTABLE", .sortable),
  ]

  /// Returns all indexes that a field of the type can have. Strings have all three; numbers, timestamps and bytes have
  /// all but SEARCHABLE, as exported schemas show [C]. Encrypted values and assets have none [FW]. References and lists
  /// have QUERYABLE, and lists of strings also SEARCHABLE [E].
  static func fitting(_ type: Schema.FieldType) -> SchemaIndexes {
    if type.isEncrypted || type.scalar == .asset { return [] }
    if type.isList { return type.scalar == .string ? [.queryable, .searchable] : .queryable }
    switch type.scalar {
    case .string: return [.queryable, .searchable, .sortable]
    case .int64, .double, .timestamp, .bytes: return [.queryable, .sortable]
    case .reference: return .queryable
    // Sorting by distance uses the same index as NEAR. [E]
    case .location: return [.queryable, .sortable]
    case .asset: return []
    }
  }

  /// Whether a schema may declare these indexes for a type. Only impossible combinations are rejected, so that every
  /// export of the real service is accepted; what else it rejects is unknown. [E]
  func mayIndex(_ type: Schema.FieldType) -> Bool {
    if type.isEncrypted || type.scalar == .asset { return isEmpty }
    return !contains(.searchable) || type.scalar == .string
  }
}

extension Schema.RecordType {
  func indexes(of key: FieldKey) -> SchemaIndexes {
    switch key {
    case .field(let name): fields[name]?.indexes ?? []
    case .system(let system):
      // A schema cannot declare indexes of parents and shares, so they are always indexed. [E]
      system.schemaField.map { systemIndexes[$0] ?? [] } ?? [.queryable, .sortable]
    case .wholeRecord(let names): names.isEmpty ? [] : .searchable
    }
  }

  /// The fields that a token filter without a field name searches: those with the SEARCHABLE index. [C]
  var searchedFields: Set<String> {
    Set(fields.filter { $0.value.indexes.contains(.searchable) }.keys)
  }
}

extension FieldKey {
  /// Rejects a key that lacks an index. The wording for QUERYABLE and SORTABLE was observed [L3]; the one for
  /// SEARCHABLE follows it [E].
  func require(_ index: SchemaIndexes, of type: Schema.RecordType) throws(ServerError) {
    guard type.indexes(of: self).isDisjoint(with: index) else { return }
    let word = index.contains(.queryable) ? "queryable" : index == .searchable ? "searchable" : "sortable"
    throw .badRequest("Field '\(name)' is not marked \(word)")
  }
}

extension FieldKey.System {
  /// The field's name in the schema language; `nil` if the language does not have it.
  var schemaField: Schema.SystemField? { Schema.SystemField(rawValue: schemaName) }
}
