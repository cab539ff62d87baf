import CloudKit
import Facts

extension StoreView {
  package func status() throws -> StoreStatus {
    var status = StoreStatus(generatedAt: now)
    try Self.readQueue(into: &status, ledger)
    status.dropped = try ledger.droppedTotals()
    try Self.readRecords(into: &status, ledger)
    try Self.readWaits(into: &status, now: now, ledger)
    try Self.readActivity(into: &status, hasEngine: hasEngine, ledger)
    status.storageTrouble = storageTrouble()
    let waitsForApp = status.savesWaitForApp
    status.sendable = try SyncStore.sendable(savesWaitForApp: waitsForApp, now: now, ledger)
    status.canSendLater =
      try status.canSendNow || SyncStore.sendable(savesWaitForApp: waitsForApp, now: .max, ledger) != nil
    if hasEngine { try readSigns(into: &status) }
    status.lastDay = try ledger.throughput(now: now).reduce(into: Throughput(at: now)) { $0.add($1) }
    status.nextActionAt = try ledger.nextRetry(now: now, savesAreHeld: waitsForApp)
    if status.nextActionAt != nil { status.nextAction = "retry" }
    status.topFailure = try ledger.topFailure(of: status.queue.failed)
    status.changeThrottledUntil = try ledger.longestServersWait(after: now)
    status.derive()
    return redaction.redact(status)
  }

  /// Reads whether the process that holds the lock does its work.
  private func readSigns(into status: inout StoreStatus) throws {
    let signs = EngineSigns(
      leaseEndsAt: try ledger.lease()?.expiresAt,
      rest: EngineRest(stored: try ledger.value(EngineRest.key)),
      // A change that a command or the end of a wait released may have been accepted long before.
      workSince: try status.sendable.map { sendable in
        let ends = try ledger.waits(after: .min).map(\.until).filter { $0 <= now }
        return try (ends + [sendable.since, ledger.lastCommandAt() ?? 0]).max() ?? sendable.since
      },
      requestedAt: try ledger.openRequests().first { $0.startedAt == nil }?.requestedAt
    )
    let judgement = signs.judgement(at: now)
    status.pollInterval = signs.rest?.pollInterval
    status.silentSince = try ledger.value(Ledger.silentKey).flatMap { Int64($0) }
    guard status.storageTrouble == nil else { return }
    status.looksAgainAt = judgement.looksAgainAt
    guard let since = judgement.stalledSince else { return }
    status.driver?.stalledSince = since
    status.driver?.isLive = false
  }

  private static func readQueue(into status: inout StoreStatus, _ ledger: Ledger) throws {
    for (state, totals) in try ledger.queueTotals() {
      status.queue.total += totals.count
      status.queue.bytes += totals.bytes
      status.queue.oldestAt = [status.queue.oldestAt, totals.oldest].compactMap(\.self).min()
      if [.pending, .inFlight, .waiting].contains(state) {
        status.queue.oldestGoingAt = [status.queue.oldestGoingAt, totals.oldest].compactMap(\.self).min()
      }
      switch state {
      case .pending:
        status.queue.pending = totals.count
        status.queue.oldestPendingAt = totals.oldest
      case .inFlight: status.queue.inFlight = totals.count
      case .waiting: status.queue.waiting = totals.count
      case .failed: status.queue.failed = totals.count
      case .paused: status.queue.paused = totals.count
      case .conflict: status.queue.conflicts = totals.count
      }
    }
    status.queue.blocked = try ledger.blockedCount(limit: 100)
    status.queue.parts = try ledger.queueParts()
  }

  private static func readRecords(into status: inout StoreStatus, _ ledger: Ledger) throws {
    for total in try ledger.recordTotals() {
      status.recordsByType[total.type, default: 0] += total.count
      status.recordsByZone[total.zone, default: 0] += total.count
    }
  }

  private static func readWaits(into status: inout StoreStatus, now: Int64, _ ledger: Ledger) throws {
    status.heldDeletions = try SyncStore.heldDeletions(ledger)
    status.unreadable = try ledger.unreadable()
    let waits = try ledger.waits(after: .min)
    // The quota stops saves: with none left to send it stops nothing.
    let isSending = status.queue.pending + status.queue.waiting + status.queue.inFlight > 0
    status.throttles = waits.filter { $0.until > now && ($0.scope != .quota || isSending) }.map { wait in
      StoreStatus.Throttle(
        scope: wait.scope.name,
        until: wait.until,
        error: wait.code,
        message: wait.message,
        isOwn: wait.isOwn,
        since: wait.since
      )
    }
    // A problem lasts until a request succeeds, not until the next try.
    func problem(_ scope: WaitScope) -> StoreStatus.Failure? {
      waits.first { $0.scope == scope && !$0.isOver }.map {
        StoreStatus.Failure(code: $0.code, message: $0.message, at: $0.until)
      }
    }
    status.accountProblem = problem(.account)
    if status.accountProblem != nil { status.signInURL = try ledger.value(Throttles.signInKey) }
    status.networkProblem = problem(.network)
    status.networkDownSince = waits.first { $0.scope == .network && !$0.isOver }?.since
    status.quotaProblem = isSending ? problem(.quota) : nil
    status.isRefused = try ledger.value(SyncStore.refusedKey) != nil
  }

  private static func readActivity(into status: inout StoreStatus, hasEngine: Bool, _ ledger: Ledger) throws {
    status.pauses = try ledger.pauses()
    status.identity = try ledger.value("identity")
    if let lease = try ledger.lease() {
      status.driver = StoreStatus.Driver(
        pid: lease.pid,
        host: lease.host,
        isLive: hasEngine,
        program: lease.program,
        since: lease.since
      )
    }
    status.settings = try ledger.settings()
    status.savesWaitForApp =
      try status.settings.asksBeforeSending == true && !ledger.isAppSyncing(hasEngine: hasEngine)
    if status.savesWaitForApp { status.savesForApp = try ledger.savesToShow() }
    if status.settings.asksAboutConflicts == true, status.queue.conflicts > 0,
      try !ledger.isAppSyncing(hasEngine: hasEngine)
    {
      status.conflictsForApp = try ledger.conflictsForApp()
    }
    let activity = try ledger.activity()
    status.undelivered = try ledger.deliveryCount()
    if let trouble = DeliveryTrouble(stored: try ledger.value(SyncStore.troubleKey)) {
      status.deliveryProblem = StoreStatus.Failure(code: "APP", message: trouble.reason, at: trouble.at)
    }
    status.lastSuccessAt = activity.lastSuccessAt
    status.lastEnqueueAt = activity.lastEnqueueAt
    status.errorStands = activity.errorStands
    status.reachedEnd = activity.reachedEnd
    if let code = activity.errorCode {
      status.lastError = StoreStatus.Failure(
        code: code,
        message: activity.errorMessage ?? "",
        at: activity.errorAt ?? 0
      )
    }
    guard hasEngine else { return }
    if let phase = activity.phase.flatMap(Progress.Phase.init(rawValue:)) {
      status.progress = Progress(
        phase: phase,
        done: activity.done,
        total: activity.total,
        perSecond: activity.perSecond
      )
    }
    switch SyncStore.Activity(rawValue: activity.state) {
    case .sending: status.state = .sending
    case .fetching: status.state = .fetching
    case .idle, nil: break
    }
  }
}

extension StoreStatus {
  /// Derives one state and its reason from the facts, the worst first.
  mutating func derive() {
    let waits = Dictionary(throttles.map { ($0.scope, $0) }) { first, _ in first }
    if isPaused {
      state = .paused
      reason = "paused by an operator"
    } else if let problem = accountProblem {
      state = .error
      reason = "\(problem.code): \(problem.message)"
      probe(waits["account"])
    } else if let wait = waits["network"] {
      state = .offline
      reason = wait.message.isEmpty ? "the cloud cannot be reached" : wait.message
      nextActionAt = wait.until
      nextAction = "try again"
    } else if state == .sending || state == .fetching {
      reason = state == .sending ? "sending changes" : "fetching the server's changes"
    } else if errorStands, let lastError {
      state = .error
      reason = "\(lastError.code): \(lastError.message)"
      let feeds = throttles.filter { $0.scope.hasPrefix("feed:") }
      probe(waits["database"] ?? feeds.min { $0.until < $1.until })
    } else if let first = unreadable.first {
      state = .error
      reason = first.summary
    } else if let wait = waits["database"] {
      state = .waiting
      reason = "\(wait.error): " + (wait.isOwn ? "waiting to retry" : "the server asked to wait")
      nextActionAt = wait.until
      nextAction = "go on"
    } else if queue.pending > 0, let wait = throttles.min(by: { $0.until < $1.until }) {
      state = .waiting
      reason = WaitScope(name: wait.scope).asCause.text(wait.error)
      nextActionAt = min(wait.until, nextActionAt ?? wait.until)
      nextAction = "go on"
    } else if queue.total > 0, queue.total == queue.paused {
      state = .paused
      reason = "all queued operations are paused"
    } else if queue.waiting > 0 {
      state = .waiting
      reason = "\(queue.waiting) in back-off"
    } else {
      state = .idle
      reason = idleReason
    }
  }

  private mutating func probe(_ wait: Throttle?) {
    guard let wait else { return }
    nextActionAt = wait.until
    nextAction = "try again"
  }

  private var idleReason: String {
    var parts: [String] = []
    if queue.failed > 0 { parts.append("\(queue.failed) failed") }
    if queue.conflicts > 0 { parts.append("\(queue.conflicts) in conflict") }
    if queue.paused > 0 { parts.append("\(queue.paused) paused") }
    if queue.pending > 0 {
      parts.append("\(queue.pending) pending\(savesWaitForApp ? ", saves wait for the app" : "")")
    }
    // No process is syncing, so their sender is gone.
    if queue.inFlight > 0 { parts.append("\(queue.inFlight) unconfirmed") }
    parts += pauses.map(\.reason)
    if let holds = heldSummary { parts.append(holds) }
    if parts.isEmpty { return lastSuccessAt == nil ? "never synced" : "everything is sent" }
    return parts.joined(separator: ", ")
  }
}
