import CloudKit
import GRDB

/// One source of the record lists. Further conditions can be appended to its SQL.
struct ShownRecords {
  private let columns: String
  private let rows: String
  /// The table whose columns give the order.
  let table: String

  var sql: String { "SELECT \(columns) \(rows)" }

  /// The SQL with more columns.
  func with(_ more: String) -> String { "SELECT \(columns), \(more) \(rows)" }

  /// The sources of the mirror alone, or with pending edits applied.
  static func all(mirrorOnly: Bool) -> [ShownRecords] { mirrorOnly ? [mirror] : [overlaid, created] }

  /// The next rows of several sources by zone, owner and name, without the limit of the whole. Each source uses its own
  /// index order, so that a page costs only a page.
  static func next(
    of sources: [(sql: String, table: String)],
    after key: RecordKey?,
    of zone: ZoneKey? = nil,
    type: String? = nil,
    limit: Int
  ) -> (sql: String, arguments: StatementArguments) {
    var (parts, arguments) = ([String](), StatementArguments())
    for (source, of) in sources {
      var sql = source
      if let zone {
        sql += " AND \(of).zone = ? AND \(of).owner = ?"
        arguments += [zone.zone, zone.owner]
      }
      if let key {
        sql += zone == nil ? " AND (\(of).zone, \(of).owner, \(of).name) > (?, ?, ?)" : " AND \(of).name > ?"
        arguments += zone == nil ? [key.zone, key.owner, key.name] : [key.name]
      }
      if let type {
        // The unary plus keeps SQLite from using the type index, which is in another order.
        sql += " AND +\(of).type = ?"
        arguments += [type]
      }
      parts.append("SELECT * FROM (\(sql) ORDER BY \(of).zone, \(of).owner, \(of).name LIMIT ?)")
      arguments += [limit]
    }
    return (parts.joined(separator: " UNION ALL ") + " ORDER BY zone, owner, name", arguments)
  }

  private static let stamps = "r.createdAt, r.modifiedAt, r.modifiedBy, r.createdBy, r.share"
  private static let mirrored = "r.zone, r.owner, r.name, r.type, r.changeTag, r.fields, \(stamps)"

  static let mirror = ShownRecords(
    columns: """
      \(mirrored), NULL AS operation, NULL AS operationId, NULL AS changes, NULL AS state, r.rowid AS place
      """,
    rows: "FROM records r WHERE 1",
    table: "r"
  )

  private static let queued = "o.operation, o.id AS operationId, o.changes, o.state"

  private static let samePlace = "o.zone = r.zone AND o.owner = r.owner AND o.name = r.name"

  /// The mirror with pending edits applied, and with the records that are deleted here.
  static let joined = ShownRecords(
    columns: "\(mirrored), \(queued)",
    rows: "FROM records r LEFT JOIN operations o ON \(samePlace) WHERE 1",
    table: "r"
  )

  static let overlaid = ShownRecords(
    columns: joined.columns,
    rows: "\(joined.rows) AND (o.operation IS NULL OR o.operation <> 'delete')",
    table: "r"
  )

  /// Records that exist in the queue alone, by zone, owner and name.
  static let created = created(by: "operationsThatCreate")

  /// Records that exist in the queue alone, to be found by their name.
  static let createdByName = created(by: "operationsByRecord")

  private static func created(by index: String) -> ShownRecords {
    ShownRecords(
      columns: """
        o.zone, o.owner, o.name, o.type, NULL, '{}', NULL, NULL, NULL, NULL, NULL, o.operation, o.id, o.changes, o.state
        """,
      rows: """
        FROM operations o INDEXED BY \(index)
          WHERE o.isMirrored = 0 AND o.operation = 'save' AND o.name IS NOT NULL
        """,
      table: "o"
    )
  }

  /// Records with a queued save.
  static let unsent = unsent()

  /// Records with a queued save, by name.
  static let unsentByName = unsent(by: " INDEXED BY operationsByRecord")

  private static func unsent(by index: String = "") -> ShownRecords {
    ShownRecords(
      columns: """
        o.zone, o.owner, o.name, coalesce(r.type, o.type) AS type, r.changeTag, coalesce(r.fields, '{}') AS fields, \
        \(stamps), \(queued)
        """,
      rows: """
        FROM operations o\(index) LEFT JOIN records r ON \(samePlace) WHERE o.operation = 'save' AND o.name IS NOT NULL
        """,
      table: "o"
    )
  }
}
