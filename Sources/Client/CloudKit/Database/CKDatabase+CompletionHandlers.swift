// Each method runs the matching `async` call and calls its handler once, on a global dispatch queue.

extension CKDatabase {
  /// Fetches a record and passes it, or an error, to the handler.
  @preconcurrency
  public func fetch(
    withRecordID recordID: CKRecord.ID,
    completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.record(for: recordID) }
  }

  /// Fetches several records and passes their results, or the error of a whole request, to the handler.
  @preconcurrency
  public func fetch(
    withRecordIDs recordIDs: [CKRecord.ID],
    desiredKeys: [CKRecord.FieldKey]? = nil,
    completionHandler: @escaping @Sendable (Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.records(for: recordIDs, desiredKeys: desiredKeys) }
  }

  /// Saves a record unless the server has another version, and passes it, or an error, to the handler.
  @preconcurrency
  public func save(
    _ record: CKRecord,
    completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.save(record) }
  }

  /// Deletes any version of a record and passes its ID, or an error, to the handler.
  @preconcurrency
  public func delete(
    withRecordID recordID: CKRecord.ID,
    completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.deleteRecord(withID: recordID) }
  }

  /// Saves and deletes several records and passes their results, or the error of the whole call, to the handler.
  @preconcurrency
  public func modifyRecords(
    saving recordsToSave: [CKRecord],
    deleting recordIDsToDelete: [CKRecord.ID],
    savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged,
    atomically: Bool = true,
    completionHandler: @escaping @Sendable (Result<ModifyResults<CKRecord.ID, CKRecord>, any Error>) -> Void
  ) {
    settings.callBack(completionHandler) {
      try await self.modifyRecords(
        saving: recordsToSave,
        deleting: recordIDsToDelete,
        savePolicy: savePolicy,
        atomically: atomically
      )
    }
  }
}

// MARK: - Zones

extension CKDatabase {
  /// Fetches a zone and passes it, or an error, to the handler.
  @preconcurrency
  public func fetch(
    withRecordZoneID zoneID: CKRecordZone.ID,
    completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.recordZone(for: zoneID) }
  }

  /// Fetches several zones and passes their results, or the error of a whole request, to the handler.
  @preconcurrency
  public func fetch(
    withRecordZoneIDs recordZoneIDs: [CKRecordZone.ID],
    completionHandler:
      @escaping @Sendable (Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.recordZones(for: recordZoneIDs) }
  }

  /// Fetches all zones and passes them, or an error, to the handler.
  @preconcurrency
  public func fetchAllRecordZones(completionHandler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void) {
    settings.callBack(completionHandler) { try await self.allRecordZones() }
  }

  /// Creates a zone and passes it, or an error, to the handler.
  @preconcurrency
  public func save(
    _ zone: CKRecordZone,
    completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.save(zone) }
  }

  /// Deletes a zone and all its records, and passes its ID, or an error, to the handler.
  @preconcurrency
  public func delete(
    withRecordZoneID zoneID: CKRecordZone.ID,
    completionHandler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.deleteRecordZone(withID: zoneID) }
  }

  /// Creates and deletes zones and passes their results, or the error of a whole request, to the handler.
  @preconcurrency
  public func modifyRecordZones(
    saving recordZonesToSave: [CKRecordZone],
    deleting recordZoneIDsToDelete: [CKRecordZone.ID],
    completionHandler: @escaping @Sendable (Result<ModifyResults<CKRecordZone.ID, CKRecordZone>, any Error>) -> Void
  ) {
    settings.callBack(completionHandler) {
      try await self.modifyRecordZones(saving: recordZonesToSave, deleting: recordZoneIDsToDelete)
    }
  }
}

// MARK: - Changes

extension CKDatabase {
  /// Fetches one page of the zones that changed since a token and passes it, or an error, to the handler.
  @preconcurrency
  public func fetchDatabaseChanges(
    since changeToken: CKServerChangeToken?,
    resultsLimit: Int? = nil,
    completionHandler:
      @escaping @Sendable (
        Result<
          (
            modifications: [DatabaseChange.Modification], deletions: [DatabaseChange.Deletion],
            changeToken: CKServerChangeToken, moreComing: Bool
          ), any Error
        >
      ) -> Void
  ) {
    settings.callBack(completionHandler) {
      try await self.databaseChanges(since: changeToken, resultsLimit: resultsLimit)
    }
  }

  /// Fetches one page of the records of a zone that changed since a token and passes it, or an error, to the handler.
  @preconcurrency
  public func fetchRecordZoneChanges(
    inZoneWith zoneID: CKRecordZone.ID,
    since changeToken: CKServerChangeToken?,
    desiredKeys: [CKRecord.FieldKey]? = nil,
    resultsLimit: Int? = nil,
    completionHandler:
      @escaping @Sendable (
        Result<
          (
            modificationResultsByID: [CKRecord.ID: Result<RecordZoneChange.Modification, any Error>],
            deletions: [RecordZoneChange.Deletion], changeToken: CKServerChangeToken, moreComing: Bool
          ), any Error
        >
      ) -> Void
  ) {
    settings.callBack(completionHandler) {
      try await self.recordZoneChanges(
        inZoneWith: zoneID,
        since: changeToken,
        desiredKeys: desiredKeys,
        resultsLimit: resultsLimit
      )
    }
  }
}
