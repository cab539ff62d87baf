public import Foundation
internal import Synchronization

/// The settings of an operation. Settings that are not set come from the default configuration of the operation's
/// group.
public final class CKOperationConfiguration: NSObject, NSCopying, Sendable {
  private let content: Mutex<OperationSettings>

  /// Makes a configuration in which nothing is set.
  public convenience override init() { self.init(OperationSettings()) }

  init(_ settings: OperationSettings) {
    content = Mutex(settings)
  }

  /// The explicitly set values.
  var settings: OperationSettings { content.withLock { $0 } }

  /// The container for operations without a database; nil is the default container.
  public var container: CKContainer? {
    get { settings.container }
    set { content.withLock { $0.container = newValue } }
  }

  /// The priority of the operation's task.
  public var qualityOfService: QualityOfService {
    get { settings.qualityOfService ?? .default }
    set { content.withLock { $0.qualityOfService = newValue } }
  }

  /// Whether a cellular network may be used; true by default. No effect here.
  public var allowsCellularAccess: Bool {
    get { settings.allowsCellularAccess ?? true }
    set { content.withLock { $0.allowsCellularAccess = newValue } }
  }

  /// Whether the operation continues after the process ends. No effect here, because no operation outlives the process.
  public var isLongLived: Bool {
    get { settings.isLongLived ?? false }
    set { content.withLock { $0.isLongLived = newValue } }
  }

  /// The time limit of one request, from its start to its complete reply, in seconds. The transport's own limit also
  /// applies. If not set, it reads as 60 and only the transport's limit applies.
  public var timeoutIntervalForRequest: TimeInterval {
    get { settings.timeoutIntervalForRequest ?? 60 }
    set { content.withLock { $0.timeoutIntervalForRequest = newValue } }
  }

  /// The time limit of all requests of an operation together, in seconds. If not set, it reads as seven days and no
  /// limit applies.
  public var timeoutIntervalForResource: TimeInterval {
    get { settings.timeoutIntervalForResource ?? 7 * 86_400 }
    set { content.withLock { $0.timeoutIntervalForResource = newValue } }
  }

  /// Returns an independent configuration with the same values.
  public func copy(with zone: NSZone? = nil) -> Any { CKOperationConfiguration(settings) }
}
