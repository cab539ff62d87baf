public import CloudKit
public import CloudSync

/// Changes that wait for a person, and decisions about them. A decision applies to the version that was read: a change
/// that is different since is left alone.
extension CloudKitService {
  // MARK: - Conflicts

  /// The oldest conflicts that wait for a decision. Conflicts arise with the policy `manual` or a resolver that answers
  /// so, and when a decision is undone.
  ///
  /// - Throws: `StoreError` if the store cannot be read.
  public func conflicts(limit: Int = 100) async throws -> [OpenConflict] {
    try await read { try $0.openConflicts(limit: limit) } ?? []
  }

  /// Resolves a conflict.
  ///
  /// ```swift
  /// for conflict in try await service.conflicts() {
  ///   try await service.resolve(conflict, taking: .local, fields: ["title": .server])
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - side: the side whose values the record gets.
  ///   - fields: other sides for some fields of `conflict.change.fields`.
  /// - Throws: `CloudKitServiceError` if the service is read-only; `StoreError` if the choice is not possible.
  @discardableResult
  public func resolve(
    _ conflict: OpenConflict,
    taking side: ConflictSide,
    fields: [String: ConflictSide] = [:]
  ) async throws -> ConflictResult {
    let origin = engine?.configuration.origin
    return try await change {
      try $0.resolve(conflict, taking: side, fields: fields, origin: origin, actor: Self.actor)
    }
  }

  // MARK: - Failed changes

  /// The oldest changes that failed for good, with the reasons.
  ///
  /// - Throws: `StoreError` if the store cannot be read.
  public func failedChanges(limit: Int = 100) async throws -> [FailedChange] {
    try await read { try $0.failedChanges(limit: limit) } ?? []
  }

  /// Sends failed changes again, with their attempts reset.
  ///
  /// - Returns: the numbers of those that are pending again; others have changed or ended since they were read.
  /// - Throws: `CloudKitServiceError` if the service is read-only; `StoreError` if the store cannot be written.
  @discardableResult
  public func retry(_ changes: [FailedChange]) async throws -> [FailedChange.ID] {
    try await change { try $0.perform(.retry, on: changes, actor: Self.actor) }
  }

  /// Removes failed changes from the queue. This can be undone until the record is edited again.
  ///
  /// - Returns: the numbers of the removed ones; others have changed or ended since they were read.
  /// - Throws: `CloudKitServiceError` if the service is read-only; `StoreError` if the store cannot be written.
  @discardableResult
  public func discard(_ changes: [FailedChange]) async throws -> [FailedChange.ID] {
    try await change { try $0.perform(.discard, on: changes, actor: Self.actor) }
  }

  // MARK: - Deletions on hold

  /// Deletions on the server that are on hold until a person decides, by zone.
  ///
  /// - Throws: `StoreError` if the store cannot be read.
  public func heldDeletions() async throws -> [HeldDeletions] { try await read { try $0.heldDeletions() } ?? [] }

  /// Applies the deletions on hold in a zone, as ``SyncEngine/acceptDeletions(in:ifVersion:)`` does.
  ///
  /// - Parameter version: the version that was shown; nil: the current one.
  /// - Throws: `CloudKitServiceError` if the service is read-only; `StoreError` if there is nothing on hold.
  @discardableResult
  public func acceptDeletions(in zone: CKRecordZone.ID, ifVersion version: String? = nil) async throws
    -> DeletionOutcome
  {
    try await change { try $0.acceptDeletions(in: ZoneKey(zone), ifVersion: version, actor: Self.actor) }
  }

  /// Recreates the records that the server deleted in a zone, as ``SyncEngine/restoreDeletions(in:ifVersion:)`` does.
  ///
  /// - Parameter version: the version that was shown; nil: the current one.
  /// - Throws: `CloudKitServiceError` if the service is read-only; `StoreError` if there is nothing on hold.
  @discardableResult
  public func restoreDeletions(in zone: CKRecordZone.ID, ifVersion version: String? = nil) async throws
    -> DeletionOutcome
  {
    try await change { try $0.restoreDeletions(in: ZoneKey(zone), ifVersion: version, actor: Self.actor) }
  }

  // MARK: - Undo

  /// The latest changes that were discarded, or dropped when a conflict was resolved, and the server's values that were
  /// overwritten for a change. They can be restored for 90 days, until the record is edited again.
  ///
  /// - Throws: `StoreError` if the store cannot be read.
  public func undoable(limit: Int = 100) async throws -> [UndoableChange] {
    try await read { try $0.undoable(limit: limit) } ?? []
  }

  /// Queues a dropped change again, with the time of its edit. If the server's record has changed since, it is a
  /// conflict. A discarded change is again what it was: pending, failed, paused, or a conflict.
  ///
  /// - Throws: `CloudKitServiceError` if the service is read-only; `StoreError` if the record has been edited since,
  ///   more of the change was dropped since it was read, or the rest of the change is being sent.
  @discardableResult
  public func undo(_ dropped: UndoableChange) async throws -> QueuedChange {
    let origin = engine?.configuration.origin
    return try await change { try $0.undo(dropped, origin: origin, actor: Self.actor) }
  }

  // MARK: - Pause

  /// Whether everything is paused.
  public var isPaused: Bool { status.isPaused }

  /// Pauses syncing: no request is made until ``resume()``, by any process. A request in flight is finished. Changes
  /// are still accepted.
  ///
  /// - Throws: `CloudKitServiceError` if the service is read-only; `StoreError` if the store cannot be written.
  public func pause() async throws {
    try await change { _ = try $0.pause(.everything, actor: Self.actor) }
    try await shared?.pause()
  }

  /// Ends a pause of everything. Zones that were paused one by one stay paused.
  ///
  /// - Throws: the same errors as ``pause()``.
  public func resume() async throws {
    try await change { _ = try $0.resume(.everything, actor: Self.actor) }
    try await shared?.resume()
  }

  /// Pauses sending to a zone. It is still fetched.
  ///
  /// - Throws: the same errors as ``pause()``.
  public func pause(_ zone: CKRecordZone.ID) async throws {
    try await service(for: zone).change { _ = try $0.pause(.zone($0.key(of: zone)), actor: Self.actor) }
  }

  /// Ends the pause of a zone.
  ///
  /// - Throws: the same errors as ``pause()``.
  public func resume(_ zone: CKRecordZone.ID) async throws {
    try await service(for: zone).change { _ = try $0.resume(.zone($0.key(of: zone)), actor: Self.actor) }
  }

  /// The actor of this app's decisions in the event log.
  nonisolated static var actor: String { "app" }

  private func read<Value: Sendable>(_ body: @escaping @Sendable (SyncStore) throws -> Value) async throws -> Value? {
    let store = store
    return try await Task.detached { try store.map(body) }.value
  }
}
