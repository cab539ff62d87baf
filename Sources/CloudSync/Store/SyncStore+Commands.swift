import CloudKit
package import Facts

/// The operations that a command applies to.
package enum Selection: Hashable, Sendable {
  case ids([Int64])
  /// Operations that match a filter and, in their row of the queue list, contain a text.
  case matching(QueueFilter, text: String, containing: String = "")
  case all

  /// The selection as written to the audit log.
  var text: String {
    switch self {
    case .ids(let ids): ids.map(String.init).joined(separator: " ")
    case .matching(_, let text, ""): text
    case .matching(_, let text, let part): "\(text), containing '\(part)'"
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

  package init() {}
}

/// Commands of operators. They change the store itself, so the syncing process sees them at once. All are audited.
extension SyncStore {
  /// Applies `verb` to exactly the selected operations, in one transaction.
  ///
  /// - Parameters:
  ///   - versions: the versions that were decided on; an operation in another version is left alone.
  ///   - dryRun: reports what would be done without doing it.
  ///   - isFinal: whether a discard cannot be undone.
  ///   - actor: the operator's name, for the audit log.
  package func perform(
    _ verb: QueueVerb,
    on selection: Selection,
    versions: [Int64: String] = [:],
    dryRun: Bool = false,
    isFinal: Bool = false,
    actor: String
  ) throws(StoreError) -> CommandResult {
    if selection == .all, verb == .pause || verb == .resume {
      return try performOnEverything(verb, dryRun: dryRun, actor: actor)
    }
    let now = now()
    if !dryRun { try recoverFromDeadEngine() }
    // Operations that a dead engine left in flight are recovered before the command, so a dry run treats them as
    // pending.
    let hasEngine = storage.hasEngine
    return try write { ledger in
      var result = CommandResult()
      for id in try ids(selection, now: now, ledger) {
        guard var operation = try ledger.operation(id) else {
          result.unknown.append(id)
          continue
        }
        if let row = try Self.moved(operation, from: versions[id], ledger) {
          result.skipped[id] = row.hasMoved
          result.moved.append(row)
          continue
        }
        let isUnanswered = operation.isUnanswered || operation.state == .inFlight
        if dryRun, !hasEngine, operation.state == .inFlight { operation.state = .pending }
        if let obstacle = Self.obstacle(to: verb, operation) {
          result.skipped[id] = obstacle
          continue
        }
        result.changed.append(id)
        if isUnanswered { result.unanswered.append(id) }
        if dryRun { continue }
        try Self.apply(verb, &operation, isFinal: isFinal, actor, now: now, ledger)
      }
      guard !dryRun else { return result }
      let named: Int64? = if case .ids(let ids) = selection, ids.count == 1 { ids[0] } else { nil }
      try audit(verb.rawValue, selection.text, result.changed.count, actor, operation: named, now: now, ledger)
      return result
    }
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

  private func ids(_ selection: Selection, now: Int64, _ ledger: Ledger) throws -> [Int64] {
    switch selection {
    case .ids(let ids):
      var seen: Set<Int64> = []
      return ids.filter { seen.insert($0).inserted }
    case .matching(let filter, _, let text): return try ledger.operationIDs(matching: filter, text: text, now: now)
    case .all: return try ledger.operationIDs(matching: nil, now: now)
    }
  }

  /// The reason why a verb skips an operation; nil if it applies.
  private static func obstacle(to verb: QueueVerb, _ operation: QueuedOperation) -> Obstacle? {
    if operation.state == .inFlight { return .beingSent }
    switch verb {
    case .retry:
      if operation.errorCode == StoreError.unreadable {
        return .damaged
      }
      return operation.state == .failed || operation.state == .waiting ? nil : .inState(operation.state.rawValue)
    case .discard: return nil
    case .pause:
      switch operation.state {
      case .pending, .waiting: return nil
      case .inFlight, .failed, .paused, .conflict: return .inState(operation.state.rawValue)
      }
    case .resume: return operation.state == .paused ? nil : .inState(operation.state.rawValue)
    }
  }

  private static func apply(
    _ verb: QueueVerb,
    _ operation: inout QueuedOperation,
    isFinal: Bool,
    _ actor: String,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    switch verb {
    case .retry:
      operation.becomePending(.readyAgain(.retried(by: actor)), now: now)
      operation.forgetFailures()
      operation.conflictRounds = 0
      operation.clearOfSuspicion()
      operation.forgetGrants()
      // Retrying an operation that failed because its zone was deleted recreates the zone.
      if let zone = try ledger.zone(operation.key.zoneKey), zone.state == .deleted, zone.heldSince == nil {
        try ledger.setState(zone.key, .unconfirmed)
      }
      try ledger.update(operation)
    case .discard:
      let cause = Cause.discarded(by: actor)
      if !isFinal, !operation.key.name.isEmpty, operation.errorCode != StoreError.unreadable {
        try ledger.add(DroppedChange(operation.changes, of: operation, cause, at: now))
      }
      try ledger.setValue(waitKey(operation), nil)
      try ledger.end(operation, .discarded, cause, now: now)
    case .pause:
      // A wait that the server asked for continues during the pause.
      if operation.isServersWait, let end = operation.nextAttemptAt {
        try ledger.setValue(waitKey(operation), "\(now) \(end)")
      }
      operation.state = .paused
      operation.nextAttemptAt = nil
      operation.cause = .paused(by: actor)
      try ledger.update(operation)
    case .resume:
      operation.state = .pending
      operation.cause = .readyAgain(.resumed(by: actor))
      let kept = try ledger.value(waitKey(operation))?.split(separator: " ").compactMap { Int64($0) } ?? []
      if kept.count == 2 {
        try ledger.setValue(waitKey(operation), nil)
        // A clock moved back meanwhile must not extend the wait.
        let end = min(kept[1], now + kept[1] - kept[0])
        if end > now { (operation.state, operation.nextAttemptAt, operation.isServersWait) = (.waiting, end, true) }
      }
      try ledger.update(operation)
    }
  }

  /// The key under which the start of the pause and the end of the server's wait are stored.
  private static func waitKey(_ operation: QueuedOperation) -> String { "wait \(operation.id)" }

  /// Ends our own back-offs now. Does not touch failed or paused operations.
  ///
  /// - Parameters:
  ///   - endsThrottles: also ends the waits that the server asked for, which it otherwise leaves alone.
  ///   - actor: who, for the audit log; nil for a sync, which is no command.
  /// - Returns: how many operations are ready again.
  package func flush(endsThrottles: Bool = false, actor: String?) throws(StoreError) -> Int {
    let now = now()
    return try write { ledger in
      let count = try ledger.endBackOffs(now: now, throttledToo: endsThrottles)
      // Keep the row, so that the next refusal still waits longer.
      for var wait in try ledger.waits(after: now) where wait.isOwn || endsThrottles {
        wait.until = now
        try ledger.put(wait)
      }
      if let actor { try audit("flush", endsThrottles ? "throttles" : "", count, actor, now: now, ledger) }
      return count
    }
  }

  /// Recovers operations that a dead engine left in flight, so that commands can apply to them.
  private func recoverFromDeadEngine() throws(StoreError) {
    let inFlight = try read { try $0.operationCount(in: .inFlight) }
    guard inFlight > 0, let lease = try Lease.acquire(self) else { return }
    defer { lease.release(self) }
    _ = try recoverInFlight(lease)
  }

  func audit(
    _ verb: String,
    _ selection: String,
    _ count: Int,
    _ actor: String,
    operation: Int64? = nil,
    zone: String? = nil,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    try ledger.add(AuditedCommand(at: now, actor: actor, verb: verb, selection: selection, count: count))
    let event = Event.command(verb: verb, selection: selection, count: count)
    try EventLog.add(event, operation: operation, zone: zone, actor: actor, now: now, ledger)
  }
}
