// Each of these makes the `async` call of the same meaning and calls its handler once, on a thread of its own choice.

extension CKDatabase {
  /// Reads a record and calls back with it, or with why it could not be had.
  @preconcurrency
  public func fetch(
    withRecordID recordID: CKRecord.ID,
    completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.record(for: recordID) }
  }

  /// Reads several records and calls back with their results, or with why a request as a whole failed.
  @preconcurrency
  public func fetch(
    withRecordIDs recordIDs: [CKRecord.ID],
    desiredKeys: [CKRecord.FieldKey]? = nil,
    completionHandler: @escaping @Sendable (Result<[CKRecord.ID: Result<CKRecord, any Error>], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.records(for: recordIDs, desiredKeys: desiredKeys) }
  }

  /// Saves a record unless the server has a newer version, and calls back with it or with why it was not saved.
  @preconcurrency
  public func save(
    _ record: CKRecord,
    completionHandler: @escaping @Sendable (CKRecord?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.save(record) }
  }

  /// Deletes a record, whatever its version, and calls back with its identifier or with why it was not deleted.
  @preconcurrency
  public func delete(
    withRecordID recordID: CKRecord.ID,
    completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.deleteRecord(withID: recordID) }
  }

  /// Saves and deletes several records and calls back with their results, or with why nothing was changed.
  @preconcurrency
  public func modifyRecords(
    saving recordsToSave: [CKRecord],
    deleting recordIDsToDelete: [CKRecord.ID],
    savePolicy: CKModifyRecordsOperation.RecordSavePolicy = .ifServerRecordUnchanged,
    atomically: Bool = true,
    completionHandler:
      @escaping @Sendable (
        Result<
          (
            saveResults: [CKRecord.ID: Result<CKRecord, any Error>],
            deleteResults: [CKRecord.ID: Result<Void, any Error>]
          ), any Error
        >
      ) -> Void
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
  /// Reads a zone and calls back with it, or with why it could not be had.
  @preconcurrency
  public func fetch(
    withRecordZoneID zoneID: CKRecordZone.ID,
    completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.recordZone(for: zoneID) }
  }

  /// Reads several zones and calls back with their results, or with why a request as a whole failed.
  @preconcurrency
  public func fetch(
    withRecordZoneIDs recordZoneIDs: [CKRecordZone.ID],
    completionHandler:
      @escaping @Sendable (Result<[CKRecordZone.ID: Result<CKRecordZone, any Error>], any Error>) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.recordZones(for: recordZoneIDs) }
  }

  /// Reads all zones and calls back with them, or with why they could not be had.
  @preconcurrency
  public func fetchAllRecordZones(completionHandler: @escaping @Sendable ([CKRecordZone]?, (any Error)?) -> Void) {
    settings.callBack(completionHandler) { try await self.allRecordZones() }
  }

  /// Creates a zone and calls back with it, or with why it was not created.
  @preconcurrency
  public func save(
    _ zone: CKRecordZone,
    completionHandler: @escaping @Sendable (CKRecordZone?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.save(zone) }
  }

  /// Deletes a zone with everything in it and calls back with its identifier, or with why it was not deleted.
  @preconcurrency
  public func delete(
    withRecordZoneID zoneID: CKRecordZone.ID,
    completionHandler: @escaping @Sendable (CKRecordZone.ID?, (any Error)?) -> Void
  ) {
    settings.callBack(completionHandler) { try await self.deleteRecordZone(withID: zoneID) }
  }

  /// Creates and deletes zones and calls back with their results, or with why a request as a whole failed.
  @preconcurrency
  public func modifyRecordZones(
    saving recordZonesToSave: [CKRecordZone],
    deleting recordZoneIDsToDelete: [CKRecordZone.ID],
    completionHandler:
      @escaping @Sendable (
        Result<
          (
            saveResults: [CKRecordZone.ID: Result<CKRecordZone, any Error>],
            deleteResults: [CKRecordZone.ID: Result<Void, any Error>]
          ), any Error
        >
      ) -> Void
  ) {
    settings.callBack(completionHandler) {
      try await self.modifyRecordZones(saving: recordZonesToSave, deleting: recordZoneIDsToDelete)
    }
  }
}

// MARK: - Changes

extension CKDatabase {
  /// Reads one page of the zones that changed since a token and calls back with it, or with why it could not be had.
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

  /// Reads one page of the records of a zone that changed since a token and calls back with it, or with why it could not be
  /// had.
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
