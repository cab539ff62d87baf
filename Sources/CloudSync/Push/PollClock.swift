/// When the feeds are polled: the watchdog over whatever pushes say.
struct PollClock {
  private let often: Int64
  private let seldom: Int64
  private var lastAt: Int64?
  private var isComplete = false

  init(_ configuration: SyncEngine.Configuration) {
    often = Int64(configuration.pollInterval * 1000)
    seldom = max(often, Int64(configuration.watchdogInterval * 1000))
  }

  /// Milliseconds between polls. Where a feed could not be read to its end, or no push comes, polls come often.
  private func interval(isPushed: Bool) -> Int64 { isPushed && isComplete ? seldom : often }

  /// When the next poll is due, in milliseconds since 1970; 0: it has never been polled.
  func next(isPushed: Bool) -> Int64 { lastAt.map { $0 + interval(isPushed: isPushed) } ?? 0 }

  func isDue(at now: Int64, isPushed: Bool) -> Bool {
    // A last poll in the future was made before the clock was set back.
    guard let lastAt, lastAt <= now else { return true }
    return now >= next(isPushed: isPushed)
  }

  mutating func polled(at now: Int64, reachedEnd: Bool) {
    lastAt = now
    isComplete = reachedEnd
  }

  /// Pushes are not to be relied upon until the next poll.
  mutating func distrustPush() { isComplete = false }
}
