/// A record that a query subscription watches was created, changed or deleted.
open class CKQueryNotification: CKNotification, @unchecked Sendable {
  /// What happened to the record, with Apple's numbers.
  public enum Reason: Int, Sendable {
    /// It was created.
    case recordCreated = 1
    /// It was changed.
    case recordUpdated = 2
    /// It was deleted.
    case recordDeleted = 3
  }

  /// What happened to the record. A number that is not known counts as a change.
  open var queryNotificationReason: Reason { subject.fo.flatMap(Reason.init(rawValue:)) ?? .recordUpdated }

  /// The record; nil where it was left out.
  open var recordID: CKRecord.ID? {
    subject.rid.map { CKRecordID(recordName: $0, zoneID: subject.zoneID ?? .default) }
  }

  /// The database that the record lies in.
  open var databaseScope: CKDatabase.Scope { subject.scope }

  /// The fields that the subscription asked for: texts and numbers, as a push can carry them.
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

/// Something changed in a zone that a zone subscription watches.
open class CKRecordZoneNotification: CKNotification, @unchecked Sendable {
  /// The zone; nil where it was left out.
  open var recordZoneID: CKRecordZone.ID? { subject.zoneID }
  /// The database that the zone lies in.
  open var databaseScope: CKDatabase.Scope { subject.scope }
}

/// Something changed in a database that a database subscription watches.
open class CKDatabaseNotification: CKNotification, @unchecked Sendable {
  /// The database.
  open var databaseScope: CKDatabase.Scope { subject.scope }
}
