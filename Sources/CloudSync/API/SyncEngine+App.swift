public import CloudKit

/// What apps call.
extension SyncEngine {
  /// Opens the store of a configuration, making it if need be. Nothing is sent before `start()` or `syncNow()`.
  ///
  /// - Throws: `StoreError` where the store cannot be used.
  public init(_ configuration: Configuration, delegate: (any SyncEngineDelegate)? = nil) throws(StoreError) {
    guard let location = configuration.location else {
      throw StoreError(.invalid, "the configuration names no store; make it from a container")
    }
    let path = StorePath.path(of: configuration.identity ?? configuration.owner, base: location.path)
    let store = try SyncStore(path: path, scope: location.scope)
    // Before anything is saved: whoever comes next has to find that this file is somebody's.
    if let owner = configuration.owner, try store.owner() != owner {
      try store.adopt(identity: owner, signIn: configuration.signIn, nil)
    }
    if let sender = configuration.sender { store.enqueue(as: sender) }
    self.init(store: store, configuration, delegate: delegate)
  }

  /// Syncs from now on: what is queued is sent, what others change is brought and handed to the delegate. Where another
  /// process syncs this store already, this one takes over when that one ends.
  public func start() {
    guard driving == nil else { return }
    fatalError = nil
    driving = Task {
      do {
        try await run()
      } catch {
        // Unless `stop()` has taken it out already.
        if !Task.isCancelled { (driving, fatalError) = (nil, error) }
        throw error
      }
    }
  }

  /// Stops syncing. A request under way is given up; what became of it is read back before anything is repeated.
  ///
  /// - Throws: what had ended syncing before, such as a `StoreError`; `SyncEvent.stopped` told of it, and `start()` begins
  ///   again.
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

  /// Drives, and hands to the delegate what came, until cancelled.
  package func run(types: [String] = []) async throws {
    do {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await self.drive(types: types) }
        if delegate != nil { group.addTask { try await self.deliverAlways() } }
        // The first that fails ends both.
        while try await group.next() != nil {}
      }
    } catch {
      if !Task.isCancelled { broadcast.send(.stopped((error as? StoreError)?.message ?? Self.reason(error))) }
      throw error
    }
  }

  /// Sends everything and reads every feed now, ending own back-offs and keeping a server's wait; then hands to the
  /// delegate what came.
  ///
  /// - Parameter recordTypes: types to read where there is no change feed, besides those already known.
  /// - Returns: what the pass did, by whichever process it was made; see its `failure`.
  /// - Throws: `StoreError` where the store cannot be used, or belongs to somebody else.
  @discardableResult
  public func syncNow(recordTypes: [CKRecord.RecordType] = []) async throws -> PassSummary {
    let summary = try await syncOnce(types: recordTypes)
    try await deliver()
    return summary
  }

  /// Ends own back-offs, so that what waits goes at once. A server's wait is kept, and nothing failed is touched.
  ///
  /// - Returns: how many changes stopped waiting.
  @discardableResult
  public nonisolated func flush() throws(StoreError) -> Int { try store.flush(actor: "app") }

  /// Accepts records to be saved, all or none: of each the fields that were set or cleared since it was read or saved, and of
  /// one that is there no more, whoever deleted it or its zone, all but its assets. They are on disk when this returns.
  ///
  /// - Throws: `CKError` for what cannot be kept or sent; `StoreError` where the store cannot take it.
  public nonisolated func save(_ records: [CKRecord]) throws {
    try store.save(records)
  }

  /// Accepts deletions, all or none. They are on disk when this returns.
  ///
  /// - Throws: `StoreError` where the store cannot take them.
  public nonisolated func delete(_ recordIDs: [CKRecord.ID]) throws(StoreError) {
    try store.delete(recordIDs)
  }

  /// A record as this machine has it: the server's, with its change tag and times, and the queued changes in it; nil where
  /// there is none, or where it is to be deleted.
  public nonisolated func record(_ recordID: CKRecord.ID) throws(StoreError) -> CKRecord? {
    let record = try store.current(recordID)
    configuration.origin?.adoptAssets(of: record.map { [$0] } ?? [])
    return record
  }

  /// What happens from now on; each time it is asked for, a sequence of its own.
  public nonisolated var events: AsyncStream<SyncEvent> { broadcast.listen() }
}
