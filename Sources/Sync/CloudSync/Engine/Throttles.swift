import CloudKit
import Facts

/// Waits of scopes. They persist across restarts.
enum Throttles {
  /// Sets the waits that one reply asks for. A reply ends other trouble, so what it says of the account and the network
  /// is set last.
  static func set(_ waits: [WaitScope: WebServicesError], now: Int64, random: Double, _ ledger: Ledger) throws {
    let isOfAll = { (scope: WaitScope) in scope == .account || scope == .network }
    let ordered = waits.sorted { one, other in
      isOfAll(one.key) == isOfAll(other.key) ? one.key.name < other.key.name : isOfAll(other.key)
    }
    for (scope, error) in ordered { try set(scope, error, now: now, random: random, ledger) }
  }

  static func set(
    _ scope: WaitScope,
    _ error: WebServicesError,
    now: Int64,
    random: Double,
    as event: Event? = nil,
    _ ledger: Ledger
  ) throws {
    // A gateway that answers for a server that does not is no reply that ends the trouble it means.
    try endTrouble(answeredWith: error.code, except: scope, ledger)
    // A row outlives its wait until a request succeeds, so that a scope that fails again waits longer.
    let previous = try ledger.wait(scope)
    // The same trouble is logged once, however often it is met.
    if previous.map({ $0.code != error.code.name || $0.isOver }) ?? true {
      let place: String? =
        switch scope {
        case .zone, .feed: scope.asCause.text
        case .network, .account, .quota, .database: nil
        }
      let zone: ZoneKey? = if case .zone(let key) = scope { key } else { nil }
      let event = event ?? .error(code: error.code.name, message: error.reason, scope: place)
      try EventLog.addHourly(event, in: zone, now: now, ledger)
    }
    let seconds: Double
    switch scope {
    // A person has to act. Unless the server sets a time, try once a minute whether that has been done.
    case .account, .quota: seconds = error.retryAfter.flatMap { $0 > 0 ? min($0, Backoff.longestWait) : nil } ?? 60
    default: seconds = Backoff.scopeSeconds(asked: error.retryAfter, previous: previous?.seconds, random: random)
    }
    let isOwn = !(error.retryAfter ?? 0 > 0)
    let until = now + Backoff.milliseconds(seconds)
    if scope == .account { try ledger.setValue(.signInURL, error.redirectURL) }
    try ledger.put(
      ScopeWait(
        scope: scope,
        until: max(previous?.until ?? until, until),
        seconds: seconds,
        code: error.code.name,
        message: error.reason,
        isOwn: isOwn,
        since: previous.flatMap { $0.isOver ? nil : $0.since } ?? now,
        credential: scope == .account ? ledger.credential().map(CredentialDigest.init(of:)) : nil
      )
    )
  }

  /// The wait for an account that ends now because its credential was renewed; nil if there is none.
  ///
  /// - Parameter name: the name of the credential that requests have now.
  static func outdated(by name: String?, now: Int64, _ ledger: Ledger) throws -> ScopeWait? {
    guard var wait = try ledger.wait(.account), wait.until > now, let name, wait.credential?.matches(name) == false
    else { return nil }
    // The row stays, as after a flush: a credential that is refused as well waits longer.
    wait.until = now
    return wait
  }

  /// Clears the problems that a reply disproves: any reply shows that the network works, and most show that the
  /// credential is accepted.
  ///
  /// - Parameter scope: the scope that waits because of the reply.
  private static func endTrouble(answeredWith code: ServerErrorCode, except scope: WaitScope, _ ledger: Ledger) throws {
    let disproved: [WaitScope] =
      switch code.disposition {
      case .wait(.network): []
      case .wait(.account), .unanswered: [.network]
      default: [.network, .account]
      }
    for other in disproved where other != scope { try clear(other, ledger) }
  }

  /// Whether the network or the account fails, as far as is known. The next reply ends that.
  static func hasOpenTrouble(_ ledger: Ledger) throws -> Bool {
    try [WaitScope.network, .account].contains { try ledger.wait($0).map { !$0.isOver } ?? false }
  }

  /// Marks trouble as over that any answer after authentication shows to be over. The row stays, for what is sent may
  /// fail again, and then waits longer.
  static func endTrouble(_ ledger: Ledger) throws {
    for scope in [WaitScope.network, .account] {
      guard var wait = try ledger.wait(scope), !wait.isOver else { continue }
      try noteRecovery(of: wait, ledger)
      wait.isOver = true
      try ledger.put(wait)
    }
  }

  private static func noteRecovery(of wait: ScopeWait, _ ledger: Ledger) throws {
    guard wait.scope == .network || wait.scope == .account, !wait.isOver else { return }
    let seconds = Int(max(0, ledger.now - wait.since) / 1000)
    guard seconds > 0 else { return }
    try EventLog.add(.recovered(wait.scope.asCause, seconds: seconds), now: ledger.now, ledger)
  }

  /// Whether waiting is the right response to an error: the server asked for it, or the server fails in general and has
  /// not done so for long.
  static func isWorthWaiting(after error: WebServicesError, in scope: WaitScope, _ ledger: Ledger) throws -> Bool {
    if error.retryAfter != nil { return true }
    // In a reply that is otherwise fine, the error is that of one request.
    guard error.httpStatus ?? 0 >= 500 else { return false }
    return try ledger.wait(scope)?.seconds ?? 0 < longWait
  }

  /// Seconds after which a failing server counts as an error.
  static let longWait = 300.0

  static func clear(_ scope: WaitScope, _ ledger: Ledger) throws {
    guard let wait = try ledger.wait(scope) else { return }
    try noteRecovery(of: wait, ledger)
    try ledger.removeWait(scope)
  }
}

extension [WaitScope: WebServicesError] {
  /// Notes a wait that a reply asks for. The longest of several counts.
  mutating func note(_ scope: WaitScope, _ error: WebServicesError) {
    if let known = self[scope], known.retryAfter ?? 0 >= error.retryAfter ?? 0 { return }
    self[scope] = error
  }
}
