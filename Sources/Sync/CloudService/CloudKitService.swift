public import CloudKit
public import CloudSync
import Dispatch
import Foundation
public import Observation
import OpenCombine

/// A sync store with its engine, for screens and apps: it takes commands and publishes the state of the store.
///
/// Every command acts on the store and returns when its effect is on disk; what is published follows from the store.
/// The store is read off the main actor, once for a burst of changes.
///
/// ```swift
/// let service = try CloudKitService(SyncEngine.Configuration(container: container))
/// service.start()
/// try await service.save(record)      // on disk when this returns
/// ```
@MainActor
@Observable
public final class CloudKitService {
  /// The latest data for the watched scope; the status alone while none is watched.
  package private(set) var data = ViewData()
  /// The progress of the command that runs, if it changes many operations.
  package internal(set) var progress: CommandProgress?
  /// The error of the last attempt to read the store; nil if it succeeded.
  package private(set) var readFailure: (any Error)?
  /// The status. It follows the store, whichever process changes it; after ``sync()`` it includes that sync.
  public internal(set) var status: Status
  /// The error that stopped syncing; nil once it is started again.
  var stop: Stop?
  /// The error that stopped syncing; nil once it is started again.
  package var syncFailure: (any Error)? { stop?.error }
  @ObservationIgnored let broadcast = Broadcast<Status>()
  @ObservationIgnored let subject: CurrentValueSubject<Status, Never>

  /// The store, to read and save models and records directly; nil while there is none. It accepts changes also if the
  /// service is read-only.
  public private(set) var store: SyncStore?
  let opening: StoreOpening
  let changing: ChangingStore
  let redaction: @Sendable () -> Redaction
  /// The engine; nil if another process syncs the store for this service.
  @ObservationIgnored public internal(set) var engine: SyncEngine?
  /// Whether the service's own calls reject changes and send none.
  public let isReadOnly: Bool
  /// The service for the records that others share with the user, with a store and an engine of its own; nil before
  /// ``accept(_:)`` or a change of such a record. See <doc:CloudService#Shared-records>.
  public internal(set) var shared: CloudKitService?
  /// Opens that service; nil if this one is not for a private database.
  @ObservationIgnored var openShared: (() throws -> CloudKitService)?
  /// Called after each reading, and when other published state has changed.
  @ObservationIgnored package var changed: (@MainActor () -> Void)?
  /// Called when another store is shown, because its file was replaced.
  @ObservationIgnored package var replaced: (@MainActor () -> Void)?
  /// Called with the receipt of each command, in the order of the commands.
  @ObservationIgnored package var received: (@MainActor (Receipt) -> Void)?

  @ObservationIgnored private var scope = ViewScope()
  @ObservationIgnored var driving: Task<Void, Never>?
  /// A stopped task that may not have ended yet.
  @ObservationIgnored var stopping: Task<Void, Never>?
  @ObservationIgnored var syncingOnce: Task<Void, Never>?
  @ObservationIgnored var makingEngine: Task<SyncEngine, any Error>?
  /// The queue on which commands run, one after another.
  @ObservationIgnored let lane = DispatchQueue(label: "cktop.commands", qos: .userInitiated)
  @ObservationIgnored var commandsUnderWay = 0
  @ObservationIgnored var ticking: Task<Void, Never>?
  /// Follows the commits to the store.
  @ObservationIgnored private var following: Task<Void, Never>?
  @ObservationIgnored private var reading: Task<Void, Never>?
  @ObservationIgnored private var pausing: Task<Void, Never>?
  /// Sleeps until what was read changes by itself.
  @ObservationIgnored private var waking: Task<Void, Never>?
  @ObservationIgnored private var needsReading = false
  @ObservationIgnored private var isUrgent = false
  /// Whether the store may be read yet.
  @ObservationIgnored private var isToRead: Bool
  /// How often the store is read because it changes.
  @ObservationIgnored private var pace = Pace(every: .milliseconds(700))

  @ObservationIgnored private lazy var queueSearcher = ListSearcher<QueueSearch>(
    reader: { [weak self] in self?.reader },
    publish: { [weak self] in self?.publish($0, as: \.queue) }
  )
  @ObservationIgnored private lazy var recordSearcher = ListSearcher<RecordSearch>(
    reader: { [weak self] in self?.reader },
    publish: { [weak self] in self?.publish($0, as: \.records) }
  )

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
    guard let configuration = configuration.forSharedDatabase else { return }
    openShared = { try CloudKitService(configuration, delegate: delegate, isReadOnly: isReadOnly) }
    if try configuration.hasStore { shared = try openShared?() }
  }

  /// Creates a service for an open store. Without an engine it shows and changes the store, and another process syncs.
  package convenience init(store: SyncStore, engine: SyncEngine?, isReadOnly: Bool = false) throws {
    try self.init(opening: StoreOpening(store, engine), isReadOnly: isReadOnly)
    self.engine = engine
  }

  /// Creates a service for a store that is opened only as far as needed: reading it changes nothing.
  ///
  /// - Parameters:
  ///   - redaction: masks secrets in everything that is read; asked before each reading.
  ///   - readsAtOnce: whether to read the store before returning; else it is opened and read by the first `watch`, off
  ///     the main actor.
  package init(
    opening: StoreOpening,
    redaction: @escaping @Sendable () -> Redaction = { Redaction() },
    isReadOnly: Bool = false,
    readsAtOnce: Bool = true
  ) throws {
    (self.opening, self.redaction, self.isReadOnly) = (opening, redaction, isReadOnly)
    changing = ChangingStore(opening.toChange)
    isToRead = readsAtOnce
    let status = Status(StoreStatus(neverSyncedAt: 0))
    (self.status, subject) = (status, CurrentValueSubject(status))
    guard readsAtOnce else { return }
    adopt(try Self.read(nil, opening, changing, scope, Found(), redaction()))
  }

  /// Whether writes of other processes are reported. If not, the owner has to call `refresh` from time to time.
  package var reportsWrites: Bool { following != nil }

  private func watchStore() {
    guard let store, following == nil else { return }
    let commits = store.commits()
    following = Task { [weak self] in for await _ in commits { self?.storeChanged() } }
    // Include writes since the reading, before the watch.
    storeChanged()
  }

  isolated deinit {
    for task in [driving, stopping, syncingOnce, ticking, following, reading, pausing, waking] { task?.cancel() }
  }

  /// Reads the store after a short delay, once for a burst of changes, and at most every 0.7 seconds while they go on.
  private func storeChanged() {
    noteWritten()
    guard pausing == nil else { return }
    let delay = max(.milliseconds(50), pace.wait(at: .now))
    pausing = Task { [weak self] in
      try? await Task.sleep(for: delay)
      self?.pausing = nil
      self?.refresh()
    }
  }

  /// Reads the store without delay, so that a command's effect is visible at once.
  func readAtOnce() {
    noteWritten()
    isUrgent = true
    refresh()
  }

  /// Reads the store, and returns when its present state is published.
  func readNow() async {
    readAtOnce()
    while let reading { await reading.value }
  }

  private func noteWritten() {
    needsReading = true
    queueSearcher.noteWritten()
    recordSearcher.noteWritten()
  }

  /// Reads the store again off the main actor, if it has been written since.
  ///
  /// - Parameter force: whether to read it in any case, because what it shows changes with time.
  package func refresh(force: Bool = false) {
    if force {
      noteWritten()
      isUrgent = true
    }
    // A store that could not be read may be readable again.
    if readFailure != nil { needsReading = true }
    // A wait ends, and a sync grows old, without a write.
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    // Without a store to follow nothing reports writes.
    if following == nil { noteWritten() }
    if let due = storeStatus.changesAt, due <= now { needsReading = true }
    guard isToRead, needsReading, reading == nil else { return }
    (needsReading, isUrgent) = (false, false)
    let (store, opening, changing, scope, redaction) = (store, opening, changing, scope, redaction)
    let found = Found(queue: queueSearcher.found, records: recordSearcher.found)
    let versions = (queue: queueSearcher.version, records: recordSearcher.version)
    reading = Task { [weak self] in
      let result = await Task.detached { Result { try Self.read(store, opening, changing, scope, found, redaction()) } }
        .value
      self?.finishReading(result, versions)
    }
  }

  /// - Parameter versions: those of the searches when the reading began.
  private func finishReading(_ result: Result<Reading, any Error>, _ versions: (queue: Int, records: Int)) {
    reading = nil
    pace.note(at: .now)
    defer {
      // It was written while being read.
      if needsReading { isUrgent ? refresh() : storeChanged() }
    }
    switch result {
    case .success(var reading):
      if queueSearcher.isSearched {
        keep(\.queue, isNewer: queueSearcher.version != versions.queue, in: &reading.data)
      }
      if recordSearcher.isSearched {
        keep(\.records, isNewer: recordSearcher.version != versions.records, in: &reading.data)
      }
      let former = store
      adopt(reading)
      if let former, let store, !store.isSame(as: former) { replaced?() }
    case .failure(let error): readFailure = error
    }
    noteChange()
    guard store != nil, readFailure == nil else { return }
    queueSearcher.search()
    recordSearcher.search()
  }

  /// Keeps the page of a searched list if the search published it while the store was read, or if nothing was read in
  /// its place.
  private func keep<Page>(_ page: WritableKeyPath<ViewData, Page?>, isNewer: Bool, in read: inout ViewData) {
    guard isNewer || read[keyPath: page] == nil else { return }
    read[keyPath: page] = data[keyPath: page]
    // The page may be that of an earlier part.
    if isNewer { (needsReading, isUrgent) = (true, true) }
  }

  private func adopt(_ reading: Reading) {
    readFailure = nil
    if reading.store !== store {
      following?.cancel()
      following = nil
      queueSearcher.forget()
      recordSearcher.forget()
    }
    (store, data) = (reading.store, reading.data)
    publishStatus()
    watchStore()
    wakeWhenDue()
  }

  /// Reads the store again at the time at which its status changes by itself. A screen, which is called on each change,
  /// has a timer of its own.
  private func wakeWhenDue() {
    waking?.cancel()
    guard changed == nil, let due = storeStatus.changesAt else { return }
    let wait = Duration.milliseconds(max(1, due - Int64(Date().timeIntervalSince1970 * 1000)))
    waking = Task { [weak self] in
      guard (try? await Task.sleep(for: wait)) != nil else { return }
      self?.readAtOnce()
    }
  }

  private func publish<Page>(_ result: Result<Page, any Error>, as page: WritableKeyPath<ViewData, Page?>) {
    switch result {
    case .success(let found): data[keyPath: page] = found
    case .failure(let error): readFailure = error
    }
    noteChange()
  }

  private var reader: StoreReader? { store.map { StoreReader($0, redaction()) } }

  /// The status as it was last read.
  var storeStatus: StoreStatus { data.status ?? StoreStatus(neverSyncedAt: 0) }

  /// Sets what to read besides the status from now on, and reads it.
  package func watch(_ scope: ViewScope) {
    guard scope != self.scope || !isToRead else { return }
    (self.scope, isToRead, needsReading, isUrgent) = (scope, true, true, true)
    queueSearcher.show(scope.searchedQueue)
    recordSearcher.show(scope.searchedRecords)
    refresh()
  }

  /// The result of a reading.
  private struct Reading: Sendable {
    var store: SyncStore?
    var data: ViewData
  }

  private nonisolated static func read(
    _ store: SyncStore?,
    _ opening: StoreOpening,
    _ changing: ChangingStore,
    _ scope: ViewScope,
    _ found: Found,
    _ redaction: Redaction
  ) throws -> Reading {
    let inPlace = store?.unlessReplaced
    if inPlace == nil { changing.closeIfReplaced() }
    // A store that was deleted, not moved, is an error on the screen.
    let store = try inPlace ?? opening.toRead() ?? store
    let reader = store.map { StoreReader($0, redaction) }
    return Reading(
      store: store,
      data: try reader?.view { try ViewData($0, scope, found) } ?? ViewData(withoutStore: scope, opening.trouble())
    )
  }

  /// Everything about one operation, as it is now; nil if the store knows nothing of it.
  package func detail(of operation: Int64) async throws -> OperationDetail? {
    let reader = reader
    return try await Task.detached { try reader?.view { try $0.detail(of: operation) } ?? nil }.value
  }

  /// A text from elsewhere with secrets masked.
  package func redact(_ text: String) -> String { redaction().redact(text) }

  // MARK: - Commands

  /// Asks the process that syncs the store, this one or another, to sync now, also that of ``shared``, and returns at
  /// once: ends our own back-offs, sends everything and fetches all changes. A server's wait is kept. ``sync()`` waits
  /// for the end.
  public func requestSync() {
    give(.requestSync)
    shared?.requestSync()
  }

  /// The former name of ``requestSync()``.
  @available(*, deprecated, renamed: "requestSync()")
  public func syncNow() { requestSync() }

  /// Accepts a record to be saved: its fields, the fields to clear, and its parent. It is on disk on return, and sent
  /// as soon as possible. The record counts as saved: the next save covers only later changes.
  ///
  /// If the server's record has changed since it was fetched, fields that both sides changed are a conflict.
  ///
  /// ```swift
  /// let change = try await service.save(record)      // on disk
  /// let outcome = try await change.outcome           // sent, failed, in conflict, or dropped
  /// ```
  ///
  /// - Returns: a value to await the outcome of the change.
  /// - Throws: the delegate's error if it does not accept the record; `CloudKitServiceError` if the service is
  ///   read-only or the record can never be sent (name, type, 1 MB, a share); `StoreError` if the store cannot accept
  ///   it.
  @discardableResult
  public func save(_ record: CKRecord) async throws -> QueuedChange { try await save([record])[0] }

  /// Accepts records to be saved: those that the delegate accepts, and of these all or none of each database.
  ///
  /// ```swift
  /// let outcome = try await service.save(records).outcomes
  /// for (recordID, failure) in outcome.failed { log(recordID, failure.ckError) }
  /// ```
  ///
  /// - Returns: a value for each record, in order, to await the outcome of its change.
  /// - Throws: the same errors as for one record. The changes of the other database may have been accepted. If the
  ///   delegate does not accept some of several records, the others are accepted, and the error's `ckError` has the
  ///   code `partialFailure` and an error for each of them in `partialErrorsByItemID`.
  @discardableResult
  public func save(_ records: [CKRecord]) async throws -> [QueuedChange] {
    var (valid, errors): ([CKRecord], [CKRecord.ID: any Error]) = ([], [:])
    for record in records {
      do {
        try engine?.validate([record])
        valid.append(record)
      } catch  where records.count > 1 {
        errors[record.recordID] = error
      }
    }
    let accepted = valid
    let changes = try await accept(in: accepted.map(\.recordID.zoneID)) { places, store, origin in
      try store.save(places.map { accepted[$0] }, origin: origin)
    }
    if errors.isEmpty { return changes }
    throw CloudKitServiceError(CKError(ofInvalid: errors, among: records))
  }

  /// Accepts deletions, all or none of each database. They are on disk on return. Deleting a record that does not exist
  /// is no error.
  ///
  /// - Returns: a value for each record, in order, to await the outcome of its deletion.
  /// - Throws: the same errors as ``save(_:)-(CKRecord)``. The deletions of the other database may have been accepted.
  @discardableResult
  public func delete(_ recordIDs: [CKRecord.ID]) async throws -> [QueuedChange] {
    try await accept(in: recordIDs.map(\.zoneID)) { places, store, _ in try store.delete(places.map { recordIDs[$0] }) }
  }

  /// Accepts a deletion. It is on disk on return.
  ///
  /// - Returns: a value to await the outcome of the deletion.
  /// - Throws: the same errors as ``save(_:)-(CKRecord)``.
  @discardableResult
  public func delete(_ recordID: CKRecord.ID) async throws -> QueuedChange { try await delete([recordID])[0] }

  /// Accepts the deletion of a zone with all its records, as `SyncStore.deleteZone(_:)` does.
  @discardableResult
  public func deleteZone(_ zoneID: CKRecordZone.ID) async throws -> Bool {
    try await service(for: zoneID).accepting { try $0.acceptDeletion(of: $0.key(of: zoneID)) }
  }

  /// Accepts changes of records, each in the store of its database. A generic function in its place crashes the
  /// compiler in a release build (Swift 6.3.1).
  ///
  /// - Parameter body: Accepts the changes at these places of the call.
  private func accept(
    in zones: [CKRecordZone.ID],
    _ body: @escaping @Sendable ([Int], SyncStore, CKDatabase?) throws -> [QueuedChange]
  ) async throws -> [QueuedChange] {
    let services = try zones.map { try service(for: $0) }
    let own = zones.indices.filter { services[$0] === self }
    let others = zones.indices.filter { services[$0] !== self }
    var changes: [Int: QueuedChange] = [:]
    if !own.isEmpty || zones.isEmpty {
      for (place, change) in zip(own, try await accept(own, body)) { changes[place] = change }
    }
    if let shared, !others.isEmpty {
      for (place, change) in zip(others, try await shared.accept(others, body)) { changes[place] = change }
    }
    return zones.indices.compactMap { changes[$0] }
  }

  private func accept(
    _ places: [Int],
    _ body: @escaping @Sendable ([Int], SyncStore, CKDatabase?) throws -> [QueuedChange]
  ) async throws -> [QueuedChange] {
    let origin = engine?.configuration.origin
    return try await accepting { try body(places, $0, origin) }
  }

  /// Changes the store. That something can never be sent is an error of the service.
  private func accepting<Value: Sendable>(_ body: @escaping @Sendable (SyncStore) throws -> Value) async throws -> Value
  {
    do {
      return try await change(body)
    } catch  where error is CKError || (error as? StoreError)?.kind == .invalid {
      throw CloudKitServiceError(error)
    }
  }

  /// Changes the store, off the main actor. The published state has the effect on return.
  func change<Value: Sendable>(_ body: @escaping @Sendable (SyncStore) throws -> Value) async throws -> Value {
    guard !isReadOnly else { throw CloudKitServiceError.writeNotSupportedOnPlatform }
    let (changing, seen) = (changing, store)
    let result = await Task.detached { Result { try body(changing.get(seen: seen)) } }.value
    await readNow()
    return try result.get()
  }

  /// Whether the queue is empty, there is no problem, and all changes have been fetched since the last local change.
  public var isInSync: Bool { status.isInSync }

  /// The number of operations in the queue.
  public var queuedOperationCount: Int { status.queue.total }
}
