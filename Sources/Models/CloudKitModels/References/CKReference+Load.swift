public import CloudKit

extension CKRecord.Reference {
  /// Returns the model of the record that the reference leads to; nil if there is none.
  ///
  /// - Throws: `CKModelError` if the record does not match; otherwise the server's error.
  public func load<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    from database: CKDatabase,
    following depth: LinkDepth = .none
  ) async throws -> Model? {
    let result = try await [self].load(type, from: database, following: depth)[0]
    return result.isAbsent ? nil : try result.get()
  }
}

extension [CKRecord.Reference] {
  /// Returns the models of the records that the references lead to, each with its own result, in the same order. The
  /// result is `CKError.unknownItem` if there is none. Fetches each record once, 200 in a request.
  public func load<Model: CKRecordModel & Decodable>(
    _ type: Model.Type = Model.self,
    from database: CKDatabase,
    following depth: LinkDepth = .none
  ) async throws -> [Result<Model, any Error>] {
    try DeclaredDatabase(of: type).check(database.databaseScope)
    let ids = map(\.recordID)
    let records = try await database.records(for: [CKRecord.ID](Set(ids)), desiredKeys: type.desiredKeys)
    let results = ids.map { records[$0] ?? .failure(CKDatabase.unanswered($0)) }
    return try await database.linkLoader(following: depth).models(type, from: results)
  }
}
