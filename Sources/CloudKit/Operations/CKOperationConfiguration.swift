public import Foundation
internal import Synchronization

/// How an operation runs. What is not set here comes from the default configuration of the operation's group.
public final class CKOperationConfiguration: NSObject, NSCopying, Sendable {
  private let content: Mutex<OperationSettings>

  /// Makes a configuration that leaves everything as it is by default.
  public convenience override init() { self.init(OperationSettings()) }

  init(_ settings: OperationSettings) {
    content = Mutex(settings)
  }

  /// What was set explicitly.
  var settings: OperationSettings { content.withLock { $0 } }

  /// Where operations run that name no database; nil is the default container.
  public var container: CKContainer? {
    get { settings.container }
    set { content.withLock { $0.container = newValue } }
  }

  /// How urgent the work is: the priority of the task that does it.
  public var qualityOfService: QualityOfService {
    get { settings.qualityOfService ?? .default }
    set { content.withLock { $0.qualityOfService = newValue } }
  }

  /// Whether a cellular network may be used. No effect here: true by default.
  public var allowsCellularAccess: Bool {
    get { settings.allowsCellularAccess ?? true }
    set { content.withLock { $0.allowsCellularAccess = newValue } }
  }

  /// Whether the operation goes on when the process has ended. No effect here: nothing outlives the process.
  public var isLongLived: Bool {
    get { settings.isLongLived ?? false }
    set { content.withLock { $0.isLongLived = newValue } }
  }

  /// The most seconds that one request may take, from its beginning to its complete answer; 60 by default. The transport's
  /// own limit holds as well.
  public var timeoutIntervalForRequest: TimeInterval {
    get { settings.timeoutIntervalForRequest ?? 60 }
    set { content.withLock { $0.timeoutIntervalForRequest = newValue } }
  }

  /// The most seconds that the requests of an operation may take together; seven days by default.
  public var timeoutIntervalForResource: TimeInterval {
    get { settings.timeoutIntervalForResource ?? 7 * 86_400 }
    set { content.withLock { $0.timeoutIntervalForResource = newValue } }
  }

  /// A configuration of its own with the same values.
  public func copy(with zone: NSZone? = nil) -> Any { CKOperationConfiguration(settings) }
}
