extension SyncStore {
  /// One record as this machine has it: the server's with the queued edits laid over its fields; without a change tag where
  /// the server is not known to have it. Nil where there is none, or where it is to be deleted.
  package func record(_ key: RecordKey) throws(StoreError) -> MirrorRecord? { try read { try Self.record(key, $0) } }

  static func record(_ key: RecordKey, _ ledger: Ledger) throws -> MirrorRecord? {
    // What is in a zone that is to be deleted goes with it.
    let mirror = try ledger.isDoomed(key.zoneKey) ? nil : ledger.record(key)
    let queued = try ledger.operation(for: key)
    if queued?.kind == .delete { return nil }
    guard let type = queued?.type ?? mirror?.type else { return nil }
    var record = mirror ?? MirrorRecord(key: key, type: type, changeTag: "", fields: [:])
    if let queued { record.fields = queued.changes.applied(to: record.fields) }
    return record
  }
}
