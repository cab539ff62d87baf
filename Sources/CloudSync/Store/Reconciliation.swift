import CloudKit
import Facts

/// Reconciles a queued operation with the server's record, wherever the server's version comes from: a page of changes,
/// a re-fetched record, a save's reply.
struct Reconciliation {
  let policy: MergePolicy
  let now: Int64
  let ledger: Ledger

  /// Requests a re-fetch of the server's record before anything is decided. Leaves operations in flight and conflicts
  /// alone.
  func readBack(_ operation: QueuedOperation) throws {
    guard operation.state != .inFlight, operation.state != .conflict else { return }
    var operation = operation
    operation.apply(.stale)
    operation.isHeldByPerson ? operation.note(.serverChanged) : (operation.cause = .serverChanged)
    try ledger.update(operation)
  }

  /// Applies the deletion of a record on the server.
  func takeDeletion(of key: RecordKey) throws {
    let queued = try ledger.operation(for: key)
    if let queued, queued.state != .inFlight {
      try rebase(queued, onto: nil, epoch: 0)
    } else {
      try ledger.removeRecord(key)
    }
  }

  /// Rebases an operation that is not in flight on the server's record.
  func rebase(_ operation: QueuedOperation, onto server: MirrorRecord?, epoch: Int64) throws {
    let rebase = Rebase(
      operation,
      onto: server,
      known: server == nil && operation.kind == .save ? try ledger.record(operation.key) : nil,
      awaitsZoneDelete: try ledger.hasZoneDelete(operation.key.zoneKey),
      policy: policy,
      now: now
    )
    if let server { try ledger.put(server, epoch: epoch) } else { try ledger.removeRecord(operation.key) }
    for dropped in rebase.dropped {
      if dropped.overwritten == nil {
        let event = Event.dropped(record: operation.key.name, dropped.cause)
        try EventLog.add(event, of: rebase.operation, now: now, ledger)
      }
      try ledger.add(dropped)
    }
    if let end = rebase.ending {
      try ledger.end(rebase.operation, end.ending, end.cause, now: now)
    } else {
      try ledger.update(rebase.operation)
    }
  }
}
