public import CloudKit
import CloudSync
public import Foundation

/// What syncing is doing, in five words for a screen.
public enum CloudKitSyncStatus: Sendable, Equatable {
  /// Nothing now; something may wait.
  case idle
  /// Sending or reading.
  case syncing
  /// An operator paused it.
  case paused
  /// Everything is sent and read.
  case complete
  /// Something is wrong, in the words of whoever refused.
  case error(String)
}

/// Counts of a queue.
public struct QueueStatus: Sendable, Hashable {
  /// All operations.
  public var totalCount: Int
  /// Those that nothing of their own holds up.
  public var pendingCount: Int
  /// Dead letters.
  public var failedCount: Int
  /// Dead letters, and what is in its own back-off: what `retryFailedOperations()` acts on.
  public var retryableCount: Int
  /// When the oldest pending one was accepted.
  public var oldestPendingDate: Date?
}

/// Syncing on demand, and how it stands.
extension CloudKitService {
  /// Sends everything and reads every feed now; own back-offs are ended, a server's wait is kept.
  ///
  /// - Throws: `CloudKitServiceError` for what stopped the pass; `StoreError` where the store cannot be used.
  public func sync() async throws { try await sync(recordTypes: []) }

  /// The same, reading these record types too where there is no change feed.
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

  /// Syncs every so often, beyond what pushes and the engine's own polls bring, until stopped. A failure is kept as
  /// `lastError`, and the next one is tried all the same.
  ///
  /// - Parameter interval: seconds, one at least.
  public func startPeriodicSync(interval: TimeInterval) {
    stopPeriodicSync()
    ticking = Task { [weak self] in
      while (try? await Task.sleep(for: .seconds(max(1, interval)))) != nil {
        guard let self else { return }
        try? await self.sync()
      }
    }
  }

  /// Ends what `startPeriodicSync(interval:)` began.
  public func stopPeriodicSync() {
    ticking?.cancel()
    ticking = nil
  }

  /// What syncing is doing.
  public var syncStatus: CloudKitSyncStatus {
    let status = snapshot.status
    switch status.state {
    case .sending, .fetching: return .syncing
    case .paused: return .paused
    case .error: return .error(status.reason)
    case .idle, .waiting, .offline: return status.isInSync ? .complete : .idle
    }
  }

  /// How much of the pass under way is done, from 0 to 1; 1 where everything is sent and read.
  public var syncProgress: Double {
    guard let progress = snapshot.status.progress, progress.total > 0 else { return isInSync ? 1 : 0 }
    return min(1, Double(progress.done) / Double(progress.total))
  }

  /// Whether there is a user to work as, as of the last request.
  public var accountStatus: CKAccountStatus {
    guard let problem = snapshot.status.accountProblem else {
      return snapshot.status.identity == nil ? .couldNotDetermine : .available
    }
    switch ServerErrorCode(problem.code) {
    case .authenticationRequired, .authenticationFailed: return .noAccount
    case .accessDenied: return .restricted
    default: return .temporarilyUnavailable
    }
  }

  // MARK: - The queue

  /// Counts of the queue.
  public var queueStatus: QueueStatus {
    let queue = snapshot.status.queue
    return QueueStatus(
      totalCount: queue.total,
      pendingCount: queue.pending,
      failedCount: queue.failed,
      retryableCount: queue.retryable,
      oldestPendingDate: queue.oldestPendingAt.map { Date(timeIntervalSince1970: Double($0) / 1000) }
    )
  }

  /// Ends own back-offs and sends what can be sent.
  public func flushOfflineQueue() async throws { try await sync() }

  /// Makes dead letters, and what backs off, sendable again.
  ///
  /// - Returns: how many.
  @discardableResult
  public func retryFailedOperations() async throws -> Int {
    try await perform(.retry, "state in ('failed', 'waiting')")
  }

  /// Takes dead letters out of the queue for good.
  ///
  /// - Returns: how many.
  @discardableResult
  public func clearFailedOperations() async throws -> Int { try await perform(.discard, "state = 'failed'") }

  /// Takes everything that is not on its way just now out of the queue for good.
  ///
  /// - Returns: how many.
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
