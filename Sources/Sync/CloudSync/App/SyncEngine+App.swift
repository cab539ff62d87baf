public import CloudKit

/// The API for apps.
extension SyncEngine {
  /// Opens the store of a configuration, and creates it if needed. Nothing is sent before `start()` or `sync()`.
  ///
  /// - Throws: `StoreError` if the store cannot be used.
  public init(_ configuration: Configuration, delegate: (any SyncEngineDelegate)? = nil) throws(StoreError) {
    guard let location = configuration.location, let path = configuration.path else {
      throw StoreError(.invalid, "the configuration names no store; make it from a container")
    }
    let store = try SyncStore(path: path, scope: location.scope)
    // Set the owner before anything is saved, so that other users do not take this file.
    if let owner = configuration.owner, try store.owner() != owner {
      try store.adopt(identity: owner, signIn: configuration.signIn, nil)
    }
    if let sender = configuration.sender { store.enqueue(as: sender) }
    self.init(store: store, configuration, delegate: delegate)
  }

  /// Syncs from now on: sends queued changes, and fetches the changes of others and delivers them to the delegate.
  /// While another process syncs this store, it waits and then takes over.
  public func start() {
    guard driving == nil else { return }
    fatalError = nil
    driving = Task {
      do {
        try await run()
      } catch {
        // `stop()` may have cleared it already.
        if !Task.isCancelled { (driving, fatalError) = (nil, error) }
        throw error
      }
    }
  }

  /// Stops syncing. A request in flight is abandoned, and its outcome is verified later.
  ///
  /// - Throws: the error that had stopped syncing before, such as a `StoreError`; `SyncEvent.stopped` reported it, and
  ///   `start()` restarts.
  public func stop() async throws {
    if let fatalError {
      self.fatalError = nil
      throw fatalError
    }
    guard let driving else { return }
    self.driving = nil
    driving.cancel()
    try await driving.value
  }

  /// Syncs and delivers changes to the delegate, until cancelled.
  package func run(types: [String] = []) async throws {
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await self.syncContinuously(types: types) }
        if delegate != nil { group.addTask { try await self.deliverAlways() } }
        // The first failure ends both.
        while try await group.next() != nil {}
      }
    } catch {
      if !Task.isCancelled {
        let reason = (error as? StoreError)?.message ?? Self.reason(error)
        broadcast.send(.stopped(reason: reason, error: error))
      }
      throw error
    }
  }

  /// Syncs now: sends everything and fetches all changes, ending our own back-offs but keeping a server's wait; then
  /// delivers changes to the delegate. ``requestSync()`` does not wait for the end.
  ///
  /// - Parameter recordTypes: only records of these types, and those they refer to, are delivered; others are fetched
  ///   too, and delivered by the next sync without types. A database without a change feed is polled for these types,
  ///   in addition to the known ones. Empty: all.
  /// - Returns: the result of the sync, whichever process ran it; see its `failure`.
  /// - Throws: `StoreError` if the store cannot be used, or belongs to another user.
  @discardableResult
  public func sync(recordTypes: [CKRecord.RecordType] = []) async throws -> SyncSummary {
    let summary = try await syncOnce(types: recordTypes)
    try await deliver(of: recordTypes.isEmpty ? nil : Set(recordTypes))
    return summary
  }

  /// The former name of ``sync(recordTypes:)``.
  @available(*, deprecated, renamed: "sync(recordTypes:)")
  @discardableResult
  public func syncNow(recordTypes: [CKRecord.RecordType] = []) async throws -> SyncSummary {
    try await sync(recordTypes: recordTypes)
  }

  /// Asks the process that syncs the store, this one or another, to sync now, and returns at once: ends our own
  /// back-offs, sends everything and fetches all changes. If no process syncs the store, the next one does.
  ///
  /// - Throws: `StoreError` if the request cannot be stored.
  public nonisolated func requestSync() throws(StoreError) {
    try flush()
    try store.requestSync()
  }

  /// Ends our own back-offs, so that these changes are sent at once. Keeps a server's wait, and does not touch failed
  /// changes.
  ///
  /// - Returns: the number of changes that are pending again.
  @discardableResult
  public nonisolated func flush() throws(StoreError) -> Int { try store.flush(actor: "app") }

  /// Accepts records to be saved, all or none. Of each record the fields set or cleared since it was read or saved are
  /// queued, or if it has been deleted, all but its assets. They are on disk when this returns.
  ///
  /// - Returns: a value for each record, in order, to await the outcome of its change.
  /// - Throws: the delegate's error for a record that it does not accept; `CKError` for what cannot be stored or sent;
  ///   `StoreError` if the store cannot accept it.
  @discardableResult
  public nonisolated func save(_ records: [CKRecord]) throws -> [QueuedChange] {
    try validate(records)
    return try store.save(records, origin: configuration.origin)
  }

  /// Throws the delegate's error for the first record that it does not accept.
  package nonisolated func validate(_ records: [CKRecord]) throws {
    for record in records { try delegate?.syncEngine(self, validate: record) }
  }

  /// Accepts deletions, all or none. They are on disk when this returns.
  ///
  /// - Returns: a value for each record, in order, to await the outcome of its deletion.
  /// - Throws: `StoreError` if the store cannot accept them.
  @discardableResult
  public nonisolated func delete(_ recordIDs: [CKRecord.ID]) throws(StoreError) -> [QueuedChange] {
    try store.delete(recordIDs)
  }

  /// A record as this machine has it: the server's version, with its change tag and times and the queued changes
  /// applied; nil if there is none, or a delete is queued.
  public nonisolated func record(_ recordID: CKRecord.ID) throws(StoreError) -> CKRecord? {
    let record = try store.current(recordID)
    configuration.origin?.adoptAssets(of: record.map { [$0] } ?? [])
    return record
  }

  /// The events from now on, as a new sequence on each access.
  public nonisolated var events: AsyncStream<SyncEvent> { broadcast.listen() }
}
