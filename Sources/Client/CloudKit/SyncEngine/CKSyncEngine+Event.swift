extension CKSyncEngine {
  /// An event of a sync engine, which its delegate handles. The handbook (`Handbook/Client/SyncEngine.md`) shows when
  /// each event comes.
  public enum Event: Sendable {
    /// The engine's state changed. Save it.
    case stateUpdate(StateUpdate)
    /// The user signed in or out. It comes at the start of an engine, and before the fetch or send that finds a change.
    case accountChange(AccountChange)
    /// The engine fetched which zones changed.
    case fetchedDatabaseChanges(FetchedDatabaseChanges)
    /// The engine fetched changed records of a zone.
    case fetchedRecordZoneChanges(FetchedRecordZoneChanges)
    /// The engine sent changes to zones.
    case sentDatabaseChanges(SentDatabaseChanges)
    /// The engine sent changes to records.
    case sentRecordZoneChanges(SentRecordZoneChanges)
    /// A fetch begins.
    case willFetchChanges(WillFetchChanges)
    /// The fetch of a zone's records begins.
    case willFetchRecordZoneChanges(WillFetchRecordZoneChanges)
    /// The fetch of a zone's records ended.
    case didFetchRecordZoneChanges(DidFetchRecordZoneChanges)
    /// A fetch ended.
    case didFetchChanges(DidFetchChanges)
    /// A send begins.
    case willSendChanges(WillSendChanges)
    /// A send ended.
    case didSendChanges(DidSendChanges)
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
    @available(*, unavailable) case _unknown
  }
}

// MARK: - State and account

extension CKSyncEngine.Event {
  /// A new state of the engine. Save it together with your data, and start the next engine with the last one.
  public struct StateUpdate: Sendable {
    /// The state to save.
    public let stateSerialization: CKSyncEngine.State.Serialization
  }

  /// A change of the account. A sign-out and a switch of accounts clear the engine's state with all pending changes.
  public struct AccountChange: Sendable {
    /// The kind of the change.
    public let changeType: ChangeType

    /// A kind of account change.
    public enum ChangeType: Equatable, Sendable {
      /// A user signed in.
      ///
      /// It also comes for the first user that a new engine finds. Apple's documentation does not say what becomes of
      /// changes that were added before. They stay pending, because they were meant for this user.
      case signIn(currentUser: CKRecord.ID)
      /// The user signed out. Delete the local data of this user.
      case signOut(previousUser: CKRecord.ID)
      /// Another user signed in. Delete the local data of the previous user.
      case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
      /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
      @available(*, unavailable) case _unknown
    }
  }
}

// MARK: - Fetched changes

extension CKSyncEngine.Event {
  /// A page of changed zones.
  public struct FetchedDatabaseChanges: Sendable {
    /// The new and changed zones.
    public let modifications: [CKDatabase.DatabaseChange.Modification]
    /// The deleted zones.
    public let deletions: [CKDatabase.DatabaseChange.Deletion]
  }

  /// A page of changed records of one zone. It includes those that this engine saved itself.
  public struct FetchedRecordZoneChanges: Sendable {
    /// The new and changed records.
    public let modifications: [CKDatabase.RecordZoneChange.Modification]
    /// The deleted records.
    public let deletions: [CKDatabase.RecordZoneChange.Deletion]
  }

  /// The beginning of a fetch.
  public struct WillFetchChanges: Sendable {
    /// The reason and the options of the fetch.
    public let context: CKSyncEngine.FetchChangesContext
  }

  /// The beginning of the fetch of a zone's records.
  public struct WillFetchRecordZoneChanges: Sendable {
    /// The zone's ID.
    public let zoneID: CKRecordZone.ID
  }

  /// The end of the fetch of a zone's records. It comes once for each `willFetchRecordZoneChanges`.
  ///
  /// It also comes after a page with records that cannot be read, for example because the file of an asset is gone. The
  /// rest of the page has been fetched. These records are not fetched again until they change.
  public struct DidFetchRecordZoneChanges: Sendable {
    /// The zone's ID.
    public let zoneID: CKRecordZone.ID
    /// The error that ended the fetch of this zone; nil if it succeeded. `partialFailure` has the errors of the records
    /// that cannot be read.
    public let error: CKError?
  }

  /// The end of a fetch. It comes once for each `willFetchChanges`, also if the fetch failed.
  public struct DidFetchChanges: Sendable {
    /// The reason and the options of the fetch.
    public let context: CKSyncEngine.FetchChangesContext
  }
}

// MARK: - Sent changes

extension CKSyncEngine.Event {
  /// The outcome of a batch of changes to zones.
  public struct SentDatabaseChanges: Sendable {
    /// The saved zones.
    public let savedZones: [CKRecordZone]
    /// The zones that could not be saved.
    public let failedZoneSaves: [FailedZoneSave]
    /// The deleted zones.
    public let deletedZoneIDs: [CKRecordZone.ID]
    /// The errors of the zones that could not be deleted.
    public let failedZoneDeletes: [CKRecordZone.ID: CKError]

    /// A zone that could not be saved.
    public struct FailedZoneSave: Sendable {
      /// The zone.
      public let zone: CKRecordZone
      /// The reason.
      public let error: CKError
    }
  }

  /// The outcome of a batch of changes to records.
  ///
  /// Changes that failed with an error that a later attempt may solve stay pending. All others have left the pending
  /// changes: resolve the error, then add the change again.
  public struct SentRecordZoneChanges: Sendable {
    /// The saved records, with their new change tags.
    public let savedRecords: [CKRecord]
    /// The records that could not be saved.
    public let failedRecordSaves: [FailedRecordSave]
    /// The deleted records.
    public let deletedRecordIDs: [CKRecord.ID]
    /// The errors of the records that could not be deleted.
    public let failedRecordDeletes: [CKRecord.ID: CKError]

    /// A record that could not be saved.
    public struct FailedRecordSave: Sendable {
      /// The record.
      public let record: CKRecord
      /// The reason. `serverRecordChanged` has the server's, the client's and the ancestor record.
      public let error: CKError
    }
  }

  /// The beginning of a send.
  public struct WillSendChanges: Sendable {
    /// The reason and the options of the send.
    public let context: CKSyncEngine.SendChangesContext
  }

  /// The end of a send. It comes once for each `willSendChanges`, also if the send failed.
  public struct DidSendChanges: Sendable {
    /// The reason and the options of the send.
    public let context: CKSyncEngine.SendChangesContext
  }
}
