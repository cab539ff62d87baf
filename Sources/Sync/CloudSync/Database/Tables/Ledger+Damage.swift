import CloudKit
import Facts
import GRDB

/// Looking for rows that cannot be read, and for what was set aside because of that.
extension Ledger {
  /// Visits the rows that cannot be read. Reads all of them, one at a time.
  func unreadableRows(_ visit: (UnreadableRow) -> Void) throws {
    try unreadableRows(
      "SELECT \(QueuedOperation.columns) FROM operations ORDER BY id",
      QueuedOperation.init(row:),
      visit
    )
    try unreadableRows("SELECT \(MirrorRecord.columns) FROM records", MirrorRecord.init(row:), visit)
    try unreadableRows("SELECT *, isAutomatic = 0 AS isSeen FROM dropped", DroppedChange.init(row:), visit)
  }

  private func unreadableRows<Value>(
    _ sql: String,
    _ decode: (Row) throws -> Value,
    _ visit: (UnreadableRow) -> Void
  ) throws {
    let rows = try Row.fetchCursor(database, sql: sql)
    while let row = try rows.next() {
      do { _ = try decode(row) } catch let error as UnreadableRow { visit(error) }
    }
  }

  /// The number of changes that could not be read, were edited since, and that no person has seen.
  func lostChanges() throws -> Int {
    let sql = "SELECT reason FROM dropped WHERE isAutomatic = 1 AND id > (SELECT seenThrough FROM droppedTotals)"
    let causes: [String] = try all(sql)
    return causes.count { Cause(stored: $0).damage != nil }
  }

  /// The number of records that could not be read and have not been fetched again.
  func unreadableRecords() throws -> Int {
    try one("SELECT count(*) FROM records WHERE changeTag LIKE ?", [MirrorRecord.unreadable + "%"]) ?? 0
  }
}

extension UnreadableRow {
  /// The row in words, and why it cannot be read.
  var text: String {
    let what =
      switch place {
      case .operation(let id): "operation \(id)"
      case .record(let key): "record \(key.name)"
      case .dropped(let id): "dropped change \(id)"
      case .delivery(let number): "delivery \(number)"
      }
    return "\(what) (\(reason.withoutFullStop))"
  }
}
