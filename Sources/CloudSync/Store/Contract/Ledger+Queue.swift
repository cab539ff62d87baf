import CloudKit

/// Writing single operations. What they mean is decided elsewhere.
extension Ledger {
  func insert(_ operation: QueuedOperation) throws -> Int64 {
    var operation = operation
    operation.assets = operation.assets.kept(by: operation.changes)
    return try insert(operation, operation.links)
  }

  /// Writes an operation back, and the references where the changes can have changed.
  func update(_ operation: QueuedOperation) throws {
    var operation = operation
    operation.assets = operation.assets.kept(by: operation.changes)
    operation.bytes = operation.changes.requestBytes
    operation.isServersWait = operation.isServersWait && operation.nextAttemptAt != nil
    try replace(operation, operation.links)
  }

  /// The members of an atomic group, oldest first.
  func operations(inGroup group: String) throws -> [QueuedOperation] {
    try keys(inGroup: group).compactMap { try operation(for: $0) }
  }

  /// Whether a zone is to be deleted, with all that is in it now.
  func isDoomed(_ zone: ZoneKey) throws -> Bool { try zoneDeletions()[zone] != nil }

  /// A deletion has come true on the server: the record is no more here either.
  func endDeletion(_ operation: QueuedOperation, now: Int64) throws {
    try removeRecord(operation.key)
    try end(operation, .acknowledged, "the server does not hold it", now: now)
  }

  /// Takes an operation out of the queue and writes down how it ended, in the same transaction.
  func end(_ operation: QueuedOperation, _ ending: Ending, _ detail: String, now: Int64) throws {
    try end([operation], ending, detail, now: now)
  }

  /// Takes operations out of the queue, which ended alike.
  func end(_ operations: [QueuedOperation], _ ending: Ending, _ detail: String, now: Int64) throws {
    for operation in operations {
      try add(
        HistoryEntry(
          id: operation.id,
          kind: operation.kind,
          key: operation.key,
          type: operation.type,
          ending: ending,
          detail: detail,
          enqueuedAt: operation.enqueuedAt,
          endedAt: now
        )
      )
    }
    try removeOperations(operations.map(\.id))
  }
}

extension QueuedOperation {
  var links: RecordLinks {
    // A record may refer to itself; it need not wait for itself.
    switch kind {
    case .save:
      // What was sent and not answered may be there as well.
      let formers = [base.filter { changes.names.contains($0.key) }] + sentChanges.map(\.values)
      let targets = changes.values.references(from: key)
      let bound = changes.values.references(from: key, binding: true)
      let released = formers.reduce(into: Set<RecordKey>()) { released, former in
        released.formUnion(former.references(from: key).subtracting(targets))
        released.formUnion(former.references(from: key, binding: true).subtracting(bound))
      }
      return RecordLinks(targets: targets.subtracting(released), released: released)
    case .delete: return RecordLinks(targets: base.references(from: key))
    case .zoneSave, .zoneDelete: return RecordLinks()
    }
  }
}
