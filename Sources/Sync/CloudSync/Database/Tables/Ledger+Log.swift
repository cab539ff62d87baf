import Facts
import GRDB

/// The tables `attempts`, `history`, `events` and `commands`.
extension Ledger {
  func add(_ attempt: Attempt, of operation: Int64) throws {
    try run(
      """
      INSERT INTO attempts(operation, number, at, seconds, code, message, response) VALUES (?, ?, ?, ?, ?, ?, ?)
      """,
      [
        operation, attempt.number, attempt.at, attempt.seconds, attempt.code, attempt.message, attempt.response,
      ]
    )
  }

  /// Newest first.
  func attempts(of operation: Int64) throws -> [Attempt] {
    try rows("SELECT * FROM attempts WHERE operation = ? ORDER BY id DESC", [operation]).map(Attempt.init(row:))
  }

  func removeAttempts(of operation: Int64, through number: Int) throws {
    try run("DELETE FROM attempts WHERE operation = ? AND number <= ?", [operation, number])
  }

  func lastAttemptNumber(of operation: Int64) throws -> Int {
    try one("SELECT max(number) FROM attempts WHERE operation = ?", [operation]) ?? 0
  }

  func add(_ entry: HistoryEntry) throws {
    try run(
      """
      INSERT INTO history(operationId, operation, zone, owner, name, type, ending, detail, enqueuedAt, endedAt,
        program, pid)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """,
      [
        entry.id, entry.kind.rawValue, entry.key.zone, entry.key.owner, entry.key.name.isEmpty ? nil : entry.key.name,
        entry.type, entry.ending.rawValue, entry.cause.stored, entry.enqueuedAt, entry.endedAt,
        entry.enqueuedBy?.name, entry.enqueuedBy?.pid,
      ]
    )
  }

  /// Removes the ending of an operation that is queued again. Its attempts are kept.
  func removeEnding(of operation: Int64) throws { try run("DELETE FROM history WHERE operationId = ?", [operation]) }

  /// Records the same ending of queued operations, as they are stored.
  func addEndings(of ids: [Int64], _ ending: Ending, _ cause: Cause, now: Int64) throws {
    try run(
      """
      INSERT INTO history(operationId, operation, zone, owner, name, type, ending, detail, enqueuedAt, endedAt,
        program, pid)
      SELECT id, operation, zone, owner, name, type, ?, ?, enqueuedAt, ?, program, pid
        FROM operations WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id
      """,
      [ending.rawValue, cause.stored, now, Self.json(ids)]
    )
  }

  func history(of operation: Int64) throws -> HistoryEntry? {
    try row("SELECT * FROM history WHERE operationId = ?", [operation]).flatMap(HistoryEntry.init(row:))
  }

  /// Removes endings older than a time or beyond `count` newer ones, with their attempts, at most `limit` at once and
  /// oldest first. Returns the number removed.
  func removeHistory(endedBefore time: Int64, keeping count: Int, limit: Int) throws -> Int {
    let old = try expired(in: "history", "endedAt", before: time, keeping: count, limit: limit)
    for id in old {
      try run("DELETE FROM attempts WHERE operation = (SELECT operationId FROM history WHERE id = ?)", [id])
      try run("DELETE FROM history WHERE id = ?", [id])
    }
    return old.count
  }

  /// The oldest rows of a log that are older than a time or beyond `count` newer ones, at most `limit`. Without a time
  /// (`.min`), nothing is read that is not in excess.
  func expired(
    in table: String,
    _ column: String = "at",
    before time: Int64,
    keeping count: Int = .max,
    limit: Int
  ) throws -> [Int64] {
    let last: Int64 = try one("SELECT max(id) FROM \(table)") ?? 0
    let excess = last - Int64(count)
    return try rows(
      "SELECT id, \(column) AS at FROM \(table) WHERE id <= ? ORDER BY id LIMIT ?",
      [time == .min ? excess : .max, limit]
    ).prefix { $0["at"] < time || $0["id"] <= excess }.map { $0["id"] }
  }

  /// Removes commands as `removeHistory` removes endings.
  func removeCommands(before time: Int64, keeping count: Int, limit: Int) throws -> Int {
    try remove(expired(in: "commands", before: time, keeping: count, limit: limit), from: "commands")
  }

  /// Removes tombstones as `removeHistory` removes endings.
  func removeTombstones(before time: Int64, keeping count: Int, limit: Int) throws -> Int {
    try remove(expired(in: "tombstones", before: time, keeping: count, limit: limit), from: "tombstones")
  }

  func remove(_ ids: [Int64], from table: String, _ column: String = "id") throws -> Int {
    for id in ids { try run("DELETE FROM \(table) WHERE \(column) = ?", [id]) }
    return ids.count
  }

  /// The time of the latest command; nil before the first.
  func lastCommandAt() throws -> Int64? { try one("SELECT at FROM commands ORDER BY id DESC LIMIT 1") }

  /// Adds an event to the log and returns its number.
  func add(_ event: Event, at time: Int64, operation: Int64?, zone: String?, actor: String?) throws -> Int64 {
    try run(
      "INSERT INTO events(at, kind, message, operation, zone, actor) VALUES (?, ?, ?, ?, ?, ?)",
      [time, event.kind, event.stored, operation, zone, actor]
    )
    return database.lastInsertedRowID
  }

  /// Removes the oldest events of a kind.
  func removeEvents(kind: String, keeping count: Int) throws {
    try run(
      """
      DELETE FROM events WHERE kind = ? AND id <=
        (SELECT id FROM events WHERE kind = ? ORDER BY id DESC LIMIT 1 OFFSET ?)
      """,
      [kind, kind, count]
    )
  }

  /// Whether the same event was logged since a time.
  func hasLogged(_ event: Event, since time: Int64) throws -> Bool {
    let sql = "SELECT EXISTS (SELECT 1 FROM events WHERE kind = ? AND message = ? AND at >= ?)"
    return try one(sql, [event.kind, event.stored, time]) ?? false
  }

  func latestEvent(of kind: String) throws -> Event? {
    try row("SELECT message FROM events WHERE kind = ? ORDER BY id DESC LIMIT 1", [kind])
      .map { Event(kind: kind, stored: $0["message"]) }
  }

  func lastEvent() throws -> Int64 { try one("SELECT max(id) FROM events") ?? 0 }

  /// The newest events that match, newest first.
  ///
  /// - Parameters:
  ///   - id: only events after this one.
  ///   - time: only events of this time; nil: of all times.
  func events(matching query: ListQuery, after id: Int64, in time: Range<Int64>? = nil, limit: Int?) throws
    -> [EventRow]
  {
    let filter = query.filter?.sql(now: query.now)
    let shown = "eventWords(kind, message) || ' ' || kind || ' ' || coalesce(zone, '') || ' ' || coalesce(actor, '')"
    let words = Self.condition(query.words, in: [shown])
    let conditions =
      ["id > ?"] + (time == nil ? [] : ["at >= ?", "at < ?"]) + (filter.map { [$0.sql] } ?? []) + words.sql
    let sql = "SELECT * FROM events WHERE \(conditions.joined(separator: " AND ")) ORDER BY id DESC LIMIT ?"
    let times = StatementArguments(time.map { [$0.lowerBound, $0.upperBound] } ?? [])
    let arguments = [id] + times + StatementArguments(filter?.arguments ?? []) + words.arguments + [limit ?? -1]
    return try Row.fetchAll(list(sql, isUsual: conditions.count == 1), arguments: arguments).map { row in
      EventRow(
        id: row["id"],
        at: row["at"],
        event: Event(kind: row["kind"], stored: row["message"]),
        operation: row["operation"],
        zone: row["zone"],
        actor: row["actor"]
      )
    }
  }

  /// Adds a command, or updates what the one at `row` changed. Returns the row.
  func put(_ command: AuditedCommand, at row: Int64? = nil) throws -> Int64 {
    if let row {
      let sql = "UPDATE commands SET selection = ?, count = ? WHERE id = ?"
      try run(sql, [command.command.stored, command.count, row])
      return row
    }
    try run(
      "INSERT INTO commands(at, actor, verb, selection, count) VALUES (?, ?, ?, ?, ?)",
      [command.at, command.actor, command.command.name, command.command.stored, command.count]
    )
    return database.lastInsertedRowID
  }

  /// Whether a delete of the record has been acknowledged since a time.
  func wasDeleted(_ key: RecordKey, since time: Int64) throws -> Bool {
    let sql = "SELECT EXISTS (SELECT 1 FROM tombstones WHERE zone = ? AND owner = ? AND name = ? AND at >= ?)"
    return try one(sql, [key.zone, key.owner, key.name, time]) ?? false
  }

  /// Whether a delete of the zone has been acknowledged since a time.
  func wasDeleted(_ zone: ZoneKey, since time: Int64) throws -> Bool {
    try wasDeleted(RecordKey(zone, ""), since: time)
  }
}
