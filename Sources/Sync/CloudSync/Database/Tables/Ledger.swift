import GRDB

/// The store's rows, as seen by one transaction of its SQLite database.
package final class Ledger {
  let database: Database
  /// The time of the transaction, where the store writes; 0 elsewhere.
  var now: Int64 = 0
  /// When the transaction proves that the holder of the lease lives; nil if it proves nothing.
  var provenAt: Int64?
  /// The entries that the log has of the sync whose transaction this is, if it runs once.
  var oneSync = OneSync.none
  /// Whether the transaction has stored a chore.
  var hasChore = false
  /// Whether a person's decision was carried out in the transaction.
  var hasDecision = false
  /// Returns the name of the credential that requests of this process have; nil if it makes none.
  var credential: () -> String? = { nil }

  init(_ database: Database) { self.database = database }

  // MARK: - Statements

  /// The helpers cache their prepared statements per connection.
  func row(_ sql: String, _ arguments: StatementArguments) throws -> Row? {
    try Row.fetchOne(database.cachedStatement(sql: sql), arguments: arguments)
  }

  func rows(_ sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
    try Row.fetchAll(database.cachedStatement(sql: sql), arguments: arguments)
  }

  /// Decodes the rows as the statement yields them: reading a copy of a row costs more, and most by column name.
  func rows<Value>(_ sql: String, _ arguments: StatementArguments = [], as decode: (Row) throws -> Value) throws
    -> [Value]
  {
    let cursor = try Row.fetchCursor(database.cachedStatement(sql: sql), arguments: arguments)
    var values: [Value] = []
    while let row = try cursor.next() { values.append(try decode(row)) }
    return values
  }

  func one<Value: DatabaseValueConvertible>(_ sql: String, _ arguments: StatementArguments = []) throws -> Value? {
    try Value.fetchOne(database.cachedStatement(sql: sql), arguments: arguments)
  }

  func all<Value: DatabaseValueConvertible>(_ sql: String, _ arguments: StatementArguments = []) throws -> [Value] {
    try Value.fetchAll(database.cachedStatement(sql: sql), arguments: arguments)
  }

  func run(_ sql: String, _ arguments: StatementArguments = []) throws {
    try database.cachedStatement(sql: sql).execute(arguments: arguments)
  }

  /// Writes all columns of a row, which may be new.
  func put(_ row: some StoredRow) throws { try row.save(database) }

  /// Inserts rows, some at once: each statement that fires triggers first copies the pages it changes to a journal.
  ///
  /// - Parameters:
  ///   - sql: the statement up to its values.
  ///   - rest: the statement after its values.
  func insert(_ sql: String, _ rows: [[(any DatabaseValueConvertible)?]], _ rest: String = "") throws {
    for start in stride(from: 0, to: rows.count, by: SyncStore.writtenAtOnce) {
      let rows = rows[start..<min(start + SyncStore.writtenAtOnce, rows.count)]
      let row = "(" + repeatElement("?", count: rows[start].count).joined(separator: ", ") + ")"
      let values = repeatElement(row, count: rows.count).joined(separator: ", ")
      try run("\(sql) VALUES \(values) \(rest)", StatementArguments(Array(rows.joined())))
    }
  }

  /// Carries out a part of a transaction that is taken back if it throws, while the rest stands.
  func allOrNothing(_ body: () throws -> Void) throws {
    try database.inSavepoint {
      try body()
      return .commit
    }
  }
}
