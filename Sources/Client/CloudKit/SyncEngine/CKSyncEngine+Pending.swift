extension CKSyncEngine {
  /// A change to a record that has to be sent.
  public enum PendingRecordZoneChange: Hashable, Sendable {
    /// The record has to be saved.
    case saveRecord(CKRecord.ID)
    /// The record has to be deleted.
    case deleteRecord(CKRecord.ID)
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
    @available(*, unavailable) case _unknown
  }

  /// A change to a zone that has to be sent.
  public enum PendingDatabaseChange: Sendable {
    /// The zone has to be saved.
    case saveZone(CKRecordZone)
    /// The zone and its records have to be deleted.
    case deleteZone(CKRecordZone.ID)
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
    @available(*, unavailable) case _unknown
  }
}

extension CKSyncEngine.PendingRecordZoneChange: PendingChange {
  var id: CKRecord.ID {
    switch self {
    case .saveRecord(let id), .deleteRecord(let id): id
    }
  }
}

extension CKSyncEngine.PendingDatabaseChange: PendingChange, Hashable {
  var id: CKRecordZone.ID {
    switch self {
    case .saveZone(let zone): zone.zoneID
    case .deleteZone(let zoneID): zoneID
    }
  }

  var isSave: Bool { if case .saveZone = self { true } else { false } }

  /// Whether both save, or both delete, the same zone.
  public static func == (lhs: Self, rhs: Self) -> Bool { lhs.isSave == rhs.isSave && lhs.id == rhs.id }

  /// Hashes the zone's ID and the kind of the change.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(isSave)
    hasher.combine(id)
  }
}
