import Foundation
import GRDB

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
    row(name, deleted: false) { try RecordTable.record($0, name: name) }
  }

  func tombstone(of name: String) -> Tombstone? {
    row(name, deleted: true) { try RecordTable.tombstone($0, name: name) }
  }

  private func row<Value>(_ name: String, deleted: Bool, _ body: (Row) throws -> Value) -> Value? {
    // SQLite would cut the name at its first NUL.
    guard StoredRecord.isName(name) else { return nil }
    return read(otherwise: nil) { db, id in
      let sql = "SELECT sequence, body FROM record WHERE zone = ? AND name = ? AND deleted = ?"
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
    let id = try put(record.name, record.sequence, isShare: record.content.sharing != nil, PackedRecord.bytes(record))
    for link in record.content.links {
      try db.run("INSERT INTO link VALUES (?, ?, ?, ?)", [link.kind.rawValue, link.target, zone, record.name])
    }
    for index in indexes where index.name.type == record.type {
      let key = record.sortKey(index.name.key).bytes
      try db.run("INSERT INTO entry VALUES (?, ?, ?, ?)", [index.id, key, record.name, id])
    }
  }

  func bury(_ tombstone: Tombstone, over old: StoredRecord?) throws {
    try unlink(old)
    var writer = PackedWriter()
    writer.add(tombstone.type)
    writer.add(tombstone.tag)
    // An empty name marks a silent tombstone; no share has an empty name.
    for share in (tombstone.isSilent ? [""] : []) + tombstone.shares { writer.add(share) }
    try put(tombstone.name, tombstone.sequence, deleted: true, writer.bytes)
  }

  /// Writes a row and returns its ID.
  @discardableResult
  private func put(
    _ name: String,
    _ sequence: Int64,
    deleted: Bool = false,
    isShare: Bool = false,
    _ body: [UInt8]
  ) throws -> Int64? {
    let sql = """
      INSERT INTO record (zone, name, sequence, deleted, isShare, body) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (zone, name) DO UPDATE SET (sequence, deleted, isShare, body)
        = (excluded.sequence, excluded.deleted, excluded.isShare, excluded.body)
      RETURNING id
      """
    let arguments: StatementArguments = [zone, name, sequence, deleted, isShare, Data(body)]
    return try Int64.fetchAll(db.cachedStatement(sql: sql), arguments: arguments).first
  }

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

  static func record(_ row: Row, name: String) throws -> StoredRecord {
    let sequence: Int64 = row["sequence"]
    return try row.withUnsafeData(named: "body") { body in
      try (body ?? Data()).withUnsafeBytes { try PackedRecord.record($0, name: name, sequence: sequence) }
    }
  }

  fileprivate static func tombstone(_ row: Row, name: String) throws -> Tombstone {
    let (sequence, body): (Int64, Data) = (row["sequence"], row["body"])
    return try body.withUnsafeBytes { bytes in
      var reader = PackedReader(bytes)
      var tombstone = Tombstone(name: name, type: try reader.text(), sequence: sequence, tag: try reader.text())
      while !reader.isAtEnd {
        let share = try reader.text()
        if share.isEmpty { tombstone.isSilent = true } else { tombstone.shares.append(share) }
      }
      return tombstone
    }
  }
}
