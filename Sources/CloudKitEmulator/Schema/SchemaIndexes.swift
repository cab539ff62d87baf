/// The indexes of one field: without them the service answers no query about it. (5.1, 7.2) [L3]
struct SchemaIndexes: OptionSet, Sendable, Hashable {
  let rawValue: UInt8

  /// For comparisons for equality. [FW]
  static let queryable = SchemaIndexes(rawValue: 1)
  /// For searches for words. [FW]
  static let searchable = SchemaIndexes(rawValue: 2)
  /// For ranges and sorting. [FW]
  static let sortable = SchemaIndexes(rawValue: 4)

  /// The keywords in the order in which the service exports them. [C]
  static let keywords: [(keyword: String, index: SchemaIndexes)] = [
    ("QUERYABLE", .queryable), ("SEARCHABLE", .searchable), ("SORTABLE", .sortable),
  ]

  /// All that a field of a type can have: texts all three, numbers, times and bytes all but words, as exported schemas
  /// show [C]; encrypted values and files none [FW]; references and lists equality, lists of texts also words [E].
  static func fitting(_ type: Schema.FieldType) -> SchemaIndexes {
    if type.isEncrypted || type.scalar == .asset { return [] }
    if type.isList { return type.scalar == .string ? [.queryable, .searchable] : .queryable }
    switch type.scalar {
    case .string: return [.queryable, .searchable, .sortable]
    case .int64, .double, .timestamp, .bytes: return [.queryable, .sortable]
    case .reference: return .queryable
    // Sorting by distance walks the same index as NEAR. [E]
    case .location: return [.queryable, .sortable]
    case .asset: return []
    }
  }

  /// Whether a schema may declare them for a type. Only what cannot be is refused, so that no export of the real
  /// service is: what else it refuses is not known. [E]
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
      // A schema cannot speak of parents and shares, so that nothing can be missing. [E]
      system.schemaField.map { systemIndexes[$0] ?? [] } ?? [.queryable, .sortable]
    case .wholeRecord(let names): names.isEmpty ? [] : .searchable
    }
  }

  /// The fields in which words are found when a filter names none: those with the index for it. [C]
  var searchedFields: Set<String> {
    Set(fields.filter { $0.value.indexes.contains(.searchable) }.keys)
  }
}

extension FieldKey {
  /// Refuses a key that lacks an index, in the words that were seen for QUERYABLE and SORTABLE [L3]; the third follows
  /// them [E].
  func require(_ index: SchemaIndexes, of type: Schema.RecordType) throws(ServerError) {
    guard type.indexes(of: self).isDisjoint(with: index) else { return }
    let word = index.contains(.queryable) ? "queryable" : index == .searchable ? "searchable" : "sortable"
    throw .badRequest("Field '\(name)' is not marked \(word)")
  }
}

extension FieldKey.System {
  /// The field as the schema language knows it; `nil` for those it does not know.
  var schemaField: Schema.SystemField? { Schema.SystemField(rawValue: schemaName) }
}
