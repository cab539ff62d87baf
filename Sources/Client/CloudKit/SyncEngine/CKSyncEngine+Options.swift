extension CKSyncEngine {
  /// The reason why an engine syncs.
  public enum SyncReason: Hashable, Sendable {
    /// The engine scheduled it.
    case scheduled
    /// The app called `fetchChanges(_:)` or `sendChanges(_:)`.
    case manual
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
    @available(*, unavailable) case _unknown
  }

  /// The options of a fetch.
  public struct FetchChangesOptions: Sendable {
    /// The zones whose records are fetched.
    public enum Scope: Equatable, Sendable {
      /// All zones.
      case all
      /// All zones but these.
      case allExcluding([CKRecordZone.ID])
      /// These zones.
      case zoneIDs([CKRecordZone.ID])
      /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
      @available(*, unavailable) case _unknown

      /// Returns whether the scope contains a zone.
      public func contains(_ zoneID: CKRecordZone.ID) -> Bool {
        switch self {
        case .all: true
        case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
        case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
        }
      }
    }

    /// The zones whose records are fetched. Which zones changed is fetched for the whole database.
    public var scope: Scope
    /// The group whose default configuration applies to the requests.
    public var operationGroup: CKOperationGroup
    /// The zones to fetch first, in this order. Zones without changes are ignored.
    public var prioritizedZoneIDs: [CKRecordZone.ID] = []

    /// Makes options. Without a group, a new one is used.
    public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
      self.scope = scope
      self.operationGroup = operationGroup ?? CKOperationGroup()
    }
  }

  /// The reason and the options of a fetch.
  public struct FetchChangesContext: Sendable {
    /// The reason for the fetch.
    public let reason: SyncReason
    /// The options of the fetch.
    public let options: FetchChangesOptions
  }

  /// The options of a send.
  public struct SendChangesOptions: Sendable {
    /// The changes that are sent.
    public enum Scope: Equatable, Sendable {
      /// All changes.
      case all
      /// The changes in all zones but these.
      case allExcluding([CKRecordZone.ID])
      /// The changes in these zones.
      case zoneIDs([CKRecordZone.ID])
      /// The changes to these records.
      case recordIDs([CKRecord.ID])
      /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
      @available(*, unavailable) case _unknown

      /// Returns whether the scope contains a record.
      public func contains(_ recordID: CKRecord.ID) -> Bool {
        if case .recordIDs(let recordIDs) = self { return recordIDs.contains(recordID) }
        return contains(zone: recordID.zoneID)
      }

      /// Returns whether the scope contains the record of a pending change.
      public func contains(_ pendingChange: CKSyncEngine.PendingRecordZoneChange) -> Bool {
        contains(pendingChange.id)
      }

      /// Returns whether changes to a zone itself are sent. Apple's documentation does not say. For a scope of records,
      /// the zones of these records are sent, because the records cannot be saved without them.
      func contains(zone zoneID: CKRecordZone.ID) -> Bool {
        switch self {
        case .all: true
        case .allExcluding(let zoneIDs): !zoneIDs.contains(zoneID)
        case .zoneIDs(let zoneIDs): zoneIDs.contains(zoneID)
        case .recordIDs(let recordIDs): recordIDs.contains { $0.zoneID == zoneID }
        }
      }
    }

    /// The changes that are sent. The delegate must return only changes in this scope: a batch with others is not sent,
    /// and the send fails with `CKError.invalidArguments`.
    public var scope: Scope
    /// The group whose default configuration applies to the requests.
    public var operationGroup: CKOperationGroup

    /// Makes options. Without a group, a new one is used.
    public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
      self.scope = scope
      self.operationGroup = operationGroup ?? CKOperationGroup()
    }
  }

  /// The reason and the options of a send.
  public struct SendChangesContext: Sendable {
    /// The reason for the send.
    public let reason: SyncReason
    /// The options of the send.
    public let options: SendChangesOptions
  }
}
