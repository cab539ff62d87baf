/// Limits how often something is done.
package struct Pace: Hashable, Sendable {
  private let interval: Duration
  private var last: ContinuousClock.Instant?

  package init(every interval: Duration) { self.interval = interval }

  /// Notes that it was done.
  mutating func note(at now: ContinuousClock.Instant) { last = now }

  /// The time until it may be done again.
  func wait(at now: ContinuousClock.Instant) -> Duration {
    last.map { max(.zero, interval - $0.duration(to: now)) } ?? .zero
  }

  /// Whether it may be done now; then it counts as done.
  package mutating func isDue(at now: ContinuousClock.Instant) -> Bool {
    guard wait(at: now) == .zero else { return false }
    last = now
    return true
  }
}
