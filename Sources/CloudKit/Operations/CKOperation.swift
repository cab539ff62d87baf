internal import Dispatch
public import Foundation
internal import Synchronization

/// The name of an operation, different for each that is made.
public typealias CKOperationID = String

/// Work on a container that runs when a queue, `add(_:)` or `start()` starts it, and tells what comes of it through blocks.
///
/// Make one of its subclasses, set its blocks, then add it to the database or to the container. Each makes the same calls
/// as the `async` functions of `CKDatabase`, so errors mean the same. For all of them:
///
/// - The blocks are called one after the other on a queue of the operation's own, never on the main thread: first those of
///   single items, once for each item, then the one of the whole, once, then Foundation's `completionBlock`. They may wait
///   and may share variables with each other. Once the last was called they are let go.
/// - A failure of some items is told to their blocks and, as `CKError.partialFailure`, to the last one; a failure of the
///   whole to all of them.
/// - An operation that is cancelled, before its start or on its way, calls them too, with `CKError.operationCancelled`; what
///   had taken effect by then is told as success.
/// - Where a block has an older form, both may be set. The older form of an item's block is only called where the newer one
///   is not set.
///
/// `@unchecked Sendable`: what can change lies behind locks.
open class CKOperation: Operation, @unchecked Sendable {
  /// The name of an operation.
  public typealias ID = CKOperationID
  /// How an operation runs.
  public typealias Configuration = CKOperationConfiguration

  private enum Phase {
    /// Leaves by `start()`.
    case waiting
    /// Leaves when the work is done. The task is missing until the work begins.
    case executing(Task<Void, Never>?)
    case finished
  }

  private struct State {
    var phase = Phase.waiting
    var configuration = CKOperationConfiguration()
    var group: CKOperationGroup?
  }

  private struct Blocks {
    var wasPersisted: (() -> Void)?
  }

  /// The operation's name.
  public let operationID: ID = UUID().uuidString

  private let state = Mutex(State())
  private let persistence = Locked(Blocks())
  private let callbackQueue = DispatchQueue(label: "CKOperation")

  /// Makes an operation without work. Make one of a subclass.
  public override init() {}

  // MARK: - The work

  /// Does the work and calls the blocks; does not throw, because blocks are where failures go.
  func run() async {}

  /// The settings that hold for the work: the operation's own, then those of its group.
  var settings: OperationSettings {
    let (configuration, group) = state.withLock { ($0.configuration, $0.group) }
    return group.map { configuration.settings.completed(by: $0.defaultConfiguration.settings) }
      ?? configuration.settings
  }

  /// The container to work on from now on, with the settings of this operation.
  func beginInContainer() -> CKContainer {
    let settings = settings
    let container = settings.container ?? .default()
    return container.configured(by: settings.completed(by: container.settings).begun())
  }

  /// The outcome of a call; it is not made where the operation was cancelled before.
  func attempt<Answer>(_ call: () async throws -> Answer) async -> Result<Answer, any Error> {
    guard !isCancelled else { return .failure(Self.cancellation) }
    do { return .success(try await call()) } catch { return .failure(error) }
  }

  static var cancellation: CKError { CKError(.operationCancelled, "The operation was cancelled.") }

  /// Runs the program's code, which may wait: on a thread of Dispatch, since waiting there holds up nobody's task.
  func call(_ body: @escaping @Sendable () -> Void) async {
    await withCheckedContinuation { continuation in
      callbackQueue.async {
        body()
        continuation.resume()
      }
    }
  }

  /// Runs the program's last code and lets go of the blocks, which often hold the operation.
  func conclude<Blocks>(_ blocks: Locked<Blocks>, _ body: @escaping @Sendable (Blocks) -> Void) async {
    await call {
      body(blocks.value)
      blocks.reset()
    }
  }

  // MARK: - As Foundation's queues see it

  /// How urgent the work is: the place in a queue, and the priority of the task that does it.
  open override var qualityOfService: QualityOfService {
    get { configuration.qualityOfService }
    set {
      configuration.qualityOfService = newValue
      super.qualityOfService = newValue
    }
  }

  /// Always true: no thread waits for the work.
  open override var isAsynchronous: Bool { true }

  /// Whether the work is under way.
  open override var isExecuting: Bool {
    state.withLock { if case .executing = $0.phase { true } else { false } }
  }

  /// Whether the work is done and the operation's blocks have been called.
  open override var isFinished: Bool {
    state.withLock { if case .finished = $0.phase { true } else { false } }
  }

  /// Begins the work. Queues call it; a second call does nothing.
  open override func start() {
    let begins = state.withLock { state in
      guard case .waiting = state.phase else { return false }
      state.phase = .executing(nil)
      return true
    }
    guard begins else { return }
    didChangeValue(forKey: "isExecuting")
    // A cancelled operation still tells so through its blocks, but no longer runs what a subclass adds.
    if isCancelled { launch() } else { main() }
  }

  /// The work itself. A subclass that prepares something here calls this at its end.
  open override func main() { launch() }

  private func launch() {
    let priority = settings.priority
    state.withLock { state in
      guard case .executing(nil) = state.phase else { return }
      state.phase = .executing(
        Task(priority: priority) {
          await run()
          finish()
        }
      )
    }
    if isCancelled { stop() }
  }

  /// Stops the work as soon as it can be. What a server was asked already may take effect all the same.
  open override func cancel() {
    super.cancel()
    stop()
  }

  private func stop() {
    state.withLock { if case .executing(let task) = $0.phase { task?.cancel() } }
  }

  private func finish() {
    state.withLock { $0.phase = .finished }
    persistence.reset()
    didChangeValue(forKey: "isExecuting")
    didChangeValue(forKey: "isFinished")
  }
}

// MARK: - How it runs

extension CKOperation {
  /// How the operation runs. Setting nil makes a new one.
  public var configuration: Configuration! {
    get { state.withLock { $0.configuration } }
    set {
      let configuration = CKOperationConfiguration(newValue?.settings ?? OperationSettings())
      state.withLock { $0.configuration = configuration }
    }
  }

  /// The group that the operation belongs to.
  public var group: CKOperationGroup? {
    get { state.withLock { $0.group } }
    set { state.withLock { $0.group = newValue } }
  }

  /// Called when the system has taken over a long-lived operation. Never called here: nothing outlives the process.
  public var longLivedOperationWasPersistedBlock: (() -> Void)? {
    get { persistence.wasPersisted }
    set { persistence.wasPersisted = newValue }
  }

  /// The container of the configuration.
  public var container: CKContainer? {
    get { configuration.container }
    set { configuration.container = newValue }
  }

  /// Whether a cellular network may be used; see the configuration.
  public var allowsCellularAccess: Bool {
    get { configuration.allowsCellularAccess }
    set { configuration.allowsCellularAccess = newValue }
  }

  /// Whether the operation goes on when the process has ended; see the configuration.
  public var isLongLived: Bool {
    get { configuration.isLongLived }
    set { configuration.isLongLived = newValue }
  }

  /// The most seconds that one request may take; see the configuration.
  public var timeoutIntervalForRequest: TimeInterval {
    get { configuration.timeoutIntervalForRequest }
    set { configuration.timeoutIntervalForRequest = newValue }
  }

  /// The most seconds that the requests may take together; see the configuration.
  public var timeoutIntervalForResource: TimeInterval {
    get { configuration.timeoutIntervalForResource }
    set { configuration.timeoutIntervalForResource = newValue }
  }
}
