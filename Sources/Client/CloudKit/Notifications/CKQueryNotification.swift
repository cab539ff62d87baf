import JSONText

/// A notification that a record matching a query subscription was created, changed or deleted.
open class CKQueryNotification: CKNotification, @unchecked Sendable {
  /// The kind of change, with Apple's raw values.
  public enum Reason: Int, Sendable {
    /// The record was created.
    case recordCreated = 1
    /// The record was changed.
    case recordUpdated = 2
    /// The record was deleted.
    case recordDeleted = 3
    /// Never used: see "Switches" in the handbook (`Handbook/Client/MovingToAServer.md`).
    @available(*, unavailable) case _unknown = -1
  }

  /// The kind of change. An unknown value reads as `recordUpdated`.
  open var queryNotificationReason: Reason { subject.fo.flatMap { Reason(rawValue: Int($0)) } ?? .recordUpdated }

  /// The record's ID; nil if it was removed.
  open var recordID: CKRecord.ID? {
    subject.rid.map { CKRecordID(recordName: $0, zoneID: subject.zoneID ?? .default) }
  }

  /// The database of the record.
  open var databaseScope: CKDatabase.Scope { subject.scope }

  /// The fields that the subscription asked for. A push can carry only strings, numbers and Booleans.
  open var recordFields: [String: any CKRecordValueProtocol]? {
    subject.af?.compactMapValues { value -> (any CKRecordValueProtocol)? in
      switch value {
      case .string(let text): text
      case .int(let number): number
      case .double(let number): number
      case .bool(let flag): flag
      case .null, .array, .object, .digits: nil
      }
    }
  }
}

/// A notification that a zone with a zone subscription changed.
open class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
  /// The zone's ID; nil if it was removed.
  open var recordZoneID: CKRecordZone.ID? { subject.zoneID }
  /// The database of the zone.
  open var databaseScope: CKDatabase.Scope { subject.scope }
}

/// A notification that a database with a database subscription changed.
open class CKDatabaseNotification: CKNotification, @unchecked Sendable {
  /// The database that changed.
  open var databaseScope: CKDatabase.Scope { subject.scope }
}
