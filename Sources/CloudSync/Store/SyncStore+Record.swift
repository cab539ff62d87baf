extension SyncStore {
  /// One record as this machine has it: the server's version with queued edits applied. Its change tag is empty if the
  /// server is not known to have it. Nil if there is none, or a delete is queued.
  package func record(_ key: RecordKey) throws(StoreError) -> MirrorRecord? { try read { try Self.record(key, $0) } }

  static func record(_ key: RecordKey, _ ledger: Ledger) throws -> MirrorRecord? {
    // A pending zone delete will delete the server's version.
    let mirror = try ledger.hasZoneDelete(key.zoneKey) ? nil : ledger.record(key)
    let queued = try ledger.operation(for: key)
    if queued?.kind == .delete { return nil }
    guard let type = queued?.type ?? mirror?.type else { return nil }
    var record = mirror ?? MirrorRecord(key: key, type: type, changeTag: "", fields: [:])
    if let queued { record.fields = queued.changes.applied(to: record.fields) }
    return record
  }
}
