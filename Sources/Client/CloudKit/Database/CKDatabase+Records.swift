extension CKDatabase {
  /// Fetches a record.
  ///
  /// - Throws: `CKError.unknownItem` or `zoneNotFound` if it does not exist, or another error if it could not be
  ///   fetched.
  public func record(for recordID: CKRecord.ID) async throws -> CKRecord {
    try await records(for: [recordID]).item(recordID, in: .read)
  }

  /// Fetches several records by their IDs, each with its own result. Sends one request for every 200 records of a zone,
  /// without those that the cache has (`CKContainerConfiguration.cache`).
  ///
  /// - Parameters:
  ///   - ids: The records' IDs. Duplicates are fetched once.
  ///   - desiredKeys: The fields to fetch; nil fetches all.
  /// - Throws: `CKError` if a request fails as a whole. A missing zone fails only its own records.
  public func records(
    for ids: [CKRecord.ID],
    desiredKeys: [CKRecord.FieldKey]? = nil
  ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
    let cached = try cachedRecords(for: ids, desiredKeys: desiredKeys)
    let others = cached.isEmpty ? ids : ids.filter { cached[$0] == nil }
    return try await uncachedRecords(for: others, desiredKeys: desiredKeys).merging(cached) { $1 }
  }

  /// Fetches several records from the server, whether the cache has them or not. A decision about what to write needs
  /// the current version.
  package func uncachedRecords(
    for ids: [CKRecord.ID],
    desiredKeys: [CKRecord.FieldKey]? = nil
  ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
    try await receivingAssets(of: readRecords(for: ids, desiredKeys: desiredKeys))
  }

  /// Fetches several records from the server without downloading their assets.
  func readRecords(
    for ids: [CKRecord.ID],
    desiredKeys: [CKRecord.FieldKey]? = nil
  ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
    var results: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
    for (zoneID, ids) in ids.withoutRepetition.grouped(by: \.zoneID) {
      for (id, result) in zip(ids, try await lookup(ids, in: zoneID, desiredKeys: desiredKeys)) {
        results[id] = result.flatMap { found in
          found.map { .success(.received($0, zoneID: zoneID)) }
            ?? .failure(CKError(.unknownItem, "The record was deleted."))
        }
      }
    }
    return results
  }

  private func lookup(
    _ ids: [CKRecord.ID],
    in zoneID: CKRecordZone.ID,
    desiredKeys: [CKRecord.FieldKey]?
  ) async throws(CKError) -> [Result<WireRecord?, any Error>] {
    do throws(CKError) {
      return try await results(of: ids.map(\.recordName), id: \.self, .read) { client, names throws(WebServicesError) in
        try await client.lookup(names, zone: zoneID.wire, desiredKeys: desiredKeys, in: name)
      }
    } catch  where error.code == .zoneNotFound {
      return ids.map { _ in .failure(error) }
    }
  }

  /// Saves a record unless the server has another version, and updates this instance.
  ///
  /// - Returns: The same instance.
  /// - Throws: `CKError.serverRecordChanged` with both records in a conflict, or another error if it could not be
  ///   saved.
  @discardableResult
  public func save(_ record: CKRecord) async throws -> CKRecord {
    let results = try await modifyRecords(saving: [record], deleting: [], atomically: false)
    return try results.saveResults.item(record.recordID, in: .write)
  }

  /// Deletes any version of a record.
  ///
  /// - Returns: The record's ID.
  /// - Throws: `CKError` if it could not be deleted.
  @discardableResult
  public func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID {
    let results = try await modifyRecords(saving: [], deleting: [recordID], atomically: false)
    try results.deleteResults.item(recordID, in: .write)
    return recordID
  }
}
