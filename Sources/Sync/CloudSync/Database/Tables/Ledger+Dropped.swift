import Facts
import GRDB

/// The table `dropped`: changes that were accepted and will not be sent.
extension Ledger {
  /// Adds a dropped change; of a whole operation with all that it has besides, as it is queued.
  func add(_ dropped: DroppedChange) throws {
    try run(
      """
      INSERT INTO dropped(operationId, operation, zone, owner, name, type, changes, base, assets, reason, conflict, at,
        isOpen, overwritten, editedAt, isAutomatic, former)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
        (SELECT \(QueuedOperation.former) FROM operations WHERE id = ?))
      """,
      [
        dropped.operation, dropped.kind.rawValue, dropped.key.zone, dropped.key.owner, dropped.key.name, dropped.type,
        try JSONColumn.text(dropped.changes), dropped.base.isEmpty ? nil : try JSONColumn.text(dropped.base),
        try JSONColumn.text(of: dropped.assets), dropped.cause.stored, dropped.conflict?.stored,
        dropped.at, dropped.isOpen, try dropped.overwritten.map { try JSONColumn.text($0) }, dropped.editedAt,
        dropped.isAutomatic, dropped.isWhole ? dropped.operation : nil,
      ]
    )
  }

  /// The dropped changes of an operation, oldest first.
  func dropped(of operation: Int64) throws -> [DroppedChange] {
    try rows("SELECT \(Self.columns) FROM dropped WHERE operationId = ? ORDER BY id", [operation])
      .map(DroppedChange.init(row:))
  }

  /// The number of the latest dropped change of an operation that can be undone; nil if there is none.
  func latestOpenDropped(of operation: Int64) throws -> Int64? {
    try one("SELECT max(id) FROM dropped WHERE operationId = ? AND isOpen = 1", [operation])
  }

  /// The operation that was dropped as a whole, as it was queued; nil if only a part of it was dropped.
  func discardedOperation(_ id: Int64) throws -> QueuedOperation? {
    let row = try row("SELECT \(QueuedOperation.discarded) FROM dropped WHERE id = ? AND former IS NOT NULL", [id])
    do { return try row.map(QueuedOperation.init(row:)) } catch { throw UnreadableRow(.dropped(id), error) }
  }

  /// Visits the dropped changes before one that can be undone, newest first, until `visit` returns false.
  ///
  /// - Parameter unseenToo: whether to visit those that no person has seen, too.
  func dropped(
    before id: Int64,
    limit: Int,
    unseenToo: Bool,
    _ visit: (_ id: Int64, DroppedChange) throws -> Bool
  ) throws {
    let condition = unseenToo ? "(isOpen = 1 OR \(Self.isUnseen(through: nil)))" : "isOpen = 1"
    let sql = "SELECT \(Self.columns) FROM dropped WHERE \(condition) AND id < ? ORDER BY id DESC LIMIT ?"
    let rows = try Row.fetchCursor(database.cachedStatement(sql: sql), arguments: [id, limit])
    while let row = try rows.next(), try visit(row["id"], DroppedChange(row: row)) {}
  }

  /// A window of the operations that a list shows, each with its latest change, newest first.
  func dropped(_ listing: DroppedListing, offset: Int, limit: Int) throws -> Window<DroppedRow> {
    let (sql, arguments) = Self.condition(listing)
    let window = StatementArguments([limit, offset])
    let isUsual = listing.filter.words.isEmpty
    let total = try Int.fetchOne(
      list("SELECT count(*) FROM dropped WHERE \(sql)", isUsual: isUsual),
      arguments: arguments
    )
    let isSeen = "\(Self.latest(Self.isUnseen(through: listing.seenThrough))) IS NULL AS isSeen"
    let rows = try Row.fetchAll(
      list("SELECT *, \(isSeen) FROM dropped WHERE \(sql) ORDER BY id DESC LIMIT ? OFFSET ?", isUsual: isUsual),
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
      list("SELECT id, operationId FROM dropped WHERE isOpen = 1 AND \(sql) ORDER BY id DESC", isUsual: false),
      arguments: arguments
    )
    var known: Set<Int64> = []
    return rows.compactMap { row in
      let operation: Int64 = row["operationId"]
      return !others.contains(row["id"]) && known.insert(operation).inserted ? operation : nil
    }
  }

  private static let columns = "*, NOT \(isUnseen(through: nil)) AS isSeen"

  /// - Parameter number: the last change that counts as seen; nil: the last one that a person has seen.
  private static func isUnseen(through number: Int64?) -> String {
    "(isAutomatic = 1 AND id > \(number.map(String.init) ?? "(SELECT seenThrough FROM droppedTotals)"))"
  }

  /// The latest of the operation's changes that fits a condition.
  private static func latest(_ condition: String) -> String {
    "(SELECT max(id) FROM dropped AS other WHERE other.operationId = dropped.operationId AND \(condition))"
  }

  /// The condition of a list: of each operation, its latest change.
  private static func condition(_ listing: DroppedListing) -> (sql: String, arguments: StatementArguments) {
    let listed = listing.seenThrough.map { "(isOpen = 1 OR \(isUnseen(through: $0)))" } ?? "isOpen = 1"
    let words = condition(listing.filter.words, in: shownTexts)
    return (([listed, "id = \(latest(listed))"] + words.sql).joined(separator: " AND "), words.arguments)
  }

  /// The texts that lists show of a dropped change.
  private static let shownTexts = [
    "name || ' ' || coalesce(type, '') || ' ' || zone || ' ' || owner || ' ' || operation", "words(reason)",
    """
    (SELECT group_concat(key || '=' || coalesce(json_extract(value, '$.value'), ''), ' ') FROM (
      SELECT key, value FROM json_each(iif(json_valid(changes), changes, '{}'), '$.values')
      UNION ALL SELECT key, value FROM json_each(iif(json_valid(overwritten), overwritten, '{}'), '$.values.values')))
    """,
  ]

  /// Ends the time in which the record's dropped changes can be undone.
  func closeDropped(of key: RecordKey) throws {
    try run(
      "UPDATE dropped SET isOpen = 0 WHERE zone = ? AND owner = ? AND name = ? AND isOpen = 1",
      [key.zone, key.owner, key.name]
    )
  }

  /// Ends the time in which one dropped change can be undone.
  func closeDropped(_ id: Int64) throws { try run("UPDATE dropped SET isOpen = 0 WHERE id = ?", [id]) }

  /// Removes changes dropped before a time, at most `limit` at once; they can no longer be undone. Returns the number
  /// removed.
  func removeDropped(before time: Int64, limit: Int) throws -> Int {
    guard time > .min else { return 0 }
    return try remove(expired(in: "dropped", before: time, limit: limit), from: "dropped")
  }

  // MARK: - What a person has seen

  func droppedTotals() throws -> StoreStatus.Dropped {
    guard let row = try row("SELECT undoable, unseen, seenThrough FROM droppedTotals", []) else {
      return StoreStatus.Dropped()
    }
    return StoreStatus.Dropped(unseen: row["unseen"], total: row["undoable"], seenThrough: row["seenThrough"])
  }

  /// Counts the operations with a change that no person has seen, after one.
  private func unseenCount(after id: Int64) throws -> Int {
    try one("SELECT count(DISTINCT operationId) FROM dropped WHERE id > ? AND isAutomatic = 1", [id]) ?? 0
  }

  /// Notes that a person has seen what was dropped up to a change that there is. Returns how many operations are seen
  /// now that were not before.
  func markDroppedSeen(through id: Int64) throws -> Int {
    let before = try droppedTotals()
    let latest: Int64 = try one("SELECT max(id) FROM dropped") ?? 0
    let last = min(id, latest)
    guard last > before.seenThrough, before.unseen > 0 else { return 0 }
    let rest = try unseenCount(after: last)
    guard rest < before.unseen else { return 0 }
    try run("UPDATE droppedTotals SET unseen = ?, seenThrough = ?", [rest, last])
    return before.unseen - rest
  }
}
