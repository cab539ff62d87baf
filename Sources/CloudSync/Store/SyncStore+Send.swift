import CloudKit
import Facts

/// The engine's transactions before and after a request. Each checks that this process still holds the lease.
extension SyncStore {
  /// Marks operations in flight and returns them in the form in which they are sent.
  ///
  /// From here until `finish` their outcome is unknown: after a crash they are verified before anything is repeated.
  ///
  /// - Parameters:
  ///   - atomic: whether to return either all of the operations, which are one group, or none.
  ///   - approved: the generations of saves that the app has approved; others are not sent. Nil: the app is not asked.
  ///   - deferring: for each operation sent before its blockers, these blockers; its references to them are deferred.
  func begin(
    _ ids: [Int64],
    atomic: Bool = false,
    approved: [Int64: Int64]? = nil,
    deferring: [Int64: Set<Int64>] = [:],
    _ lease: Lease
  ) throws(StoreError) -> [QueuedOperation] {
    // Operations that are not ready after all, and those that depend on them.
    var left: Set<Int64> = []
    return try writeInSlices(ids, lease, isWhole: atomic) { slice, ledger, now in
      var sent: [QueuedOperation] = []
      let scope = try ledger.sendScope(now: now, savesWaitForApp: false)
      while let ids = slice.next(atomic ? ids.count : Self.writtenAtOnce) {
        var ready = try Self.ready(ids, atomic: atomic, approved, scope, ledger)
        left.formUnion(Set(ids).subtracting(ready.map(\.id)))
        if atomic, try !left.isEmpty || ready.first?.group.map(ledger.groupSize) != ids.count { return sent }
        try Self.leaveBehind(&ready, &left, deferring, ledger)
        if slice.isFirst, sent.isEmpty, let zone = ready.first?.key.zoneKey { try ledger.noteServed(zone) }
        sent += try Self.begin(ready, deferring, ledger)
      }
      return sent
    }.flatMap(\.self)
  }

  /// Removes operations that are blocked by one that is left, and adds them to those left.
  private static func leaveBehind(
    _ ready: inout [QueuedOperation],
    _ left: inout Set<Int64>,
    _ deferring: [Int64: Set<Int64>],
    _ ledger: Ledger
  ) throws {
    var before = -1
    while !left.isEmpty, left.count != before {
      before = left.count
      for operation in ready {
        let blockers = Set(try ledger.blockers(of: operation.id)).subtracting(deferring[operation.id, default: []])
        if !blockers.isDisjoint(with: left) { left.insert(operation.id) }
      }
      ready.removeAll { left.contains($0.id) }
    }
  }

  /// Returns those of these operations that can still be sent: they may have been paused or discarded since the plan was
  /// made.
  private static func ready(
    _ ids: [Int64],
    atomic: Bool,
    _ approved: [Int64: Int64]?,
    _ scope: SendScope,
    _ ledger: Ledger
  ) throws -> [QueuedOperation] {
    let ready = Set(try ledger.candidates(ids).filter { !$0.needsCheck && scope.isReady($0) }.map(\.id))
    return try ledger.operations(ids).filter { operation in
      guard ready.contains(operation.id) else { return false }
      // An operation that has joined a group is sent with the whole group.
      if !atomic, operation.group != nil { return false }
      // Edited since: ask the app again.
      if let approved, operation.kind == .save, operation.type != nil, approved[operation.id] != operation.generation {
        return false
      }
      // Expired upload receipts must be requested again.
      guard operation.assets.contains(where: { !$0.hasReceipt(at: scope.now) }) else { return true }
      var operation = operation
      operation.dropReceipts(at: scope.now)
      try ledger.update(operation)
      return false
    }
  }

  /// Marks operations in flight.
  ///
  /// - Parameter deferring: the blockers before which some of them are sent.
  /// - Returns: the operations in the form in which they are sent.
  private static func begin(_ ready: [QueuedOperation], _ deferring: [Int64: Set<Int64>], _ ledger: Ledger) throws
    -> [QueuedOperation]
  {
    let sent = try ready.map { operation in
      let blockers = try ledger.operations(Array(deferring[operation.id, default: []]))
      let released = blockers.isEmpty ? [] : operation.links.released
      let deleting = try released.filter { try ledger.operation(for: $0)?.kind == .delete }
      var sent = operation.deferringReferences(to: blockers, deleting: deleting)
      sent.apply(.sent(as: sent.kind))
      return sent
    }
    try ledger.markInFlight(sent.map(\.id))
    for sent in sent where sent.isPart || sent.kind == .zoneDelete {
      guard var kept = try ledger.operation(sent.id) else { continue }
      kept.apply(.sent(as: sent.kind))
      if sent.isPart { kept.apply(.mayBeCarriedOut(sent.changes)) }
      // Only this state of the zone may be deleted again if the reply is lost.
      if kept.kind == .zoneDelete { kept.zoneToken = try ledger.zone(kept.key.zoneKey)?.token }
      try ledger.update(kept)
    }
    return sent
  }

  /// Counts the changes that a request's reply made to the queue.
  struct OutcomeCounts: Sendable {
    var acknowledged = 0
    var failed = 0
    var error: WebServicesError?

    fileprivate mutating func add(_ other: OutcomeCounts) {
      acknowledged += other.acknowledged
      failed += other.failed
      error = other.error ?? error
    }
  }

  /// Applies a request's outcomes: successes with their records, failures with their next step, and the attempts.
  func finish(
    _ sent: [QueuedOperation],
    _ outcomes: [Int64: Outcome],
    seconds: Double,
    policy: MergePolicy,
    random: Double,
    _ lease: Lease
  ) throws(StoreError) -> OutcomeCounts {
    // Rejections come first, with the facts about the request as a whole.
    let done = sent.filter { outcomes[$0.id]?.isSuccess ?? false }
    return try writeInSlices(done, lease, isWhole: sent.contains { $0.group != nil }) { slice, ledger, now in
      let request = SentRequest(sent, seconds: seconds, policy: policy, now: now, random: random)
      var writer = OutcomeWriter(ledger, sent: sent, outcomes: outcomes, request)
      try writer.write(&slice)
      if slice.isLast { try Self.renewNotes(ledger) }
      return writer.result
    }.reduce(into: OutcomeCounts()) { $0.add($1) }
  }

  /// Recovers operations that a dead engine left in flight: their outcome is unknown, so they will be verified. Writes
  /// nothing if there are none.
  ///
  /// - Returns: the number of operations.
  @discardableResult
  func recoverInFlight(_ lease: Lease) throws(StoreError) -> Int {
    guard try read({ try $0.operationCount(in: .inFlight) }) > 0 else { return 0 }
    return try write(lease) { ledger, _ in try ledger.recoverInFlight() }
  }
}
