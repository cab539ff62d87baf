import CloudKit
import Facts

/// The engine's transactions before and after a request. Each checks that this process still holds the lease.
extension SyncStore {
  /// Marks operations in flight and returns them in the form in which they are sent.
  ///
  /// From here until `finish` their outcome is unknown: after a crash they are verified before anything is repeated.
  ///
  /// - Parameters:
  ///   - atomic: whether they are sent in an atomic request; then either all are returned or none.
  ///   - approved: the generations of saves that the app has approved; others are not sent. Nil: the app is not asked.
  ///   - isCycle: whether they block each other; then either all are returned or none.
  func begin(
    _ ids: [Int64],
    atomic: Bool = false,
    approved: [Int64: Int64]? = nil,
    isCycle: Bool = false,
    _ lease: Lease
  ) throws(StoreError) -> [QueuedOperation] {
    // Operations that are not ready after all, and those that depend on them.
    var left: Set<Int64> = []
    let isWhole = atomic || isCycle
    return try writeInSlices(ids, lease, isWhole: isWhole) { slice, ledger, now in
      var sent: [QueuedOperation] = []
      let scope = try ledger.sendScope(now: now, savesWaitForApp: false)
      while let ids = slice.next(isWhole ? ids.count : Self.writtenAtOnce) {
        var ready = try Self.ready(ids, atomic: atomic, approved, scope, ledger)
        left.formUnion(Set(ids).subtracting(ready.map(\.id)))
        if isWhole, try !left.isEmpty || !Self.hasWholeGroups(ready, ledger) { return sent }
        try Self.leaveBehind(&ready, &left, ledger)
        if slice.isFirst, sent.isEmpty, let zone = ready.first?.key.zoneKey { try ledger.noteServed(zone) }
        sent += try Self.begin(ready, isCycle: isCycle, ledger)
      }
      return sent
    }.flatMap(\.self)
  }

  /// Whether all members of the operations' atomic groups are among them.
  private static func hasWholeGroups(_ operations: [QueuedOperation], _ ledger: Ledger) throws -> Bool {
    let groups = Dictionary(grouping: operations.lazy.compactMap(\.group)) { $0 }
    return try groups.allSatisfy { try ledger.groupSize($0) == $1.count }
  }

  /// Removes operations that are blocked by one that is left, and adds them to those left.
  private static func leaveBehind(_ ready: inout [QueuedOperation], _ left: inout Set<Int64>, _ ledger: Ledger) throws {
    var before = -1
    while !left.isEmpty, left.count != before {
      before = left.count
      for operation in ready {
        if try !left.isDisjoint(with: ledger.blockers(of: operation.id)) { left.insert(operation.id) }
      }
      ready.removeAll { left.contains($0.id) }
    }
  }

  /// Returns those of these operations that can still be sent: they may have been paused or discarded since the plan
  /// was made.
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

  /// Marks operations in flight and returns them so.
  private static func begin(_ ready: [QueuedOperation], isCycle: Bool, _ ledger: Ledger) throws -> [QueuedOperation] {
    try ledger.markInFlight(ready.map(\.id))
    return try ready.map { operation in
      var sent = operation
      sent.apply(.sent(as: sent.kind))
      if sent.kind == .zoneDelete {
        var kept = sent
        // Only this state of the zone may be deleted again if the reply is lost.
        kept.zoneToken = try ledger.zone(kept.key.zoneKey)?.token
        try ledger.update(kept)
      }
      sent.isOfCycle = isCycle
      return sent
    }
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
