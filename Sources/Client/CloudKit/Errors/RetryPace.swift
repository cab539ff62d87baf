/// The wait between failed attempts: one second, doubled each time, at most a minute, but at least the wait that the
/// server asked for.
package struct RetryPace {
  private var failures = 0

  package init() {}

  package mutating func afterFailure(retryAfter: Double?) -> Duration {
    defer { failures += 1 }
    let own = min(60, 1 << min(failures, 6))
    return .seconds(max(Double(own), retryAfter.map { $0.isFinite ? $0 : 0 } ?? 0))
  }
}

extension CKError {
  /// Whether the same request can succeed later without anyone's intervention.
  package var isTransient: Bool {
    switch code {
    case .networkUnavailable, .networkFailure, .serviceUnavailable, .requestRateLimited, .internalError, .zoneBusy,
      .serverResponseLost, .accountTemporarilyUnavailable:
      true
    default: false
    }
  }
}
