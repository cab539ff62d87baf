public import CloudKit

extension CKContainer {
  /// Returns the database of a type's models: that of its ``CKRecordModel/databaseScope``, or the shared database for a
  /// zone of another user.
  public func database(
    for type: (some CKRecordModel).Type,
    in zoneID: CKRecordZone.ID? = nil
  ) -> CKDatabase {
    let isForeign = zoneID.map { $0.ownerName != CKCurrentUserDefaultName } ?? false
    return database(with: isForeign ? .shared : type.databaseScope)
  }
}
