internal import Foundation

/// What was said about how an operation runs; nil where nothing was said.
struct OperationSettings: Sendable {
  var container: CKContainer?
  var qualityOfService: QualityOfService?
  var allowsCellularAccess: Bool?
  var isLongLived: Bool?
  var timeoutIntervalForRequest: TimeInterval?
  var timeoutIntervalForResource: TimeInterval?
  /// When the operation that these settings belong to has to be over, once it has begun.
  var deadline: ContinuousClock.Instant?

  /// These settings, and where they say nothing, others.
  func completed(by others: OperationSettings) -> OperationSettings {
    var settings = self
    settings.container = container ?? others.container
    settings.qualityOfService = qualityOfService ?? others.qualityOfService
    settings.allowsCellularAccess = allowsCellularAccess ?? others.allowsCellularAccess
    settings.isLongLived = isLongLived ?? others.isLongLived
    settings.timeoutIntervalForRequest = timeoutIntervalForRequest ?? others.timeoutIntervalForRequest
    settings.timeoutIntervalForResource = timeoutIntervalForResource ?? others.timeoutIntervalForResource
    settings.deadline = deadline ?? others.deadline
    return settings
  }

  /// These settings for an operation that begins now.
  func begun(at now: ContinuousClock.Instant = .now) -> OperationSettings {
    var settings = self
    settings.deadline = timeoutIntervalForResource.map { now.advanced(by: Self.duration($0)) }
    return settings
  }

  /// The longest that a request may take that begins now; nil where nothing limits it.
  func timeout(at now: ContinuousClock.Instant = .now) -> Duration? {
    let limits = [timeoutIntervalForRequest, timeoutIntervalForResource].compactMap { $0 }.map(Self.duration)
    let rest = deadline.map { now.duration(to: $0) }
    return (limits + [rest].compactMap { $0 }).min()
  }

  /// The priority of the task that does the work; nil for that of whoever started it.
  var priority: TaskPriority? {
    switch qualityOfService {
    case .userInteractive, .userInitiated: .userInitiated
    case .utility: .utility
    case .background: .background
    case .default, nil: nil
    @unknown default: nil
    }
  }

  /// Intervals come from outside: what no clock can hold counts as a year.
  private static func duration(_ interval: TimeInterval) -> Duration {
    .seconds(interval.isNaN ? 0 : min(max(interval, 0), 365 * 86_400))
  }
}
