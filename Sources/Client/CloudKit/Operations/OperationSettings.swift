internal import Foundation

/// The explicitly set settings of an operation; nil for those that are not set.
struct OperationSettings: Sendable {
  var container: CKContainer?
  var qualityOfService: QualityOfService?
  var allowsCellularAccess: Bool?
  var isLongLived: Bool?
  var timeoutIntervalForRequest: TimeInterval?
  var timeoutIntervalForResource: TimeInterval?
  /// The deadline of the operation, set once it has begun.
  var deadline: ContinuousClock.Instant?
  /// Receives the progress of the records' assets.
  var progress: RecordProgress?

  /// Returns these settings, with unset ones taken from others.
  func completed(by others: OperationSettings) -> OperationSettings {
    var settings = self
    settings.container = container ?? others.container
    settings.qualityOfService = qualityOfService ?? others.qualityOfService
    settings.allowsCellularAccess = allowsCellularAccess ?? others.allowsCellularAccess
    settings.isLongLived = isLongLived ?? others.isLongLived
    settings.timeoutIntervalForRequest = timeoutIntervalForRequest ?? others.timeoutIntervalForRequest
    settings.timeoutIntervalForResource = timeoutIntervalForResource ?? others.timeoutIntervalForResource
    settings.deadline = deadline ?? others.deadline
    settings.progress = progress ?? others.progress
    return settings
  }

  /// Returns these settings with the deadline of an operation that begins now.
  func begun(at now: ContinuousClock.Instant = .now) -> OperationSettings {
    var settings = self
    settings.deadline = timeoutIntervalForResource.map { now.advanced(by: Self.duration($0)) }
    return settings
  }

  /// Returns the time limit of a request that begins now; nil if there is none.
  func timeout(at now: ContinuousClock.Instant = .now) -> Duration? {
    let limits = [timeoutIntervalForRequest, timeoutIntervalForResource].compactMap { $0 }.map(Self.duration)
    let rest = deadline.map { now.duration(to: $0) }
    return (limits + [rest].compactMap { $0 }).min()
  }

  /// The priority of the operation's task; nil for the priority of the caller.
  var priority: TaskPriority? {
    switch qualityOfService {
    case .userInteractive, .userInitiated: .userInitiated
    case .utility: .utility
    case .background: .background
    case .default, nil: nil
    @unknown default: nil
    }
  }

  /// Converts an interval, limited to a year because the program may set any value. NaN counts as zero.
  private static func duration(_ interval: TimeInterval) -> Duration {
    .seconds(interval.isNaN ? 0 : min(max(interval, 0), 365 * 86_400))
  }
}
