import Foundation
import GRDB

/// The emulator's state in one SQLite file: each commit is one transaction, on disk before the answer goes out.
final class EmulatorFile: Sendable {
  private let queue: DatabaseQueue

  /// Opens or creates the file and locks it against a second emulator.
  init(path: String) throws {
    var configuration = Configuration()
    configuration.prepareDatabase { db in
      // One process owns the file for as long as it lives; the kernel drops the lock at its death.
      try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")
    }
    queue = try DatabaseQueue(path: path, configuration: configuration)
    try queue.write { db in
      try db.execute(
        sql: """
          CREATE TABLE IF NOT EXISTS database (path TEXT PRIMARY KEY, counter INTEGER NOT NULL, sequence INTEGER NOT NULL);
          CREATE TABLE IF NOT EXISTS zone (
            database TEXT NOT NULL, name TEXT NOT NULL, identity INTEGER NOT NULL, sequence INTEGER NOT NULL,
            changed INTEGER NOT NULL, deleted INTEGER NOT NULL, PRIMARY KEY (database, name)) WITHOUT ROWID;
          CREATE TABLE IF NOT EXISTS record (
            database TEXT NOT NULL, zone TEXT NOT NULL, name TEXT NOT NULL, sequence INTEGER NOT NULL,
            deleted INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (database, zone, name)) WITHOUT ROWID;
          CREATE TABLE IF NOT EXISTS field (
            schema TEXT NOT NULL, type TEXT NOT NULL, name TEXT NOT NULL, kind TEXT NOT NULL,
            PRIMARY KEY (schema, type, name)) WITHOUT ROWID;
          CREATE TABLE IF NOT EXISTS user (name TEXT PRIMARY KEY) WITHOUT ROWID;
          CREATE TABLE IF NOT EXISTS subscription (
            database TEXT NOT NULL, scope TEXT NOT NULL, owner TEXT NOT NULL, id TEXT NOT NULL, body BLOB NOT NULL,
            PRIMARY KEY (database, scope, owner, id)) WITHOUT ROWID;
          CREATE TABLE IF NOT EXISTS pushToken (
            token TEXT PRIMARY KEY, database TEXT NOT NULL, expires INTEGER NOT NULL) WITHOUT ROWID;
          CREATE TABLE IF NOT EXISTS asset (id TEXT PRIMARY KEY, kept INTEGER NOT NULL, bytes BLOB NOT NULL);
          """
      )
    }
  }

  func write(_ commit: Commit) throws {
    try queue.write { db in
      let path = commit.database.path
      try run(
        db,
        "INSERT OR REPLACE INTO database VALUES (?, ?, ?)",
        [path, commit.counter, commit.sequence]
      )
      for change in commit.changes {
        switch change {
        case .saved(let zone, let record):
          let body = JSONWriter.data(.object(RecordRow.json(record)))
          try put(db, [path, zone, record.name, record.sequence, false, body])
        case .buried(let zone, let tombstone):
          let body = JSONWriter.data(
            .object([
              "type": .string(tombstone.type), "tag": .string(tombstone.tag),
              "shares": .array(tombstone.shares.map { .string($0) }),
            ])
          )
          try put(db, [path, zone, tombstone.name, tombstone.sequence, true, body])
        case .zoneCreated(let row), .zoneChanged(let row):
          try run(
            db,
            "INSERT OR REPLACE INTO zone VALUES (?, ?, ?, ?, ?, 0)",
            [path, row.name, Int64(bitPattern: row.identity), row.sequence, row.changed]
          )
        case .zoneDeleted(let name, let sequence):
          try run(db, "DELETE FROM record WHERE database = ? AND zone = ?", [path, name])
          try run(db, "INSERT OR REPLACE INTO zone VALUES (?, ?, 0, 0, ?, 1)", [path, name, sequence])
        case .learnt(let type, let fields):
          // The empty name keeps a type without fields.
          for (name, kind) in [("", "")] + fields.map({ ($0.key, $0.value.name) }) {
            try run(db, "INSERT OR IGNORE INTO field VALUES (?, ?, ?, ?)", [commit.database.schema, type, name, kind])
          }
        case .userSeen(let name): try run(db, "INSERT OR IGNORE INTO user VALUES (?)", [name])
        case .subscribed(let subscription):
          let (key, body) = (subscription.key, JSONWriter.data(.object(subscription.json)))
          try run(
            db,
            "INSERT OR REPLACE INTO subscription VALUES (?, ?, ?, ?, ?)",
            [path, key.scope.rawValue, key.owner, key.id, body]
          )
        case .unsubscribed(let key):
          try run(
            db,
            "DELETE FROM subscription WHERE database = ? AND scope = ? AND owner = ? AND id = ?",
            [path, key.scope.rawValue, key.owner, key.id]
          )
        case .tokenMade(let token):
          try run(db, "INSERT OR REPLACE INTO pushToken VALUES (?, ?, ?)", [token.text, path, token.expires])
        case .tokenDropped(let token): try run(db, "DELETE FROM pushToken WHERE token = ?", [token])
        }
      }
    }
  }

  func write(_ bytes: Data, asset id: String, until time: Int64) throws {
    try queue.write { try run($0, "INSERT OR REPLACE INTO asset VALUES (?, ?, ?)", [id, time, bytes]) }
  }

  func bytes(ofAsset id: String) throws -> Data? {
    try queue.read { try Data.fetchOne($0, sql: "SELECT bytes FROM asset WHERE id = ?", arguments: [id]) }
  }

  func delete(assets ids: [String]) throws {
    try queue.write { db in
      for id in ids { try run(db, "DELETE FROM asset WHERE id = ?", [id]) }
    }
  }

  private func put(_ db: Database, _ arguments: StatementArguments) throws {
    try run(db, "INSERT OR REPLACE INTO record VALUES (?, ?, ?, ?, ?, ?)", arguments)
  }

  private func run(_ db: Database, _ sql: String, _ arguments: StatementArguments) throws {
    try db.cachedStatement(sql: sql).execute(arguments: arguments)
  }
}

extension EmulatorFile {
  /// Reads the whole file into an empty core.
  func load(into core: EmulatorCore) throws {
    let commits = try queue.read { db in
      for row in try Row.fetchAll(db, sql: "SELECT id, kept FROM asset") {
        core.assets.keep(row["id"], until: row["kept"])
      }
      return try Self.databases(db)
    }
    for commit in commits { core.apply(commit) }
    for database in core.databases.values {
      for zone in database.zones.values { zone.sortFeed() }
    }
  }

  private static func databases(_ db: Database) throws -> [Commit] {
    var commits: [Commit] = []
    for row in try Row.fetchAll(db, sql: "SELECT path, counter, sequence FROM database ORDER BY path") {
      guard let key = DatabaseKey(path: row["path"]) else { throw DatabaseError(message: "A row without a database.") }
      var commit = Commit(database: key, counter: row["counter"], sequence: row["sequence"])
      commit.changes += try zones(db, key) + records(db, key) + fields(db, key)
      commit.changes += try subscriptions(db, key) + tokens(db, key)
      commits.append(commit)
    }
    if !commits.isEmpty {
      commits[0].changes += try String.fetchAll(db, sql: "SELECT name FROM user").map { .userSeen(name: $0) }
    }
    return commits
  }

  private static func zones(_ db: Database, _ key: DatabaseKey) throws -> [Commit.Change] {
    try Row.fetchAll(db, sql: "SELECT * FROM zone WHERE database = ?", arguments: [key.path])
      .map { row in
        if row["deleted"] { return .zoneDeleted(name: row["name"], sequence: row["changed"]) }
        let zone = Commit.ZoneRow(
          name: row["name"],
          identity: UInt64(bitPattern: row["identity"]),
          sequence: row["sequence"],
          changed: row["changed"]
        )
        return zone.name == ZoneState.defaultName ? .zoneChanged(zone) : .zoneCreated(zone)
      }
  }

  private static func records(_ db: Database, _ key: DatabaseKey) throws -> [Commit.Change] {
    let sql = "SELECT * FROM record WHERE database = ? ORDER BY zone, sequence"
    var changes: [Commit.Change] = []
    let rows = try Row.fetchCursor(db, sql: sql, arguments: [key.path])
    while let row = try rows.next() {
      let (zone, name, sequence): (String, String, Int64) = (row["zone"], row["name"], row["sequence"])
      guard let body = try JSONParser.parse(row["body"]).object else { throw RecordRow.Damaged(name: name) }
      if row["deleted"] {
        guard let type = body["type"]?.string, let tag = body["tag"]?.string else {
          throw RecordRow.Damaged(name: name)
        }
        var tombstone = Tombstone(name: name, type: type, sequence: sequence, tag: tag)
        tombstone.shares = body["shares"]?.array?.compactMap(\.string) ?? []
        changes.append(.buried(zone: zone, tombstone))
      } else {
        changes.append(.saved(zone: zone, try RecordRow.record(body, name: name, sequence: sequence)))
      }
    }
    return changes
  }

  private static func subscriptions(_ db: Database, _ key: DatabaseKey) throws -> [Commit.Change] {
    try Row.fetchAll(db, sql: "SELECT * FROM subscription WHERE database = ?", arguments: [key.path])
      .map { row in
        guard let body = try JSONParser.parse(row["body"]).object, let scope = Route.Scope(rawValue: row["scope"])
        else {
          throw RecordRow.Damaged(name: row["id"])
        }
        let name = Subscription.Key(scope: scope, owner: row["owner"], id: row["id"])
        return .subscribed(try Subscription(body, key: name, zonesOf: name.owner))
      }
  }

  private static func tokens(_ db: Database, _ key: DatabaseKey) throws -> [Commit.Change] {
    try Row.fetchAll(db, sql: "SELECT * FROM pushToken WHERE database = ?", arguments: [key.path])
      .map { .tokenMade(PushToken(text: $0["token"], owner: key, expires: $0["expires"])) }
  }

  private static func fields(_ db: Database, _ key: DatabaseKey) throws -> [Commit.Change] {
    var types: [String: [String: Schema.Field]] = [:]
    for row in try Row.fetchAll(db, sql: "SELECT * FROM field WHERE schema = ?", arguments: [key.schema]) {
      let (type, name): (String, String) = (row["type"], row["name"])
      types[type, default: [:]][name] = Schema.Field(name: row["kind"])
    }
    return types.map { .learnt(type: $0.key, fields: $0.value) }
  }
}
