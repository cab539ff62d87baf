package import CloudKit
package import Facts

extension StoreStatus {
  private var isSyncing: Bool { driver?.isLive == true }
  private var isReady: Bool { unpaused(.inFlight) > 0 || canSendLater }
  /// Saves and conflicts that wait for the app.
  package var forApp: Int { savesForApp + conflictsForApp }

  /// Everything for a person to act on or to decide, each as its verdict, in the order of the verdicts. Exit codes are
  /// those of all, the verdict is the first.
  ///
  /// - Parameter hasCredential: whether this process could sync.
  package func problems(hasCredential: Bool) -> [Verdict] {
    var problems: [Verdict] = []
    if isRefused { problems.append(.wrongAccount(owner: identity)) }
    let isSignedOut = accountProblem.map { Self.isSignedOut($0.code) } ?? false
    if isSignedOut || (!isSyncing && isReady && !hasCredential) { problems.append(.signedOut(unsent: queue.total)) }
    if !heldDeletions.isEmpty {
      let zones = heldDeletions.map(\.zone.zone)
      problems.append(.decisionNeeded(deletions: heldDeletions.reduce(0) { $0 + $1.records }, zones: zones))
    }
    if let block { problems.append(.blocked(block)) }
    if queue.failed > 0 { problems.append(.failed(queue.failed)) }
    let conflicts = queue.conflicts - conflictsForApp
    if conflicts > 0 { problems.append(.conflicts(conflicts)) }
    return problems
  }

  /// Returns the store's verdict: the first case of `Verdict` that is true.
  ///
  /// - Parameter hasCredential: whether this process could sync.
  package func verdict(hasCredential: Bool) -> Verdict {
    if let first = problems(hasCredential: hasCredential).first { return first }
    let unsent = queue.total
    if let pause = pauses.first(where: { $0.rule == .everything }) {
      return .paused(by: pause.actor, at: pause.at > 0 ? pause.at : nil, unsent: unsent)
    }
    if !isSyncing, isReady {
      // A sync ends our own waits.
      let wait = throttles.filter { WaitScope(name: $0.scope).stopsAll && !$0.isOwn }.max { $0.until < $1.until }
      return .notSyncing(
        unsent: unsent,
        wait: wait.map { Verdict.Wait(scope: WaitScope(name: $0.scope).asCause, code: $0.error, until: $0.until) }
      )
    }
    if isSyncing, let problem = networkProblem {
      return .offline(
        reason: problem.message,
        since: networkDownSince,
        nextTry: wait(.network)?.until,
        unsent: unsent
      )
    }
    if isSyncing, unpaused(.inFlight) > 0 || canSendNow {
      let progress = progress.flatMap { $0.phase == .send ? $0 : nil }
      return .sending(
        done: progress?.done ?? 0,
        of: progress?.total ?? 0,
        perSecond: progress?.perSecond,
        secondsLeft: progress?.etaSeconds
      )
    }
    if let until = (throttles.filter { !$0.isOwn }.map(\.until) + [changeThrottledUntil].compactMap(\.self)).max() {
      return .throttled(until: until, unsent: unsent)
    }
    if unpaused(.waiting) > 0 || (isSyncing && !throttles.isEmpty) {
      let ends = throttles.map(\.until) + [nextActionAt].compactMap { $0 }
      return .retrying(unpaused(.waiting), nextTry: isSyncing ? ends.min() : nil)
    }
    if forApp > 0 { return .waitingForApp(forApp) }
    let underRules = OperationState.allCases.filter { $0 != .paused }.reduce(0) { $0 + count($1) - unpaused($1) }
    let paused = queue.paused + underRules
    if paused > 0 { return .partlyPaused(paused) }
    if isInSync { return .inSync(at: lastSuccessAt) }
    if isSyncing, state == .fetching { return .fetching }
    if lastSuccessAt == nil { return .neverSynced(hasStore: hasStore) }
    return .outOfDate(at: lastSuccessAt)
  }

  private static func isSignedOut(_ code: String) -> Bool {
    let code = ServerErrorCode(code)
    return code == .authenticationFailed || code == .authenticationRequired
  }

  /// The reason why sending or fetching stops until a person acts.
  private var block: Verdict.Block? {
    if let problem = quotaProblem { return .quota(problem.message) }
    if let problem = accountProblem { return .account(code: problem.code, message: problem.message) }
    let standing = errorStands ? lastError.map { ($0.code, $0.message) } : nil
    for (code, message) in [standing].compactMap(\.self) + throttles.map({ ($0.error, $0.message) }) {
      guard ServerErrorCode(code).needsPerson else { continue }
      return ServerErrorCode(code) == .quotaExceeded ? .quota(message) : .account(code: code, message: message)
    }
    guard let first = unreadable.first else { return nil }
    return .unreadable(count: unreadable.count, zone: first.zone.zone, type: first.type, message: first.message)
  }

  private func count(_ state: OperationState) -> Int {
    queue.parts.reduce(0) { $1.state == state ? $0 + $1.count : $0 }
  }

  private func wait(_ scope: WaitScope) -> Throttle? { throttles.first { $0.scope == scope.name } }
}

extension ServerErrorCode {
  /// Whether only a person can help: authentication, permission or quota.
  package var needsPerson: Bool {
    [.authenticationFailed, .authenticationRequired, .accessDenied, .quotaExceeded].contains(self)
  }
}
