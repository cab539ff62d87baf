public import CloudKit
public import CloudSync
import Dispatch
import Foundation
public import Observation

/// A sync store with its engine, for screens and apps: it takes commands and publishes a snapshot.
///
/// Every command acts on the store and returns when its effect is on disk; the snapshot follows from the store. The
/// store is read off the main actor, once for a burst of changes.
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
  /// The error of the last attempt to read the store; nil if it succeeded.
  package private(set) var readFailure: (any Error)?
  /// The error that stopped syncing; nil once it is started again.
  package internal(set) var syncFailure: (any Error)?

  /// The store; nil while there is none.
  package private(set) var store: SyncStore?
  let opening: StoreOpening
  let changing: ChangingStore
  let redaction: @Sendable () -> Redaction
  /// The engine, created by the first sync.
  @ObservationIgnored var engine: SyncEngine?
  /// Whether changes are rejected.
  public let isReadOnly: Bool
  /// Called after each new snapshot, and when other published state has changed.
  @ObservationIgnored package var changed: (@MainActor () -> Void)?
  /// Called with the receipt of each command, in the order of the commands.
  @ObservationIgnored package var received: (@MainActor (Receipt) -> Void)?

  @ObservationIgnored private var scope = SnapshotScope()
  /// The error of the last `sync()`; nil if it succeeded, or there was none.
  public internal(set) var lastError: (any Error)?
  @ObservationIgnored var driving: Task<Void, Never>?
  /// A stopped task that may not have ended yet.
  @ObservationIgnored var stopping: Task<Void, Never>?
  @ObservationIgnored var syncingOnce: Task<Void, Never>?
  @ObservationIgnored var makingEngine: Task<SyncEngine, any Error>?
  /// The queue on which commands run, one after another.
  @ObservationIgnored let lane = DispatchQueue(label: "cktop.commands", qos: .userInitiated)
  @ObservationIgnored var commandsUnderWay = 0
  @ObservationIgnored var ticking: Task<Void, Never>?
  @ObservationIgnored private var watcher: StoreWatcher?
  @ObservationIgnored private var reading: Task<Void, Never>?
  @ObservationIgnored private var pausing: Task<Void, Never>?
  @ObservationIgnored private var needsReading = false
  @ObservationIgnored private var isUrgent = false

  /// Opens the store of a configuration and creates a service for it.
  ///
  /// - Parameters:
  ///   - delegate: takes part in syncing; retained as long as the service lives.
  ///   - isReadOnly: whether to reject every change, and to send none.
  /// - Throws: `StoreError` if the store cannot be used.
  public convenience init(
    _ configuration: SyncEngine.Configuration,
    delegate: (any SyncEngineDelegate)? = nil,
    isReadOnly: Bool = false
  ) throws {
    let engine = try SyncEngine(configuration, delegate: delegate)
    try self.init(store: engine.store, engine: engine, isReadOnly: isReadOnly)
  }

  /// Creates a service for an open store. Without an engine it shows and changes the store, and another process syncs.
  package convenience init(store: SyncStore, engine: SyncEngine?, isReadOnly: Bool = false) throws {
    try self.init(opening: StoreOpening(store, engine), isReadOnly: isReadOnly)
    self.engine = engine
  }

  /// Creates a service for a store that is opened only as far as needed: reading it changes nothing.
  ///
  /// - Parameter redaction: masks secrets in everything that is read; asked before each reading.
  package init(
    opening: StoreOpening,
    redaction: @escaping @Sendable () -> Redaction = { Redaction() },
    isReadOnly: Bool = false
  ) throws {
    self.opening = opening
    self.redaction = redaction
    self.isReadOnly = isReadOnly
    changing = ChangingStore(opening.toChange)
    let (store, snapshot) = try Self.read(nil, opening, SnapshotScope(), redaction())
    self.store = store
    self.snapshot = snapshot
    watch()
    // Include writes before the watch.
    storeChanged()
  }

  private func watch() {
    guard let store, watcher == nil else { return }
    // The syncing process is shown, so its end counts as a change too.
    watcher = StoreWatcher(store, queue: .main, locks: true) { [weak self] in
      MainActor.assumeIsolated { self?.storeChanged() }
    }
  }

  isolated deinit {
    for task in [driving, stopping, syncingOnce, ticking, reading, pausing] { task?.cancel() }
  }

  /// Reads the store after a short delay, once for a burst of changes.
  private func storeChanged() {
    needsReading = true
    guard pausing == nil else { return }
    pausing = Task { [weak self] in
      try? await Task.sleep(for: .milliseconds(50))
      self?.pausing = nil
      self?.refresh()
    }
  }

  /// Reads the store without delay, so that a command's effect is visible at once.
  func readAtOnce() {
    (needsReading, isUrgent) = (true, true)
    refresh()
  }

  /// Reads the store again off the main actor, if it has been written since.
  package func refresh() {
    // A store that could not be read may be readable again.
    if readFailure != nil { needsReading = true }
    // A wait ends without a write.
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    // Without a watch of the system nothing reports writes.
    if watcher == nil || snapshot.status.throttles.contains(where: { $0.until <= now }) { needsReading = true }
    guard needsReading, reading == nil else { return }
    (needsReading, isUrgent) = (false, false)
    let (store, opening, scope, redaction) = (store, opening, scope, redaction)
    reading = Task { [weak self] in
      let result = await Task.detached { Result { try Self.read(store, opening, scope, redaction()) } }.value
      self?.take(result)
    }
  }

  private func take(_ result: Result<(store: SyncStore?, snapshot: Snapshot), any Error>) {
    reading = nil
    defer {
      // It was written while being read.
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

  /// Sets the part of the lists to show; they follow at the next refresh.
  package func show(_ scope: SnapshotScope) {
    guard scope != self.scope else { return }
    self.scope = scope
    needsReading = true
    refresh()
  }

  private nonisolated static func read(
    _ store: SyncStore?,
    _ opening: StoreOpening,
    _ scope: SnapshotScope,
    _ redaction: Redaction
  ) throws -> (store: SyncStore?, snapshot: Snapshot) {
    // A store that was deleted, not moved, is an error on the screen.
    guard let store = try store?.unlessReplaced ?? opening.toRead() ?? store else { return (nil, .withoutStore) }
    return (store, try StoreReader(store, redaction).view { try Snapshot($0, scope) })
  }

  /// A text from elsewhere with secrets masked.
  package func redact(_ text: String) -> String { redaction().redact(text) }

  /// Everything about one operation, with secrets masked; nil if neither the queue nor the history has it.
  package func detail(of id: Int64) async throws -> OperationDetail? {
    guard let store else { return nil }
    let redaction = redaction
    return try await Task.detached { try StoreReader(store, redaction()).view { try $0.detail(of: id) } }.value
  }

  // MARK: - Commands

  /// Requests a sync now: ends back-offs and fetches all changes. A server's wait is kept.
  public func syncNow() { give(.askForSync) }

  /// Accepts a record to be saved: its fields, the fields to clear, and its parent. It is on disk on return, and sent
  /// as soon as possible. The record counts as saved: the next save covers only later changes.
  ///
  /// If the server's record has changed since it was fetched, fields that both sides changed are a conflict.
  ///
  /// - Throws: `CloudKitServiceError` if the service is read-only or the record can never be sent (name, type, 1 MB, a
  ///   share); `StoreError` if the store cannot accept it.
  public func save(_ record: CKRecord) async throws { try await save([record]) }

  /// Accepts records to be saved, all or none.
  ///
  /// - Throws: the same errors as for one record.
  public func save(_ records: [CKRecord]) async throws { try await change { try $0.save(records) } }

  /// Accepts deletions, all or none. They are on disk on return.
  public func delete(_ recordIDs: [CKRecord.ID]) async throws {
    try await change { try $0.delete(recordIDs) }
  }

  /// Accepts a deletion. It is on disk on return.
  public func delete(_ recordID: CKRecord.ID) async throws { try await delete([recordID]) }

  /// Returns the record as this machine has it: the server's version with queued changes applied; nil if there is none.
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

  /// Whether the queue is empty, there is no problem, and all changes have been fetched since the last local change.
  public var isInSync: Bool { snapshot.status.isInSync }

  /// The number of operations in the queue.
  public var queuedOperationCount: Int { snapshot.status.queue.total }
}
