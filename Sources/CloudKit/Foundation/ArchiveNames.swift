/// The classes that archives written by Apple's framework name, under the names that they have there.
private let archivedClasses: [(name: String, type: AnyClass)] = [
  ("CKAsset", CKAsset.self),
  ("CKRecord", CKRecord.self),
  ("CKRecordID", CKRecordID.self),
  ("CKRecordValueStore", CKRecordValueStore.self),
  ("CKRecordZone", CKRecordZone.self),
  ("CKRecordZoneID", CKRecordZoneID.self),
  ("CKReference", CKReference.self),
  ("CKServerChangeToken", CKServerChangeToken.self),
  ("CKShare", CKShare.self),
  ("CKShareParticipant", CKShareParticipant.self),
  ("CKUserIdentity", CKUserIdentity.self),
  ("CKUserIdentityLookupInfo", CKUserIdentityLookupInfo.self),
  ("CLLocation", CLLocation.self),
]

/// Lets every unarchiver of the process find the classes. Called once, before `main`, by the C target.
@_cdecl("cloudkit_name_archived_classes")
func nameArchivedClasses() {
  for archived in archivedClasses { NSKeyedUnarchiver.setClass(archived.type, forClassName: archived.name) }
}
