import Facts
import GRDB

/// The table `dropped`: changes that were accepted and will not be sent.
extension Ledger {
  func add(_ dropped: DroppedChange) throws {
    try run(
      """
      INSERT INTO dropped(operationId, operation, zone, owner, name, type, changes, base, assets, reason, conflict, at, isOpen)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        dropped.operation, dropped.kind.rawValue, dropped.key.zone, dropped.key.owner, dropped.key.name, dropped.type,
        try JSONColumn.text(dropped.changes), dropped.base.isEmpty ? nil : try JSONColumn.text(dropped.base),
        try JSONColumn.text(of: dropped.assets), dropped.cause.stored, dropped.conflict?.stored,
        dropped.at, dropped.isOpen,
      ]
    )
  }

  /// The dropped changes of an operation, oldest first.
  func dropped(of operation: Int64) throws -> [DroppedChange] {
    try rows("SELECT * FROM dropped WHERE operationId = ? ORDER BY id", [operation]).map(DroppedChange.init(row:))
  }

  /// The number of the latest dropped change of an operation that can be undone; nil if there is none.
  func latestOpenDropped(of operation: Int64) throws -> Int64? {
    try one("SELECT max(id) FROM dropped WHERE operationId = ? AND isOpen = 1", [operation])
  }

  /// Visits the dropped changes before one that can be undone, newest first, until `visit` returns false.
  func openDropped(before id: Int64, limit: Int, _ visit: (_ id: Int64, DroppedChange) throws -> Bool) throws {
    let sql = """
      SELECT * FROM dropped WHERE isOpen = 1 AND \(Self.canBeUndone) AND id < ? ORDER BY id DESC LIMIT ?
      """
    let rows = try Row.fetchCursor(database.cachedStatement(sql: sql), arguments: [id, limit])
    while let row = try rows.next(), try visit(row["id"], DroppedChange(row: row)) {}
  }

  /// A window of the operations that can be undone, each with its latest dropped change, newest first.
  func openDropped(_ listing: DroppedListing, offset: Int, limit: Int) throws -> Window<DroppedRow> {
    let (sql, arguments) = Self.condition(listing)
    let window = StatementArguments([limit, offset])
    let isUsual = listing.filter.words.isEmpty
    let total = try Int.fetchOne(
      list("SELECT count(*) FROM dropped WHERE \(sql)", isUsual: isUsual),
      arguments: arguments
    )
    let rows = try Row.fetchAll(
      list("SELECT * FROM dropped WHERE \(sql) ORDER BY id DESC LIMIT ? OFFSET ?", isUsual: isUsual),
      arguments: arguments + window
    )
    return Window(
      total: total ?? 0,
      offset: offset,
      rows: try rows.map { DroppedRow(id: $0["id"], try DroppedChange(row: $0)) }
    )
  }

  /// The operations of the changes that can be undone, newest first.
  ///
  /// - Parameter others: dropped changes to leave out.
  func openDroppedOperations(_ listing: DroppedListing, except others: Set<Int64>) throws -> [Int64] {
    let (sql, arguments) = Self.condition(listing)
    let rows = try Row.fetchAll(
      list("SELECT id, operationId FROM dropped WHERE \(sql) ORDER BY id DESC", isUsual: false),
      arguments: arguments
    )
    var known: Set<Int64> = []
    return rows.compactMap { row in
      let operation: Int64 = row["operationId"]
      return !others.contains(row["id"]) && known.insert(operation).inserted ? operation : nil
    }
  }

  /// The condition that something is left to undo: a decision that dropped nothing can be undone until it is sent.
  private static let canBeUndone: String = {
    let nothing = (try? JSONColumn.text(FieldChanges())) ?? ""
    return """
      (conflict IS NULL OR changes <> '\(nothing)' OR operation = 'delete' \
      OR EXISTS (SELECT 1 FROM operations WHERE operations.id = dropped.operationId))
      """
  }()

  /// The condition of a list: of each operation, its latest change.
  private static func condition(_ listing: DroppedListing) -> (sql: String, arguments: StatementArguments) {
    let latest = """
      id = (SELECT max(id) FROM dropped AS other WHERE other.operationId = dropped.operationId AND other.isOpen = 1)
      """
    let shown = """
      (name || ' ' || coalesce(type, '') || ' ' || zone || ' ' || owner || ' ' || operation LIKE ? ESCAPE '\\' \
      OR words(reason) LIKE ? ESCAPE '\\' \
      OR EXISTS (SELECT 1 FROM json_each(iif(json_valid(changes), changes, '{}'), '$.values') AS field
        WHERE field.key || '=' || coalesce(json_extract(field.value, '$.value'), '') LIKE ? ESCAPE '\\'))
      """
    let words = listing.filter.words.map(likePattern)
    return (
      (["isOpen = 1", canBeUndone, latest] + words.map { _ in shown }).joined(separator: " AND "),
      StatementArguments(words.flatMap { [$0, $0, $0] })
    )
  }

  /// Ends the time in which the record's dropped changes can be undone.
  func closeDropped(of key: RecordKey) throws {
    try run(
      "UPDATE dropped SET isOpen = 0 WHERE zone = ? AND owner = ? AND name = ? AND isOpen = 1",
      [key.zone, key.owner, key.name]
    )
  }

  /// Removes changes dropped before a time, at most `limit` at once; they can no longer be undone. Returns the number
  /// removed.
  func removeDropped(before time: Int64, limit: Int) throws -> Int {
    guard time > .min else { return 0 }
    let old = try rows("SELECT id, at FROM dropped ORDER BY id LIMIT ?", [limit]).prefix { $0["at"] < time }
    for row in old { try run("DELETE FROM dropped WHERE id = ?", [row["id"]]) }
    return old.count
  }
}
