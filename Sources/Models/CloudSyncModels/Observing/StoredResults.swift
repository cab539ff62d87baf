public import CloudKit
public import CloudKitModels
public import CloudSync
public import OpenCombine

extension SyncStore {
  /// Observes the results of a query in the local copy, with the queued changes applied: the present results at once,
  /// and the new ones whenever a commit of any process has changed them.
  ///
  /// ```swift
  /// let open = Query<Note>().filter(\.isDone, equals: false)
  /// for try await notes in store.observe(open) { show(notes) }
  /// ```
  ///
  /// - Parameter zoneID: The zone, as for `load`.
  public func observe<Model>(_ query: Query<Model>, in zoneID: CKRecordZone.ID? = nil) -> StoredResults<Model> {
    StoredResults(store: self, query: query, zoneID: zoneID)
  }

  /// Returns the present results of an observed query.
  @concurrent fileprivate func results<Model: CKRecordModel & Decodable>(
    of query: Query<Model>,
    in zoneID: CKRecordZone.ID?
  ) async throws -> [Model] { try await load(query, in: zoneID) }
}

/// The results of a query in the local copy of a store, as they change.
///
/// Results equal to the last ones are not repeated. While nothing is written, an iteration sleeps without a timer;
/// after a commit it reads the records again only if one of their type has changed, off the caller's actor, and spends
/// at most a fifth of the time with it. All iterations over a `SyncStore` share one watch of its file.
///
/// Iteration ends when its task is cancelled. It throws `CKModelError` if a record does not match the model, and
/// `StoreError` if the store cannot be read; `next()` of the same iterator then waits for the next commit.
public struct StoredResults<Model: CKRecordModel & Decodable & Equatable & Sendable>: AsyncSequence, Sendable {
  let store: SyncStore
  let query: Query<Model>
  let zoneID: CKRecordZone.ID?
  /// Waits after a commit for those that follow at once.
  package var pause: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

  init(store: SyncStore, query: Query<Model>, zoneID: CKRecordZone.ID?) {
    (self.store, self.query, self.zoneID) = (store, query, zoneID)
  }

  /// The differences between the results and the last ones; the first insert all models.
  public var changes: some AsyncSequence<ResultChanges<Model>, any Error> & Sendable {
    ResultDifferences(results: self)
  }

  /// A publisher of the results. Each subscriber has its own iteration, from its first request until it cancels.
  public var publisher: AnyPublisher<[Model], any Error> { SequencePublisher(sequence: self).eraseToAnyPublisher() }

  /// Makes an iterator. It reads nothing before the first `next()`.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(results: self) }

  /// Returns the present results, then the new ones.
  public struct AsyncIterator: AsyncIteratorProtocol {
    let results: StoredResults
    private var hasStarted = false
    private var commits: AsyncStream<Void>?
    private var digest: Int?
    private var last: [Model]?
    /// The time that the last reading took.
    private var effort = Duration.zero

    init(results: StoredResults) { self.results = results }

    /// Waits for results that differ from the last ones; nil when the task is cancelled.
    public mutating func next() async throws -> [Model]? {
      while await isWritten() {
        let start = ContinuousClock.now
        do {
          let reading = try await results.read(unless: digest, last)
          effort = .now - start
          digest = reading.digest
          guard let models = reading.models else { continue }
          last = models
          return models
        } catch {
          // The results after an error are returned in any case, also if the records are again those before it.
          (digest, last) = (nil, nil)
          if !Task.isCancelled { throw error }
        }
      }
      commits = nil
      return nil
    }

    /// Waits until the store may have changed since the last reading; false when the task is cancelled.
    private mutating func isWritten() async -> Bool {
      guard hasStarted else {
        // Before the first reading, so that no later commit is missed.
        (hasStarted, commits) = (true, results.store.commits())
        return !Task.isCancelled
      }
      guard var iterator = commits?.makeAsyncIterator(), await iterator.next() != nil else { return false }
      return (try? await results.pause(Swift.max(.milliseconds(50), effort * 4))) != nil
    }
  }

  /// Reads the results unless no record of the type has changed.
  ///
  /// - Returns: nil for results equal to the last ones.
  @concurrent fileprivate func read(
    unless digest: Int?,
    _ last: [Model]?
  ) async throws -> (digest: Int, models: [Model]?) {
    // Read first: what is committed in between is read again.
    let present = try store.recordsDigest(of: Model.recordType, in: zoneID.map { store.zoneKey($0) })
    guard present != digest else { return (present, nil) }
    let models = try await store.results(of: query, in: zoneID)
    return (present, models == last ? nil : models)
  }
}
