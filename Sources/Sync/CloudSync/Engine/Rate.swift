/// Measures the rate of sending over the last seconds, for the progress and its end.
struct Rate: Sendable {
  private static let window: Int64 = 5_000

  /// The changes that this sync has sent.
  private var done = 0
  private var samples: [(at: Int64, done: Int)] = []

  mutating func add(_ count: Int) { done += count }

  /// - Parameter left: the changes that are still to be sent, with those that were added meanwhile.
  mutating func progress(left: Int, at now: Int64) -> Progress {
    samples.append((now, done))
    // Samples of a clock that was set back since would never end.
    samples.removeAll { $0.at < now - Self.window || $0.at > now }
    let first = samples.first ?? (now, done)
    let seconds = Double(now - first.at) / 1000
    let perSecond = seconds > 0 ? Double(done - first.done) / seconds : nil
    return Progress(phase: .send, done: done, total: done + left, perSecond: perSecond)
  }
}

/// The progress of a sync's current phase.
package struct Progress: Hashable, Sendable {
  package enum Phase: String, Hashable, Sendable {
    /// Operations are being sent.
    case send
    /// Asset files are being uploaded; counted in bytes.
    case upload
    /// Changes are being fetched.
    case fetch
  }

  package var phase: Phase
  package var done: Int
  package var total: Int
  /// Operations per second over the last seconds; nil before there is anything to measure.
  package var perSecond: Double?

  init(phase: Phase, done: Int, total: Int, perSecond: Double? = nil) {
    self.phase = phase
    self.done = done
    self.total = total
    self.perSecond = perSecond
  }

  /// The progress of a fetch, whose total is unknown.
  init(fetched count: Int) { self.init(phase: .fetch, done: count, total: count) }

  /// Seconds until the end at the present rate.
  package var etaSeconds: Double? {
    guard let perSecond, perSecond > 0, total > done else { return nil }
    return Double(total - done) / perSecond
  }
}
