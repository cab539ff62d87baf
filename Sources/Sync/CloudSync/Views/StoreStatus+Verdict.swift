import CloudKit
package import Facts

extension StoreStatus {
  /// Whether a process syncs the store and does its work.
  package var isSyncing: Bool { syncingProcess?.isLive == true }
  /// The wait that keeps a sync from completing: for the account, else the longest that the server asked for, else the
  /// longest back-off.
  package var standingWait: ScopeWait? {
    accountProblem ?? throttles.max { ($0.isOwn ? 0 : 1, $0.until) < ($1.isOwn ? 0 : 1, $1.until) }
  }
  private var isReady: Bool { unpaused(.inFlight) > 0 || canSendLater || hasChores }
  /// Saves and conflicts that wait for the app.
  package var forApp: Int { savesForApp + conflictsForApp }

  /// Everything that holds, in the order of the verdicts: the first is the store's verdict, exit codes are those of
  /// all. Rules that pause nothing come last, after a verdict that all is well.
  ///
  /// - Parameters:
  ///   - hasCredential: whether this process could sync.
  ///   - startsSyncing: whether this process is about to sync, so that it is no news that none does yet.
  package func verdicts(hasCredential: Bool, startsSyncing: Bool = false) -> Verdicts {
    var all: [Verdict] = []
    if let storageTrouble { all.append(.storeFull(storageTrouble, isAwaited: isStorageAwaited)) }
    if isRefused { all.append(.wrongAccount(owner: identity)) }
    // The account of another user waits like one that is signed out.
    let isSignedOut = !isRefused && accountProblem.map { Self.isSignedOut($0.code) } ?? false
    let isStalled = syncingProcess?.stalledSince != nil
    let lacksCredential = !isSyncing && !isStalled && isReady && !hasCredential
    if isSignedOut || lacksCredential {
      all.append(.signedOut(unsent: queue.going, lacksCredential: lacksCredential && !isSignedOut))
    }
    if !heldDeletions.isEmpty {
      let zones = heldDeletions.map(\.zone.zone)
      all.append(.decisionNeeded(deletions: heldDeletions.reduce(0) { $0 + $1.records }, zones: zones))
    }
    if let block { all.append(.blocked(block)) }
    let isStarting = startsSyncing && !isSyncing && !isStalled
    // No sync can start while nothing can be written.
    if !isStarting, !lacksCredential, storageTrouble == nil, let notSyncing { all.append(notSyncing) }
    if queue.failed > 0 { all.append(.failed(queue.failed, top: topFailure.map(Verdict.Failure.init))) }
    let conflicts = queue.conflicts - conflictsForApp
    if conflicts > 0 { all.append(.conflicts(conflicts)) }
    all += waiting
    let end = isStarting && (isReady || !hasStore) ? .fetching : end
    // An old sync is reported beside everything else.
    if all.isEmpty || end.kind == .outOfDate && isTooOld { all.append(end) }
    // A rule is shown while nothing waits, too.
    let namesRules = all.contains { verdict in
      if case .partlyPaused(_, _, let rules) = verdict { !rules.isEmpty } else { verdict.kind == .paused }
    }
    if !pauses.isEmpty, !namesRules { all.append(.partlyPaused(0, rules: pauses.map(\.rule.asCause))) }
    return Verdicts(all, dropped: dropped.unseen)
  }

  /// The store's verdict: the first that holds.
  package func verdict(hasCredential: Bool) -> Verdict { verdicts(hasCredential: hasCredential).first }

  /// Whether the verdict is that everything is sent and fetched, and not too long ago.
  package var isInSync: Bool { verdict(hasCredential: true).kind == .inSync }

  /// No process syncs although something could be sent, or the one that should does not do its work.
  private var notSyncing: Verdict? {
    if let process = syncingProcess, let since = process.stalledSince {
      let stall = Verdict.Stall(pid: process.pid, since: since, isStopped: process.isStopped, unit: process.unit)
      return .notSyncing(unsent: queue.going, wait: nil, stalled: stall)
    }
    guard !isSyncing, isReady else { return nil }
    // A sync ends our own waits.
    let wait = throttles.filter { $0.scope.stopsAll && !$0.isOwn }.max { $0.until < $1.until }
    return .notSyncing(
      unsent: queue.going,
      wait: wait.map { Verdict.Wait(scope: $0.scope.asCause, code: $0.code, until: $0.until) }
    )
  }

  /// The verdicts about changes that wait or move without a person.
  private var waiting: [Verdict] {
    var all: [Verdict] = []
    let unsent = queue.going
    if let pause = pauses.ofEverything {
      all.append(.paused(by: pause.actor, at: pause.at > 0 ? pause.at : nil, unsent: unsent))
    }
    let isOffline = isSyncing && (networkProblem != nil || silentSince != nil)
    if isOffline { all.append(offline) }
    let isSending = isSyncing && (unpaused(.inFlight) > 0 || sendableSince != nil)
    if isSending, !isOffline {
      let progress = progress.flatMap { $0.phase == .send ? $0 : nil }
      all.append(
        .sending(
          done: progress?.done ?? 0,
          of: progress?.total ?? 0,
          perSecond: progress?.perSecond,
          secondsLeft: progress?.etaSeconds
        )
      )
    }
    // Without a syncing process nothing goes on when a wait is over.
    let isNews = isSyncing || !isReady
    // A wait that only a person ends has a verdict of its own, and no flush helps.
    let waits = throttles.filter { !$0.needsPerson }
    if isNews,
      let until = (waits.filter { !$0.isOwn }.map(\.until) + [changeThrottledUntil].compactMap(\.self)).max()
    {
      all.append(.throttled(until: until, unsent: unsent))
    } else if isNews, !isOffline, unpaused(.waiting) > 0 || (isSyncing && !waits.isEmpty) {
      let ends = waits.map(\.until) + [nextRetryAt].compactMap(\.self)
      all.append(.retrying(unpaused(.waiting), nextTry: isSyncing ? ends.min() : nil))
    }
    if forApp > 0 { all.append(.waitingForApp(forApp)) }
    let underRules = queue.parts.reduce(0) { isPaused($1) && $1.state != .paused ? $0 + $1.count : $0 }
    // Rows that were paused one by one are resumed otherwise, so a rule that holds none of them is not named.
    let rules = underRules > 0 ? pauses.map(\.rule).filter { $0 != .everything }.map(\.asCause) : []
    if !isPaused, queue.paused + underRules > 0 {
      all.append(.partlyPaused(queue.paused + underRules, single: queue.paused, rules: rules))
    }
    return all
  }

  private var offline: Verdict {
    guard let problem = networkProblem else {
      return .offline(reason: "the server does not answer", since: silentSince, nextTry: nil, unsent: queue.going)
    }
    return .offline(
      reason: problem.message,
      since: problem.since,
      nextTry: wait(.network)?.until,
      unsent: queue.going
    )
  }

  /// The verdict while nothing is wrong and nothing waits.
  private var end: Verdict {
    if queue.total == 0, !hasChores, !errorStands, reachedEnd, !isTooOld, let lastSuccessAt,
      lastSuccessAt >= lastEnqueueAt ?? 0
    {
      return .inSync(at: lastSuccessAt, dropped: dropped.unseen)
    }
    if isSyncing, activity == .fetching { return .fetching }
    return lastSuccessAt == nil ? .neverSynced(hasStore: hasStore, path: missingPath) : .outOfDate(at: lastSuccessAt)
  }

  private static func isSignedOut(_ code: String) -> Bool {
    ServerErrorCode(code).disposition == .wait(.account)
  }

  /// The reason why sending or fetching stops until a person acts.
  private var block: Verdict.Block? {
    if let problem = quotaProblem { return .quota(problem.message) }
    // Being signed out has a verdict of its own.
    if let problem = accountProblem, !Self.isSignedOut(problem.code) {
      return .account(code: problem.code, message: problem.message)
    }
    let standing = errorStands ? lastError.map { ($0.code, $0.message) } : nil
    for (code, message) in [standing].compactMap(\.self) + throttles.map({ ($0.code, $0.message) }) {
      guard ServerErrorCode(code).needsPerson, !(Self.isSignedOut(code) && accountProblem?.code == code) else {
        continue
      }
      return ServerErrorCode(code) == .quotaExceeded ? .quota(message) : .account(code: code, message: message)
    }
    if let first = rejectedQueries.first {
      return .queries(count: rejectedQueries.count, type: first.type, message: first.message)
    }
    guard let first = unreadable.first else { return nil }
    return .unreadable(
      count: unreadable.count,
      zone: first.zone.title,
      type: first.type,
      record: first.record,
      message: first.message
    )
  }

  private func wait(_ scope: WaitScope) -> ScopeWait? { throttles.first { $0.scope == scope } }
}

extension ScopeWait {
  /// Whether it lasts until a person acts, however often the server is asked again.
  fileprivate var needsPerson: Bool {
    switch scope {
    case .account, .quota: true
    case .network, .database, .zone, .feed: ServerErrorCode(code).needsPerson
    }
  }
}

extension Verdict.Failure {
  init(_ summary: FailureSummary) {
    let known = summary.message.flatMap { message in summary.code.map { Words.joined(message, $0) } }
    // Beyond those that were read there may be other causes.
    let others = summary.isWhole ? summary.more : max(1, summary.more)
    self.init(summary.cause, message: known, others: others, isFieldRejected: summary.isFieldRejected)
  }
}

extension StoreStatus {
  /// The state of syncing, as JSON and metrics name it.
  package enum State: String, Hashable, Sendable {
    case idle, sending, fetching, waiting, paused, offline, error
  }

  /// The state of the first verdict that has one; else what is done just now, or what the last sync met.
  package var state: State {
    let state = verdicts(hasCredential: true).all.lazy.compactMap(\.state).first
    // A wait after an error that waiting does not cure.
    if let state, state != .waiting || !errorStands { return state }
    switch activity {
    case .sending: return .sending
    case .fetching: return .fetching
    case _ where errorStands: return .error
    case _ where wait(.network) != nil: return .offline
    case _ where !throttles.isEmpty || queue.waiting > 0: return .waiting
    case _: return queue.total > 0 && queue.total == queue.paused ? .paused : .idle
    }
  }
}

extension Verdict {
  /// The state of syncing that it means; nil if syncing may be doing anything.
  var state: StoreStatus.State? {
    switch self {
    case .signedOut(_, lacksCredential: true): nil
    case .unreadable, .storeFull, .wrongAccount, .signedOut, .blocked: .error
    case .paused: .paused
    case .offline: .offline
    case .sending: .sending
    case .fetching: .fetching
    case .throttled, .retrying: .waiting
    case .decisionNeeded, .notSyncing, .failed, .conflicts, .waitingForApp, .partlyPaused, .inSync, .neverSynced,
      .outOfDate:
      nil
    }
  }
}
