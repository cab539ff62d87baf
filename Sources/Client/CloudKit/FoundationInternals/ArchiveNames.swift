/// The classes in archives written by Apple's framework, with their names there.
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

/// Registers the class names for all unarchivers of the process. The C target calls it once, before `main`.
@_cdecl("cloudkit_name_archived_classes")
func nameArchivedClasses() {
  for archived in archivedClasses { NSKeyedUnarchiver.setClass(archived.type, forClassName: archived.name) }
}
