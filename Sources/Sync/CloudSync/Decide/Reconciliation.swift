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
  func verify(_ operation: QueuedOperation) throws {
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
    let facts = RecordFacts(
      record: server == nil && operation.kind == .save ? try ledger.record(operation.key) : nil,
      epoch: epoch,
      hasZoneDelete: try ledger.hasZoneDelete(operation.key.zoneKey)
    )
    let rebase = Rebase(operation, onto: server, facts, policy: policy, now: now)
    try ledger.write(rebase.writes, now: now)
  }
}
