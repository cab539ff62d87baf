import CloudKit
import GRDB

/// The mirror: every record as the server is known to hold it. It is also the merge base of changes made from now on.
enum MirrorTable {
  static func record(_ key: RecordKey, _ database: Database) throws -> MirrorRecord? {
    let statement = try database.cachedStatement(
      sql: "SELECT \(MirrorRecord.columns) FROM records WHERE zone = ? AND owner = ? AND name = ?"
    )
    return try Row.fetchOne(statement, arguments: [key.zone, key.owner, key.name]).map(MirrorRecord.init(row:))
  }

  /// The change tag alone, which tells whether anything changed without decoding the record.
  static func changeTag(_ key: RecordKey, _ database: Database) throws -> String? {
    try String.fetchOne(
      database.cachedStatement(sql: "SELECT changeTag FROM records WHERE zone = ? AND owner = ? AND name = ?"),
      arguments: [key.zone, key.owner, key.name]
    )
  }

  static func put(_ record: MirrorRecord, epoch: Int64, _ database: Database) throws {
    let statement = try database.cachedStatement(
      sql: """
        INSERT INTO records(zone, owner, name, type, changeTag, fields, createdAt, modifiedAt, modifiedBy, epoch)
        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT(zone, owner, name) DO UPDATE SET
          type = excluded.type, changeTag = excluded.changeTag, fields = excluded.fields,
          createdAt = excluded.createdAt, modifiedAt = excluded.modifiedAt, modifiedBy = excluded.modifiedBy,
          epoch = excluded.epoch
        """
    )
    try statement.execute(arguments: [
      record.key.zone, record.key.owner, record.key.name, record.type, record.changeTag,
      try JSONColumn.text(record.fields), record.createdAt, record.modifiedAt, record.modifiedBy, epoch,
    ])
  }

  /// Marks a record as seen by the current reading of its zone.
  static func touch(_ key: RecordKey, epoch: Int64, _ database: Database) throws {
    try database.cachedStatement(
      sql: "UPDATE records SET epoch = ? WHERE zone = ? AND owner = ? AND name = ? AND epoch <> ?"
    ).execute(arguments: [epoch, key.zone, key.owner, key.name, epoch])
  }

  static func remove(_ key: RecordKey, _ database: Database) throws {
    try database.cachedStatement(sql: "DELETE FROM records WHERE zone = ? AND owner = ? AND name = ?")
      .execute(arguments: [key.zone, key.owner, key.name])
  }

  /// Names in a zone that the reading of `epoch` did not see.
  static func namesNotSeen(_ zone: ZoneKey, epoch: Int64, _ database: Database) throws -> [String] {
    try String.fetchAll(
      database,
      sql: "SELECT name FROM records WHERE zone = ? AND owner = ? AND epoch < ? ORDER BY name",
      arguments: [zone.zone, zone.owner, epoch]
    )
  }

  static func names(_ zone: ZoneKey, type: String, _ database: Database) throws -> [String] {
    try String.fetchAll(
      database,
      sql: "SELECT name FROM records WHERE zone = ? AND owner = ? AND type = ? ORDER BY name",
      arguments: [zone.zone, zone.owner, type]
    )
  }
}
