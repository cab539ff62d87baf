import CloudKit
import GRDB

/// Rows with the whole number of rows there are, so that a screen can scroll without loading all.
package struct Window<Element: Sendable & Hashable>: Sendable, Hashable {
  package var total: Int
  package var offset: Int
  package var rows: [Element]

  package init(total: Int, offset: Int, rows: [Element]) {
    self.total = total
    self.offset = offset
    self.rows = rows
  }

  package static var empty: Window { Window(total: 0, offset: 0, rows: []) }
}

/// Reading the store: lists, details, history.
extension SyncStore {
  // MARK: - Queue

  /// Operations, oldest first.
  ///
  /// - Parameter text: keeps those with the text in name, type, zone, state or error.
  package func operations(
    matching filter: QueueFilter? = nil,
    text: String = "",
    offset: Int = 0,
    limit: Int? = nil
  ) throws(StoreError) -> Window<QueueRow> {
    let now = now()
    return try read { database in
      var conditions: [String] = []
      var arguments = StatementArguments()
      if let filter {
        let condition = SQLCondition(filter, now: now)
        conditions.append("(\(condition.sql))")
        arguments += condition.arguments
      }
      if !text.isEmpty {
        conditions.append(
          "coalesce(name, '') || ' ' || coalesce(type, '') || ' ' || zone || ' ' || state || ' ' || operation || ' ' || reason || ' ' || coalesce(errorMessage, '') LIKE ? ESCAPE '\\'"
        )
        arguments += [Self.likePattern(text)]
      }
      let condition = conditions.isEmpty ? "1" : conditions.joined(separator: " AND ")
      let total = try Int.fetchOne(
        database,
        sql: "SELECT count(*) FROM operations WHERE \(condition)",
        arguments: arguments
      )
      let rows = try Row.fetchAll(
        database,
        sql: """
          SELECT *, (SELECT group_concat(blocker) FROM blockers b WHERE b.operation = operations.id) AS blockers
          FROM operations WHERE \(condition) ORDER BY id LIMIT \(limit ?? -1) OFFSET \(offset)
          """,
        arguments: arguments
      ).map(QueueRow.init(row:))
      let holdUp = try HoldUp(now: now, database)
      return Window(total: total ?? 0, offset: offset, rows: rows.map(holdUp.explained))
    }
  }

  static func likePattern(_ text: String) -> String {
    var pattern = "%"
    for character in text {
      if character == "%" || character == "_" || character == "\\" { pattern.append("\\") }
      pattern.append(character)
    }
    return pattern + "%"
  }

  /// Everything about one operation; nil where the queue and the history know no such identifier.
  package func detail(of id: Int64) throws(StoreError) -> OperationDetail? {
    let now = now()
    return try read { database in
      let attempts = try Row.fetchAll(
        database,
        sql: "SELECT * FROM attempts WHERE operation = ? ORDER BY id DESC",
        arguments: [id]
      ).map(Attempt.init(row:))
      if var operation = try QueueTable.operation(id, database) {
        operation.blockedBy = try Int64.fetchAll(
          database,
          sql: "SELECT blocker FROM blockers WHERE operation = ? ORDER BY blocker",
          arguments: [id]
        )
        operation.reason = try HoldUp(now: now, database).explained(QueueRow(operation)).reason
        return OperationDetail(
          operation: operation,
          server: try MirrorTable.record(operation.key, database),
          attempts: attempts,
          history: nil
        )
      }
      guard
        let row = try Row.fetchOne(database, sql: "SELECT * FROM history WHERE operationId = ?", arguments: [id])
      else { return nil }
      return OperationDetail(operation: nil, server: nil, attempts: attempts, history: HistoryEntry(row: row))
    }
  }

  /// How the latest operations ended, newest first.
  package func history(limit: Int) throws(StoreError) -> [HistoryEntry] {
    try read { database in
      try Row.fetchAll(database, sql: "SELECT * FROM history ORDER BY id DESC LIMIT ?", arguments: [limit])
        .compactMap(HistoryEntry.init(row:))
    }
  }

  // MARK: - Conflicts

  package func conflicts() throws(StoreError) -> [Conflict] {
    try read { database in
      try Row.fetchAll(
        database,
        sql: "SELECT \(QueuedOperation.columns) FROM operations WHERE state = 'conflict' ORDER BY id"
      ).map { row in
        let operation = try QueuedOperation(row: row)
        return Conflict(operation, server: try MirrorTable.record(operation.key, database))
      }
    }
  }

  package func conflict(_ id: Int64) throws(StoreError) -> Conflict? {
    try read { database in
      guard let operation = try QueueTable.operation(id, database), operation.state == .conflict else { return nil }
      return Conflict(operation, server: try MirrorTable.record(operation.key, database))
    }
  }

  // MARK: - Records

  /// Records by zone, type and name.
  ///
  /// - Parameters:
  ///   - mirrorOnly: as the server is known to hold them; else with pending edits laid over them.
  ///   - text: keeps those with the text in name, type or fields.
  package func records(
    zone: ZoneKey? = nil,
    type: String? = nil,
    text: String = "",
    mirrorOnly: Bool = false,
    offset: Int = 0,
    limit: Int? = nil
  ) throws(StoreError) -> Window<RecordRow> {
    try read { database in
      var conditions: [String] = []
      var arguments = StatementArguments()
      if let zone {
        conditions.append("zone = ? AND owner = ?")
        arguments += [zone.zone, zone.owner]
      }
      if let type {
        conditions.append("type = ?")
        arguments += [type]
      }
      if !text.isEmpty {
        conditions.append("name || ' ' || type || ' ' || fields || ' ' || coalesce(changes, '') LIKE ? ESCAPE '\\'")
        arguments += [Self.likePattern(text)]
      }
      let source = mirrorOnly ? Self.mirrorSource : Self.overlaidSource
      let condition = conditions.isEmpty ? "1" : conditions.joined(separator: " AND ")
      let total = try Int.fetchOne(
        database,
        sql: "SELECT count(*) FROM (\(source)) WHERE \(condition)",
        arguments: arguments
      )
      let rows = try Row.fetchAll(
        database,
        sql: """
          SELECT * FROM (\(source)) WHERE \(condition) ORDER BY zone, owner, type, name
          LIMIT \(limit ?? -1) OFFSET \(offset)
          """,
        arguments: arguments
      ).map(RecordRow.init(row:))
      return Window(total: total ?? 0, offset: offset, rows: rows)
    }
  }

  /// Records of this name in whatever zone.
  package func records(named name: String, zone: ZoneKey? = nil, mirrorOnly: Bool = false) throws(StoreError)
    -> [RecordRow]
  {
    try read { database in
      try Row.fetchAll(
        database,
        sql:
          "SELECT * FROM (\(mirrorOnly ? Self.mirrorSource : Self.overlaidSource)) WHERE name = ? ORDER BY zone, owner",
        arguments: [name]
      ).map(RecordRow.init(row:)).filter { zone == nil || $0.record.key.zoneKey == zone }
    }
  }

  private static let mirrorSource = """
    SELECT zone, owner, name, type, changeTag, fields, createdAt, modifiedAt, modifiedBy,
      NULL AS operation, NULL AS operationId, NULL AS changes, NULL AS state FROM records
    """

  private static let overlaidSource = """
    SELECT r.zone, r.owner, r.name, r.type, r.changeTag, r.fields, r.createdAt, r.modifiedAt, r.modifiedBy,
      o.operation, o.id AS operationId, o.changes, o.state
      FROM records r LEFT JOIN operations o ON o.zone = r.zone AND o.owner = r.owner AND o.name = r.name
      WHERE o.operation IS NULL OR o.operation <> 'delete'
    UNION ALL
    SELECT o.zone, o.owner, o.name, o.type, NULL, '{}', NULL, NULL, NULL, o.operation, o.id, o.changes, o.state
      FROM operations o WHERE o.operation = 'save' AND NOT EXISTS
        (SELECT 1 FROM records r WHERE r.zone = o.zone AND r.owner = o.owner AND r.name = o.name)
    """

  /// The wire types of the fields of a record type, as mirror and queue know them; the latest record decides.
  package func knownFieldTypes(of type: String) throws(StoreError) -> [String: String] {
    try read { database in
      var types: [String: String] = [:]
      let rows = try Row.fetchAll(
        database,
        sql: """
          SELECT DISTINCT f.key AS name, json_extract(f.value, '$.type') AS type
            FROM records r, json_each(r.fields) f WHERE r.type = ?1
          UNION SELECT DISTINCT f.key, json_extract(f.value, '$.type')
            FROM operations o, json_each(o.changes, '$.values') f WHERE o.type = ?1
          """,
        arguments: [type]
      )
      for row in rows {
        if let wireType = row["type"] as String? { types[row["name"]] = wireType }
      }
      return types
    }
  }

  // MARK: - Zones and events

  package func zones() throws(StoreError) -> [ZoneRow] {
    try read { database in
      try Row.fetchAll(
        database,
        sql: """
          SELECT z.*, (SELECT count(*) FROM records r WHERE r.zone = z.zone AND r.owner = z.owner) AS records
          FROM zones z ORDER BY owner, zone
          """
      ).map { row in
        ZoneRow(
          key: ZoneKey(zone: row["zone"], owner: row["owner"]),
          state: row["state"],
          records: row["records"],
          tokenAt: row["tokenAt"],
          lastFetchAt: row["lastFetchAt"]
        )
      }
    }
  }

  /// The latest events, newest first.
  package func events(limit: Int) throws(StoreError) -> [EventRow] {
    try read { database in
      try Row.fetchAll(database, sql: "SELECT * FROM events ORDER BY id DESC LIMIT ?", arguments: [limit]).map { row in
        EventRow(id: row["id"], at: row["at"], kind: row["kind"], message: row["message"])
      }
    }
  }
}
