import CloudKit
import Facts
import Synchronization

/// The activity and progress of an engine, as other processes see them. Its next transaction publishes them, or a
/// heartbeat, so that they need no transactions of their own.
final class ShownActivity: Sendable {
  struct Value: Hashable, Sendable {
    fileprivate(set) var activity = SyncStore.Activity.idle
    /// Nil before the current phase has any.
    fileprivate(set) var progress: Progress?
    /// Whether a fetch is in progress, during which referenced records may not have arrived yet.
    fileprivate(set) var isFetching = false
    /// Since when the server owes a reply, if that is longer than usual.
    fileprivate(set) var silentSince: Int64?
  }

  private struct State {
    var value = Value()
    /// Nothing is known of what the previous engine published, so the first transaction publishes an idle engine.
    var published: Value?
    /// When the request began that has no reply yet.
    var requestBeganAt: Int64?
    var idleUntil: Int64??
  }

  private let state = Mutex(State())

  /// Milliseconds after which a request without a reply is shown. With the time until the heartbeat writes it and a screen
  /// reads it, that is five seconds.
  static let usualReply: Int64 = 4_500

  func requestBegan(at time: Int64) { state.withLock { $0.requestBeganAt = time } }

  func requestEnded() { state.withLock { ($0.requestBeganAt, $0.value.silentSince) = (nil, nil) } }

  /// Notes a request that has been without a reply for longer than usual.
  func noteSilence(at time: Int64) {
    state.withLock { state in
      // Files take longer, and their transport has a time limit of its own.
      guard let began = state.requestBeganAt, time - began >= Self.usualReply, state.value.progress?.phase != .upload
      else { return }
      state.value.silentSince = began
    }
  }

  func start(_ activity: SyncStore.Activity) {
    state.withLock { state in
      guard state.value.activity != activity else { return }
      state.value.activity = activity
      state.value.progress = nil
    }
  }

  func show(_ progress: Progress) { state.withLock { $0.value.progress = progress } }

  func setFetching(_ isFetching: Bool) { state.withLock { $0.value.isFetching = isFetching } }

  /// Shows an idle engine.
  func end() { state.withLock { $0.value = Value() } }

  /// The time at which the idle engine continues, as recorded in the store; nil while it is busy.
  var idleUntil: Int64?? { state.withLock(\.idleUntil) }

  func setIdle(_ end: Int64??) { state.withLock { $0.idleUntil = end } }

  /// Whether a sync is in progress.
  var isBusy: Bool { state.withLock { $0.value.activity != .idle } }

  /// The activity, if it was not published yet.
  var unpublished: Value? { state.withLock { $0.value == $0.published ? nil : $0.value } }

  func notePublished(_ value: Value) { state.withLock { $0.published = value } }
}

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
      let isTransient: Bool
      switch error.code.disposition {
      case .wait(.network): (scope, isTransient) = (.network, true)
      case .wait(.throttle): (scope, isTransient) = (.database, true)
      case .wait(.account): (scope, isTransient) = (.account, true)
      default: (scope, isTransient) = (.database, try Throttles.isTransient(error, in: .database, ledger))
      }
      try Throttles.set(scope, error, now: now, random: random, ledger)
      try ledger.noteError(error, stands: !isTransient, now: now)
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

  /// Those of these operations that must be verified.
  func unconfirmed(_ ids: [Int64]) throws(StoreError) -> [QueuedOperation] {
    try read { try $0.operations(ids).filter(\.needsVerification) }
  }

  // MARK: - Zones made by the engine

  /// Applies the replies to zone creations on which queued changes depend.
  func zonesMade(
    _ zones: [ZoneKey],
    _ results: [WireZoneResult],
    random: Double,
    _ lease: Lease
  ) throws(StoreError) {
    let results = results.matched(to: zones.map(\.wire))
    try write(lease) { ledger, now in
      for (zone, result) in zip(zones, results) {
        switch result {
        case .zone: try ledger.markCreatedHere(zone)
        case .failure(_, let error):
          switch Disposition(of: error, during: .creatingZone(isWhole: false)) {
          case .acknowledge: try ledger.markCreatedHere(zone)
          case .deadLetter:
            let code = error.code.name
            let cause = FailureCause.zoneCannotBeCreated(zone: zone.zone, code: code, message: error.reason)
            let last = try ledger.lastOperation()
            try ledger.begin(.fail(zone, cause, during: .unconfirmed, through: last), now: now)
          default: try Self.backOff(zone, error, now: now, random: random, ledger)
          }
        case nil:
          let error = WebServicesError(.unexpectedServerResponse, "the answer does not mention zone \(zone.zone)")
          try Self.backOff(zone, error, now: now, random: random, ledger)
        }
      }
    }
  }

  /// Backs off a zone that cannot be created now.
  private static func backOff(
    _ zone: ZoneKey,
    _ error: WebServicesError,
    now: Int64,
    random: Double,
    _ ledger: Ledger
  ) throws {
    let event = Event.zoneCannotBeCreated(zone: zone.zone, code: error.code.name, message: error.reason)
    try Throttles.set(.zone(zone), error, now: now, random: random, as: event, ledger)
  }
}
