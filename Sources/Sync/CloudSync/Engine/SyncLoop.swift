/// The engine's next activity.
enum Outlook: Hashable {
  case work
  /// Polls wait as well; nil while everything is paused.
  case held(until: Int64?)
  /// The end of the next back-off or wait, if any.
  case rest(until: Int64?)
  /// Another process syncs. Nothing can be done before it writes, releases its lock, or is silent past this time.
  case standBy(until: Int64?)
  /// The other process has left work undone for too long, so its lease is taken although it has its lock.
  case replaceHolder
  /// The store cannot be used now, such as on a full disk: nothing was changed, so try again later.
  case waitForStorage

  /// - Parameter fetches: whether there is work besides what is planned to be sent.
  init(_ plan: Step, fetches: Bool) {
    switch plan {
    case .held(let end): self = .held(until: end)
    case .rest(let end) where !fetches: self = .rest(until: end)
    default: self = .work
    }
  }

  /// Creates the outlook while another process holds the lease.
  ///
  /// - Parameters:
  ///   - leaseEnd: the end of its lease while it is busy; nil while it is idle.
  ///   - wakesAt: the time at which it continues without an event, if it is idle.
  ///   - undoneFor: the milliseconds for which it has left work undone; nil if there is none to do.
  init(standingByUntil leaseEnd: Int64?, wakesAt: Int64?, undoneFor: Int64?, now: Int64) {
    switch (leaseEnd, undoneFor) {
    case (let end?, _): self = .standBy(until: end)
    case (nil, let time?) where time >= EngineSigns.patienceOnStandby: self = .replaceHolder
    case (nil, let time?): self = .standBy(until: now + EngineSigns.patienceOnStandby - time)
    case (nil, nil): self = .standBy(until: wakesAt)
    }
  }

  /// Creates the outlook after an error of the store; nil if it ends the sync.
  init?(after error: StoreError) {
    if error.isTransient {
      self = .waitForStorage
    } else if error.kind == .fenced {
      self = .standBy(until: nil)
    } else {
      return nil
    }
  }

  /// The time of the next activity that needs no event.
  func end(nextPoll: Int64) -> Int64? {
    switch self {
    case .work, .replaceHolder, .waitForStorage: nextPoll
    case .held(let end), .standBy(let end): end
    case .rest(let end): min(nextPoll, end ?? nextPoll)
    }
  }
}

/// The state of a continuous sync between its steps. Confined to the engine's actor.
final class SyncLoop {
  static let shortestPatience = Duration.seconds(1)
  /// The longest time between two tries to use a store that cannot be written: a person waits for the end of it.
  private static let longestPatience = Duration.seconds(5)

  /// Record types to poll in addition to the known ones.
  let types: [String]
  /// Whether the system reports writes to the store.
  let isWatched: Bool
  let inbox = PushInbox()
  /// Nil on standby.
  var lease: Lease?
  var polls: PollClock
  /// The syncs that are not logged yet.
  var digest = SyncDigest()
  var hasStarted = false
  var hasChecked = false
  /// Whether the store's user has been confirmed.
  var isOurs = false
  /// Whether an outcome may not have been written.
  var wasBroken = false
  /// The reason why the store cannot be used.
  var obstacle: StoreError?
  var patience = SyncLoop.shortestPatience
  var listening: Task<Void, Never>?
  var network: Task<Void, Never>?

  init(_ configuration: SyncEngine.Configuration, types: [String], isWatched: Bool) {
    (self.types, self.isWatched) = (types, isWatched)
    polls = PollClock(configuration)
  }

  /// Notes the end of a sync.
  func synced(_ summary: SyncSummary, pollWasDue: Bool, at now: Int64) {
    if summary.error != nil { inbox.fill() }
    if pollWasDue || summary.reachedEnd {
      polls.polled(at: now, reachedEnd: summary.reachedEnd)
    } else {
      // The change that a push announced did not arrive, and no other push will announce it.
      polls.distrustPush()
    }
  }

  /// The time at which the engine continues without an event.
  func end(of next: Outlook) -> Int64? { next.end(nextPoll: polls.next(isPushed: inbox.isListening)) }

  /// Returns the time until the next try, and doubles it.
  func backOff() -> Duration {
    defer { patience = min(patience * 2, Self.longestPatience) }
    return patience
  }

  func stopListening() {
    listening?.cancel()
    network?.cancel()
    (listening, network) = (nil, nil)
  }
}
