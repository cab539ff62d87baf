/// Computes the time until a retry.
package enum Backoff {
  /// The longest back-off in seconds, unless the server asks for more.
  package static let longest = 300.0

  /// Seconds before attempt `attempt + 1`: 1, 2, 4 … 300, with full jitter in the upper half.
  package static func seconds(afterAttempt attempt: Int, random: Double) -> Double {
    let ceiling = min(longest, Double(1 << min(max(attempt - 1, 0), 9)))
    return ceiling / 2 + ceiling / 2 * random
  }

  /// Seconds for which one operation waits for the server: as long as it asked, doubled with each further failure, up
  /// to an hour more than asked.
  package static func seconds(asked: Double, attempt: Int) -> Double {
    let asked = min(max(asked, 0), 315_360_000)
    return min(asked * Double(1 << min(max(attempt - 1, 0), 12)), asked + 3600)
  }

  /// The longest wait in seconds: after a day the server is asked again.
  static let longestWait = 86_400.0

  /// Seconds for which a scope waits: at least what the server asked, more with each repetition, with jitter upward
  /// only.
  ///
  /// - Parameters:
  ///   - asked: the server's `retryAfter`, if any.
  ///   - previous: the last wait of the same scope, if no request has succeeded since.
  package static func scopeSeconds(asked: Double?, previous: Double?, random: Double) -> Double {
    // A `retryAfter` of zero is ignored; else the next request would be sent at once, in a loop.
    let asked = asked.flatMap { $0 > 0 ? min($0, longestWait) : nil }
    let grown = previous.map { min($0 * 2, (asked ?? 0) + 3600) } ?? 1
    let wait = asked.map { previous == nil ? $0 : max($0, grown) } ?? min(grown, longest)
    return min(wait + wait * 0.1 * random, longestWait)
  }

  /// Whole milliseconds, rounded up, at most a day.
  package static func milliseconds(_ seconds: Double) -> Int64 {
    guard seconds > 0 else { return 0 }
    return Int64((min(seconds, longestWait) * 1000).rounded(.up))
  }
}
