/// The engine's next activity.
enum Outlook: Hashable {
  case work
  /// Polls wait as well; nil while everything is paused.
  case held(until: Int64?)
  /// The end of the next back-off or wait, if any.
  case rest(until: Int64?)

  init(_ plan: Step, isHeld: Bool) {
    guard case .rest(let end) = plan else {
      self = .work
      return
    }
    self = isHeld ? .held(until: end) : .rest(until: end)
  }

  /// The time of the next activity that needs no event.
  func end(nextPoll: Int64) -> Int64? {
    switch self {
    case .work: nextPoll
    case .held(let end): end
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
