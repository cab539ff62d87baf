import CloudKit
package import Facts

/// The result of a command for each operation.
package struct CommandResult: Hashable, Sendable {
  package var changed: [Int64] = []
  /// Operations left alone, with the reason.
  package var skipped: [Int64: Obstacle] = [:]
  /// Selected identifiers that are not in the queue.
  package var unknown: [Int64] = []
  /// Changed operations whose request is unconfirmed: the server may have carried it out.
  package var unconfirmed: [Int64] = []
  /// Pause rules that were set or lifted, which changes no operation.
  package var rules: [PauseRule] = []
  /// Skipped operations that changed since the version that was decided on, in their current version.
  package var moved: [QueueRow] = []
  /// The operations that an undo queued, by the operation that was undone.
  package var restored: [Int64: Restored] = [:]
  /// The zones that a retry creates again, because the server has deleted them.
  package var recreated: Set<String> = []
  /// The number of selected operations that were not reached, because the command was stopped.
  package var notReached = 0

  package init() {}

  mutating func add(_ other: CommandResult) {
    changed += other.changed
    skipped.merge(other.skipped) { $1 }
    unknown += other.unknown
    unconfirmed += other.unconfirmed
    moved += other.moved
    restored.merge(other.restored) { $1 }
    recreated.formUnion(other.recreated)
  }
}

extension CommandResult {
  /// An operation that an undo queued.
  package struct Restored: Hashable, Sendable {
    package var operation: Int64
    /// Its state; nil if the undo took a change back before it was sent, which leaves nothing to send.
    package var state: OperationState?

    package init(_ operation: Int64, _ state: OperationState?) { (self.operation, self.state) = (operation, state) }
  }

  /// The number of changes that an undo brought back as conflicts.
  package var reopened: Int { restored(as: .conflict) }
  /// The number of those that it brought back as failed, as they were.
  package var failedAgain: Int { restored(as: .failed) }
  /// The number of those that it brought back as paused, as they were.
  package var pausedAgain: Int { restored(as: .paused) }
  /// The number of those that it took back before they were sent.
  package var withdrawn: Int { restored(as: nil) }

  private func restored(as state: OperationState?) -> Int { restored.values.count { $0.state == state } }
}

/// Commands of operators. They change the store itself, so the syncing process sees them at once. All are audited.
extension SyncStore {
  /// Applies `verb` to exactly the selected operations, in transactions of at most `slice` rows.
  ///
  /// The operations are selected at the start. One that no longer matches the filter when its turn comes is left alone
  /// and not reported.
  ///
  /// - Parameters:
  ///   - versions: the versions that were decided on; an operation in another version is left alone.
  ///   - dryRun: reports what would be done, and only reads.
  ///   - isFinal: whether a discard cannot be undone.
  ///   - actor: the operator's name, for the audit log.
  ///   - continues: called between transactions with the number of operations done and of all selected ones; the
  ///     command stops if it returns false.
  package func perform(
    _ verb: QueueVerb,
    on selection: Selection,
    versions: [Int64: String] = [:],
    dryRun: Bool = false,
    isFinal: Bool = false,
    actor: String,
    continues: (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(StoreError) -> CommandResult {
    let start = now()
    if dryRun {
      return try read { ledger in
        let hasEngine = try self.hasEngine(ledger)
        var result = CommandResult()
        for ids in try Self.slices(of: Self.ids(selection, verb, now: start, ledger)) {
          // A command recovers what a dead engine left in flight first.
          _ = try Self.ready(ids, verb, selection, versions, recovers: !hasEngine, into: &result, now: start, ledger)
        }
        return result
      }
    }
    try recoverFromDeadEngine()
    let slices = try read { ledger in
      let ids = try Self.ids(selection, verb, now: start, ledger)
      return Self.slices(of: ids, groups: verb == .discard && ids.count > Self.slice ? try ledger.groups(of: ids) : [:])
    }
    let command = AuditedCommand(at: start, actor: actor, command: .of(verb, selection.asSubject), count: 0)
    return try carryOut(command, on: slices, continues: continues) { ids, ledger, now in
      var result = CommandResult()
      let ids = try Self.ids(selection, verb, among: ids, now: start, ledger)
      let ready = try Self.ready(ids, verb, selection, versions, into: &result, now: now, ledger)
      try Self.apply(verb, to: ready, isFinal: isFinal, actor, now: now, ledger)
      return result
    }
  }

  /// The selected operations: all, or those of some that still match.
  private static func ids(
    _ selection: Selection,
    _ verb: QueueVerb,
    among some: [Int64]? = nil,
    now: Int64,
    _ ledger: Ledger
  ) throws -> [Int64] {
    switch selection {
    case .ids(let ids):
      var seen: Set<Int64> = []
      return some ?? ids.filter { seen.insert($0).inserted }
    case .all: return try some ?? ledger.operationIDs(matching: nil, now: now)
    case .matching(let filter, _):
      guard let some else { return try ledger.operationIDs(matching: filter, now: now) }
      return try ledger.operationIDs(among: some, matching: ListQuery(filter: filter, now: now))
    case .listing(var listing, let except):
      listing.states = listing.states(for: verb)
      guard !listing.states.isEmpty else { return [] }
      guard let some else { return try ledger.operationIDs(of: listing, now: now).filter { !except.contains($0) } }
      return try ledger.operationIDs(among: some, matching: ListQuery(listing.filter, now: now), in: listing.states)
    }
  }

  /// Adds each operation to those changed, skipped or unknown. Returns those to which the verb applies, in the versions
  /// that were decided on.
  ///
  /// - Parameter recovers: whether an operation in flight counts as recovered.
  private static func ready(
    _ ids: [Int64],
    _ verb: QueueVerb,
    _ selection: Selection,
    _ versions: [Int64: String],
    recovers: Bool = false,
    into result: inout CommandResult,
    now: Int64,
    _ ledger: Ledger
  ) throws -> [QueuedOperation] {
    var ready: [QueuedOperation] = []
    for id in ids {
      guard var operation = try ledger.operation(id) else {
        if case .ids = selection { result.unknown.append(id) }
        continue
      }
      if let row = try moved(operation, from: versions[id], ledger) {
        result.skipped[id] = row.hasMoved
        result.moved.append(row)
        continue
      }
      if recovers, operation.state == .inFlight { operation.apply(.recovered) }
      if let obstacle = verb.obstacle(to: operation.state, errorCode: operation.errorCode) {
        result.skipped[id] = obstacle
        continue
      }
      result.changed.append(id)
      if operation.isUnconfirmed { result.unconfirmed.append(id) }
      ready.append(operation)
    }
    if verb == .retry {
      let zones = Set(ready.map(\.key.zoneKey))
      try result.recreated.formUnion(ledger.goneZones().filter(zones.contains).map(\.zone))
    }
    return ready
  }

  static func apply(
    _ verb: QueueVerb,
    to operations: [QueuedOperation],
    isFinal: Bool,
    _ actor: String,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    if verb == .discard {
      let cause = Cause.discarded(by: actor)
      for operation in operations
      where !isFinal && !operation.key.name.isEmpty && operation.errorCode != StoreError.unreadable {
        try ledger.add(DroppedChange(operation.changes, of: operation, cause, at: now))
      }
      return try ledger.end(operations.map(\.id), .discarded, cause, now: now)
    }
    for var operation in operations {
      switch verb {
      case .discard: break
      case .retry:
        operation.apply(.retried(by: actor, now: now))
        // Retrying an operation that failed because its zone was deleted recreates the zone.
        try ledger.recreate(operation.key.zoneKey)
      case .pause:
        // A wait that the server asked for continues during the pause.
        if operation.isServersWait, let end = operation.waitsUntil {
          try ledger.keepWait(of: operation.id, pausedAt: now, until: end)
        }
        operation.apply(.paused(by: actor))
      case .resume:
        // A clock moved back meanwhile must not extend the wait.
        let end = try ledger.keptWait(of: operation.id).map { min($0.until, now + $0.until - $0.pausedAt) }
        operation.apply(.resumed(by: actor, waiting: end.flatMap { $0 > now ? $0 : nil }))
      }
      try ledger.update(operation)
    }
  }

  /// Ends our own back-offs now. Does not touch failed or paused operations.
  ///
  /// - Parameters:
  ///   - endsThrottles: also ends the waits that the server asked for, which it otherwise leaves alone.
  ///   - actor: who, for the audit log; nil for a sync, which is no command.
  /// - Returns: how many operations are ready again.
  package func flush(endsThrottles: Bool = false, actor: String?) throws(StoreError) -> Int {
    let now = now()
    // Keep the row of a wait, so that the next refusal still waits longer.
    let (ids, waits) = try read { ledger in
      let waits = try ledger.waits(after: now).filter { $0.isOwn || endsThrottles }
      return (try ledger.backOffs(now: now, throttledToo: endsThrottles), waits)
    }
    if ids.isEmpty, waits.isEmpty { return 0 }
    if !waits.isEmpty {
      try write { ledger in
        for var wait in try ledger.waits(after: now) where wait.isOwn || endsThrottles {
          wait.until = now
          try ledger.put(wait)
        }
      }
    }
    let flush = Event.Command.flush(throttles: endsThrottles, waits: waits.count)
    let command = actor.map { AuditedCommand(at: now, actor: $0, command: flush, count: 0) }
    return try carryOut(command, on: Self.slices(of: ids)) { ids, ledger, _ in
      var result = CommandResult()
      result.changed = try ledger.endBackOffs(ids, now: now, throttledToo: endsThrottles)
      return result
    }.changed.count
  }

  /// Recovers operations that a dead engine left in flight, so that commands can apply to them.
  private func recoverFromDeadEngine() throws(StoreError) {
    guard try read({ try $0.operationCount(in: .inFlight) }) > 0, let lease = try Lease.acquire(self) else { return }
    defer { lease.release(self) }
    try recoverInFlight(lease)
  }
}
