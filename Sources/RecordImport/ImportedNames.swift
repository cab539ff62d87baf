import CloudKit
import CloudSync
import GRDB

/// The names of the records imported so far, in a temporary file, because there may be any number of them.
struct ImportedNames {
  private let database: DatabaseQueue

  init() throws {
    var configuration = Configuration()
    // One transaction, because nothing has to last.
    configuration.allowsUnsafeTransactions = true
    // For an empty path SQLite makes a file once its cache is full, and removes it at the end.
    database = try DatabaseQueue(path: "", configuration: configuration)
    try database.writeWithoutTransaction { database in
      try database.execute(
        sql: """
          PRAGMA journal_mode = OFF;
          PRAGMA cache_size = -8000;
          BEGIN;
          CREATE TABLE names(zone TEXT, owner TEXT, name TEXT, line INTEGER, PRIMARY KEY (zone, owner, name)) WITHOUT ROWID;
          """
      )
    }
  }

  /// Adds the name of a record. Returns the line of an earlier record with this name.
  ///
  /// SQLite compares bytes: two encodings that Swift takes for equal are two records to the server.
  func add(_ record: ImportedRecord) throws -> Int? {
    let key: [any DatabaseValueConvertible] = [record.zone?.zone ?? "", record.zone?.owner ?? "", record.name]
    return try database.writeWithoutTransaction { database in
      try database.cachedStatement(sql: "INSERT INTO names VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING")
        .execute(arguments: StatementArguments(key + [record.line]))
      guard database.changesCount == 0 else { return nil }
      let sql = "SELECT line FROM names WHERE zone = ? AND owner = ? AND name = ?"
      return try Int.fetchOne(database.cachedStatement(sql: sql), arguments: StatementArguments(key))
    }
  }
}
