public import CloudKit
public import CloudSync
public import Foundation

/// The sync status in five cases for a screen.
public enum CloudKitSyncStatus: Sendable, Equatable {
  /// Not syncing now; changes may be waiting.
  case idle
  /// Sending or fetching.
  case syncing
  /// An operator paused it.
  case paused
  /// All changes are sent and fetched.
  case complete
  /// An error, with its reason.
  case error(String)
}

/// Counts of a queue.
public struct QueueStatus: Sendable, Hashable {
  /// All operations.
  public var totalCount: Int
  /// Operations that wait to be sent, those in a back-off included, as `StoreQueueStorage.count()` counts them.
  public var pendingCount: Int
  /// Dead letters.
  public var failedCount: Int
  /// Dead letters that `retryFailedOperations()` retries: all of them, because a retry starts with all its attempts.
  public var retryableCount: Int
  /// The time at which the oldest operation was accepted that is pending or being sent.
  public var oldestPendingDate: Date?
}

/// Syncing on demand, and its status.
extension CloudKitService {
  /// Syncs now: sends everything and fetches all changes, also those of ``shared``. Ends our own back-offs; keeps a
  /// server's wait. While everything is paused, or the server asked to wait, it returns at once; the summary's
  /// `reachedEnd` is false then.
  ///
  /// - Returns: what was sent and fetched, whichever process did it. Its `itemFailure` is an error that did not stop
  ///   the sync.
  /// - Throws: `CloudKitServiceError` if an error stopped the sync; `StoreError` if the store cannot be used.
  @discardableResult
  public func sync() async throws -> SyncSummary { try await sync(recordTypes: []) }

  /// Syncs now, and delivers only records of these types and those they refer to; other changes are delivered by the
  /// next ``sync()``, or at once after ``start()``. If there is no change feed, these types are polled too.
  ///
  /// - Returns: as for ``sync()``.
  /// - Throws: the same errors as ``sync()``.
  @discardableResult
  public func sync(recordTypes: [CKRecord.RecordType]) async throws -> SyncSummary {
    let result: Result<SyncSummary, any Error>
    do { result = .success(try await syncOwn(recordTypes)) } catch { result = .failure(error) }
    // One database does not hold up the other.
    var others: Result<SyncSummary, any Error>?
    if let shared {
      do { others = .success(try await shared.sync(recordTypes: recordTypes)) } catch { others = .failure(error) }
    }
    var summary = try result.get()
    if let others = try others?.get() { summary.add(others) }
    return summary
  }

  /// Syncs the service's own database, without that of ``shared``.
  @discardableResult
  func syncOwn(_ recordTypes: [CKRecord.RecordType] = []) async throws -> SyncSummary {
    guard let engine, !isReadOnly else { throw CloudKitServiceError.writeNotSupportedOnPlatform }
    let result: Result<SyncSummary, any Error>
    do { result = .success(try await engine.sync(recordTypes: recordTypes)) } catch { result = .failure(error) }
    switch result {
    case .success: stop = nil
    case .failure(let error): if !(error is CancellationError) { stop = Stop(error: error, at: Date()) }
    }
    await readNow()
    let summary = try result.get()
    if let failure = summary.failure { throw CloudKitServiceError(failure) }
    return summary
  }

  /// Syncs at an interval, in addition to pushes and the engine's polls, until stopped. A failure is shown by
  /// ``lastError``, and the next sync is tried all the same.
  ///
  /// - Parameter interval: seconds, at least one.
  public func startPeriodicSync(interval: TimeInterval) {
    stopPeriodicSync()
    ticking = Task { [weak self] in
      while (try? await Task.sleep(for: .seconds(interval.isNaN ? 1 : min(max(1, interval), 1e9)))) != nil {
        guard let self else { return }
        _ = try? await self.sync()
      }
    }
  }

  /// Stops periodic syncs.
  public func stopPeriodicSync() {
    ticking?.cancel()
    ticking = nil
  }

  /// The failure that stands, whether ``sync()``, ``start()`` or another process met it; nil after a success.
  public var lastError: (any Error)? { status.lastFailure.flatMap { $0.isCurrent ? $0.error : nil } }

  /// The sync status in five cases; ``status`` says more. ``lastError`` has the error itself.
  public var syncStatus: CloudKitSyncStatus {
    if status.verdict.state == .unreadable { return .error(status.verdict.sentence) }
    if status.isPaused { return .paused }
    if status.progress != nil { return .syncing }
    // Waiting because the server asked for it is no error.
    if let failure = status.lastFailure, failure.isCurrent, status.verdict.state != .throttled {
      return .error(failure.message)
    }
    return status.isInSync ? .complete : .idle
  }

  /// The progress of the current phase of a sync, from 0 to 1: 1 only if everything is sent and fetched, and 0 while
  /// the number of changes to fetch is unknown. See ``Status/progress-swift.property``.
  public var syncProgress: Double {
    status.isInSync ? 1 : min(0.99, status.progress?.fraction ?? 0)
  }

  /// The account status, as of the last request.
  public var accountStatus: CKAccountStatus { status.account.ckStatus }

  // MARK: - Queue

  /// Counts of the queue.
  public var queueStatus: QueueStatus {
    let queue = status.queue
    return QueueStatus(
      totalCount: queue.total,
      pendingCount: queue.pending + queue.retrying,
      failedCount: queue.failed,
      retryableCount: queue.failed,
      oldestPendingDate: storeStatus.queue.oldestGoingAt.map(Date.init(milliseconds:))
    )
  }

  /// Ends our own back-offs, sends pending operations, and fetches all changes: the same as ``sync()``, under the name
  /// that other libraries use.
  ///
  /// - Throws: the same errors as ``sync()``.
  public func flushOfflineQueue() async throws { try await sync() }

  /// Makes dead letters of this service's queue pending again, not those of ``shared``. ``flushOfflineQueue()`` ends
  /// back-offs.
  ///
  /// - Returns: the number of operations.
  @discardableResult
  public func retryFailedOperations() async throws -> Int {
    try await perform(.retry, "state = 'failed'")
  }

  /// Removes dead letters from this service's queue. ``undo(_:)`` restores them.
  ///
  /// - Returns: the number of operations.
  @discardableResult
  public func clearFailedOperations() async throws -> Int { try await perform(.discard, "state = 'failed'") }

  /// Removes everything that is not in flight from this service's queue. ``undo(_:)`` restores changes of records.
  ///
  /// - Returns: the number of operations.
  @discardableResult
  public func clearOfflineQueue() async throws -> Int { try await perform(.discard, nil) }

  private func perform(_ verb: QueueVerb, _ text: String?) async throws -> Int {
    try await change { store in
      let selection = try text.map { .matching(try QueueFilter(parsing: $0), text: $0) } ?? Selection.all
      return try store.perform(verb, on: selection, actor: "app").changed.count
    }
  }
}
