import CloudKitSchema
import Foundation
import GRDB
import JSONText

/// Migrates files of the first version, in which records were JSON and were found only by name.
enum FirstVersion {
  /// Renames the tables whose format has changed.
  static func renameTables(_ db: Database) throws {
    for table in ["zone", "record", "asset"] { try db.execute(sql: "ALTER TABLE \(table) RENAME TO old_\(table)") }
  }

  static func migrate(_ db: Database) throws {
    try db.execute(
      sql: """
        INSERT INTO zone (database, name, identity, sequence, changed, deleted)
          SELECT database, name, identity, sequence, changed, deleted FROM old_zone ORDER BY database, name;
        INSERT INTO asset SELECT id, kept FROM old_asset;
        INSERT INTO content SELECT id, 0, bytes FROM old_asset;
        """
    )
    let rows = try Row.fetchCursor(
      db,
      sql: """
        SELECT zone.id, old_record.* FROM old_record
        JOIN zone ON zone.database = old_record.database AND zone.name = old_record.zone
        """
    )
    while let row = try rows.next() {
      let (name, sequence): (String, Int64) = (row["name"], row["sequence"])
      let table = RecordTable(db: db, zone: row["id"], name: row["zone"], indexes: [])
      guard let body = try JSON(json: row["body"]).object, let type = body["type"]?.string,
        let tag = body["tag"]?.string
      else { throw DamagedBytes() }
      if row["deleted"] {
        var tombstone = Tombstone(name: name, type: type, sequence: sequence, tag: tag)
        tombstone.shares = body["shares"]?.array?.compactMap(\.string) ?? []
        try table.bury(tombstone, over: nil)
      } else {
        try table.save(try record(body, name: name, type: type, tag: tag, sequence: sequence), over: nil)
      }
    }
    for table in ["record", "zone", "asset"] { try db.execute(sql: "DROP TABLE old_\(table)") }
    try migrateSchemas(db)
  }

  /// Schemas of the first version had the types of fields, but no indexes and grants.
  private static func migrateSchemas(_ db: Database) throws {
    var schemas: [String: CKSchema] = [:]
    for row in try Row.fetchAll(db, sql: "SELECT * FROM field") {
      let (schema, type, name): (String, String, String) = (row["schema"], row["type"], row["name"])
      var fields: [String: CKSchema.FieldType] = [:]
      // An empty name marked a type without fields.
      if CKSchema.isField(name, of: type) { fields[name] = CKSchema.FieldType(name: row["kind"]) }
      schemas[schema, default: .predefined].learn(type: type, fields: fields, indexesSystemFields: true)
    }
    for (name, schema) in schemas { try db.run("INSERT INTO schema VALUES (?, ?)", [name, schema.exported]) }
    try db.execute(sql: "DROP TABLE field")
  }

  private static func record(
    _ object: JSONObject,
    name: String,
    type: String,
    tag: String,
    sequence: Int64
  ) throws -> StoredRecord {
    guard let fields = object["fields"]?.object, let created = stamp(object["created"]),
      let modified = stamp(object["modified"])
    else { throw DamagedBytes() }
    var content = StoredRecord.Content(name: name, type: type)
    content.parent = object["parent"]?.string
    content.shortGUID = object["shortGUID"]?.string
    content.share = object["share"]?.string
    if let sharing = object["sharing"]?.object {
      guard let state = ShareState(row: sharing) else { throw DamagedBytes() }
      content.sharing = state
    }
    for member in fields.members {
      guard let pair = member.value.array, pair.count == 2, let type = pair[0].string else { throw DamagedBytes() }
      content.fields[member.key] = try value(pair[1], type: type)
    }
    return StoredRecord(
      content: content,
      tag: tag,
      sequence: sequence,
      created: created,
      modified: modified,
      formerShare: object["left"]?.string
    )
  }

  private static func value(_ json: JSON, type: String) throws -> EmulatorValue {
    if type == "_LIST" { return .list(nil, []) }
    guard let field = CKSchema.FieldType(name: type) else { throw DamagedBytes() }
    guard field.isList else { return try FieldDecoding.scalar(json, field.scalar, asset) }
    guard let elements = json.array else { throw DamagedBytes() }
    return .list(field.scalar, try elements.map { try FieldDecoding.scalar($0, field.scalar, asset) })
  }

  private static func asset(_ object: JSONObject) throws(ServerError) -> EmulatorAsset {
    guard let id = object["id"]?.string, let checksum = object["checksum"]?.string, let size = object["size"]?.integer
    else { throw .badRequest("Not a stored file") }
    return EmulatorAsset(fileChecksum: checksum, size: Int(clamping: size), id: id)
  }

  private static func stamp(_ json: JSON?) -> StoredRecord.Stamp? {
    guard let pair = json?.array, pair.count == 2, let time = pair[0].integer, let user = pair[1].string else {
      return nil
    }
    return StoredRecord.Stamp(milliseconds: time, userRecordName: user)
  }
}
