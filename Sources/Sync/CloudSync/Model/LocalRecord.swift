import CloudKit

/// A record as this machine has it: the server's version with the queued change applied.
struct LocalRecord: Hashable, Sendable {
  let key: RecordKey
  let mirror: MirrorRecord?
  /// The queued change of the record.
  let queued: QueuedOperation?
  /// The version that the queued change applies to; nil if the server has none, or will have deleted it with its zone.
  let server: MirrorRecord?

  /// - Parameter zoneIsGoing: whether the zone's records are treated as deleted: see `Ledger.hasZoneDelete`.
  init(_ key: RecordKey, mirror: MirrorRecord?, queued: QueuedOperation?, zoneIsGoing: Bool) {
    (self.key, self.mirror, self.queued) = (key, mirror, queued)
    server = zoneIsGoing ? nil : mirror
  }

  /// The fields; none if there is no record, or a delete is queued.
  var fields: [String: FieldValue] {
    if queued?.kind == .delete { return [:] }
    let known = server?.fields ?? [:]
    return queued?.changes.applied(to: known) ?? known
  }

  /// The whole record, with an empty change tag if the server is not known to have it; nil if there is none, or a
  /// delete is queued.
  var record: MirrorRecord? {
    guard queued?.kind != .delete, let type = queued?.type ?? server?.type else { return nil }
    var record = server ?? MirrorRecord(key: key, type: type, changeTag: "", fields: [:])
    (record.type, record.fields) = (type, fields)
    return record
  }
}

extension Ledger {
  /// Returns a record as this machine has it.
  func local(_ key: RecordKey) throws -> LocalRecord { try local(key, queued: operation(for: key)) }

  /// Returns the record of a queued save or delete as this machine has it.
  func local(_ operation: QueuedOperation) throws -> LocalRecord { try local(operation.key, queued: operation) }

  private func local(_ key: RecordKey, queued: QueuedOperation?) throws -> LocalRecord {
    LocalRecord(key, mirror: try record(key), queued: queued, zoneIsGoing: try hasZoneDelete(key.zoneKey))
  }
}

extension RecordRow {
  /// Nil if there is no record, or a delete is queued.
  init?(_ local: LocalRecord) {
    guard let record = local.record else { return nil }
    self.init(
      record: record,
      changeTag: local.server?.changeTag,
      operation: local.queued?.id,
      operationState: local.queued?.state
    )
  }
}
