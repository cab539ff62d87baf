import GRDB

/// The store's tables. Constraints reject invalid states.
///
/// Times are milliseconds since 1970. The schema that was packaged first stays as it is. To change a table or the
/// encoding of a column, add a migration to `changes`.
enum Schema {
  /// A migration, which runs once for each store.
  struct Change: Sendable {
    /// The number of the schema that it leads to.
    let version: Int
    /// The statements, which also rewrite what is stored where its encoding changes.
    let sql: String
  }

  /// The number of the schema that was packaged first. Stores with an earlier one never left development.
  static let first = 39

  /// The migrations since the first schema, in order.
  static let changes: [Change] = []

  /// The number of the schema that this version reads and writes.
  static let version = changes.last?.version ?? first

  /// The statements that make a store with the first schema.
  static let parts = [tables, views, indexes, triggers, rows]

  static let migrator = migrator(changes)

  static func migrator(_ changes: [Change]) -> DatabaseMigrator {
    var migrator = DatabaseMigrator()
    for change in [Change(version: first, sql: parts.joined())] + changes {
      migrator.registerMigration("\(change.version)") { try $0.execute(sql: change.sql) }
    }
    return migrator
  }

  /// How a store is handled when it is opened for writing.
  enum Fit: Equatable {
    case current, migrated, rejected
  }

  static func fit(_ found: Int, last: Int = version) -> Fit {
    found == last ? .current : (first..<last).contains(found) ? .migrated : .rejected
  }

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
