import CloudKit
import Facts

/// Waits of scopes, kept across restarts.
enum Throttles {
  static func set(
    _ scope: WaitScope,
    _ error: WebServicesError,
    now: Int64,
    random: Double,
    _ ledger: Ledger
  ) throws {
    try endTrouble(answeredWith: error.code, ledger)
    // A row outlives its wait until a request gets through: a scope that refuses again at once waits longer.
    let previous = try ledger.wait(scope)
    let seconds: Double
    switch scope {
    // A person has to act; unless the server says when, a probe a minute finds out when that has been done.
    case .account, .quota: seconds = error.retryAfter.flatMap { $0 > 0 ? min($0, Backoff.longestWait) : nil } ?? 60
    default: seconds = Backoff.scopeSeconds(asked: error.retryAfter, previous: previous?.seconds, random: random)
    }
    let isOwn = !(error.retryAfter ?? 0 > 0)
    let until = now + Backoff.milliseconds(seconds)
    try ledger.put(
      ScopeWait(
        scope: scope,
        until: max(previous?.until ?? until, until),
        seconds: seconds,
        code: error.code.name,
        message: error.reason,
        isOwn: isOwn,
        since: previous.flatMap { $0.isOver ? nil : $0.since } ?? now
      )
    )
  }

  /// Removes the trouble that an answer shows to be over: any answer came over the network, and one of the
  /// service that does not refuse the credential got past authentication.
  private static func endTrouble(answeredWith code: ServerErrorCode, _ ledger: Ledger) throws {
    switch code {
    case .networkError: return
    case .authenticationFailed, .authenticationRequired, .unexpectedServerResponse: try clear(.network, ledger)
    default:
      try clear(.network, ledger)
      try clear(.account, ledger)
    }
  }

  /// Marks trouble as over that any answer after authentication shows to be over. The row stays, for what is sent may fail
  /// again, and then waits longer.
  static func endTrouble(_ ledger: Ledger) throws {
    for scope in [WaitScope.network, .account] {
      guard var wait = try ledger.wait(scope), !wait.isOver else { continue }
      try noteRecovery(of: wait, ledger)
      wait.isOver = true
      try ledger.put(wait)
    }
  }

  private static func noteRecovery(of wait: ScopeWait, _ ledger: Ledger) throws {
    guard wait.scope == .network || wait.scope == .account, !wait.isOver, let since = wait.since else { return }
    let seconds = Int(max(0, ledger.now - since) / 1000)
    try EventLog.add(.recovered(wait.scope.asCause, seconds: seconds), now: ledger.now, ledger)
  }

  /// Whether an error is nothing but a reason to wait: the server said so, or fails over everything and has not done so for
  /// long.
  static func passes(_ error: WebServicesError, in scope: WaitScope, _ ledger: Ledger) throws -> Bool {
    if error.retryAfter != nil { return true }
    guard error.code == .tryAgainLater || error.httpStatus ?? 0 >= 500 else { return false }
    return try ledger.wait(scope)?.seconds ?? 0 < longWait
  }

  /// Seconds after which a server that fails without a pause is not waited for any more with patience.
  static let longWait = 300.0

  static func clear(_ scope: WaitScope, _ ledger: Ledger) throws {
    guard let wait = try ledger.wait(scope) else { return }
    try noteRecovery(of: wait, ledger)
    try ledger.removeWait(scope)
  }
}
