// Each of these makes the `async` call of the same meaning and calls its handler once, on a thread of its own choice.

extension CKDatabase {
  /// Reads the first page of a query and calls back with it, or with why it could not be had.
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

  /// Reads the next page of a query and calls back with it, or with why it could not be had.
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

  /// The older form of a query: calls back with the records of its first page, 200 at most, or with why they could not be
  /// had.
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

  /// The older form of a query: the records of its first page, 200 at most.
  public func perform(_ query: CKQuery, inZoneWith zoneID: CKRecordZone.ID?) async throws -> [CKRecord] {
    try await records(matching: query, inZoneWith: zoneID).matchResults.map { try $0.1.get() }
  }
}
