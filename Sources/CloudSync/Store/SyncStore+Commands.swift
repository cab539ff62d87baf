import CloudKit
package import Facts

/// The operations that a command applies to.
package enum Selection: Hashable, Sendable {
  case ids([Int64])
  /// Operations that match a filter. `text`: as it was typed.
  case matching(QueueFilter, text: String)
  /// The operations that a listing shows, except some. Those in a state in which a command means nothing are left out
  /// without being reported one by one.
  case listing(QueueListing, except: Set<Int64>)
  case all

  /// The selection as written to the audit log.
  var text: String {
    switch self {
    case .ids(let ids):
      ids.prefix(20).map(String.init).joined(separator: " ") + (ids.count > 20 ? " and \(ids.count - 20) more" : "")
    case .matching(_, let text): text
    case .listing(let listing, []): listing.text
    case .listing(let listing, let except): "\(listing.text), except \(except.count)"
    case .all: "all"
    }
  }
}

/// A command of an operator to the queue.
package enum QueueVerb: String, Hashable, Sendable, CaseIterable {
  /// Makes failed and waiting operations pending, with their attempts reset.
  case retry
  /// Removes operations from the queue for good.
  case discard
  /// Pauses operations until resumed. For all operations it is a rule, which also applies to later ones.
  case pause
  case resume

  /// The states of the operations that it changes.
  var states: Set<OperationState> {
    switch self {
    case .retry: [.failed, .waiting]
    case .discard: Set(OperationState.allCases)
    case .pause: [.pending, .waiting]
    case .resume: [.paused]
    }
  }

  /// Returns the reason why the verb skips an operation in this state; nil if it applies.
  package func obstacle(to state: OperationState, errorCode: String?) -> Obstacle? {
    if state == .inFlight { return .beingSent }
    if self == .retry, errorCode == StoreError.unreadable { return .damaged }
    return states.contains(state) ? nil : .inState(state.rawValue)
  }
}

/// The result of a command for each operation.
package struct CommandResult: Hashable, Sendable {
  package var changed: [Int64] = []
  /// Operations left alone, with the reason.
  package var skipped: [Int64: Obstacle] = [:]
  /// Selected identifiers that are not in the queue.
  package var unknown: [Int64] = []
  /// Changed operations whose request is unconfirmed: the server may have carried it out.
  package var unanswered: [Int64] = []
  /// Pause rules that were set or lifted, which changes no operation.
  package var rules: [PauseRule] = []
  /// Skipped operations that changed since the version that was decided on, in their current version.
  package var moved: [QueueRow] = []
  /// The number of changes that an undo brought back as conflicts.
  package var reopened = 0
  /// The number of those that it brought back as failed, as they were.
  package var failedAgain = 0
  /// The number of those that it brought back as paused, as they were.
  package var pausedAgain = 0
  /// The number of those that an undo took back before they were sent, which leaves nothing to send.
  package var withdrawn = 0
  /// The zones that a retry creates again, because the server has deleted them.
  package var recreated: Set<String> = []
  /// The number of selected operations that were not reached, because the command was stopped.
  package var notReached = 0

  package init() {}

  mutating func add(_ other: CommandResult) {
    changed += other.changed
    skipped.merge(other.skipped) { $1 }
    unknown += other.unknown
    unanswered += other.unanswered
    moved += other.moved
    reopened += other.reopened
    failedAgain += other.failedAgain
    pausedAgain += other.pausedAgain
    withdrawn += other.withdrawn
    recreated.formUnion(other.recreated)
  }
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
    if selection == .all, verb == .pause || verb == .resume {
      return try performOnEverything(verb, dryRun: dryRun, actor: actor)
    }
    let start = now()
    if dryRun { return try preview(verb, on: selection, versions, now: start) }
    try recoverFromDeadEngine()
    let slices = try read { ledger in
      let ids = try Self.ids(selection, verb, now: start, ledger)
      return Self.slices(of: ids, groups: verb == .discard && ids.count > Self.slice ? try ledger.groups(of: ids) : [:])
    }
    let named: Int64? = if case .ids(let ids) = selection, ids.count == 1 { ids[0] } else { nil }
    let command = AuditedCommand(at: start, actor: actor, verb: verb.rawValue, selection: selection.text, count: 0)
    return try carryOut(command, on: slices, about: named, continues: continues) { ids, ledger, now in
      var result = CommandResult()
      let ready = try Self.matching(ids, selection, verb, now: start, ledger).compactMap { id in
        try Self.selected(id, selection, versions[id], into: &result, ledger)
      }.filter { Self.isReady($0, for: verb, into: &result) }
      result.recreated = try Self.recreated(by: verb, Set(ready.map(\.key.zoneKey)), ledger)
      try Self.apply(verb, to: ready, isFinal: isFinal, actor, now: now, ledger)
      return result
    }
  }

  /// Returns what `perform` would do.
  private func preview(_ verb: QueueVerb, on selection: Selection, _ versions: [Int64: String], now: Int64)
    throws(StoreError) -> CommandResult
  {
    let hasEngine = storage.hasEngine
    return try read { ledger in
      var result = CommandResult()
      var zones: Set<ZoneKey> = []
      for id in try Self.ids(selection, verb, now: now, ledger) {
        guard var operation = try Self.selected(id, selection, versions[id], into: &result, ledger) else { continue }
        if !hasEngine, operation.state == .inFlight {
          // A command recovers what a dead engine left in flight first.
          operation.apply(.recovered(now: now))
        }
        if Self.isReady(operation, for: verb, into: &result) { zones.insert(operation.key.zoneKey) }
      }
      result.recreated = try Self.recreated(by: verb, zones, ledger)
      return result
    }
  }

  /// The zones that a verb creates again on the server.
  private static func recreated(by verb: QueueVerb, _ zones: Set<ZoneKey>, _ ledger: Ledger) throws -> Set<String> {
    verb == .retry ? Set(try ledger.goneZones().filter(zones.contains).map(\.zone)) : []
  }

  /// Pauses everything, or lifts every pause rule.
  private func performOnEverything(_ verb: QueueVerb, dryRun: Bool, actor: String) throws(StoreError) -> CommandResult {
    var result = CommandResult()
    if verb == .pause {
      let isNew = try dryRun ? !read { try $0.isPaused() } : pause(.everything, actor: actor)
      result.rules = isNew ? [.everything] : []
    } else {
      result.rules = try dryRun ? pauses().map(\.rule) : resumeAll(actor: actor)
    }
    return result
  }

  /// The operations that are selected now.
  private static func ids(_ selection: Selection, _ verb: QueueVerb, now: Int64, _ ledger: Ledger) throws -> [Int64] {
    switch selection {
    case .ids(let ids):
      var seen: Set<Int64> = []
      return ids.filter { seen.insert($0).inserted }
    case .matching(let filter, _): return try ledger.operationIDs(matching: filter, now: now)
    case .listing(var listing, let except):
      listing.states = listing.states(for: verb)
      guard !listing.states.isEmpty else { return [] }
      return try ledger.operationIDs(of: listing, now: now).filter { !except.contains($0) }
    case .all: return try ledger.operationIDs(matching: nil, now: now)
    }
  }

  /// Those of the selected operations that still match.
  private static func matching(
    _ ids: [Int64],
    _ selection: Selection,
    _ verb: QueueVerb,
    now: Int64,
    _ ledger: Ledger
  ) throws -> [Int64] {
    switch selection {
    case .ids, .all: return ids
    case .matching(let filter, _):
      return try ledger.operationIDs(among: ids, matching: ListQuery(filter: filter, now: now))
    case .listing(let listing, _):
      let query = ListQuery(listing.filter, now: now)
      return try ledger.operationIDs(among: ids, matching: query, in: listing.states(for: verb))
    }
  }

  /// The operation, if it is still in the queue and in the version that was decided on.
  private static func selected(
    _ id: Int64,
    _ selection: Selection,
    _ version: String?,
    into result: inout CommandResult,
    _ ledger: Ledger
  ) throws -> QueuedOperation? {
    guard let operation = try ledger.operation(id) else {
      if case .ids = selection { result.unknown.append(id) }
      return nil
    }
    guard let row = try moved(operation, from: version, ledger) else { return operation }
    result.skipped[id] = row.hasMoved
    result.moved.append(row)
    return nil
  }

  /// Adds an operation to those changed or skipped. Returns whether the verb applies to it.
  private static func isReady(_ operation: QueuedOperation, for verb: QueueVerb, into result: inout CommandResult)
    -> Bool
  {
    if let obstacle = verb.obstacle(to: operation.state, errorCode: operation.errorCode) {
      result.skipped[operation.id] = obstacle
      return false
    }
    result.changed.append(operation.id)
    if operation.isUnanswered { result.unanswered.append(operation.id) }
    return true
  }

  static func apply(
    _ verb: QueueVerb,
    to operations: [QueuedOperation],
    isFinal: Bool,
    _ actor: String,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    switch verb {
    case .retry:
      try ledger.clearErrors(of: operations.map(\.id))
      for var operation in operations {
        operation.apply(.retried(by: actor, now: now))
        // Retrying an operation that failed because its zone was deleted recreates the zone.
        if let zone = try ledger.zone(operation.key.zoneKey), zone.isGone {
          try ledger.setState(zone.key, .unconfirmed)
        }
        try ledger.update(operation)
      }
    case .discard:
      let cause = Cause.discarded(by: actor)
      for operation in operations
      where !isFinal && !operation.key.name.isEmpty && operation.errorCode != StoreError.unreadable {
        try ledger.add(DroppedChange(operation.changes, of: operation, cause, at: now))
      }
      try ledger.end(operations.map(\.id), .discarded, cause, now: now)
    case .pause:
      for var operation in operations {
        // A wait that the server asked for continues during the pause.
        if operation.isServersWait, let end = operation.waitsUntil {
          try ledger.keepWait(of: operation.id, pausedAt: now, until: end)
        }
        operation.apply(.paused(by: actor))
        try ledger.update(operation)
      }
    case .resume:
      for var operation in operations {
        // A clock moved back meanwhile must not extend the wait.
        let end = try ledger.keptWait(of: operation.id).map { min($0.until, now + $0.until - $0.pausedAt) }
        operation.apply(.resumed(by: actor, waiting: end.flatMap { $0 > now ? $0 : nil }))
        try ledger.update(operation)
      }
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
    if actor == nil, ids.isEmpty, waits.isEmpty { return 0 }
    if !waits.isEmpty {
      try write { ledger in
        for var wait in try ledger.waits(after: now) where wait.isOwn || endsThrottles {
          wait.until = now
          try ledger.put(wait)
        }
      }
    }
    let selection = endsThrottles ? "throttles" : ""
    let command = actor.map { AuditedCommand(at: now, actor: $0, verb: "flush", selection: selection, count: 0) }
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
