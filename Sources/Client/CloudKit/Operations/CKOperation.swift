internal import Dispatch
public import Foundation
internal import Synchronization

/// The identifier of an operation, unique for each instance.
public typealias CKOperationID = String

/// An operation on a container. A queue, `add(_:)` or `start()` starts it; it reports its results through blocks.
///
/// Make an instance of a subclass, set its blocks, then add it to a database or a container. Operations make the same
/// calls as the `async` functions of `CKDatabase`, so their errors have the same meaning. For all operations:
///
/// - The blocks are called one after the other on the operation's own queue, never on the main thread: first those of
///   single items, once for each item (a block for progress may be called more often), then once the block of the whole
///   operation, then Foundation's `completionBlock`. Blocks may block the thread and may share variables. They are
///   released after the last call.
/// - If some items fail, their blocks get the errors and the last block gets `CKError.partialFailure`. If the operation
///   fails as a whole, all blocks get the error.
/// - A cancelled operation, whether it has started or not, also calls its blocks, with `CKError.operationCancelled`.
///   Changes that had already taken effect are reported as success.
/// - Both forms of a block that has an older form may be set. The older form of an item's block is called only if the
///   newer one is not set.
///
/// `@unchecked Sendable`: all mutable state is behind locks.
open class CKOperation: Operation, @unchecked Sendable {
  /// The identifier of an operation.
  public typealias ID = CKOperationID
  /// The settings of an operation.
  public typealias Configuration = CKOperationConfiguration

  private enum Phase {
    /// Ends with `start()`.
    case waiting
    /// Ends when the work is done. The task is nil until the work begins.
    case executing(Task<Void, Never>?)
    case finished
  }

  /// The operation's identifier.
  public let operationID: ID = UUID().uuidString

  /// The group that the operation belongs to.
  @CKParameter public var group: CKOperationGroup?

  /// Called when the system has taken over a long-lived operation. Never called here, because no operation outlives the
  /// process.
  @CKCallback public var longLivedOperationWasPersistedBlock: (() -> Void)?

  @CKParameter private var ownConfiguration = CKOperationConfiguration()

  /// Guards the parameters and callbacks.
  let propertyLock = NSLock()
  /// Releases the callbacks that were set.
  var releases: [() -> Void] = []

  private let phase = Mutex(Phase.waiting)
  private let callbackQueue = DispatchQueue(label: "CKOperation")

  /// Makes an operation that does nothing. Use a subclass.
  public override init() {}

  /// The settings of the operation. Setting nil resets them.
  open var configuration: Configuration! {
    get { ownConfiguration }
    set { ownConfiguration = CKOperationConfiguration(newValue?.settings ?? OperationSettings()) }
  }

  // MARK: - Execution

  /// Does the work and calls the blocks. It does not throw: errors are passed to the blocks.
  func run() async {}

  /// The settings for the work: the operation's own, then those of its group.
  var settings: OperationSettings {
    OperationSettings(ownConfiguration, group)
  }

  /// Returns the container with the operation's settings. The operation's time limit starts now.
  func beginInContainer() -> CKContainer {
    let settings = settings
    let container = settings.container ?? .default()
    return container.configured(by: settings.completed(by: container.settings).begun())
  }

  /// Makes a call and returns its outcome. Makes no call if the operation is already cancelled.
  func attempt<Answer>(_ call: () async throws -> Answer) async -> Result<Answer, any Error> {
    guard !isCancelled else { return .failure(Self.cancellation) }
    do { return .success(try await call()) } catch { return .failure(error) }
  }

  static var cancellation: CKError { CKError(.operationCancelled, "The operation was cancelled.") }

  /// Runs the program's blocks on a Dispatch thread, because they may block and must not block Swift's thread pool.
  func call(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
      enqueue {
        body()
        continuation.resume()
      }
    }
  }

  /// Runs the program's blocks on a Dispatch thread after those that were enqueued before, and does not wait for it.
  func enqueue(_ body: @escaping @Sendable () -> Void) {
    callbackQueue.async(execute: body)
  }

  // MARK: - State for Foundation's queues

  /// The priority of the work: the order in a queue and the priority of its task.
  open override var qualityOfService: QualityOfService {
    get { configuration.qualityOfService }
    set {
      configuration.qualityOfService = newValue
      super.qualityOfService = newValue
    }
  }

  /// Always true: the work occupies no thread.
  open override var isAsynchronous: Bool { true }

  /// Whether the operation is executing.
  open override var isExecuting: Bool {
    phase.withLock { if case .executing = $0 { true } else { false } }
  }

  /// Whether the work is done and the operation's blocks have been called.
  open override var isFinished: Bool {
    phase.withLock { if case .finished = $0 { true } else { false } }
  }

  /// Starts the work. Queues call this; a second call does nothing.
  open override func start() {
    let begins = phase.withLock { phase in
      guard case .waiting = phase else { return false }
      phase = .executing(nil)
      return true
    }
    guard begins else { return }
    didChangeValue(forKey: "isExecuting")
    // A cancelled operation still calls its blocks, but does not run a subclass's `main()`.
    if isCancelled { launch() } else { main() }
  }

  /// Runs the work. A subclass that overrides this to prepare something must call `super.main()` at its end.
  open override func main() { launch() }

  private func launch() {
    let priority = settings.priority
    phase.withLock { phase in
      guard case .executing(nil) = phase else { return }
      phase = .executing(
        Task(priority: priority) {
          await run()
          await call { [self] in releaseCallbacks() }
          finish()
        }
      )
    }
    if isCancelled { stop() }
  }

  /// Stops the work as soon as possible. A request that was already sent may still take effect.
  open override func cancel() {
    super.cancel()
    stop()
  }

  private func stop() {
    phase.withLock { if case .executing(let task) = $0 { task?.cancel() } }
  }

  private func releaseCallbacks() {
    var releases: [() -> Void] = []
    propertyLock.withLock { swap(&self.releases, &releases) }
    for release in releases { release() }
  }

  private func finish() {
    phase.withLock { $0 = .finished }
    didChangeValue(forKey: "isExecuting")
    didChangeValue(forKey: "isFinished")
  }
}

// MARK: - Settings

extension CKOperation {
  /// The container of the configuration.
  public var container: CKContainer? {
    get { configuration.container }
    set { configuration.container = newValue }
  }

  /// Whether a cellular network may be used. See the configuration.
  public var allowsCellularAccess: Bool {
    get { configuration.allowsCellularAccess }
    set { configuration.allowsCellularAccess = newValue }
  }

  /// Whether the operation continues after the process ends. See the configuration.
  public var isLongLived: Bool {
    get { configuration.isLongLived }
    set { configuration.isLongLived = newValue }
  }

  /// The time limit of one request, in seconds. See the configuration.
  public var timeoutIntervalForRequest: TimeInterval {
    get { configuration.timeoutIntervalForRequest }
    set { configuration.timeoutIntervalForRequest = newValue }
  }

  /// The time limit of all requests of the operation together, in seconds. See the configuration.
  public var timeoutIntervalForResource: TimeInterval {
    get { configuration.timeoutIntervalForResource }
    set { configuration.timeoutIntervalForResource = newValue }
  }
}
