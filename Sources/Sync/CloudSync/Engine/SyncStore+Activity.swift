import CloudKit
import Facts
import Synchronization

extension Ledger {
  func publish(_ shown: ShownActivity.Value) throws {
    try changeActivity { row in
      row.state = shown.activity.rawValue
      row.phase = (shown.progress?.phase ?? shown.activity.phase)?.rawValue
      row.done = shown.progress?.done ?? 0
      row.total = shown.progress?.total ?? 0
      row.perSecond = shown.progress?.perSecond
    }
    if try isTrue(.isFetching) != shown.isFetching { try setValue(.isFetching, shown.isFetching) }
    if try value(.silentSince) != shown.silentSince { try setValue(.silentSince, shown.silentSince) }
  }

  /// Whether a request may be made at a time; see `SyncStore.mayRequest`.
  func mayRequest(endsBackOffs: Bool = false, now: Int64) throws -> Bool {
    if try isPaused() { return false }
    return try !waits(after: now).contains { $0.scope.stopsAll && (!endsBackOffs || !$0.isOwn) }
  }
}

/// The engine's activity, published to every process.
extension SyncStore {
  package enum Activity: String, Hashable, Sendable {
    case idle, sending, fetching

    var phase: Progress.Phase? {
      switch self {
      case .idle: nil
      case .sending: .send
      case .fetching: .fetch
      }
    }
  }

  /// The result of a sync that was not interrupted.
  struct Completion: Sendable {
    /// When the last fetch of changes began; a change accepted later was not sent by then.
    var fetchBeganAt: Int64
    /// Whether every change feed was fetched to its end, except those that the server does not let us read.
    var isComplete: Bool
  }

  /// Ends a sync: records its result, on which `inSync` is based, and finishes the requests that it served.
  ///
  /// - Parameters:
  ///   - completion: nil if the sync was interrupted, or failed with an error that was recorded before.
  ///   - rest: called at the end of the last transaction, to record that the engine is idle.
  func endSync(
    _ completion: Completion?,
    _ summary: SyncSummary,
    serving requests: [Int64] = [],
    _ lease: Lease,
    rest: (Ledger, _ now: Int64) throws -> Void = { _, _ in }
  ) throws(StoreError) {
    lease.shown.end()
    let hasMoreHistory = try write(lease) { ledger, now in
      if summary.error == nil, let error = summary.lastItemError {
        try ledger.changeActivity { $0.note(error, now: now) }
      }
      if let completion {
        try record(completion, now: now, ledger)
        try ledger.begin(.trimHistory, now: now)
      } else {
        try ledger.changeActivity { $0.reachedEnd = false }
      }
      let stop = summary.error ?? (completion == nil ? summary.lastItemError : nil)
      try ledger.logEnd(summary, stop.map { .error(code: $0.code.name, message: $0.reason) }, now: now)
      try Self.finish(requests, summary, now: now, ledger)
      if !ledger.hasChore { try rest(ledger, now) }
      return ledger.hasChore
    }
    if hasMoreHistory { try write(lease, rest) }
  }

  private func record(_ completion: Completion, now: Int64, _ ledger: Ledger) throws {
    for scope in [WaitScope.network, .account, .database] { try Throttles.clear(scope, ledger) }
    try ledger.setValue(.isRefused, false)
    let isWhole = try completion.isComplete && ledger.unreadable().isEmpty
    try ledger.changeActivity { row in
      row.perSecond = nil
      // A time in the future was set before the clock was moved back.
      if let acceptedAt = row.lastEnqueueAt, acceptedAt > now { row.lastEnqueueAt = completion.fetchBeganAt }
      row.reachedEnd = isWhole && row.lastEnqueueAt ?? 0 <= completion.fetchBeganAt
      if isWhole { row.lastSuccessAt = now }
      if completion.isComplete { row.errorStands = false }
    }
  }

  /// Records the error that stopped a whole sync. One scope backs off in any case, to avoid an immediate retry; an
  /// error that waiting does not cure is shown until a sync succeeds.
  func record(_ error: WebServicesError, random: Double, _ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, now in
      let scope: WaitScope
      let isWorthWaiting: Bool
      switch error.code.disposition {
      case .wait(.network): (scope, isWorthWaiting) = (.network, true)
      case .wait(.throttle): (scope, isWorthWaiting) = (.database, true)
      case .wait(.account): (scope, isWorthWaiting) = (.account, true)
      default: (scope, isWorthWaiting) = (.database, try Throttles.isWorthWaiting(after: error, in: .database, ledger))
      }
      try Throttles.set(scope, error, now: now, random: random, ledger)
      try ledger.noteError(error, stands: !isWorthWaiting, now: now)
    }
  }

  /// Ends the wait for an account if the credential that was refused has been renewed since. Otherwise writes nothing.
  func endWaitOfFormerCredential(_ lease: Lease) throws(StoreError) {
    let now = now()
    let name = credential.withLock { $0 }()
    guard try read({ try Throttles.outdated(by: name, now: now, $0) }) != nil else { return }
    try write(lease) { ledger, now in
      if let wait = try Throttles.outdated(by: name, now: now, ledger) { try ledger.put(wait) }
    }
  }

  /// Whether a request may be made now: no pause and no wait stops everything.
  ///
  /// - Parameter endsBackOffs: whether to ignore our own back-offs.
  func mayRequest(endsBackOffs: Bool = false) throws(StoreError) -> Bool {
    let now = now()
    return try read { try $0.mayRequest(endsBackOffs: endsBackOffs, now: now) }
  }

  /// Whether the whole database is throttled or has failed, with no success since.
  func isInTrouble() throws(StoreError) -> Bool {
    try read { ledger in
      try [WaitScope.network, .account, .database].contains { try ledger.wait($0) != nil }
    }
  }

  /// The current wait that the server asked for, for the whole database or one zone.
  func serversWait(in scope: WaitScope = .database) throws(StoreError) -> WebServicesError? {
    let now = now()
    return try read { ledger in
      guard let wait = try ledger.wait(scope), !wait.isOwn, wait.until > now else { return nil }
      let seconds = Double(wait.until - now) / 1000
      return WebServicesError(ServerErrorCode(wait.code), wait.message, retryAfter: seconds)
    }
  }

  /// Adds an event to the log.
  func note(_ event: Event, _ lease: Lease) throws(StoreError) {
    try write(lease) { ledger, now in
      try EventLog.add(event, now: now, ledger)
    }
  }

  /// The operations among these that must be verified.
  func unconfirmed(_ ids: [Int64]) throws(StoreError) -> [QueuedOperation] {
    try read { try $0.operations(ids).filter(\.needsVerification) }
  }
}
