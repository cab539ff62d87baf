import GRDB
import Synchronization

@testable import CloudSync

/// Counts the rows of one table, or of all, that each transaction changes.
final class Transactions: TransactionObserver, Sendable {
  private let table: String?
  private let state = Mutex<(open: Int, committed: [Int])>((0, []))

  private init(_ table: String?) { self.table = table }

  /// Counts on a store's own connection until the result is released.
  ///
  /// - Parameter table: nil for all tables.
  static func of(_ store: SyncStore, on table: String? = "operations") throws -> Transactions {
    let observer = Transactions(table)
    try store.file.writer.add(transactionObserver: observer)
    return observer
  }

  /// The changed rows of each transaction so far that changed any.
  var rows: [Int] { state.withLock(\.committed) }

  func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { isCounted(eventKind.tableName) }

  private func isCounted(_ name: String) -> Bool { table.map { $0 == name } ?? true }

  func databaseDidChange(with event: DatabaseEvent) {
    if isCounted(event.tableName) { state.withLock { $0.open += 1 } }
  }

  func databaseDidCommit(_ db: Database) {
    state.withLock { state in
      if state.open > 0 { state.committed.append(state.open) }
      state.open = 0
    }
  }

  func databaseDidRollback(_ db: Database) { state.withLock { $0.open = 0 } }
}
