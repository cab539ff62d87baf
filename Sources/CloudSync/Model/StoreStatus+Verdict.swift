import CloudKit
package import Facts

extension StoreStatus {
  /// Returns the store's verdict: the first case of `Verdict` that is true.
  ///
  /// - Parameter hasCredential: whether this process could sync.
  package func verdict(hasCredential: Bool) -> Verdict {
    let unsent = queue.total
    let isSyncing = driver?.isLive == true
    if isRefused { return .wrongAccount(owner: identity) }
    if let problem = accountProblem, Self.isSignedOut(problem.code) { return .signedOut(unsent: unsent) }
    if !isSyncing, unsent > 0, !hasCredential { return .signedOut(unsent: unsent) }
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
    if !isSyncing, ready > 0 {
      let wait = throttles.filter { WaitScope(name: $0.scope).stopsAll }.max { $0.until < $1.until }
      return .notSyncing(
        unsent: unsent,
        wait: wait.map { Verdict.Wait(scope: WaitScope(name: $0.scope).asCause, until: $0.until) }
      )
    }
    if isSyncing, let problem = networkProblem {
      return .offline(reason: problem.message, nextTry: wait(.network)?.until, unsent: unsent)
    }
    if isSyncing, unpaused(.inFlight) + sendable > 0 {
      let progress = progress.flatMap { $0.phase == .send ? $0 : nil }
      return .sending(
        done: progress?.done ?? 0,
        of: progress?.total ?? 0,
        perSecond: progress?.perSecond,
        secondsLeft: progress?.etaSeconds
      )
    }
    if let wait = throttles.filter({ !$0.isOwn }).max(by: { $0.until < $1.until }) {
      return .throttled(until: wait.until, unsent: unsent)
    }
    if unpaused(.waiting) > 0 || !throttles.isEmpty {
      let ends = throttles.map(\.until) + [nextActionAt].compactMap { $0 }
      return .retrying(unpaused(.waiting), nextTry: ends.min())
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

  /// Changes that are to be sent or verified, now or after a wait.
  private var ready: Int {
    max(0, unpaused(.pending) + unpaused(.inFlight) + unpaused(.waiting) - savesForApp)
  }

  /// Changes that can be sent now, as far as their scopes allow.
  private var sendable: Int {
    if wait(.database) != nil { return 0 }
    return max(0, unpaused(.pending) { wait(.zone($0)) == nil } - savesForApp)
  }
}
