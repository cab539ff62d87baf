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
