extension CKRecord {
  /// The key of a record's parent in predicates: `parent`.
  public static let parentKey: CKRecord.FieldKey = "parent"
  /// The key of a record's share in predicates: `share`.
  public static let shareKey: CKRecord.FieldKey = "share"
}

/// The older name of `CKRecord.SystemType.userRecord`.
public let CKRecordTypeUserRecord = CKRecord.SystemType.userRecord
/// The older name of `CKRecord.parentKey`.
public let CKRecordParentKey = CKRecord.parentKey
/// The older name of `CKRecord.shareKey`.
public let CKRecordShareKey = CKRecord.shareKey
/// The older name of `CKQueryOperation.maximumResults`.
public let CKQueryOperationMaximumResults = CKQueryOperation.maximumResults
/// The older name of `CKRecord.ReferenceAction`.
public typealias CKRecord_Reference_Action = CKRecord.ReferenceAction
/// The older name of `CKShare.ParticipantAcceptanceStatus`.
public typealias CKShare_Participant_AcceptanceStatus = CKShare.ParticipantAcceptanceStatus
/// The older name of `CKShare.ParticipantPermission`.
public typealias CKShare_Participant_Permission = CKShare.ParticipantPermission
/// The older name of `CKShare.ParticipantRole`.
public typealias CKShare_Participant_Role = CKShare.ParticipantRole
