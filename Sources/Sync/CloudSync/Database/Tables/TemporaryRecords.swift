import CloudKit
import GRDB

/// Records, or a number for each of their keys, in a temporary file, because there may be any number of them.
///
/// SQLite compares bytes: two encodings that Swift takes for equal are two records to the server.
package final class TemporaryRecords: Sendable {
  package struct Row: Hashable, Sendable {
    package var key: RecordKey
    package var number: Int
    package var record: MirrorRecord?

    package init(_ key: RecordKey, number: Int = 0, record: MirrorRecord? = nil) {
      (self.key, self.number, self.record) = (key, number, record)
    }

    fileprivate init(row: GRDB.Row) throws {
      key = RecordKey(zone: row["keyZone"], owner: row["keyOwner"], name: row["keyName"])
      number = row["number"]
      let zone: String? = row["zone"]
      record = try zone == nil ? nil : MirrorRecord(row: row)
    }
  }

  /// The number of rows that are in memory at once: as many as the server is asked for by name at once.
  package static let slice = CKDatabase.largestBatch

  private let database: DatabaseQueue

  package init() throws(StoreError) {
    var configuration = Configuration()
    // One transaction, because nothing has to last.
    configuration.allowsUnsafeTransactions = true
    do {
      // For an empty path SQLite makes a file once its cache is full, and removes it at the end. Records are appended,
      // which with random names is faster than a table in the order of its keys.
      database = try DatabaseQueue(path: "", configuration: configuration)
      try database.writeWithoutTransaction { database in
        try database.execute(
          sql: """
            PRAGMA journal_mode = OFF;
            PRAGMA cache_size = -8000;
            BEGIN;
            CREATE TABLE rows(keyZone TEXT, keyOwner TEXT, keyName TEXT, number INTEGER, \(MirrorRecord.columns),
              PRIMARY KEY (keyZone, keyOwner, keyName));
            """
        )
      }
    } catch {
      throw Self.failure(error)
    }
  }

  // MARK: - Writing

  /// Adds a row unless its key has one. Returns the number of the earlier row.
  @discardableResult
  package func add(_ row: Row) throws(StoreError) -> Int? {
    try run { ledger in
      try insert(row, orElse: "IGNORE", ledger)
      return try ledger.database.changesCount == 0 ? number(of: row.key, ledger) : nil
    }
  }

  /// Adds a row, in place of an earlier one with its key.
  package func put(_ row: Row) throws(StoreError) { try run { try insert(row, orElse: "REPLACE", $0) } }

  package func remove(_ key: RecordKey) throws(StoreError) {
    try run { try $0.run("DELETE FROM rows WHERE keyZone = ? AND keyOwner = ? AND keyName = ?", arguments(key)) }
  }

  package func removeAll() throws(StoreError) { try run { try $0.run("DELETE FROM rows") } }

  private func insert(_ row: Row, orElse verb: String, _ ledger: Ledger) throws {
    let values = try [row.key.zone, row.key.owner, row.key.name, row.number] + (row.record?.values ?? [])
    let places = repeatElement("?", count: values.count).joined(separator: ", ")
    let columns = "keyZone, keyOwner, keyName, number" + (row.record == nil ? "" : ", \(MirrorRecord.columns)")
    try ledger.run("INSERT OR \(verb) INTO rows(\(columns)) VALUES (\(places))", StatementArguments(values))
  }

  // MARK: - Reading

  /// The number of a key's row; nil if it has none.
  package func number(of key: RecordKey) throws(StoreError) -> Int? { try run { try number(of: key, $0) } }

  private func number(of key: RecordKey, _ ledger: Ledger) throws -> Int? {
    try ledger.one("SELECT number FROM rows WHERE keyZone = ? AND keyOwner = ? AND keyName = ?", arguments(key))
  }

  package func count(of zone: ZoneKey) throws(StoreError) -> Int {
    try run {
      try $0.one("SELECT count(*) FROM rows WHERE keyZone = ? AND keyOwner = ?", [zone.zone, zone.owner]) ?? 0
    }
  }

  /// Returns the next slice of a zone's rows by name; nil at the end.
  ///
  /// - Parameters:
  ///   - number: the number of the wanted rows; nil for all.
  ///   - last: the name of the last row so far, at first empty.
  package func next(of zone: ZoneKey, numbered number: Int? = nil, after last: inout String) throws(StoreError)
    -> [Row]?
  {
    let sql = """
      SELECT * FROM rows WHERE keyZone = ?1 AND keyOwner = ?2 AND keyName > ?3 AND (?4 IS NULL OR number = ?4)
      ORDER BY keyName LIMIT ?5
      """
    let arguments: StatementArguments = [zone.zone, zone.owner, last, number, Self.slice]
    let rows = try run { try $0.rows(sql, arguments, as: Row.init(row:)) }
    guard let end = rows.last else { return nil }
    last = end.key.name
    return rows
  }

  private func arguments(_ key: RecordKey) -> StatementArguments { [key.zone, key.owner, key.name] }

  private func run<Value>(_ body: (Ledger) throws -> Value) throws(StoreError) -> Value {
    do {
      return try database.writeWithoutTransaction { try body(Ledger($0)) }
    } catch {
      throw Self.failure(error)
    }
  }

  private static func failure(_ error: any Error) -> StoreError {
    let reason = (error as? DatabaseError)?.message ?? String(describing: error)
    return StoreError(
      .cannotOpen,
      "a temporary file cannot be written (\(reason)); free some space, or name another folder in SQLITE_TMPDIR"
    )
  }
}
