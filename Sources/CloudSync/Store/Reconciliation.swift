import CloudKit
import Facts

/// Reconciles a queued operation with the server's record, wherever the server's version comes from: a page of changes,
/// a re-fetched record, a save's reply.
struct Reconciliation {
  let policy: MergePolicy
  let now: Int64
  let ledger: Ledger

  /// Stores the server's record in the mirror and rebases the queued operation for it, if any.
  ///
  /// Ignores a record whose change tag is known, or that is older than the mirror: query results lag behind writes. An
  /// operation in flight waits for its reply.
  ///
  /// - Parameters:
  ///   - isWhole: whether the server sends everything again, perhaps after it was restored to an older state. A record
  ///     in a version that the mirror has replaces it if it differs.
  ///   - comparesContent: whether it does that otherwise, too.
  /// - Returns: whether the mirror did not have this version.
  @discardableResult
  func take(_ record: MirrorRecord, epoch: Int64, isWhole: Bool = false, comparesContent: Bool = false) throws -> Bool {
    let tag = try ledger.changeTag(record.key)
    if tag == record.changeTag,
      try !(isWhole || comparesContent) || ledger.record(record.key)?.isSame(as: record) ?? false
    {
      try ledger.touch(record.key, epoch: epoch)
      return false
    }
    let known = tag == nil ? nil : try ledger.version(record.key)
    let queued = try ledger.operation(for: record.key)
    if let known, !isWhole, tag != record.changeTag, known.isLater(than: record) {
      let isFormer = known.formerTags.contains(record.changeTag)
      if isFormer || queued != nil { try ledger.touch(record.key, epoch: epoch) }
      if isFormer { return true }
      if let queued {
        try readBack(queued)
        return true
      }
    }
    if let queued, queued.state != .inFlight {
      try rebase(queued, onto: record, epoch: epoch)
    } else {
      try ledger.put(record, epoch: epoch)
    }
    return true
  }

  /// Requests a re-fetch of the server's record before anything is decided. Leaves operations in flight and conflicts
  /// alone.
  private func readBack(_ operation: QueuedOperation) throws {
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

extension MirrorVersion {
  fileprivate func isLater(than record: MirrorRecord) -> Bool {
    guard let mine = modifiedAt, let other = record.modifiedAt else { return false }
    return mine > other
  }
}
