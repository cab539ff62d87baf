public import CloudKit
public import OpenCombine

/// A change of a model's record on the server.
public enum CKModelChange<Model> {
  /// The record was created.
  case inserted(Model)
  /// The record was changed. The model has its latest version.
  case updated(Model)
  /// The record was deleted.
  case deleted(CKRecord.ID)
  /// A change that could not be read, with the reason: a ``CKModelError`` for a record that does not match the model.
  /// The ID is nil if any record may have changed, because a push was lost or named none, or the server no longer has
  /// the changes since the last ones: load the models again.
  case failed(CKRecord.ID?, any Error)
}

extension CKModelChange: Sendable where Model: Sendable {}
extension CKModelChange: Equatable where Model: Equatable {
  /// Whether both are the same change of equal models. Failures are equal if they concern the same record.
  public static func == (left: Self, right: Self) -> Bool {
    switch (left, right) {
    case (.inserted(let left), .inserted(let right)), (.updated(let left), .updated(let right)): left == right
    case (.deleted(let left), .deleted(let right)): left == right
    case (.failed(let left, _), .failed(let right, _)): left == right
    default: false
    }
  }
}

extension CKRecordModel where Self: Decodable & Sendable {
  /// The changes of this type's models, as the server announces them.
  ///
  /// ```swift
  /// for try await change in Note.changes(in: container) {
  ///   switch change {
  ///   case .inserted(let note), .updated(let note): notes[note.id] = note
  ///   case .deleted(let id): remove(id.recordName)
  ///   case .failed(let id, let error): report(error, id)
  ///   }
  /// }
  /// ```
  ///
  /// Each iteration subscribes to the changes first, as
  /// ``CloudKit/CKDatabase/subscribe(to:where:options:in:configure:)`` does, but leaves a subscription to the same
  /// changes with another push as it is. The subscription stays on the server when the iteration ends.
  ///
  /// - Parameters:
  ///   - query: The models to watch, without an order and a limit.
  ///   - zoneID: The zone to watch; nil watches all zones of the type's database.
  public static func changes(
    in container: CKContainer,
    where query: Query<Self> = Query(),
    zone zoneID: CKRecordZone.ID? = nil
  ) -> CKModelChangeSequence<Self> { CKModelChangeSequence(container: container, query: query, zoneID: zoneID) }
}

/// The changes of a type's models, as the server announces them by pushes.
///
/// A push is only a hint: the records are fetched, up to 200 in a request, and several pushes for one record become one
/// change with its latest version. In a shared database a push names no record: an iteration reads the records that are
/// there when it begins, without their fields, and then the change feeds of the zones.
///
/// Each iteration receives each change once. All iterations of a container share one poll for pushes, which ends with
/// the last of them.
///
/// Iteration ends when its task is cancelled. It throws an error that retrying cannot fix; while the server cannot be
/// reached, it waits and tries again. Pushes that are sent meanwhile may be lost, which is reported as a failure
/// without an ID.
public struct CKModelChangeSequence<Model: CKRecordModel & Decodable & Sendable>: AsyncSequence, Sendable {
  let container: CKContainer
  let query: Query<Model>
  let zoneID: CKRecordZone.ID?
  /// Waits before a failed request or poll is repeated.
  package var pause: @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }

  init(container: CKContainer, query: Query<Model>, zoneID: CKRecordZone.ID?) {
    (self.container, self.query, self.zoneID) = (container, query, zoneID)
  }

  /// A publisher of the changes. Each subscriber has its own iteration, from its first request until it cancels.
  public var publisher: AnyPublisher<CKModelChange<Model>, any Error> {
    SequencePublisher(sequence: self).eraseToAnyPublisher()
  }

  /// Makes an iterator. It sends no request before the first `next()`.
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

  /// Returns the changes one at a time.
  public struct AsyncIterator: AsyncIteratorProtocol {
    private let changes: CKModelChangeSequence
    private var pushes: (inbox: ChangeInbox, listener: PushBroadcast.Listener)?
    private var hasStarted = false
    private var hasEnded = false
    /// The place in the change feeds of a shared database.
    private var feed: RecordFeed?
    private var fetched: ArraySlice<CKModelChange<Model>> = []
    private var delivered = DeliveredVersions()

    init(_ changes: CKModelChangeSequence) { self.changes = changes }

    private var database: CKDatabase { changes.container.database(for: Model.self, in: changes.zoneID) }

    /// Waits for the next change; nil when the task is cancelled.
    public mutating func next() async throws -> CKModelChange<Model>? {
      guard !hasEnded else { return nil }
      do {
        try await Self.retrying(changes.pause) { try await start() }
        while fetched.isEmpty, let (records, hasUnnamed) = try await pushes?.inbox.next() {
          fetched = try await fetch(records)[...]
          if hasUnnamed { fetched += try await fetchUnnamed() }
        }
        if let change = fetched.popFirst() { return change }
        end()
        return nil
      } catch {
        end()
        if Task.isCancelled { return nil }
        throw error
      }
    }

    /// Subscribes to the changes, if that has not happened yet, and waits until no later change is missed.
    mutating func start() async throws {
      guard !hasStarted else { return }
      let (database, isShared) = (database, database.databaseScope == .shared)
      if pushes == nil {
        let subscription =
          if isShared {
            try await database.subscribeToAllZones(of: changes.query)
          } else {
            try await database.subscribe(observing: changes.query, in: changes.zoneID)
          }
        let inbox = ChangeInbox(subscription.subscriptionID)
        pushes = (inbox, changes.container.listen(pause: changes.pause) { inbox.receive($0) })
      }
      try await pushes?.inbox.opened()
      if isShared { feed = try await unreadFeed() }
      hasStarted = true
    }

    /// Returns a place in the change feeds after all changes so far.
    private func unreadFeed() async throws -> RecordFeed {
      var feed = RecordFeed(Model.recordType, in: changes.zoneID)
      _ = try await feed.read(database, desiredKeys: [])
      return feed
    }

    private mutating func end() {
      hasEnded = true
      pushes = nil
    }

    private mutating func fetch(
      _ records: [(id: CKRecord.ID, change: PushedChanges.Change)]
    ) async throws -> [CKModelChange<Model>] {
      let ids = records.filter { $0.change != .deleted }.map(\.id)
      let results = try await Self.retrying(changes.pause) {
        try await database.records(for: ids, desiredKeys: Model.desiredKeys)
      }
      return records.compactMap { delivered.change($0.id, $0.change, results[$0.id]) }
    }

    /// Fetches the changes that no push named.
    private mutating func fetchUnnamed() async throws -> [CKModelChange<Model>] {
      guard var feed else {
        let error = CKError(.serverResponseLost, "A push was lost, or named no record. Load the models again.")
        return [.failed(nil, error)]
      }
      do {
        let found = try await Self.retrying(changes.pause) {
          try await feed.read(database, desiredKeys: Model.desiredKeys)
        }
        self.feed = feed
        return found.compactMap { delivered.change($0.id, $0.change, $0.result) }
      } catch let error as CKError where error.code == .changeTokenExpired {
        self.feed = try await Self.retrying(changes.pause) { try await unreadFeed() }
        return [.failed(nil, error)]
      }
    }

    private static func retrying<Value>(
      _ pause: (Duration) async throws -> Void,
      _ request: () async throws -> Value
    ) async throws -> Value {
      var pace = RetryPace()
      while true {
        do {
          return try await request()
        } catch let error as CKError where error.isTransient {
          try await pause(pace.afterFailure(retryAfter: error.retryAfterSeconds))
        }
      }
    }
  }
}
