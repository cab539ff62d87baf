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
  /// Why the store could not be read the last time; nil once it can.
  package private(set) var readFailure: (any Error)?
  /// Why syncing ended by itself; nil once it is started again.
  package internal(set) var syncFailure: (any Error)?

  /// The store that is read; nil while there is none.
  package private(set) var store: SyncStore?
  let opening: StoreOpening
  let changing: ChangingStore
  /// The engine, once something is to be synced.
  @ObservationIgnored var engine: SyncEngine?
  /// Whether changes are refused.
  public let isReadOnly: Bool
  /// Called after each new snapshot, and when anything else that is shown has changed.
  @ObservationIgnored package var changed: (@MainActor () -> Void)?
  /// Called with the receipt of each command, in the order of the commands.
  @ObservationIgnored package var received: (@MainActor (Receipt) -> Void)?

  @ObservationIgnored private var scope = SnapshotScope()
  /// What the last `sync()` failed with; nil where it did not, or there was none.
  public internal(set) var lastError: (any Error)?
  @ObservationIgnored var driving: Task<Void, Never>?
  /// Syncing that was stopped and may not have ended yet.
  @ObservationIgnored var stopping: Task<Void, Never>?
  @ObservationIgnored var syncingOnce: Task<Void, Never>?
  @ObservationIgnored var makingEngine: Task<SyncEngine, any Error>?
  /// Where commands run, one after another.
  @ObservationIgnored let lane = DispatchQueue(label: "cktop.commands", qos: .userInitiated)
  @ObservationIgnored var commandsUnderWay = 0
  @ObservationIgnored var ticking: Task<Void, Never>?
  @ObservationIgnored private var watcher: StoreWatcher?
  @ObservationIgnored private var reading: Task<Void, Never>?
  @ObservationIgnored private var pausing: Task<Void, Never>?
  @ObservationIgnored private var needsReading = false
  @ObservationIgnored private var isUrgent = false

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

  /// Makes a service over an open store. Without an engine it shows and commands, and another process syncs.
  package convenience init(store: SyncStore, engine: SyncEngine?, isReadOnly: Bool = false) throws {
    try self.init(opening: StoreOpening(store, engine), isReadOnly: isReadOnly)
    self.engine = engine
  }

  /// Makes a service over a store that is opened as far as it is used: reading it changes nothing.
  package init(opening: StoreOpening, isReadOnly: Bool = false) throws {
    self.opening = opening
    self.isReadOnly = isReadOnly
    changing = ChangingStore(opening.toChange)
    let (store, snapshot) = try Self.read(nil, opening, SnapshotScope())
    self.store = store
    self.snapshot = snapshot
    watch()
    // What was written before the watch.
    storeChanged()
  }

  private func watch() {
    guard let store, watcher == nil else { return }
    // Who syncs is shown, so the end of that process counts, too.
    watcher = StoreWatcher(store, queue: .main, locks: true) { [weak self] in
      MainActor.assumeIsolated { self?.storeChanged() }
    }
  }

  isolated deinit {
    for task in [driving, stopping, syncingOnce, ticking, reading, pausing] { task?.cancel() }
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

  /// Reads the store without a pause: what a command did shows before the next key.
  func readAtOnce() {
    (needsReading, isUrgent) = (true, true)
    refresh()
  }

  /// Reads the store again if anything has been written since, off the main actor.
  package func refresh() {
    // A store that could not be read may be whole again.
    if readFailure != nil { needsReading = true }
    // A wait ends by itself, without anybody writing that it has.
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    // Nor does anybody tell of anything where the system has no watch to give.
    if watcher == nil || snapshot.status.throttles.contains(where: { $0.until <= now }) { needsReading = true }
    guard needsReading, reading == nil else { return }
    (needsReading, isUrgent) = (false, false)
    let (store, opening, scope) = (store, opening, scope)
    reading = Task { [weak self] in
      let result = await Task.detached { Result { try Self.read(store, opening, scope) } }.value
      self?.take(result)
    }
  }

  private func take(_ result: Result<(store: SyncStore?, snapshot: Snapshot), any Error>) {
    reading = nil
    defer {
      // Written while it was read.
      if needsReading { isUrgent ? refresh() : storeChanged() }
    }
    switch result {
    case .success(let read):
      readFailure = nil
      if read.store !== store { watcher = nil }
      store = read.store
      snapshot = read.snapshot
      watch()
    case .failure(let error):
      readFailure = error
    }
    changed?()
  }

  /// Says which part of the lists is wanted; they follow at the next refresh.
  package func show(_ scope: SnapshotScope) {
    guard scope != self.scope else { return }
    self.scope = scope
    needsReading = true
    refresh()
  }

  private nonisolated static func read(_ store: SyncStore?, _ opening: StoreOpening, _ scope: SnapshotScope) throws
    -> (store: SyncStore?, snapshot: Snapshot)
  {
    // A store that was deleted, not moved, is an error on the screen.
    guard let store = try store?.unlessReplaced ?? opening.toRead() ?? store else { return (nil, .withoutStore) }
    return (store, try read(store, scope))
  }

  private nonisolated static func read(_ store: SyncStore, _ scope: SnapshotScope) throws -> Snapshot {
    let text = scope.queue.text
    var snapshot = Snapshot(
      status: try store.status(),
      queue: try store.operations(text: text, offset: scope.queue.offset, limit: scope.queue.limit),
      records: try store.records(text: scope.records.text, offset: scope.records.offset, limit: scope.records.limit),
      zones: try store.zones(),
      conflicts: try store.conflicts(),
      events: try store.events(limit: 100)
    )
    snapshot.queueText = text
    snapshot.retryable =
      text.isEmpty
      ? snapshot.status.queue.retryable : try store.operations(matching: .retryable, text: text, limit: 0).total
    return snapshot
  }

  // MARK: - Verbs

  /// A sync now: back-offs are ended, every change is fetched. A server's wait is kept.
  public func syncNow() { give(.askForSync) }

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
    return try await Task.detached { try store?.current(recordID) }.value
  }

  private func change(_ body: @escaping @Sendable (SyncStore) throws -> Void) async throws {
    guard !isReadOnly else { throw CloudKitServiceError.writeNotSupportedOnPlatform }
    let changing = changing
    let result = await Task.detached { Result { try body(changing.get()) } }.value
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
}
