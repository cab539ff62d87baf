public import CloudKit

extension SyncEngine {
  /// Deletions on the server that are held back until somebody decides: a zone that is gone with its records, or very many
  /// records at once. Nothing of them has been delivered.
  ///
  /// ```swift
  /// for held in try engine.heldDeletions() {
  ///   try ask("\(held.records) records of \(held.zoneID.zoneName) were deleted. Put them back?")
  ///     ? engine.restoreDeletions(in: held.zoneID, ifVersion: held.version)
  ///     : engine.acceptDeletions(in: held.zoneID, ifVersion: held.version)
  /// }
  /// ```
  ///
  /// - Throws: `StoreError` where the store cannot be read.
  public nonisolated func heldDeletions() throws(StoreError) -> [HeldDeletions] { try store.heldDeletions() }

  /// Lets come true what the server deleted in a zone. Queued edits of these records go by the conflict policy; those of a
  /// zone that is gone become dead letters.
  ///
  /// - Parameter version: the version that was shown: if more or other deletions are on hold by now, nothing happens. Nil:
  ///   decides about what is on hold now.
  /// - Throws: `StoreError` of kind `invalid` where no version is given and the zone has nothing on hold.
  @discardableResult
  public nonisolated func acceptDeletions(in zone: CKRecordZone.ID, ifVersion version: String? = nil)
    throws(StoreError) -> DeletionOutcome
  {
    try store.acceptDeletions(in: ZoneKey(zone), ifVersion: version, actor: "app")
  }

  /// Has what the server deleted in a zone made anew there, as it was last known here and with the queued edits in it. The
  /// files of assets cannot be brought back.
  ///
  /// - Parameter version: the version that was shown: if more or other deletions are on hold by now, nothing happens. Nil:
  ///   decides about what is on hold now.
  /// - Throws: `StoreError` of kind `invalid` where no version is given and the zone has nothing on hold.
  @discardableResult
  public nonisolated func restoreDeletions(in zone: CKRecordZone.ID, ifVersion version: String? = nil)
    throws(StoreError) -> DeletionOutcome
  {
    try store.restoreDeletions(in: ZoneKey(zone), ifVersion: version, actor: "app")
  }
}
