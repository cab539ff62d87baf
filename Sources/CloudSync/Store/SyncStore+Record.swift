package import CloudKit

extension SyncStore {
  /// One record as this machine has it: the server's fields with the queued edits laid over them; nil where there is
  /// none, or where it is to be deleted.
  package func record(_ key: RecordKey) throws(StoreError) -> (type: String, fields: [String: FieldValue])? {
    try read { ledger in
      // What is in a zone that is to be deleted goes with it.
      let mirror = try ledger.zoneDeletions()[key.zoneKey] == nil ? ledger.record(key) : nil
      let queued = try ledger.operation(for: key)
      if queued?.kind == .delete { return nil }
      guard let type = queued?.type ?? mirror?.type else { return nil }
      let fields = mirror?.fields ?? [:]
      return (type, queued?.changes.applied(to: fields) ?? fields)
    }
  }
}
