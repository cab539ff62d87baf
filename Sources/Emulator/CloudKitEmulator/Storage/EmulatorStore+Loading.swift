import CloudKitSchema
import Foundation
import GRDB
import JSONText

extension EmulatorStore {
  /// Loads the state that an empty world keeps in memory: everything except records and the bytes of assets.
  func load(into world: World) throws {
    try queue.inDatabase { db in
      for commit in try Self.databases(db) { world.apply(commit) }
      let shares = """
        SELECT zone.database, zone.name AS zone, record.name FROM record JOIN zone ON zone.id = record.zone
        WHERE sharing IS NOT NULL
        """
      for row in try Row.fetchAll(db, sql: shares) {
        world.addShare(row["name"], in: ZoneKey(database: try Self.database(row["database"]), zone: row["zone"]))
      }
      let assets = """
        SELECT id, kept, (SELECT count(*) FROM link WHERE kind = ? AND target = asset.id) AS records FROM asset
        """
      for row in try Row.fetchAll(db, sql: assets, arguments: [RecordLink.Kind.asset.rawValue]) {
        world.assets.keep(row["id"], until: row["kept"])
        world.assets.refer(to: row["id"], records: row["records"])
      }
    }
  }

  private static func databases(_ db: Database) throws -> [Commit] {
    let (zones, subscriptions, tokens, schemas) = (
      try zones(db), try subscriptions(db), try tokens(db), try schemas(db)
    )
    var commits = try Row.fetchAll(db, sql: "SELECT path, counter, sequence FROM database ORDER BY path").map { row in
      let key = try database(row["path"])
      var commit = Commit(database: key, counter: row["counter"], sequence: row["sequence"])
      commit.changes = (zones[key.path] ?? []) + (subscriptions[key.path] ?? []) + (tokens[key.path] ?? [])
      commit.changes += schemas[key.schema].map { [.schemaChanged($0)] } ?? []
      return commit
    }
    if !commits.isEmpty {
      commits[0].changes += try String.fetchAll(db, sql: "SELECT name FROM user").map { .userSeen(name: $0) }
    }
    return commits
  }

  private static func schemas(_ db: Database) throws -> [String: CKSchema] {
    try Row.fetchAll(db, sql: "SELECT name, text FROM schema").reduce(into: [:]) { schemas, row in
      guard var schema = try? CKSchema(parsing: row["text"]) else { throw DamagedRow() }
      schema.completePredefinedTypes()
      schemas[row["name"]] = schema
    }
  }

  private static func database(_ path: String) throws -> DatabaseKey {
    guard let key = DatabaseKey(path: path) else { throw DamagedRow() }
    return key
  }

  /// Reads the rows of a table, grouped by database.
  private static func changes(
    _ db: Database,
    _ table: String,
    _ change: (Row, DatabaseKey) throws -> Commit.Change
  ) throws -> [String: [Commit.Change]] {
    var found: [String: [Commit.Change]] = [:]
    for row in try Row.fetchAll(db, sql: "SELECT * FROM \(table)") {
      found[row["database"], default: []].append(try change(row, database(row["database"])))
    }
    return found
  }

  private static func zones(_ db: Database) throws -> [String: [Commit.Change]] {
    try changes(db, "zone") { row, _ in
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

  private static func subscriptions(_ db: Database) throws -> [String: [Commit.Change]] {
    try changes(db, "subscription") { row, _ in
      guard let body = try JSON(json: row["body"]).object, let scope = Route.Scope(rawValue: row["scope"])
      else { throw DamagedRow() }
      let name = Subscription.Key(scope: scope, owner: row["owner"], id: row["id"])
      return .subscribed(try Subscription(body, key: name, zonesOf: name.owner))
    }
  }

  private static func tokens(_ db: Database) throws -> [String: [Commit.Change]] {
    try changes(db, "pushToken") { row, key in
      .tokenMade(PushToken(text: row["token"], owner: key, expires: row["expires"]))
    }
  }
}
