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
    if atomic {
      return try write(lease) { ledger, now in
        let (pauses, zoneDeletes) = (try ledger.pauses(), try ledger.zoneDeletions())
        let ready = try ledger.operations(ids).compactMap {
          try Self.ready($0, atomic: true, approved, pauses, zoneDeletes, now: now, ledger)
        }
        guard ready.count == ids.count, try ready.first?.group.map(ledger.groupSize) ?? ready.count == ready.count
        else {
          return []
        }
        if let zone = ready.first?.key.zoneKey { try ledger.noteServed(zone) }
        return try Self.begin(ready, deferring, ledger)
      }
    }
    // Operations that are not ready after all, and those that depend on them.
    var left: Set<Int64> = []
    return try writeInSlices(ids, lease) { slice, ledger, now in
      var sent: [QueuedOperation] = []
      let (pauses, zoneDeletes) = (try ledger.pauses(), try ledger.zoneDeletions())
      while let ids = slice.next(Self.writtenAtOnce) {
        var ready = try ledger.operations(ids).compactMap {
          try Self.ready($0, atomic: false, approved, pauses, zoneDeletes, now: now, ledger)
        }
        left.formUnion(Set(ids).subtracting(ready.map(\.id)))
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

  /// Returns the operation if it can still be sent: it may have been paused or discarded since the plan was made.
  private static func ready(
    _ operation: QueuedOperation,
    atomic: Bool,
    _ approved: [Int64: Int64]?,
    _ pauses: [Pause],
    _ zoneDeletes: [ZoneKey: Int64],
    now: Int64,
    _ ledger: Ledger
  ) throws -> QueuedOperation? {
    guard operation.state == .pending || operation.state == .waiting, !operation.needsReadBack else { return nil }
    // Changes that a zone delete supersedes end in several transactions.
    if !operation.key.name.isEmpty, zoneDeletes[operation.key.zoneKey] != nil { return nil }
    if pauses.first(holding: operation.key.zoneKey, type: operation.type) != nil { return nil }
    // An operation that has joined a group is sent with the whole group.
    if !atomic, operation.group != nil { return nil }
    // Edited since: ask the app again.
    if let approved, operation.kind == .save, operation.type != nil, approved[operation.id] != operation.generation {
      return nil
    }
    // Expired upload receipts must be requested again.
    guard operation.assets.contains(where: { !$0.isGranted(at: now) }) else { return operation }
    var operation = operation
    operation.forgetGrants(at: now)
    try ledger.update(operation)
    return nil
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
      var sent = operation.ahead(of: blockers, deleting: deleting)
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
    var conflicts = 0
    var error: WebServicesError?

    fileprivate mutating func add(_ other: OutcomeCounts) {
      acknowledged += other.acknowledged
      failed += other.failed
      conflicts += other.conflicts
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
    var restarted: Restarted = [:]
    for operation in sent where operation.kind == .zoneDelete && outcomes[operation.id]?.isDone == true {
      restarted.merge(try clear(operation.key.zoneKey, lease)) { $1 }
    }
    return try writeInSlices(done, lease, isWhole: sent.contains { $0.group != nil }) { slice, ledger, now in
      var writer = OutcomeWriter(
        reconciliation: Reconciliation(policy: policy, now: now, ledger: ledger),
        startedAt: now - Int64(seconds * 1000),
        seconds: seconds,
        random: random,
        sent: sent,
        outcomes: outcomes,
        restarted: restarted
      )
      try writer.write(&slice)
      if slice.isLast { try Self.renewNotes(ledger) }
      return writer.result
    }.reduce(into: OutcomeCounts()) { $0.add($1) }
  }

  /// Applies the re-fetch of unconfirmed operations: a record, no record, or an error.
  func finishReadBack(
    _ ids: [Int64],
    found: [RecordKey: MirrorRecord?],
    failures: [RecordKey: WebServicesError] = [:],
    policy: MergePolicy,
    seconds: Double = 0,
    random: Double = 0,
    _ lease: Lease
  ) throws(StoreError) -> OutcomeCounts {
    return try write(lease) { ledger, now in
      let reconciliation = Reconciliation(policy: policy, now: now, ledger: ledger)
      var result = OutcomeCounts()
      // One reply is one reason to wait, however many of its elements say so.
      var waits: [WaitScope: WebServicesError] = [:]
      for id in ids {
        guard var operation = try ledger.operation(id), operation.needsReadBack else { continue }
        if let error = failures[operation.key] {
          try failReadBack(&operation, error, seconds, now: now, random: random, &waits, ledger)
          if operation.state == .failed { result.failed += 1 }
          result.error = error
          continue
        }
        guard let record = found[operation.key] else { continue }
        if case .check? = operation.suspicion { operation.apply(.suspected(nil)) }
        try reconciliation.rebase(operation, onto: record, epoch: try ledger.epoch(operation.key.zoneKey))
        switch try ledger.operation(id)?.state {
        case nil: result.acknowledged += 1
        case .conflict: result.conflicts += 1
        default: break
        }
      }
      try Throttles.set(waits, now: now, random: random, ledger)
      try ledger.count(sent: result.acknowledged, failed: result.failed, now: now)
      return result
    }
  }

  /// Applies a re-fetch that failed because the zone does not exist. Returns the number of new dead letters.
  func finishReadBack(
    _ ids: [Int64],
    inLost zone: ZoneKey,
    _ error: WebServicesError,
    policy: MergePolicy,
    _ lease: Lease
  ) throws(StoreError) -> Int {
    return try write(lease) { ledger, now in
      let reconciliation = Reconciliation(policy: policy, now: now, ledger: ledger)
      var failed = 0
      for id in ids {
        guard var operation = try ledger.operation(id), operation.needsReadBack else { continue }
        operation.apply(.compared)
        if operation.kind == .delete {
          try ledger.endDeletion(operation, now: now)
          continue
        }
        operation.apply(.confirmed())
        try ZoneLoss.meet(&operation, error, reconciliation)
        if operation.state == .failed { failed += 1 }
        try ledger.update(operation)
      }
      return failed
    }
  }

  /// Applies a re-fetch that the server rejected as a whole: one of its names may be at fault, so bisection finds it.
  func finishReadBack(
    _ ids: [Int64],
    refused error: WebServicesError,
    seconds: Double = 0,
    random: Double,
    _ lease: Lease
  ) throws(StoreError) -> OutcomeCounts {
    return try write(lease) { ledger, now in
      var result = OutcomeCounts()
      var waits: [WaitScope: WebServicesError] = [:]
      result.error = error
      // The server may be failing in general: no operation is at fault unless other requests succeed or this lasts.
      let isPassing = try ledger.wait(.database).map { $0.seconds < Throttles.longWait } ?? false
      // One of the names is at fault, not the server.
      let isRejected = error.means(.isolate, during: .verifying(isWhole: true))
      if !isRejected { try Throttles.set(.database, error, now: now, random: random, ledger) }
      let operations = try ledger.operations(ids).filter(\.needsReadBack)
      for case .check(let request) in Set(operations.compactMap(\.suspicion)) {
        guard let zone = operations.first?.key.zoneKey else { break }
        for var other in try ledger.operations(of: zone, under: .check(request: request))
        where !ids.contains(other.id) {
          other.apply(.suspected(nil))
          try ledger.update(other)
        }
      }
      for var operation in operations {
        let wasSuspect = operation.suspicion != nil
        operation.apply(.suspected(ids.min().map { .check(request: $0) }))
        if operations.count == 1, (wasSuspect && !isPassing) || isRejected {
          try failReadBack(&operation, error, seconds, now: now, random: random, &waits, ledger)
          if operation.state == .failed { result.failed += 1 }
        } else {
          operation.cause = .checkRefused(code: error.code.name)
          try ledger.update(operation)
        }
      }
      try Throttles.set(waits, now: now, random: random, ledger)
      return result
    }
  }

  /// Applies the failed re-fetch of a single record, which does not hold up the others.
  ///
  /// - Parameter waits: the scopes that wait because of the reply, each with its longest wait.
  private func failReadBack(
    _ operation: inout QueuedOperation,
    _ error: WebServicesError,
    _ seconds: Double,
    now: Int64,
    random: Double,
    _ waits: inout [WaitScope: WebServicesError],
    _ ledger: Ledger
  ) throws {
    operation.errorCode = error.code.name
    operation.errorMessage = error.reason
    let startedAt = now - Int64(seconds * 1000)
    try Retention.addAttempt(of: operation, error, to: "read it back", startedAt: startedAt, seconds: seconds, ledger)
    let disposition = Disposition(of: error, during: .verifying(isWhole: false))
    if let scope = disposition.scope(in: operation.key.zoneKey) {
      if waits[scope].map({ $0.retryAfter ?? 0 < error.retryAfter ?? 0 }) ?? true { waits[scope] = error }
      operation.cause = .checkWaits(scope.asCause, code: error.code.name)
    } else {
      operation.apply(.attempted)
      if operation.attempts >= operation.maxAttempts {
        operation.apply(.failed(.cannotVerify(code: error.code.name, message: error.reason)))
      } else {
        operation.apply(.backedOff(error, now: now, random: random))
      }
    }
    try ledger.update(operation)
  }

  /// Recovers operations that a dead engine left in flight: their outcome is unknown, so they will be verified.
  ///
  /// - Parameter asksApp: whether this process can ask the app, so that nothing waits for it under this lease.
  /// - Returns: the number of operations.
  @discardableResult
  func recoverInFlight(asksApp: Bool = false, _ lease: Lease) throws(StoreError) -> Int {
    try write(lease) { ledger, _ in try Self.recoverInFlight(asksApp: asksApp, lease, ledger) }
  }

  /// Finishes work in several transactions that a crash interrupted: a takeover, and zone deletes that supersede changes.
  /// Writes nothing if there is none.
  func finishInterrupted(_ lease: Lease) throws(StoreError) {
    try finishTakeover(lease)
    for zone in try read({ try $0.zoneDeletions().keys.sorted() }) { try finishSuperseding(zone) }
  }

  static func recoverInFlight(asksApp: Bool, _ lease: Lease, _ ledger: Ledger) throws -> Int {
    if asksApp { try ledger.setValue(Ledger.appKey, "\(lease.fence)") }
    return try ledger.recoverInFlight()
  }
}
