extension CKDatabase {
  /// One record.
  ///
  /// - Throws: `CKError.unknownItem` or `zoneNotFound` where there is none, or why it could not be had.
  public func record(for recordID: CKRecord.ID) async throws -> CKRecord {
    guard let result = try await records(for: [recordID])[recordID] else {
      throw CKError(.internalError, "The answer does not name the record.")
    }
    return try result.get()
  }

  /// Several records by their identifiers, each with its own result. One request for every 200 records of a zone.
  ///
  /// - Parameters:
  ///   - ids: The records; naming one twice asks for it once.
  ///   - desiredKeys: The fields to read; nil reads all.
  /// - Throws: `CKError` where a request as a whole failed. A missing zone fails its records only.
  public func records(
    for ids: [CKRecord.ID],
    desiredKeys: [CKRecord.FieldKey]? = nil
  ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
    try await receivingAssets(of: readRecords(for: ids, desiredKeys: desiredKeys))
  }

  /// The same without the files of assets.
  func readRecords(
    for ids: [CKRecord.ID],
    desiredKeys: [CKRecord.FieldKey]? = nil
  ) async throws -> [CKRecord.ID: Result<CKRecord, any Error>] {
    var seen: Set<CKRecord.ID> = []
    var results: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
    for (zoneID, ids) in ids.filter({ seen.insert($0).inserted }).grouped(by: \.zoneID) {
      for chunk in ids.chunks(of: Self.largestBatch) {
        for (id, result) in try await lookup(Array(chunk), in: zoneID, desiredKeys: desiredKeys) {
          results[id] = result
        }
      }
    }
    return results
  }

  private func lookup(
    _ ids: [CKRecord.ID],
    in zoneID: CKRecordZone.ID,
    desiredKeys: [CKRecord.FieldKey]?
  ) async throws(CKError) -> [CKRecord.ID: Result<CKRecord, any Error>] {
    let answer: [WireRecordResult]
    do throws(CKError) {
      answer = try await perform(.read) { client throws(WebServicesError) in
        try await client.lookup(ids.map(\.recordName), zone: zoneID.wire, desiredKeys: desiredKeys, in: name)
      }
    } catch  where error.code == .zoneNotFound {
      return Dictionary(uniqueKeysWithValues: ids.map { ($0, .failure(error)) })
    }
    let elements = RecordAnswer(answer, names: ids.map(\.recordName))
    var results: [CKRecord.ID: Result<CKRecord, any Error>] = [:]
    for id in ids {
      results[id] =
        switch elements[id.recordName] {
        case .record(let record): .success(.received(record, zoneID: zoneID))
        case .deleted: .failure(CKError(.unknownItem, "The record was deleted."))
        case .failure(_, let failure): .failure(CKError(failure, in: .item))
        case nil: .failure(CKError(.internalError, "The answer does not name the record \(id.recordName)."))
        }
    }
    return results
  }

  /// Saves a record unless the server has a newer version, and brings this instance up to date.
  ///
  /// - Returns: The same instance.
  /// - Throws: `CKError.serverRecordChanged` with the records of both sides in a conflict; why it could not be saved.
  @discardableResult
  public func save(_ record: CKRecord) async throws -> CKRecord {
    let results = try await modifyRecords(saving: [record], deleting: [], atomically: false).saveResults
    guard let result = results[record.recordID] else {
      throw CKError(.serverResponseLost, "The answer does not name the record.")
    }
    return try result.get()
  }

  /// Deletes a record, whatever its version.
  ///
  /// - Returns: The record's identifier.
  /// - Throws: `CKError`, why it could not be deleted.
  @discardableResult
  public func deleteRecord(withID recordID: CKRecord.ID) async throws -> CKRecord.ID {
    let results = try await modifyRecords(saving: [], deleting: [recordID], atomically: false).deleteResults
    guard let result = results[recordID] else {
      throw CKError(.serverResponseLost, "The answer does not name the record.")
    }
    try result.get()
    return recordID
  }
}

/// The elements of an answer by the name of their record.
///
/// The server does not promise the order of the request, so names decide; an element without a name is the one at its
/// place (reference 2.5).
struct RecordAnswer {
  private var byName: [String: WireRecordResult] = [:]

  init(_ elements: [WireRecordResult], names: [String]) {
    for (index, element) in elements.enumerated() {
      if let name = element.recordName ?? (index < names.count ? names[index] : nil) { byName[name] = element }
    }
  }

  subscript(name: String) -> WireRecordResult? { byName[name] }
}
