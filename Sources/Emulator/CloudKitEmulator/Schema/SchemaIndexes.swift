import CloudKitSchema

extension CKSchema.RecordType {
  func indexes(of key: QueryField) -> CKSchema.Indexes {
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

extension QueryField {
  /// Rejects a key that lacks an index. The wording for QUERYABLE and SORTABLE was observed [L3]; the one for
  /// SEARCHABLE follows it [E].
  func require(_ index: CKSchema.Indexes, of type: CKSchema.RecordType) throws(ServerError) {
    guard type.indexes(of: self).isDisjoint(with: index) else { return }
    let word = index.contains(.queryable) ? "queryable" : index == .searchable ? "searchable" : "sortable"
    throw .badRequest("Field '\(name)' is not marked \(word)")
  }
}
