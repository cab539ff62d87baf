import GRDB

/// The store's tables. Constraints reject invalid states.
///
/// Times are milliseconds since 1970. There is one schema: a store with another one is rejected on opening.
/// Raise its number when a table or the encoding of a column changes.
enum Schema {
  /// The number of the schema that this version reads and writes.
  static let version = 39

  static let migrator: DatabaseMigrator = {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("\(version)") { database in
      for part in [tables, views, indexes, triggers, rows] { try database.execute(sql: part) }
    }
    return migrator
  }()

  /// The number of a store's schema; nil if it has none.
  static func version(of database: Database) throws -> Int? {
    try migrator.appliedIdentifiers(database).compactMap { Int($0.prefix(while: \.isNumber)) }.max()
  }

  /// The rows of tables that have one row.
  static let rows = """
    INSERT INTO activity(one) VALUES (1);
    INSERT INTO state(one) VALUES (1);
    INSERT INTO droppedTotals VALUES (1, 0, 0, 0);
    """
}
