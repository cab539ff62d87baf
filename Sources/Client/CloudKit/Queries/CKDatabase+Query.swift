extension CKDatabase {
  /// Returns the first page of a query's results.
  ///
  /// Records saved in the last seconds may be missing, because queries read an index. `record(for:)` does not use the
  /// index.
  ///
  /// - Parameters:
  ///   - query: The query.
  ///   - zoneID: The zone to search; nil searches all zones of the database.
  ///   - desiredKeys: The fields to fetch; nil fetches all.
  ///   - resultsLimit: The maximum number of results; the server returns at most 200.
  /// - Returns: The results, and the cursor of the next page if there is one. A page may be short or even empty and
  ///   still be followed by another.
  /// - Throws: `CKError.invalidArguments` that names the part of the query the server does not support.
  public func records(
    matching query: CKQuery,
    inZoneWith zoneID: CKRecordZone.ID? = nil,
    desiredKeys: [CKRecord.FieldKey]? = nil,
    resultsLimit: Int = CKQueryOperation.maximumResults
  ) async throws -> (
    matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?
  ) {
    var wire = try query.wire(zoneID: zoneID ?? .default)
    // The public database has one zone. Naming it avoids a search of all zones.
    let zoneID = databaseScope == .public ? zoneID ?? .default : zoneID
    while true {
      do throws(CKError) {
        return try await page(wire, zoneID, after: nil, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
      } catch {
        guard let typed = wire.withDoubles(after: error) else { throw error }
        wire = typed
      }
    }
  }

  /// Returns the next page of a query's results.
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
    for element in answer.elements {
      switch element {
      case .deleted: continue
      case .failure(let name, let failure):
        let id = CKRecordID(recordName: name ?? "", zoneID: zoneID ?? .default)
        results.append((id, .failure(CKError(failure, in: .item))))
      case .item(let wire):
        let recordZoneID = zoneID ?? wire.zoneID.map { CKRecordZoneID(wire: $0, in: databaseScope) } ?? .default
        let record = CKRecord.received(wire, zoneID: recordZoneID)
        results.append((record.recordID, .success(record)))
      }
    }
    let failures = try await receiveAssets(of: results.compactMap { try? $0.1.get() })
    if !failures.isEmpty { results = results.map { ($0, $1.failing(by: failures)) } }
    // A repeated marker means that the query is stalled; following it would loop forever (reference 5.1).
    let next = answer.continuationMarker.flatMap { $0.isEmpty || $0 == marker ? nil : $0 }
    return (results, next.map { CKQueryCursor(query: query, zoneID: zoneID, marker: $0) })
  }
}
