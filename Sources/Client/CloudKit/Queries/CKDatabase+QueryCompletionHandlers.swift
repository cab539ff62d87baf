// These methods call their `async` counterparts and call the handler once, on an unspecified thread.

extension CKDatabase {
  /// Fetches the first page of a query and calls the handler with the results or an error.
  @preconcurrency
  public func fetch(
    withQuery query: CKQuery,
    inZoneWith zoneID: CKRecordZone.ID? = nil,
    desiredKeys: [CKRecord.FieldKey]? = nil,
    resultsLimit: Int = CKQueryOperation.maximumResults,
    completionHandler:
      @escaping @Sendable (
        Result<
          (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?), any Error
        >
      ) -> Void
  ) {
    settings.callBack(completionHandler) {
      try await self.records(
        matching: query,
        inZoneWith: zoneID,
        desiredKeys: desiredKeys,
        resultsLimit: resultsLimit
      )
    }
  }

  /// Fetches the next page of a query and calls the handler with the results or an error.
  @preconcurrency
  public func fetch(
    withCursor queryCursor: CKQueryOperation.Cursor,
    desiredKeys: [CKRecord.FieldKey]? = nil,
    resultsLimit: Int = CKQueryOperation.maximumResults,
    completionHandler:
      @escaping @Sendable (
        Result<
          (matchResults: [(CKRecord.ID, Result<CKRecord, any Error>)], queryCursor: CKQueryOperation.Cursor?), any Error
        >
      ) -> Void
  ) {
    settings.callBack(completionHandler) {
      try await self.records(continuingMatchFrom: queryCursor, desiredKeys: desiredKeys, resultsLimit: resultsLimit)
    }
  }

  /// Fetches the first page of a query, at most 200 records, and calls the handler with the records or an error. This
  /// is the older form of a query.
  @preconcurrency
  public func perform(
    _ query: CKQuery,
    inZoneWith zoneID: CKRecordZone.ID?,
    completionHandler: @escaping @Sendable ([CKRecord]?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) {
      try await self.perform(query, inZoneWith: zoneID)
    }
  }

  /// Returns the first page of a query, at most 200 records. This is the older form of a query.
  public func perform(_ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?) async throws -> [CKRecord] {
    try await records(matching: query, inZoneWith: zoneID).matchResults.map { try $0.1.get() }
  }
}
