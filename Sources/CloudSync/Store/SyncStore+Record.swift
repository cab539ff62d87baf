package import CloudKit
import GRDB

extension SyncStore {
  /// One record as this machine has it: the server's fields with the queued edits laid over them; nil where there is
  /// none, or where it is to be deleted.
  package func record(_ key: RecordKey) throws(StoreError) -> (type: String, fields: [String: FieldValue])? {
    try read { database in
      let mirror = try MirrorTable.record(key, database)
      let queued = try QueueTable.operation(for: key, database)
      if queued?.kind == .delete { return nil }
      guard let type = queued?.type ?? mirror?.type else { return nil }
      let fields = mirror?.fields ?? [:]
      return (type, queued?.changes.applied(to: fields) ?? fields)
    }
  }
}
