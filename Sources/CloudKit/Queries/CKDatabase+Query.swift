extension CKDatabase {
  /// The first page of a query.
  ///
  /// What was just saved may be missing for some seconds: queries read an index, `record(for:)` does not.
  ///
  /// - Parameters:
  ///   - query: What to look for.
  ///   - zoneID: Where; nil looks in all zones of the database.
  ///   - desiredKeys: The fields to read; nil reads all.
  ///   - resultsLimit: The most results wanted; the server gives 200 at most.
  /// - Returns: The results, and where the next page begins if there is one. A page may be short, even empty, and still be
  ///   followed by another.
  /// - Throws: `CKError.invalidArguments` naming what the server cannot do.
  public func records(
    matching query: CKQuery,
    inZoneWith zoneID: CKRecordZone.ID? = nil,
    desiredKeys: [CKRecord.FieldKey]? = nil,
    resultsLimit: Int = CKQueryOperation.maximumResults
  ) async throws -> (
    matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
  ) {
    let wire = try query.wire(zoneID: zoneID ?? .default)
    // The public database has one zone, and saying so asks nothing of the server's wider search.
    let zoneID = databaseScope == .public ? zoneID ?? .default : zoneID
    return try await page(wire, zoneID, after: nil, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
  }

  /// The next page of a query.
  public func records(
    continuingMatchFrom queryCursor: CKQueryOperation.Cursor,
    desiredKeys: [CKRecord.FieldKey]? = nil,
    resultsLimit: Int = CKQueryOperation.maximumResults
  ) async throws -> (
    matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
  ) {
    try await page(
      queryCursor.query,
      queryCursor.zoneID,
      after: queryCursor.marker,
      desiredKeys: desiredKeys,
      resultsLimit: resultsLimit
    )
  }

  private func page(
    _ query: WireQuery,
    _ zoneID: CKRecordZoneID?,
    after marker: String?,
    desiredKeys: [CKRecord.FieldKey]?,
    resultsLimit: Int
  ) async throws(CKError) -> (
    matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
  ) {
    let answer = try await perform(.read) { client throws(WebServicesError) in
      try await client.query(
        query,
        zone: zoneID?.wire,
        desiredKeys: desiredKeys,
        resultsLimit: resultsLimit > 0 ? min(resultsLimit, Self.largestBatch) : nil,
        continuing: marker,
        in: name
      )
    }
    var results: [(CKRecord.ID, Result<CKRecord, any Error>)] = []
    for element in answer.records {
      switch element {
      case .deleted: continue
      case .failure(let name, let failure):
        let id = CKRecordID(recordName: name ?? "", zoneID: zoneID ?? .default)
        results.append((id, .failure(CKError(failure, in: .item))))
      case .record(let wire):
        let recordZoneID = zoneID ?? wire.zoneID.map { CKRecordZoneID(wire: $0, in: databaseScope) } ?? .default
        let record = CKRecord.received(wire, zoneID: recordZoneID)
        results.append((record.recordID, .success(record)))
      }
    }
    let failures = try await receiveAssets(of: results.compactMap { try? $0.1.get() })
    if !failures.isEmpty { results = results.map { ($0, $1.failing(by: failures)) } }
    // The same marker again is a stalled query: following it would go round for ever (reference 5.1).
    let next = answer.continuationMarker.flatMap { $0.isEmpty || $0 == marker ? nil : $0 }
    return (results, next.map { CKQueryCursor(query: query, zoneID: zoneID, marker: $0) })
  }
}
