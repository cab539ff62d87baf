internal import Foundation
internal import Synchronization

/// Syncs an app's records with a private or shared database. Your app keeps the records and the engine's state; the
/// engine schedules, fetches, sends and reports.
///
/// ```swift
/// let configuration = CKSyncEngine.Configuration(
///   database: container.privateCloudDatabase, stateSerialization: saved, delegate: self)
/// let engine = CKSyncEngine(configuration)
/// engine.state.add(pendingRecordZoneChanges: [.saveRecord(note.recordID)])
/// ```
///
/// Keep the engine as long as it shall sync. The handbook's page "CKSyncEngine or CloudSync?"
/// (`Handbook/Client/SyncEngine.md`) shows the order of the events, and when `CloudSync` is the better choice.
public final class CKSyncEngine: Sendable {
  /// The settings of an engine.
  public struct Configuration: Sendable {
    /// The database to sync: the private or the shared one, because the public database has no change feed.
    public var database: CKDatabase
    /// The state of the last `stateUpdate`; nil for the first engine.
    public var stateSerialization: State.Serialization?
    /// The delegate. An engine does not keep it alive.
    public var delegate: any CKSyncEngineDelegate
    /// Whether the engine syncs by itself; true by default.
    ///
    /// If true, it fetches at its start, after pushes and every five minutes, sends when changes are added, and retries
    /// after transient errors. If false, it only syncs when you call `fetchChanges(_:)` or `sendChanges(_:)`. In both
    /// cases it reports the account at its start.
    public var automaticallySync: Bool
    /// The ID of the subscription for pushes; nil for the engine's own.
    public var subscriptionID: CKSubscription.ID?

    /// Makes a configuration.
    public init(
      database: CKDatabase,
      stateSerialization: State.Serialization?,
      delegate: any CKSyncEngineDelegate
    ) {
      self.database = database
      self.stateSerialization = stateSerialization
      self.delegate = delegate
      automaticallySync = true
    }
  }

  private struct Weak: Sendable {
    weak var delegate: (any CKSyncEngineDelegate)?
  }

  /// The database that the engine syncs.
  public let database: CKDatabase
  /// The pending changes, and the state to save.
  public let state: State

  /// The settings for automatic syncs; nil without them.
  let automation: Automation?
  private let delegate: Mutex<Weak>
  /// The calls of the delegate, one at a time.
  private let calls = AsyncLock()
  /// The task in which the delegate is called; nil between calls.
  private let callingTask = Mutex<Int?>(nil)
  /// The fetches and sends, one at a time. The first turn belongs to the report of the account at the start.
  private let operations = AsyncLock(isTaken: true)
  /// The fetches and sends that are under way or wait for their turn, and the report of the account at the start.
  private let tasks = Mutex<[UUID: Task<Void, any Error>]>([:])

  /// Makes an engine, which reports the account soon after. Unless the configuration says otherwise, it starts to sync.
  public convenience init(_ configuration: Configuration) {
    configuration.warnOfMissingUser()
    self.init(configuration, pause: { try await Task.sleep(for: $0) })
  }

  /// Makes an engine whose waits between retries are those of `pause`.
  package init(_ configuration: Configuration, pause: @escaping @Sendable (Duration) async throws -> Void) {
    database = configuration.database
    state = State(configuration.stateSerialization)
    delegate = Mutex(Weak(delegate: configuration.delegate))
    automation =
      configuration.automaticallySync
      ? Automation(subscriptionID: configuration.subscriptionID ?? CKDatabaseSubscription.allChangesID, pause: pause)
      : nil
    state.belongs(to: self)
    reportAccount()
    startAutomation()
  }

  deinit {
    automation?.stop()
    for task in tasks.withLock({ $0.values }) { task.cancel() }
  }

  // MARK: - The start

  /// Looks up the account and reports a change, before the first fetch or send.
  ///
  /// Published apps add what they have when the `signIn` arrives, and expect it soon after they made the engine, also
  /// if they make it twice. After an error or a cancellation, the first fetch or send looks up the account again.
  private func reportAccount() {
    let id = UUID()
    tasks.withLock { tasks in
      // It does not keep the engine, which may be released before the answer.
      tasks[id] = Task { [weak self, database, operations] in
        defer {
          self?.tasks.withLock { $0[id] = nil }
          operations.leave()
        }
        guard let client = try? database.client.get(), client.takesUsers else { return }
        let user: CKRecord.ID?
        do {
          user = try await WebServicesClient.$requiredSignIn.withValue(client.signIn) {
            try await database.signedInUser(client)
          }
        } catch {
          return
        }
        guard let self, let delegate = delegate.withLock({ $0.delegate }) else { return }
        await EngineSession(engine: self, delegate: delegate, database: database).report(user)
      }
    }
  }

  /// Waits for the report of the account at the start, and for the fetches and sends that were called before.
  package func waitForTurn() async { await operations.withLock {} }

  // MARK: - Operations

  /// Fetches changes now, without waiting for the schedule. Returns after the delegate has handled all events.
  ///
  /// Fetches and sends run one after the other.
  ///
  /// - Throws: `CKError`. What was fetched before is handled and is not fetched again.
  public func fetchChanges(_ options: FetchChangesOptions = .init()) async throws {
    try await run(FetchChangesContext(reason: .manual, options: options))
  }

  /// Sends pending changes now, without waiting for the schedule. Returns after the delegate has handled all events.
  ///
  /// It stops after a batch in which a change failed. What remains pending is sent by the next call, or by the
  /// schedule.
  ///
  /// - Throws: `CKError`: `partialFailure` with the errors of the changes that failed, or the error of a whole request.
  public func sendChanges(_ options: SendChangesOptions = .init()) async throws {
    try await run(SendChangesContext(reason: .manual, options: options))
  }

  /// Cancels the fetches and sends that are under way or scheduled, and the look-up of the account at the start. It
  /// does not wait for their end; requests that were sent may still take effect.
  public func cancelOperations() async {
    automation?.cancel()
    for task in tasks.withLock({ $0.values }) { task.cancel() }
  }

  func run(_ context: FetchChangesContext) async throws {
    try await operate(context.options.operationGroup) { await FetchRun(session: $0, context: context).failure() }
  }

  func run(_ context: SendChangesContext) async throws {
    try await operate(context.options.operationGroup) { await SendRun(session: $0, context: context).failure() }
  }

  /// Runs a fetch or a send when it is its turn, in a task of its own, so that it can be cancelled.
  private func operate(
    _ group: CKOperationGroup,
    _ body: @escaping @Sendable (EngineSession) async -> CKError?
  ) async throws {
    if isCallingDelegate {
      fatalError(
        "A CKSyncEngineDelegate waits in one of its methods for a fetch or send of its engine, which would never end: "
          + "the engine calls the delegate again only after the method has returned. Call it in a new task."
      )
    }
    let id = UUID()
    let task = Task {
      try await operations.withLock {
        guard let delegate = delegate.withLock({ $0.delegate }) else {
          automation?.stop()
          throw CKError(.operationCancelled, "The sync engine's delegate was released. Keep it as long as the engine.")
        }
        let database = database.configured(by: OperationSettings(nil, group))
        try await EngineSession(engine: self, delegate: delegate, database: database).run(body)
      }
    }
    tasks.withLock { $0[id] = task }
    defer { tasks.withLock { $0[id] = nil } }
    try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }

  // MARK: - Calls of the delegate

  /// Calls the delegate when it is its turn, in a task that is not cancelled with the operation: what was fetched must
  /// be handled to its end.
  func call<Answer: Sendable>(_ body: @escaping @Sendable () async -> Answer) async -> Answer {
    // The delegate may act for another user than the operation.
    await WebServicesClient.$requiredSignIn.withValue(nil) {
      await Task {
        await calls.withLock {
          callingTask.withLock { $0 = Self.currentTask }
          defer { callingTask.withLock { $0 = nil } }
          return await body()
        }
      }.value
    }
  }

  /// Whether the current task is the one in which the delegate is called. A fetch or send in it would wait for itself.
  ///
  /// A task-local value would not do: a new task that the delegate starts inherits it, and may fetch and send.
  package var isCallingDelegate: Bool {
    guard let current = Self.currentTask else { return false }
    return callingTask.withLock { $0 == current }
  }

  /// The identity of the current task, which no other task has while it runs.
  private static var currentTask: Int? { withUnsafeCurrentTask { $0?.hashValue } }

  /// Calls the delegate with the state, if it changed since the last call.
  ///
  /// It follows every event. Many apps keep the state in `UserDefaults`: what they set is on disk before the engine
  /// goes on.
  func reportState(to delegate: any CKSyncEngineDelegate) async {
    defer {
      if !UserDefaults.writeAll() { database.report("The values of UserDefaults could not be written to disk.") }
    }
    guard let serialization = state.takeUpdate() else { return }
    await delegate.handleEvent(.stateUpdate(.init(stateSerialization: serialization)), syncEngine: self)
  }

  /// Reports and schedules a change that the app made to the state.
  func stateChanged() {
    if let delegate = delegate.withLock({ $0.delegate }) {
      Task { await self.call { await self.reportState(to: delegate) } }
    }
    if state.value.hasChangesToSend { schedule(sends: true) }
  }
}
