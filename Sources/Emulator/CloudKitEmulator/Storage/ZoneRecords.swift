import Foundation
import GRDB
import JSONText

/// The records of one zone, read on demand.
final class ZoneRecords {
  private let store: EmulatorStore
  private let key: ZoneKey
  private var knownID: Int64?

  init(_ store: EmulatorStore, _ key: ZoneKey) {
    self.store = store
    self.key = key
  }

  /// The zone's row ID; `nil` before the first commit.
  var id: Int64? {
    if let knownID { return knownID }
    knownID = store.read(otherwise: nil) { try EmulatorStore.knownID(of: key.zone, key.database.path, $0) }
    return knownID
  }

  private func read<Value>(otherwise nothing: Value, _ body: (Database, Int64) throws -> Value) -> Value {
    guard let id else { return nothing }
    return store.read(otherwise: nothing) { try body($0, id) }
  }

  var count: Int {
    read(otherwise: 0) { db, id in
      try Int.fetchOne(
        db.cachedStatement(sql: "SELECT count(*) FROM record WHERE zone = ? AND NOT deleted"),
        arguments: [id]
      ) ?? 0
    }
  }

  /// The current version of a record.
  subscript(name: String) -> StoredRecord? {
    row(name, deleted: false, RecordTable.record)
  }

  func tombstone(of name: String) -> Tombstone? {
    row(name, deleted: true, RecordTable.tombstone)
  }

  private func row<Value>(_ name: String, deleted: Bool, _ body: (Row) throws -> Value) -> Value? {
    // SQLite would cut the name at its first NUL.
    guard StoredRecord.isName(name) else { return nil }
    return read(otherwise: nil) { db, id in
      let sql = "SELECT \(RecordTable.columns) FROM record WHERE zone = ? AND name = ? AND deleted = ?"
      let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: [id, name, deleted])
      return try rows.next().map(body)
    }
  }

  /// Returns the names of changed records and tombstones, each once, in the order of their last change.
  func changes(after sequence: Int64, limit: Int) -> [(sequence: Int64, name: String)] {
    read(otherwise: []) { db, id in
      let sql = "SELECT sequence, name FROM record WHERE zone = ? AND sequence > ? ORDER BY sequence LIMIT ?"
      return try Row.fetchAll(db.cachedStatement(sql: sql), arguments: [id, sequence, limit]).map { ($0[0], $0[1]) }
    }
  }

  /// Returns all names of records or of tombstones, sorted.
  func names(deleted: Bool) -> [String] {
    read(otherwise: []) { db, id in
      let sql = "SELECT name FROM record WHERE zone = ? AND deleted = ? ORDER BY name"
      return try String.fetchAll(db.cachedStatement(sql: sql), arguments: [id, deleted])
    }
  }

  /// Returns the names of the records that have a link to the target, sorted.
  func sources(of link: RecordLink) -> [String] {
    read(otherwise: []) { db, id in
      let sql = "SELECT source FROM link WHERE kind = ? AND target = ? AND zone = ? ORDER BY source"
      return try String.fetchAll(db.cachedStatement(sql: sql), arguments: [link.kind.rawValue, link.target, id])
    }
  }

  /// Returns the IDs of the assets that records refer to, once per referring record.
  func assets() -> [String] {
    read(otherwise: []) { db, id in
      let sql = "SELECT target FROM link WHERE kind = ? AND zone = ?"
      return try String.fetchAll(db.cachedStatement(sql: sql), arguments: [RecordLink.Kind.asset.rawValue, id])
    }
  }

  /// Returns the number of records in a range of an index, counting up to a limit.
  func count(_ range: KeyRange, in index: IndexName, limit: Int) -> Int {
    guard let id, let index = store.index(index, zone: id) else { return 0 }
    return store.read(otherwise: 0) { try index.count(range, limit: limit, $0) }
  }

  /// Returns records in the order of an index, starting at an entry, inclusive.
  func page(_ range: KeyRange, of index: IndexName, from: IndexEntry?, ascending: Bool, limit: Int) -> [StoredRecord] {
    guard let id, let index = store.index(index, zone: id) else { return [] }
    return store.read(otherwise: []) {
      try index.page(range, from: from, ascending: ascending, limit: limit, $0)
    }
  }
}

/// The rows of one zone's records, for use in a transaction.
struct RecordTable {
  let db: Database
  let zone: Int64
  let name: String
  let indexes: [FieldIndex]

  func save(_ record: StoredRecord, over old: StoredRecord?) throws {
    try unlink(old)
    let (content, created, modified) = (record.content, record.created, record.modified)
    let id = try put(
      [
        zone, record.name, record.sequence, false, record.type, record.tag, created.milliseconds,
        created.userRecordName, modified.milliseconds, modified.userRecordName, content.parent, content.shortGUID,
        content.share, record.formerShare, content.sharing?.row.text, StoredFields.text(content.fields),
      ]
    )
    for link in content.links {
      try db.run("INSERT INTO link VALUES (?, ?, ?, ?)", [link.kind.rawValue, link.target, zone, record.name])
    }
    for index in indexes where index.name.type == record.type {
      let key = record.sortKey(index.name.key).bytes
      try db.run("INSERT INTO entry VALUES (?, ?, ?, ?)", [index.id, key, record.name, id])
    }
  }

  func bury(_ tombstone: Tombstone, over old: StoredRecord?) throws {
    try unlink(old)
    let body: JSON = .object([
      "shares": .array(tombstone.shares.map { .string($0) }), "isSilent": .bool(tombstone.isSilent),
    ])
    try put(
      [zone, tombstone.name, tombstone.sequence, true, tombstone.type, tombstone.tag]
        + StatementArguments(repeatElement(nil as String?, count: 9)) + [body.text]
    )
  }

  /// The columns of a record or tombstone, except the zone.
  static let columns = """
    record.name, sequence, deleted, type, tag, createdTimestamp, createdUserRecordName, modifiedTimestamp, \
    modifiedUserRecordName, parent, shortGUID, share, formerShare, sharing, body
    """

  /// Writes a row with the zone and `columns`, and returns its ID.
  @discardableResult
  private func put(_ values: StatementArguments) throws -> Int64? {
    try Int64.fetchAll(db.cachedStatement(sql: Self.upsert), arguments: values).first
  }

  private static let upsert: String = {
    let names = columns.replacing("record.", with: "").split(separator: ", ")
    let marks = repeatElement("?", count: names.count + 1).joined(separator: ", ")
    let changes = names.dropFirst().map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
    return """
      INSERT INTO record (zone, \(names.joined(separator: ", "))) VALUES (\(marks))
      ON CONFLICT (zone, name) DO UPDATE SET \(changes) RETURNING id
      """
  }()

  /// Deletes the links and index entries of the last version of a record.
  private func unlink(_ old: StoredRecord?) throws {
    guard let old else { return }
    for link in old.content.links {
      try db.run(
        "DELETE FROM link WHERE kind = ? AND target = ? AND zone = ? AND source = ?",
        [link.kind.rawValue, link.target, zone, old.name]
      )
    }
    for index in indexes where index.name.type == old.type {
      try db.run(
        "DELETE FROM entry WHERE fieldIndex = ? AND key = ? AND name = ?",
        [index.id, old.sortKey(index.name.key).bytes, old.name]
      )
    }
  }

  /// Deletes all records, links and indexes of the zone.
  func clear() throws {
    try db.run("DELETE FROM record WHERE zone = ?", [zone])
    try db.run("DELETE FROM link WHERE zone = ?", [zone])
    for index in indexes { try db.run("DELETE FROM entry WHERE fieldIndex = ?", [index.id]) }
    try db.run("DELETE FROM fieldIndex WHERE zone = ?", [zone])
  }

  static func record(_ row: Row) throws -> StoredRecord {
    var content = StoredRecord.Content(name: try row.decode(forColumn: "name"), type: try row.decode(forColumn: "type"))
    content.parent = try row.decode(forColumn: "parent")
    content.shortGUID = try row.decode(forColumn: "shortGUID")
    content.share = try row.decode(forColumn: "share")
    if let json = try row.decode(Data?.self, forColumn: "sharing") {
      guard let sharing = try JSON(json: json).object.flatMap(StoredShare.init(row:)) else { throw DamagedRow() }
      content.sharing = sharing
    }
    content.fields = try row.withUnsafeData(named: "body") { try ($0 ?? Data()).withUnsafeBytes(StoredFields.fields) }
    return StoredRecord(
      content: content,
      tag: try row.decode(forColumn: "tag"),
      sequence: try row.decode(forColumn: "sequence"),
      created: try stamp(row, "created"),
      modified: try stamp(row, "modified"),
      formerShare: try row.decode(forColumn: "formerShare")
    )
  }

  private static func stamp(_ row: Row, _ word: String) throws -> StoredRecord.Stamp {
    StoredRecord.Stamp(
      milliseconds: try row.decode(forColumn: "\(word)Timestamp"),
      userRecordName: try row.decode(forColumn: "\(word)UserRecordName")
    )
  }

  fileprivate static func tombstone(_ row: Row) throws -> Tombstone {
    let body = try JSON(json: try row.decode(Data.self, forColumn: "body")).object
    guard let shares = body?["shares"]?.array?.compactMap(\.string), let isSilent = body?["isSilent"]?.bool
    else { throw DamagedRow() }
    return Tombstone(
      name: try row.decode(forColumn: "name"),
      type: try row.decode(forColumn: "type"),
      sequence: try row.decode(forColumn: "sequence"),
      tag: try row.decode(forColumn: "tag"),
      shares: shares,
      isSilent: isSilent
    )
  }
}
