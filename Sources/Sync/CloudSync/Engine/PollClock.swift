/// Determines when to poll, whether or not pushes arrive.
struct PollClock {
  private let often: Int64
  private let seldom: Int64
  private var lastAt: Int64?
  private var isComplete = false

  init(_ configuration: SyncEngine.Configuration) {
    often = Int64(configuration.pollInterval * 1000)
    seldom = max(often, Int64(configuration.watchdogInterval * 1000))
  }

  /// Milliseconds between polls: short if a fetch was incomplete or no push can arrive.
  func interval(isPushed: Bool) -> Int64 { isPushed && isComplete ? seldom : often }

  /// The time of the next poll, in milliseconds since 1970; 0 before the first.
  func next(isPushed: Bool) -> Int64 { lastAt.map { $0 + interval(isPushed: isPushed) } ?? 0 }

  func isDue(at now: Int64, isPushed: Bool) -> Bool {
    // A time in the future was set before the clock was moved back.
    guard let lastAt, lastAt <= now else { return true }
    return now >= next(isPushed: isPushed)
  }

  mutating func polled(at now: Int64, reachedEnd: Bool) {
    lastAt = now
    isComplete = reachedEnd
  }

  /// Falls back to the short interval until the next poll.
  mutating func distrustPush() { isComplete = false }
}
