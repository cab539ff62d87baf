import CloudKit
package import Facts

extension StoreStatus {
  /// Returns the store's verdict: the first case of `Verdict` that is true.
  ///
  /// - Parameter hasCredential: whether this process could sync.
  package func verdict(hasCredential: Bool) -> Verdict {
    let unsent = queue.total
    let isSyncing = driver?.isLive == true
    let isReady = unpaused(.inFlight) > 0 || canSendLater
    if isRefused { return .wrongAccount(owner: identity) }
    if let problem = accountProblem, Self.isSignedOut(problem.code) { return .signedOut(unsent: unsent) }
    if !isSyncing, isReady, !hasCredential { return .signedOut(unsent: unsent) }
    if !heldDeletions.isEmpty {
      let zones = heldDeletions.map(\.zone.zone)
      return .decisionNeeded(deletions: heldDeletions.reduce(0) { $0 + $1.records }, zones: zones)
    }
    if let block { return .blocked(block) }
    if queue.failed > 0 { return .failed(queue.failed) }
    let conflicts = queue.conflicts - conflictsForApp
    if conflicts > 0 { return .conflicts(conflicts) }
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
    let forApp = savesForApp + conflictsForApp
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
    if errorStands, let error = lastError, ServerErrorCode(error.code) == .accessDenied {
      return .account(code: error.code, message: error.message)
    }
    guard let first = unreadable.first else { return nil }
    return .unreadable(count: unreadable.count, zone: first.zone.zone, type: first.type, message: first.message)
  }

  private func count(_ state: OperationState) -> Int {
    queue.parts.reduce(0) { $1.state == state ? $0 + $1.count : $0 }
  }

  private func wait(_ scope: WaitScope) -> Throttle? { throttles.first { $0.scope == scope.name } }
}
