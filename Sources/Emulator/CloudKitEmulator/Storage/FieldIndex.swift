import Foundation
import GRDB
import JSONText

/// An index of one type's records by one field, stored in rows that each commit updates.
struct FieldIndex {
  let id: Int64
  let name: IndexName

  /// Returns all indexes by the ID of their zone.
  static func all(_ db: Database) throws -> [Int64: [FieldIndex]] {
    var found: [Int64: [FieldIndex]] = [:]
    for row in try Row.fetchAll(db, sql: "SELECT * FROM fieldIndex ORDER BY id") {
      let name = IndexName(type: row["type"], key: QueryField(schemaName: row["field"]))
      found[row["zone"], default: []].append(FieldIndex(id: row["id"], name: name))
    }
    return found
  }

  /// Creates an index over the existing records. SQLite sorts them within its memory limit.
  static func make(_ name: IndexName, zone: Int64, _ db: Database) throws -> FieldIndex {
    try db.run("INSERT INTO fieldIndex (zone, type, field) VALUES (?, ?, ?)", [zone, name.type, name.key.schemaName])
    let index = FieldIndex(id: db.lastInsertedRowID, name: name)
    let key = DatabaseFunction("sortKeyOf", argumentCount: 1, pure: true) { try name.key.sortKey(stored: $0[0]).bytes }
    db.add(function: key)
    defer { db.remove(function: key) }
    let (column, path) = name.key.column
    // Scans in row order, because name order would jump around in the file.
    try db.execute(
      sql: """
        INSERT INTO entry
        SELECT ?, key, name, id
        FROM (
          SELECT sortKeyOf(\(column)) AS key, name, id FROM record NOT INDEXED
          WHERE zone = ? AND NOT deleted AND type = ?)
        ORDER BY key, name
        """,
      arguments: [index.id] + path + [zone, name.type]
    )
    return index
  }

  func count(_ range: KeyRange, limit: Int, _ db: Database) throws -> Int {
    let (condition, arguments) = condition(range)
    let sql = "SELECT count(*) FROM (SELECT 1 FROM entry WHERE \(condition) LIMIT ?)"
    return try Int.fetchOne(db.cachedStatement(sql: sql), arguments: arguments + [limit]) ?? 0
  }

  func page(
    _ range: KeyRange,
    from: IndexEntry?,
    ascending: Bool,
    limit: Int,
    _ db: Database
  ) throws -> [StoredRecord] {
    let (condition, arguments) = condition(range, from: from, ascending: ascending)
    let direction = ascending ? "ASC" : "DESC"
    let sql = """
      SELECT \(RecordTable.columns) FROM entry CROSS JOIN record ON record.id = entry.record
      WHERE \(condition) ORDER BY key \(direction), entry.name \(direction) LIMIT ?
      """
    let rows = try Row.fetchCursor(db.cachedStatement(sql: sql), arguments: arguments + [limit])
    var found: [StoredRecord] = []
    while let row = try rows.next() { found.append(try RecordTable.record(row)) }
    return found
  }

  /// Uses one bound per side, because with two SQLite may start at the farther one.
  private func condition(
    _ range: KeyRange,
    from: IndexEntry? = nil,
    ascending: Bool = true
  ) -> (sql: String, arguments: StatementArguments) {
    var (sql, arguments): (String, StatementArguments) = ("fieldIndex = ?", [id])
    if ascending, let from, from.key >= range.lower {
      sql += " AND (key, entry.name) >= (?, ?)"
      arguments += [from.key.bytes, from.name]
    } else {
      sql += " AND key >= ?"
      arguments += [range.lower.bytes]
    }
    if !ascending, let from, range.upper.map({ from.key <= $0 }) ?? true {
      sql += " AND (key, entry.name) <= (?, ?)"
      arguments += [from.key.bytes, from.name]
    } else if let upper = range.upper {
      sql += " AND key <= ?"
      arguments += [upper.bytes]
    }
    return (sql, arguments)
  }
}

extension SortKey {
  /// An encoding whose bytes sort like the keys. Data files contain it, so it must never change.
  var bytes: Data {
    switch self {
    case .null: Data([0])
    case .int(let number): Data([1]) + Self.bigEndian(UInt64(bitPattern: number) ^ 1 << 63)
    case .double(let number):
      // Both signs of zero get the same encoding. Negative numbers are inverted to sort correctly.
      Data([2]) + Self.bigEndian(Self.ordered((number == 0 ? 0 : number).bitPattern))
    case .string(let text): Data([3]) + Data(text.utf8)
    }
  }

  private static func ordered(_ bits: UInt64) -> UInt64 { bits >> 63 == 0 ? bits | 1 << 63 : ~bits }

  private static func bigEndian(_ number: UInt64) -> Data { withUnsafeBytes(of: number.bigEndian) { Data($0) } }
}

extension QueryField {
  /// The name in the schema language. No field has the name of a system field.
  fileprivate var schemaName: String {
    switch self {
    case .field(let name): name
    case .system(let system): system.schemaName
    case .wholeRecord: preconditionFailure("A whole record has no index.")
    }
  }

  fileprivate init(schemaName: String) {
    self = System.allCases.first { $0.schemaName == schemaName }.map { .system($0) } ?? .field(schemaName)
  }

  /// The SQL expression of the stored value, and its arguments.
  fileprivate var column: (sql: String, arguments: StatementArguments) {
    switch self {
    // The fields of shares have names with points.
    case .field(let name): ("json_extract(body, ?)", ["$.\"\(name)\""])
    case .system(.recordName): ("name", [])
    case .system(let system): (system.rawValue, [])
    case .wholeRecord: preconditionFailure("A whole record has no index.")
    }
  }

  /// Returns the sort key of what `column` has: for a field its JSON, for a system field a number or a name.
  fileprivate func sortKey(stored value: DatabaseValue) throws -> SortKey {
    switch (self, value.storage) {
    case (_, .null): return .null
    case (.field(let name), .string(let text)):
      return try StoredFields.value(JSON(json: Data(text.utf8)), of: name).sortKey
    case (.system, .int64(let number)): return .int(number)
    case (.system, .string(let text)): return .string(text)
    default: throw DamagedRow()
    }
  }
}
