import CloudKit
import GRDB

/// What is known of a zone.
enum ZoneState: String {
  /// Named here, not yet seen on the server: made there before anything is sent to it.
  case unconfirmed
  case ready
  /// The server deleted it.
  case deleted
}

/// Zones with their change tokens. A token is stored in the transaction of the page that it stands for.
enum ZoneTable {
  struct Zone {
    var key: ZoneKey
    var state: ZoneState
    var createdHere: Bool
    var needsFetch: Bool
    var token: String?
    var epoch: Int64
    var readingAll: Bool

    init(row: Row) {
      key = ZoneKey(zone: row["zone"], owner: row["owner"])
      state = ZoneState(rawValue: row["state"]) ?? .unconfirmed
      createdHere = row["createdHere"]
      needsFetch = row["needsFetch"]
      token = row["token"]
      epoch = row["epoch"]
      readingAll = row["readingAll"]
    }
  }

  static func zone(_ key: ZoneKey, _ database: Database) throws -> Zone? {
    try Row.fetchOne(
      database.cachedStatement(sql: "SELECT * FROM zones WHERE zone = ? AND owner = ?"),
      arguments: [key.zone, key.owner]
    ).map(Zone.init(row:))
  }

  static func all(_ database: Database) throws -> [Zone] {
    try Row.fetchAll(database, sql: "SELECT * FROM zones ORDER BY owner, zone").map(Zone.init(row:))
  }

  /// Makes the zone known; a zone that is known keeps its state.
  static func insert(_ key: ZoneKey, state: ZoneState, _ database: Database) throws {
    try database.cachedStatement(
      sql: "INSERT INTO zones(zone, owner, state) VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
    ).execute(arguments: [key.zone, key.owner, state.rawValue])
  }

  static func insertDefaultZone(_ database: Database) throws {
    try insert(.defaultZone, state: .ready, database)
  }

  static func setState(_ key: ZoneKey, _ state: ZoneState, _ database: Database) throws {
    try insert(key, state: state, database)
    try database.execute(
      sql: "UPDATE zones SET state = ? WHERE zone = ? AND owner = ?",
      arguments: [state.rawValue, key.zone, key.owner]
    )
  }

  static func markCreatedHere(_ key: ZoneKey, _ database: Database) throws {
    try setState(key, .ready, database)
    try database.execute(
      sql: "UPDATE zones SET createdHere = 1, needsFetch = 1 WHERE zone = ? AND owner = ?",
      arguments: [key.zone, key.owner]
    )
  }

  /// The server says that the zone changed: read its feed.
  static func needsFetch(_ key: ZoneKey, _ database: Database) throws {
    try setState(key, .ready, database)
    try database.execute(
      sql: "UPDATE zones SET needsFetch = 1 WHERE zone = ? AND owner = ?",
      arguments: [key.zone, key.owner]
    )
  }

  /// Starts reading from the beginning; what that reading does not see is gone on the server.
  static func restart(_ key: ZoneKey, _ database: Database) throws {
    try database.execute(
      sql: """
        UPDATE zones SET token = NULL, tokenAt = NULL, epoch = epoch + 1, readingAll = 1, needsFetch = 1
        WHERE zone = ? AND owner = ?
        """,
      arguments: [key.zone, key.owner]
    )
  }

  /// Keeps how far the feed has been read; at its end the zone is current.
  static func setToken(_ key: ZoneKey, _ token: String?, atEnd: Bool, now: Int64, _ database: Database) throws {
    try database.execute(
      sql: """
        UPDATE zones SET
          token = coalesce(?, token), tokenAt = ?, lastFetchAt = ?,
          needsFetch = CASE WHEN ? THEN 0 ELSE needsFetch END,
          readingAll = CASE WHEN ? THEN 0 ELSE readingAll END
        WHERE zone = ? AND owner = ?
        """,
      arguments: [token, now, now, atEnd, atEnd, key.zone, key.owner]
    )
  }

  /// Forgets a zone's records and feed, since the server deleted it.
  static func forgetContents(_ key: ZoneKey, _ database: Database) throws {
    try database.execute(
      sql: "DELETE FROM records WHERE zone = ? AND owner = ?",
      arguments: [key.zone, key.owner]
    )
    try database.execute(
      sql: """
        UPDATE zones SET state = 'deleted', token = NULL, tokenAt = NULL, needsFetch = 0, readingAll = 0
        WHERE zone = ? AND owner = ?
        """,
      arguments: [key.zone, key.owner]
    )
  }
}
