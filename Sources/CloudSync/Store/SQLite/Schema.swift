import GRDB

/// The store's tables. Constraints reject invalid states.
///
/// Times are milliseconds since 1970. A store from a newer version is rejected on opening, and so is one from before
/// schema 28.
enum Schema {
  /// A store's schema, as far as this version knows it.
  enum Version {
    /// There are no tables yet.
    case none
    case current
    /// Schema 28, or an interrupted migration.
    case former
    /// Too old to be migrated.
    case tooOld
    case newer
  }

  /// The migrations of schema 28, the oldest that is migrated.
  private static let former: Set = [
    "1", "2", "3 assets", "4 merging", "5 delivery", "6 keeping", "7 sending", "8 counts", "9 texts", "10 holding",
    "11 deletions", "12 releasing", "13 offering", "14 renaming", "15 undoing", "16 pausing", "17 referring",
    "18 unreadable types", "19 deciding", "20 reporting", "21 bounds", "22 clearing", "23 places", "24 lists",
    "25 conflicts", "26 progress", "27 system values", "28 offering deletions",
  ]
  /// The migrations that only stores between schema 28 and 35 have, which no release wrote.
  private static let unreleased: Set = ["29 dropped sides", "30 records by name", "31 tombstones", "32", "33", "34"]

  static let migrator: DatabaseMigrator = {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("35", merging: former) { database, applied in
      if applied.isEmpty { try create(database) } else { try migrateFormer(database) }
    }
    return migrator
  }()

  static func version(_ database: Database) throws -> Version {
    let applied = try migrator.appliedIdentifiers(database)
    if applied.isEmpty { return .none }
    if try migrator.hasCompletedMigrations(database) {
      return try migrator.hasBeenSuperseded(database) ? .newer : .current
    }
    if applied == former { return .former }
    return applied.isSubset(of: former.union(unreleased)) ? .tooOld : .newer
  }

  private static func create(_ database: Database) throws {
    for part in [tables, views, indexes, triggers] { try database.execute(sql: part) }
    try database.execute(sql: rows)
  }

  /// The rows of tables that have one row.
  static let rows = """
    INSERT INTO activity(one) VALUES (1);
    INSERT INTO state(one) VALUES (1);
    INSERT INTO droppedTotals VALUES (1, 0, 0, 0);
    """

  /// The tables of schema 28 that are copied, under their new names where these differ.
  private static let formerTables: [(name: String, new: String)] =
    [
      "zones", "records", "operations", "refs", "attempts", "history", "lease", "activity", "throttles", "commands",
      "events", "assetPlaces", "dropped", "deliveries", "quarantine", "recordCounts", "pauses", "unreadable",
      "throughput", "cycleChecks", "queueCounts",
    ].map { ($0, $0) } + [("passes", "syncRequests"), ("pulls", "polledQueries"), ("formerBlockers", "endedBlockers")]

  /// Columns with the names that they had in schema 28.
  private static let formerColumns = ["bisection": "suspicion", "fencingToken": "fence", "scannedAt": "sweptAt"]

  /// Columns of `state` with the keys under which schema 28 stored the same values as texts.
  private static let formerKeys =
    [
      "container", "environment", "database", "identity", "queuedBy", "signIn", "takenOverBy", "joinedTo", "settings",
      "databaseToken", "signInURL", "turn", "retainedAt", "operationLimit",
    ].map { ($0, $0) } + [
      ("clock", "time"), ("appFencingToken", "app"), ("deliveryTrouble", "delivery"), ("isRefused", "refused"),
    ]

  /// Creates the tables again and copies the rows, so that a migrated store has the same schema as a new one. Tables
  /// that another program added stay.
  private static func migrateFormer(_ database: Database) throws {
    let names = formerTables.map(\.name) + ["meta"]
    let list = names.map { "'\($0)'" }.joined(separator: ", ")
    let objects = try Row.fetchAll(
      database,
      sql: """
        SELECT type, name FROM sqlite_schema WHERE sql IS NOT NULL
          AND (type = 'view' OR type = 'trigger' OR type = 'index' AND tbl_name IN (\(list)))
        """
    )
    for object in objects { try database.execute(sql: "DROP \(object[0] as String) \"\(object[1] as String)\"") }
    try database.execute(sql: "DROP TABLE operationTexts")
    for name in names { try database.execute(sql: "ALTER TABLE \(name) RENAME TO former_\(name)") }
    try database.execute(sql: tables + views)
    for (name, table) in formerTables {
      let columns = Set(try database.columns(in: "former_\(name)").map(\.name))
      let kept = try database.columns(in: table).map(\.name).map { (new: $0, old: formerColumns[$0] ?? $0) }
        .filter { columns.contains($0.old) }
      let (new, old) = (kept.map(\.new).joined(separator: ", "), kept.map(\.old).joined(separator: ", "))
      try database.execute(
        sql: """
          INSERT INTO \(table)(\(new)) SELECT \(old) FROM former_\(name);
          INSERT INTO sqlite_sequence SELECT '\(table)', seq FROM sqlite_sequence WHERE name = 'former_\(name)'
            AND NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = '\(table)');
          UPDATE sqlite_sequence SET seq = (SELECT seq FROM sqlite_sequence WHERE name = 'former_\(name)')
            WHERE name = '\(table)' AND EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'former_\(name)');
          """
      )
    }
    try database.execute(sql: values)
    for (column, key) in formerKeys {
      try database.execute(
        sql: "UPDATE state SET \(column) = value FROM former_meta WHERE key = ?",
        arguments: [key]
      )
    }
    // A table goes after those that refer to it.
    for name in names.reversed() { try database.execute(sql: "DROP TABLE former_\(name)") }
    try database.execute(sql: indexes + triggers + "INSERT INTO operationTexts(operationTexts) VALUES ('rebuild')")
  }

  /// Values that schema 28 did not have.
  private static let values = """
    -- The time of an edit was not kept: it was made when its operation was accepted, or later.
    UPDATE dropped SET editedAt = coalesce(
      (SELECT editedAt FROM operations WHERE id = dropped.operationId),
      (SELECT max(enqueuedAt) FROM history WHERE operationId = dropped.operationId), at);
    -- The causes for which no person dropped a change.
    UPDATE dropped SET isAutomatic = 1 WHERE (reason LIKE '{"serverKept":%' OR reason LIKE '{"serverSideKept":%'
        OR reason IN ('{"resolved":{"by":"app"}}', '{"resolved":{"by":"policy"}}'))
      AND NOT (operation = 'save' AND changes = '{"cleared":[],"values":{}}');
    -- Fields that were merged as counters are merged as values.
    UPDATE operations SET reason = replace(reason, '{"counters":', '{"fields":');
    UPDATE dropped SET conflict = replace(conflict, '{"counters":', '{"fields":');
    UPDATE events SET message = replace(message, '{"counters":', '{"fields":') WHERE kind = 'conflict';
    UPDATE syncRequests SET isWithoutApp = 1
      WHERE EXISTS (SELECT 1 FROM former_meta WHERE key = 'without app ' || syncRequests.id);
    -- A resolution that dropped nothing could be undone until it was sent.
    UPDATE dropped SET isOpen = 0 WHERE \(keepsNothing)
      AND NOT EXISTS (SELECT 1 FROM operations WHERE operations.id = dropped.operationId);
    INSERT INTO droppedTotals SELECT 1, count(DISTINCT iif(isOpen, operationId, NULL)),
      count(DISTINCT iif(isAutomatic, operationId, NULL)), 0 FROM dropped;

    INSERT OR REPLACE INTO tombstones(zone, owner, name, at)
      SELECT zone, owner, coalesce(name, ''), endedAt FROM history
      WHERE operation IN ('delete', 'zoneDelete') AND ending = 'acknowledged' ORDER BY id;

    INSERT INTO pausedWaits
      SELECT id, substr(value, 1, instr(value, ' ') - 1), substr(value, instr(value, ' ') + 1)
      FROM former_meta JOIN operations ON key = 'wait ' || id WHERE state = 'paused';
    INSERT INTO state(one) VALUES (1);
    -- The time at which an app last asked for deliveries was not stored.
    UPDATE state SET deliveriesAskedAt = unixepoch() * 1000 WHERE EXISTS (SELECT 1 FROM former_meta WHERE key = 'delivers');
    UPDATE state SET deliveryCount = (SELECT count(*) FROM deliveries);
    -- The time of a pause of everything, and who paused it, if that is known.
    UPDATE state SET pausedAt = iif(instr(value, ' '), substr(value, 1, instr(value, ' ') - 1), value),
      pausedBy = iif(instr(value, ' '), substr(value, instr(value, ' ') + 1), NULL)
      FROM former_meta WHERE key = 'paused';

    """
}
