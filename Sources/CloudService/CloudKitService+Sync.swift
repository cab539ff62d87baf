public import CloudKit
import CloudSync
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
  /// Pending operations.
  public var pendingCount: Int
  /// Dead letters.
  public var failedCount: Int
  /// Dead letters and operations in a back-off, which `retryFailedOperations()` retries.
  public var retryableCount: Int
  /// The time at which the oldest pending operation was accepted.
  public var oldestPendingDate: Date?
}

/// Syncing on demand, and its status.
extension CloudKitService {
  /// Syncs now: sends everything and fetches all changes. Ends our own back-offs; keeps a server's wait.
  ///
  /// - Throws: `CloudKitServiceError` if an error stopped the sync; `StoreError` if the store cannot be used.
  public func sync() async throws { try await sync(recordTypes: []) }

  /// Syncs now, and also polls these record types if there is no change feed.
  public func sync(recordTypes: [CKRecord.RecordType]) async throws {
    guard let engine, !isReadOnly else { throw CloudKitServiceError.writeNotSupportedOnPlatform }
    do {
      let summary = try await engine.syncNow(recordTypes: recordTypes)
      if let failure = summary.failure { throw CloudKitServiceError(failure) }
      lastError = nil
    } catch {
      lastError = error
      throw error
    }
  }

  /// Syncs at an interval, in addition to pushes and the engine's polls, until stopped. A failure is stored in
  /// `lastError`, and the next sync is tried all the same.
  ///
  /// - Parameter interval: seconds, at least one.
  public func startPeriodicSync(interval: TimeInterval) {
    stopPeriodicSync()
    ticking = Task { [weak self] in
      while (try? await Task.sleep(for: .seconds(interval.isNaN ? 1 : min(max(1, interval), 1e9)))) != nil {
        guard let self else { return }
        try? await self.sync()
      }
    }
  }

  /// Stops periodic syncs.
  public func stopPeriodicSync() {
    ticking?.cancel()
    ticking = nil
  }

  /// The sync status.
  public var syncStatus: CloudKitSyncStatus {
    let status = self.status
    switch status.state {
    case .sending, .fetching: return .syncing
    case .paused: return .paused
    case .error: return .error(status.reason)
    case .idle, .waiting, .offline: return status.isInSync ? .complete : .idle
    }
  }

  /// The progress of the current sync, from 0 to 1; 1 if everything is sent and fetched.
  public var syncProgress: Double {
    guard let progress = status.progress, progress.total > 0 else { return isInSync ? 1 : 0 }
    return min(1, Double(progress.done) / Double(progress.total))
  }

  /// The account status, as of the last request.
  public var accountStatus: CKAccountStatus {
    guard let problem = status.accountProblem else {
      return status.identity == nil ? .couldNotDetermine : .available
    }
    switch ServerErrorCode(problem.code) {
    case .authenticationRequired, .authenticationFailed: return .noAccount
    case .accessDenied: return .restricted
    default: return .temporarilyUnavailable
    }
  }

  // MARK: - Queue

  /// Counts of the queue.
  public var queueStatus: QueueStatus {
    let queue = status.queue
    return QueueStatus(
      totalCount: queue.total,
      pendingCount: queue.pending,
      failedCount: queue.failed,
      retryableCount: queue.retryable,
      oldestPendingDate: queue.oldestPendingAt.map { Date(timeIntervalSince1970: Double($0) / 1000) }
    )
  }

  /// Ends our own back-offs and sends pending operations.
  public func flushOfflineQueue() async throws { try await sync() }

  /// Makes dead letters and operations in a back-off pending again.
  ///
  /// - Returns: the number of operations.
  @discardableResult
  public func retryFailedOperations() async throws -> Int {
    try await perform(.retry, "state in ('failed', 'waiting')")
  }

  /// Removes dead letters from the queue for good.
  ///
  /// - Returns: the number of operations.
  @discardableResult
  public func clearFailedOperations() async throws -> Int { try await perform(.discard, "state = 'failed'") }

  /// Removes everything that is not in flight from the queue for good.
  ///
  /// - Returns: the number of operations.
  @discardableResult
  public func clearOfflineQueue() async throws -> Int { try await perform(.discard, nil) }

  private func perform(_ verb: QueueVerb, _ text: String?) async throws -> Int {
    guard !isReadOnly else { throw CloudKitServiceError.writeNotSupportedOnPlatform }
    let changing = changing
    return try await Task.detached {
      let selection = try text.map { .matching(try QueueFilter(parsing: $0), text: $0) } ?? Selection.all
      return try changing.get().perform(verb, on: selection, actor: "app").changed.count
    }.value
  }
}
