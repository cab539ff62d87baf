public import CloudKit

extension SyncEngine {
  /// Deletions on the server that are on hold until a person decides: a deleted zone with its records, or many records
  /// at once. They have not been delivered.
  ///
  /// ```swift
  /// for held in try engine.heldDeletions() {
  ///   try ask("\(held.records) records of \(held.zoneID.zoneName) were deleted. Put them back?")
  ///     ? engine.restoreDeletions(in: held.zoneID, ifVersion: held.version)
  ///     : engine.acceptDeletions(in: held.zoneID, ifVersion: held.version)
  /// }
  /// ```
  ///
  /// - Throws: `StoreError` if the store cannot be read.
  public nonisolated func heldDeletions() throws(StoreError) -> [HeldDeletions] { try store.heldDeletions() }

  /// Applies the deletions on hold in a zone. The conflict policy resolves queued edits of these records; those of a
  /// deleted zone become dead letters.
  ///
  /// - Parameter version: the version that was shown: if the deletions on hold have changed since, nothing happens.
  ///   Nil: the current one.
  /// - Throws: `StoreError` of kind `invalid` if no version is given and the zone has nothing on hold.
  @discardableResult
  public nonisolated func acceptDeletions(in zone: CKRecordZone.ID, ifVersion version: String? = nil)
    throws(StoreError) -> DeletionOutcome
  {
    try store.acceptDeletions(in: ZoneKey(zone), ifVersion: version, actor: "app")
  }

  /// Recreates the records that the server deleted in a zone, as last known here and with their queued edits. The files
  /// of assets cannot be restored.
  ///
  /// - Parameter version: the version that was shown: if the deletions on hold have changed since, nothing happens.
  ///   Nil: the current one.
  /// - Throws: `StoreError` of kind `invalid` if no version is given and the zone has nothing on hold.
  @discardableResult
  public nonisolated func restoreDeletions(in zone: CKRecordZone.ID, ifVersion version: String? = nil)
    throws(StoreError) -> DeletionOutcome
  {
    try store.restoreDeletions(in: ZoneKey(zone), ifVersion: version, actor: "app")
  }
}
