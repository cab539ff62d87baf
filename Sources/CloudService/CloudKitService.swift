public import CloudKit
public import CloudSync
import Dispatch
import Foundation
public import Observation

/// A sync store with its engine, as screens and apps use it: verbs go in, a snapshot comes out.
///
/// Every verb acts on the store and returns when its effect is on disk; the screen follows from the store. Reading the
/// store happens off the main actor, and a burst of changes costs one reading.
///
/// ```swift
/// let service = try CloudKitService(SyncEngine.Configuration(container: container))
/// service.start()
/// try await service.save(record)      // on disk when this returns
/// ```
@MainActor
@Observable
public final class CloudKitService {
  /// The latest state of the store.
  package private(set) var snapshot: Snapshot
  /// What the last verb did, or why it failed, for the user.
  package private(set) var notice: Notice?

  /// A message to the user.
  package struct Notice: Sendable, Hashable {
    package var text: String
    package var isError: Bool
    /// Rises with each notice, so that the same text twice is seen as two.
    package var number: Int
  }

  package let store: SyncStore
  let engine: SyncEngine?
  /// Whether changes are refused.
  public let isReadOnly: Bool
  /// Told after each new snapshot.
  @ObservationIgnored package var changed: (@MainActor () -> Void)?

  @ObservationIgnored private var scope = SnapshotScope()
  /// What the last `sync()` failed with; nil where it did not, or there was none.
  public internal(set) var lastError: (any Error)?
  @ObservationIgnored private var driving: Task<Void, Never>?
  @ObservationIgnored var ticking: Task<Void, Never>?
  @ObservationIgnored private var watcher: StoreWatcher?
  @ObservationIgnored private var reading: Task<Void, Never>?
  @ObservationIgnored private var pausing: Task<Void, Never>?
  @ObservationIgnored private var needsReading = false

  /// Opens the store of a configuration and makes a service over it.
  ///
  /// - Parameters:
  ///   - delegate: takes part in syncing; kept as long as the service lives.
  ///   - isReadOnly: refuses every change, and sends none.
  /// - Throws: `StoreError` where the store cannot be used.
  public convenience init(
    _ configuration: SyncEngine.Configuration,
    delegate: (any SyncEngineDelegate)? = nil,
    isReadOnly: Bool = false
  ) throws {
    let engine = try SyncEngine(configuration, delegate: delegate)
    try self.init(store: engine.store, engine: engine, isReadOnly: isReadOnly)
  }

  /// Makes a service over an open store. Without an engine it shows and commands, and somebody else drives.
  package init(store: SyncStore, engine: SyncEngine?, isReadOnly: Bool = false) throws {
    self.store = store
    self.engine = engine
    self.isReadOnly = isReadOnly
    snapshot = try Self.read(store, SnapshotScope())
    watcher = StoreWatcher(store, queue: .main) { [weak self] in
      MainActor.assumeIsolated { self?.storeChanged() }
    }
    // What was written before the watch.
    storeChanged()
  }

  // MARK: - Life

  /// Begins to drive the store if there is an engine, as soon as nobody else does.
  public func start() {
    guard let engine, !isReadOnly, driving == nil else { return }
    driving = Task { [weak self] in
      do {
        try await engine.run()
      } catch {
        // Unless `stop()` has taken it out already.
        guard !Task.isCancelled else { return }
        self?.driving = nil
        self?.tell("syncing stopped: \(Self.text(error))", isError: true)
      }
    }
  }

  /// Stops driving; a request under way is given up and read back at the next start.
  public func stop() async {
    stopPeriodicSync()
    let driving = driving
    self.driving = nil
    driving?.cancel()
    await driving?.value
  }

  isolated deinit {
    for task in [driving, ticking, reading, pausing] { task?.cancel() }
  }

  /// Reads the store soon. A burst of changes costs one reading.
  private func storeChanged() {
    needsReading = true
    guard pausing == nil else { return }
    pausing = Task { [weak self] in
      try? await Task.sleep(for: .milliseconds(50))
      self?.pausing = nil
      self?.refresh()
    }
  }

  /// Reads the store again if anything has been written since, off the main actor.
  package func refresh() {
    // A wait ends by itself, without anybody writing that it has.
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    // Nor does anybody tell of anything where the system has no watch to give.
    if watcher == nil || snapshot.status.throttles.contains(where: { $0.until <= now }) { needsReading = true }
    guard needsReading, reading == nil else { return }
    needsReading = false
    let store = store
    let scope = scope
    reading = Task { [weak self] in
      let result = await Task.detached { Result { try Self.read(store, scope) } }.value
      self?.take(result)
    }
  }

  private func take(_ result: Result<Snapshot, any Error>) {
    reading = nil
    // Written while it was read.
    if needsReading { storeChanged() }
    switch result {
    case .success(let snapshot):
      self.snapshot = snapshot
      changed?()
    case .failure(let error):
      tell(Self.text(error), isError: true)
    }
  }

  /// Says which part of the lists is wanted; they follow at the next refresh.
  package func show(_ scope: SnapshotScope) {
    guard scope != self.scope else { return }
    self.scope = scope
    needsReading = true
    refresh()
  }

  private nonisolated static func read(_ store: SyncStore, _ scope: SnapshotScope) throws -> Snapshot {
    Snapshot(
      status: try store.status(),
      queue: try store.operations(text: scope.queue.text, offset: scope.queue.offset, limit: scope.queue.limit),
      records: try store.records(text: scope.records.text, offset: scope.records.offset, limit: scope.records.limit),
      zones: try store.zones(),
      conflicts: try store.conflicts(),
      events: try store.events(limit: 100)
    )
  }

  // MARK: - Verbs

  /// Retries, discards, pauses or resumes operations.
  package func perform(_ verb: QueueVerb, on selection: Selection) {
    act {
      let result = try $0.perform(verb, on: selection, actor: "dashboard")
      let skipped = result.skipped.isEmpty ? "" : ", \(result.skipped.count) left alone"
      return "\(Self.past(verb)) \(result.changed.count)\(skipped)"
    }
  }

  /// Retries all that failed or is in its own back-off.
  package func retryAll() {
    act { store in
      let text = "state in ('failed', 'waiting')"
      let filter = try QueueFilter(parsing: text)
      let result = try store.perform(.retry, on: .matching(filter, text: text), actor: "dashboard")
      return "retried \(result.changed.count)"
    }
  }

  private nonisolated static func past(_ verb: QueueVerb) -> String {
    switch verb {
    case .retry: "retried"
    case .discard: "discarded"
    case .pause: "paused"
    case .resume: "resumed"
    }
  }

  /// Ends own back-offs.
  package func flush() {
    act { "flushed \(try $0.flush(actor: "dashboard"))" }
  }

  /// A pass now: own back-offs are ended, every feed is read. A server's wait is kept.
  public func syncNow() {
    act {
      _ = try $0.flush(actor: "dashboard")
      try $0.askForPass()
      return "sync asked for"
    }
  }

  /// Settles a conflict field by field.
  package func resolve(_ id: Int64, take: ConflictSide, fields: [String: ConflictSide]) {
    act {
      let left = try $0.resolve(id, take: take, fields: fields, actor: "dashboard")
      return left == nil ? "settled: the server's record stands" : "settled: to be sent"
    }
  }

  /// Accepts a record to be saved: the fields it holds, those it was asked to clear, and its parent. It is on disk on
  /// return, and sent as soon as that can be. The record counts as saved: the next save is of what is changed from here on.
  ///
  /// A record that was fetched, and that the server has changed since, meets these changes as a conflict of the fields that
  /// both sides changed.
  ///
  /// - Throws: `CloudKitServiceError` where the service is read-only or the record can never be sent (name, type, 1 MB, a
  ///   share); `StoreError` where the store cannot take it.
  public func save(_ record: CKRecord) async throws { try await save([record]) }

  /// Accepts records to be saved, all or none.
  ///
  /// - Throws: As for one record.
  public func save(_ records: [CKRecord]) async throws { try await change { try $0.save(records) } }

  /// Accepts deletions, all or none. They are on disk on return.
  public func delete(_ recordIDs: [CKRecord.ID]) async throws {
    try await change { try $0.delete(recordIDs) }
  }

  /// Accepts a deletion. It is on disk on return.
  public func delete(_ recordID: CKRecord.ID) async throws { try await delete([recordID]) }

  /// The record as this machine has it: the server's with the queued changes in it; nil where there is none.
  public func fetch(recordID: CKRecord.ID) async throws -> CKRecord? {
    let store = store
    return try await Task.detached { try store.current(recordID) }.value
  }

  private func change(_ body: @escaping @Sendable (SyncStore) throws -> Void) async throws {
    guard !isReadOnly else { throw CloudKitServiceError.writeNotSupportedOnPlatform }
    let store = store
    let result = await Task.detached { Result { try body(store) } }.value
    storeChanged()
    do {
      try result.get()
    } catch let error as CKError {
      throw CloudKitServiceError(error)
    } catch let error as StoreError where error.kind == .invalid {
      throw CloudKitServiceError.invalidRecord(error.message)
    }
  }

  /// Whether the queue is empty, nothing is wrong, and every feed has been read since the last change.
  public var isInSync: Bool { snapshot.status.isInSync }

  /// Operations in the queue.
  public var queuedOperationCount: Int { snapshot.status.queue.total }

  /// Does a verb off the main actor and tells what it did.
  func act(_ verb: @escaping @Sendable (SyncStore) throws -> String) {
    guard !isReadOnly else { return tell("read-only: nothing was changed", isError: true) }
    let store = store
    Task { [weak self] in
      let result = await Task.detached { Result { try verb(store) } }.value
      switch result {
      case .success(let text): self?.tell(text, isError: false)
      case .failure(let error): self?.tell(Self.text(error), isError: true)
      }
      self?.storeChanged()
    }
  }

  /// Shows a message.
  package func tell(_ text: String, isError: Bool) {
    notice = Notice(text: text, isError: isError, number: (notice?.number ?? 0) + 1)
    changed?()
  }

  private nonisolated static func text(_ error: any Error) -> String {
    (error as? StoreError)?.message ?? (error as? WebServicesError)?.reason ?? "\(error)"
  }
}
