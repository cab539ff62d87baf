import Foundation
import GRDB

extension FileStore {
  /// Reads into an empty core what it keeps at hand: everything but records and the bytes of assets.
  func load(into core: EmulatorCore) throws {
    try queue.inDatabase { db in
      for commit in try Self.databases(db) { core.apply(commit) }
      for row in try Row.fetchAll(db, sql: "SELECT name, text FROM schema") {
        guard let parsed = try? SchemaParser(row["text"]) else { throw DamagedBytes() }
        core.schemas[row["name"]] = parsed.schema
      }
      let shares = """
        SELECT zone.database, zone.name AS zone, record.name FROM record JOIN zone ON zone.id = record.zone WHERE isShare
        """
      for row in try Row.fetchAll(db, sql: shares) {
        guard let key = DatabaseKey(path: row["database"]) else { throw DamagedBytes() }
        core.addShare(row["name"], in: Place.Key(database: key, zone: row["zone"]))
      }
      let assets = """
        SELECT id, kept, (SELECT count(*) FROM link WHERE kind = ? AND target = asset.id) AS records FROM asset
        """
      for row in try Row.fetchAll(db, sql: assets, arguments: [RecordLink.Kind.asset.rawValue]) {
        core.assets.keep(row["id"], until: row["kept"])
        core.assets.refer(to: row["id"], records: row["records"])
      }
    }
  }

  private static func databases(_ db: Database) throws -> [Commit] {
    var commits: [Commit] = []
    for row in try Row.fetchAll(db, sql: "SELECT path, counter, sequence FROM database ORDER BY path") {
      guard let key = DatabaseKey(path: row["path"]) else { throw DamagedBytes() }
      var commit = Commit(database: key, counter: row["counter"], sequence: row["sequence"])
      commit.changes += try zones(db, key) + subscriptions(db, key) + tokens(db, key)
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

  private static func subscriptions(_ db: Database, _ key: DatabaseKey) throws -> [Commit.Change] {
    try Row.fetchAll(db, sql: "SELECT * FROM subscription WHERE database = ?", arguments: [key.path])
      .map { row in
        guard let body = try JSONParser.parse(row["body"]).object, let scope = Route.Scope(rawValue: row["scope"])
        else { throw DamagedBytes() }
        let name = Subscription.Key(scope: scope, owner: row["owner"], id: row["id"])
        return .subscribed(try Subscription(body, key: name, zonesOf: name.owner))
      }
  }

  private static func tokens(_ db: Database, _ key: DatabaseKey) throws -> [Commit.Change] {
    try Row.fetchAll(db, sql: "SELECT * FROM pushToken WHERE database = ?", arguments: [key.path])
      .map { .tokenMade(PushToken(text: $0["token"], owner: key, expires: $0["expires"])) }
  }
}
