import CloudKit
import Facts

extension StoreView {
  package func status() throws -> StoreStatus {
    let (lease, waits) = (try ledger.lease(), try ledger.waits(after: .min))
    let scope = try holdUp().scope
    var status = try facts(lease, waits, scope)
    for total in try ledger.recordTotals() {
      status.recordsByType[total.type, default: 0] += total.count
      status.recordsByZone[total.zone, default: 0] += total.count
    }
    status.storageTrouble = storageTrouble()
    status.isStorageAwaited = status.storageTrouble != nil && isAwaited()
    var later = scope
    later.now = .max
    status.canSendLater = try status.sendableSince != nil || SyncStore.sendableSince(later, ledger) != nil
    if hasEngine, let lease { try readSigns(lease, waits, into: &status) } else { try readFormer(lease, into: &status) }
    status.lastDay = try ledger.lastDay(now: now)
    status.nextRetryAt = try HoldUp.nextRetry(scope, ledger)
    status.topFailure = try ledger.topFailure(of: status.queue.failed)
    status.freshFor = freshFor
    return redaction.redact(status)
  }

  /// When the oldest change was accepted that is unsent for another reason than a person's decision: it is not failed,
  /// paused or in a conflict that a person resolves. Nil if there is none.
  ///
  /// It passes over every older change that a rule pauses, so only a command asks.
  package func oldestUnsentAt(_ status: StoreStatus) throws -> Int64? {
    var states = OperationState.open + [.inFlight]
    if status.conflictsForApp > 0 { states.append(.conflict) }
    let paused = status.queue.parts.filter { status.isPaused($0) }
    return try states.filter { status.unpaused($0) > 0 }.compactMap { state in
      try ledger.oldestOperation(in: state, except: paused.filter { $0.state == state })
    }.min()
  }

  /// The verdict of an idle process that holds the lease; for its history.
  func verdict(_ lease: LeaseHolder) throws -> Verdict {
    var status = try facts(lease, try ledger.waits(after: .min), holdUp().scope)
    status.activity = .idle
    return status.verdict(hasCredential: true)
  }

  /// Reads what the verdict about a syncing process is based on.
  private func facts(_ lease: LeaseHolder?, _ waits: [ScopeWait], _ scope: SendScope) throws -> StoreStatus {
    var status = StoreStatus(generatedAt: now)
    try readQueue(into: &status)
    status.dropped = try ledger.droppedTotals()
    status.hasChores = try ledger.hasChores()
    try readWaits(waits, into: &status)
    status.pauses = scope.pauses
    try readActivity(lease, into: &status)
    try readSettings(lease, scope, into: &status)
    status.sendableSince = try SyncStore.sendableSince(scope, ledger)
    status.changeThrottledUntil = try ledger.longestServersWait(after: now)
    return status
  }

  /// The signs by which the process that has the lease is judged.
  func signs(of lease: LeaseHolder, _ waits: [ScopeWait], _ sendableSince: Int64?) throws -> EngineSigns {
    EngineSigns(
      of: lease,
      try ledger.rest(of: lease.fencingToken),
      clockShift: lease.clockShift(clockOffset),
      // A change that a command or the end of a wait released may have been accepted long before.
      workSince: try sendableSince.map { since in
        try waits.map(\.until).filter { $0 <= now }.reduce(max(since, ledger.lastCommandAt() ?? 0), max)
      },
      requestedAt: try ledger.openRequests().first { $0.startedAt == nil }?.requestedAt,
      isStopped: process(lease)?.isStopped ?? false
    )
  }

  func signs(of lease: LeaseHolder) throws -> EngineSigns {
    try signs(of: lease, ledger.waits(after: .min), SyncStore.sendableSince(holdUp().scope, ledger))
  }

  /// Reads whether the process that has the lease does its work.
  private func readSigns(_ lease: LeaseHolder, _ waits: [ScopeWait], into status: inout StoreStatus) throws {
    let signs = try signs(of: lease, waits, status.sendableSince)
    let judgement = signs.judgement(at: now)
    status.pollInterval = signs.rest?.pollInterval
    status.clockShift = lease.clockShift(clockOffset)
    status.silentSince = try ledger.value(.silentSince)
    guard status.storageTrouble == nil else { return }
    status.looksAgainAt = judgement.looksAgainAt
    guard let since = judgement.stalledSince else { return }
    status.syncingProcess?.stalledSince = since
    status.syncingProcess?.isStopped = signs.isStopped
    status.syncingProcess?.unit = process(lease)?.unit
    status.syncingProcess?.isLive = false
  }

  /// Reads whether a process that was stopped still has the lock, although another one took the lease over and ended.
  /// It goes on with syncing when it is continued; until then no process syncs.
  private func readFormer(_ lease: LeaseHolder?, into status: inout StoreStatus) throws {
    guard let lease, lease.fencingToken > 1, let token = holder(1...(lease.fencingToken - 1)),
      let former = try ledger.formerLease(token), let process = process(former), process.isStopped
    else { return }
    let signs = EngineSigns(
      of: former,
      try ledger.rest(of: token),
      clockShift: former.clockShift(clockOffset),
      workSince: nil,
      requestedAt: nil,
      isStopped: true
    )
    let judgement = signs.judgement(at: now)
    status.looksAgainAt = judgement.looksAgainAt
    status.syncingProcess = StoreStatus.SyncingProcess(former, isLive: false)
    status.syncingProcess?.stalledSince = judgement.stalledSince
    status.syncingProcess?.isStopped = true
    status.syncingProcess?.unit = process.unit
  }

  private func readQueue(into status: inout StoreStatus) throws {
    status.queue.parts = try ledger.queueParts()
    for (state, parts) in Dictionary(grouping: status.queue.parts, by: \.state) {
      let (count, oldest) = (parts.reduce(0) { $0 + $1.count }, try ledger.oldestOperation(in: state))
      status.queue.total += count
      status.queue.bytes += parts.reduce(0) { $0 + $1.bytes }
      status.queue.oldestAt = [status.queue.oldestAt, oldest].compactMap(\.self).min()
      if state.isOpen || state == .inFlight {
        status.queue.oldestGoingAt = [status.queue.oldestGoingAt, oldest].compactMap(\.self).min()
      }
      switch state {
      case .pending: (status.queue.pending, status.queue.oldestPendingAt) = (count, oldest)
      case .inFlight: status.queue.inFlight = count
      case .waiting: status.queue.waiting = count
      case .failed: status.queue.failed = count
      case .paused: status.queue.paused = count
      case .conflict: status.queue.conflicts = count
      }
    }
    status.queue.blocked = try ledger.blockedCount(limit: 100)
  }

  private func readWaits(_ waits: [ScopeWait], into status: inout StoreStatus) throws {
    status.heldDeletions = try SyncStore.heldDeletions(ledger)
    status.unreadable = try ledger.unreadable()
    // Until a query succeeds, not until the next try.
    status.rejectedQueries = waits.compactMap(RejectedQuery.init)
    // The quota stops saves: with none left to send it stops nothing.
    let isSending = status.queue.pending + status.queue.waiting + status.queue.inFlight > 0
    status.throttles = waits.filter { $0.until > now && ($0.scope != .quota || isSending) }
    // A problem lasts until a request succeeds, not until the next try.
    func problem(_ scope: WaitScope) -> ScopeWait? { waits.first { $0.scope == scope && !$0.isOver } }
    status.accountProblem = problem(.account)
    if status.accountProblem != nil { status.signInURL = try ledger.value(.signInURL) }
    status.networkProblem = problem(.network)
    status.quotaProblem = isSending ? problem(.quota) : nil
    status.isRefused = try ledger.isTrue(.isRefused)
    let anonymous = Sender(user: SyncStore.anonymous)
    status.isOwned = try SyncStore.owner(ledger).access(of: anonymous, hasChanges: status.queue.total > 0) == .refused
  }

  /// Reads the settings and what waits for the app because of them.
  private func readSettings(_ lease: LeaseHolder?, _ scope: SendScope, into status: inout StoreStatus) throws {
    status.settings = try ledger.settings()
    guard try !ledger.isAppSyncing(hasEngine: hasEngine, lease) else { return }
    status.conflictsForApp = try ledger.conflictsForApp()
    if scope.savesWaitForApp { status.savesForApp = try ledger.savesToShow(scope) }
  }

  private func readActivity(_ lease: LeaseHolder?, into status: inout StoreStatus) throws {
    status.identity = try ledger.value(.identity)
    status.syncingProcess = lease.map { StoreStatus.SyncingProcess($0, isLive: hasEngine) }
    let activity = try ledger.activity()
    status.undelivered = try ledger.deliveryCount()
    if let trouble = DeliveryTrouble(stored: try ledger.value(.deliveryTrouble)) {
      status.deliveryProblem = StoreStatus.Failure(code: "APP", message: trouble.reason, at: trouble.at)
    }
    status.lastSuccessAt = activity.lastSuccessAt
    status.lastEnqueueAt = activity.lastEnqueueAt
    status.errorStands = activity.errorStands
    status.reachedEnd = activity.reachedEnd
    if let code = activity.errorCode, try ledger.holdsError(activity) {
      status.lastError = StoreStatus.Failure(
        code: code,
        message: activity.errorMessage ?? "",
        at: activity.errorAt ?? 0
      )
    }
    guard hasEngine else { return }
    status.progress = activity.phase.flatMap(Progress.Phase.init(rawValue:)).map { phase in
      // Changes may have been added since the engine counted them.
      let total = phase == .send ? max(activity.total, activity.done + status.leftToSend) : activity.total
      return Progress(phase: phase, done: activity.done, total: total, perSecond: activity.perSecond)
    }
    status.activity = SyncStore.Activity(rawValue: activity.state) ?? .idle
  }
}

extension StoreStatus.SyncingProcess {
  init(_ holder: LeaseHolder, isLive: Bool) {
    self.init(
      pid: holder.pid,
      host: holder.host,
      isLive: isLive,
      program: holder.program,
      since: holder.since,
      leaseEndsAt: holder.expiresAt
    )
  }
}

extension Ledger {
  /// A look at the store by the process that has the lease.
  func view(now: Int64, clockOffset: Int64?) -> StoreView {
    StoreView(
      ledger: self,
      now: now,
      hasEngine: true,
      storageTrouble: { nil },
      redaction: Redaction(),
      clockOffset: clockOffset
    )
  }
}
