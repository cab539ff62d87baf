import Facts
import Synchronization

/// The entries that the log has of a sync that runs once. Its start is written before anything else that it changes or
/// logs, and then its end: a sync that finds nothing to do leaves no event.
enum OneSync: Hashable, Sendable {
  /// There is no such sync, or its end is in the log.
  case none
  case unlogged(startedAt: Int64)
  case logged(startedAt: Int64)
}

/// The `OneSync` of the holder of a lease, between two of its transactions.
final class OneSyncLog: Sendable {
  private let state = Mutex(OneSync.none)

  var value: OneSync { state.withLock(\.self) }

  func set(_ value: OneSync) { state.withLock { $0 = value } }
}

extension Ledger {
  /// Logs the start of the sync of this transaction, unless the log has it.
  func logStart() throws {
    guard case .unlogged(let startedAt) = oneSync else { return }
    oneSync = .logged(startedAt: startedAt)
    try EventLog.add(.syncStarted(by: .current), now: startedAt, self)
  }

  /// Logs the end of the sync, if the log has its start.
  ///
  /// - Parameter stop: what stopped it before its end; nil if nothing did.
  func logEnd(_ summary: SyncSummary, _ stop: Event.SyncStop?, now: Int64) throws {
    if case .logged(let startedAt) = oneSync {
      try EventLog.add(summary.ended(seconds: Double(max(0, now - startedAt)) / 1000, stop), now: now, self)
    }
    oneSync = .none
  }
}
