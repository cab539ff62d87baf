import CloudKit
import GRDB

/// The search for the first records of a query after a position, in one transaction.
///
/// It holds the places of the records that it may return, never the records. A few records by name are found in the
/// index of names, and a few in the order of a field among rows that SQL sorts by it. Otherwise all rows of the type
/// are read as they are in the file, and SQL leaves out what the last kept record precedes as soon as there is one.
struct QuerySearch {
  private struct Match {
    var place: RecordPlace
    var position: QueryPosition
  }

  private let query: StoredQuery
  private let after: QueryPosition?
  /// The number of records to find.
  private let limit: Int
  private let ledger: Ledger
  private let deletedZones: Set<ZoneKey>
  private let candidates: RowCondition?
  /// The expressions by which SQL sorts rows as the first orders of the query do; empty if SQL cannot.
  private let sortKeys: [String]
  private var matches: [Match] = []
  /// The position of the last record that may be returned, once there are enough.
  private var last: QueryPosition?
  /// Whether matches are only counted.
  private var isCounting = false
  private var count = 0

  init(_ query: StoredQuery, after: QueryPosition? = nil, limit: Int = .max, _ ledger: Ledger) throws {
    (self.query, self.after, self.limit, self.ledger) = (query, after, limit, ledger)
    deletedZones = query.isMirrorOnly ? [] : try ledger.deletedZones()
    candidates = query.condition.candidates(in: .mirror)
    sortKeys = try Self.sortKeys(of: query, ledger)
  }

  private static func sortKeys(of query: StoredQuery, _ ledger: Ledger) throws -> [String] {
    guard let type = query.type, !query.orders.isEmpty else { return [] }
    let types = try query.fields.isEmpty ? [:] : ledger.fieldTypes(of: type, wanted: query.fields)
    var keys: [String] = []
    for order in query.orders {
      guard case .field(let field) = order.operand,
        let key = PredicateComparison.sortKey(of: field, type: types[field])
      else { break }
      keys.append("\(key) \(order.isAscending ? "ASC" : "DESC")")
    }
    if keys.count == query.orders.count { keys.append("r.name \(query.orders[0].isAscending ? "ASC" : "DESC")") }
    return keys
  }

  /// Visits the records in order, each with its position, until `visit` returns false.
  mutating func each(_ visit: (RecordRow, QueryPosition) throws -> Bool) throws {
    guard limit > 0 else { return }
    try search()
    cut()
    for match in matches {
      guard let row = try ledger.record(at: match.place, deletedZones) else { continue }
      guard try visit(row, match.position) else { return }
    }
  }

  /// Returns the first records in order, and the keys of the others.
  mutating func first(_ count: Int) throws -> (rows: [RecordRow], rest: ArraySlice<RecordKey>) {
    guard limit > 0 else { return ([], []) }
    try search()
    cut()
    let rows = try matches.prefix(count).compactMap { try ledger.record(at: $0.place, deletedZones) }
    return (rows, matches.map(\.position.key).dropFirst(count))
  }

  /// Returns the records with these keys as they are now, without those that no longer match.
  func rows(of keys: ArraySlice<RecordKey>) throws -> [RecordRow] {
    try keys.compactMap(row).filter { row in
      (query.type ?? row.record.type) == row.record.type
        && query.condition.holds(for: RecordValues(row.record.wire)) == true
    }
  }

  private func row(_ key: RecordKey) throws -> RecordRow? {
    guard query.isMirrorOnly else { return try RecordRow(ledger.local(key)) }
    return try ledger.record(key)
      .map { RecordRow(record: $0, changeTag: nil, operation: nil, operationState: nil) }
  }

  /// Returns the number of all records that match.
  mutating func countAll() throws -> Int {
    isCounting = true
    try search()
    return count
  }

  // MARK: - Sources

  private mutating func search() throws {
    try readQueue()
    for zone in try ledger.zones(of: query.type, in: query.zone) where !deletedZones.contains(zone) {
      // A walk jumps about the file, so it is worth while only for a part of it.
      let isWalked = limit < 10_000 && !isCounting
      guard isWalked, query.orders.isEmpty else {
        if isWalked, !sortKeys.isEmpty { try readInOrder(zone) } else { try readByType(zone) }
        continue
      }
      let end = try name(in: zone, ahead: 2000 + 10 * limit)
      if try !readByName(zone, through: end), let end { try readByType(zone, afterName: end) }
    }
  }

  /// Reads the records with a queued save.
  private mutating func readQueue() throws {
    guard !query.isMirrorOnly else { return }
    var conditions: [RowCondition?] = [query.condition.candidates(in: .operation)]
    if let type = query.type { conditions.append(RowCondition(sql: "o.type = ?", arguments: [type])) }
    if let zone = query.zone {
      conditions.append(RowCondition(sql: "o.zone = ? AND o.owner = ?", arguments: [zone.zone, zone.owner]))
    }
    let (ledger, deletedZones) = (ledger, deletedZones)
    func found(_ row: Row) throws -> (RecordPlace, MirrorRecord)? {
      let place = RecordPlace.operation(row["operationId"])
      return try ledger.record(row, deletedZones).map { (place, $0.record) }
    }
    guard query.orders.isEmpty else {
      let rows = try read(ShownRecords.unsent.sql, conditions)
      while let row = try rows.next() {
        if let (place, record) = try found(row) { _ = add(place, record) }
      }
      return
    }
    if let after { conditions.append(RowCondition(sql: "o.name >= ?", arguments: [after.key.name])) }
    _ = try walk(try read(ShownRecords.unsentByName.sql, conditions, order: "o.name"), found)
  }

  /// Reads the records of a zone without queued changes by name, as far as they can be among the first.
  ///
  /// - Parameter end: the last name to read; nil for all.
  /// - Returns: whether no later record can be among the first.
  private mutating func readByName(_ zone: ZoneKey, through end: String?) throws -> Bool {
    var conditions: [RowCondition?] = [
      RowCondition(sql: "r.zone = ? AND r.owner = ?", arguments: [zone.zone, zone.owner])
    ]
    // The unary plus keeps SQLite from using the type index, which is in another order.
    if let type = query.type { conditions.append(RowCondition(sql: "+r.type = ?", arguments: [type])) }
    if let after { conditions.append(RowCondition(sql: "r.name >= ?", arguments: [after.key.name])) }
    if let end { conditions.append(RowCondition(sql: "r.name <= ?", arguments: [end])) }
    let rows = try read(ShownRecords.mirror.sql, conditions + [candidates, unqueued], order: "r.name")
    return try walk(rows, mirrored)
  }

  /// The name of the record that is a number of records behind the start of a zone; nil if it has fewer.
  private func name(in zone: ZoneKey, ahead count: Int) throws -> String? {
    try ledger.one(
      "SELECT name FROM records WHERE zone = ? AND owner = ? AND name >= ? ORDER BY name LIMIT 1 OFFSET ?",
      [zone.zone, zone.owner, after?.key.name ?? "", count]
    )
  }

  /// Adds records that come in the order of their names.
  ///
  /// - Returns: whether it ended because no other can be among the first.
  private mutating func walk(_ rows: RowCursor, _ found: (Row) throws -> (RecordPlace, MirrorRecord)?) throws -> Bool {
    var (kept, name) = (0, "")
    while let row = try rows.next() {
      guard let (place, record) = try found(row) else { continue }
      // Records of one name may be in the order of another property of their zones.
      if kept >= limit, record.key.name != name { return true }
      switch add(place, record) {
      case .kept: (kept, name) = (kept + 1, record.key.name)
      case .late where record.key.name != last?.key.name: return true
      case .late, .other: continue
      }
    }
    return false
  }

  /// Reads the records of a zone without queued changes in the order in which SQL sorts them, as far as they can be
  /// among the first.
  private mutating func readInOrder(_ zone: ZoneKey) throws {
    let place = RowCondition(
      sql: "r.zone = ? AND r.owner = ? AND r.type = ?",
      arguments: [zone.zone, zone.owner, query.type]
    )
    let order = sortKeys.joined(separator: ", ")
    let isUnconditional = if case .constant(true) = query.condition { true } else { false }
    // Sorting a few costs less than sorting all. Where each row matches, few more than the limit are read.
    var part = (start: 0, size: isUnconditional ? 2 * limit + 100 : -1)
    while true {
      let places = try read(
        "SELECT r.rowid AS place FROM records r WHERE 1",
        [place, candidates, bounds, unqueued],
        order: "\(order) LIMIT \(part.size) OFFSET \(part.start)"
      )
      var count = 0
      while let found = try places.next() {
        count += 1
        let sql = "\(ShownRecords.mirror.sql) AND r.rowid = ?"
        guard let row = try ledger.row(sql, [found["place"] as Int64]) else { continue }
        let (place, record) = try mirrored(row)
        if case .late(let position) = add(place, record), isBehindAll(position) { return }
      }
      guard count == part.size else { return }
      part = (part.start + count, -1)
    }
  }

  /// Whether all records that SQL sorts behind one that is late are late, too.
  private func isBehindAll(_ position: QueryPosition) -> Bool {
    guard let last else { return false }
    for (one, other) in zip(position.keys, last.keys).prefix(sortKeys.count) where one != other {
      guard let one, let other else { return true }
      return one.isSortedAsInRows(with: other)
    }
    // With the same values, they are sorted by name.
    return sortKeys.count > query.orders.count
  }

  /// Reads the records of a zone without queued changes, a part at a time, each without those that are known to be
  /// late.
  ///
  /// - Parameter name: only records after this one; nil for all.
  private mutating func readByType(_ zone: ZoneKey, afterName name: String? = nil) throws {
    // The index of types has the rows of each in their order in the file. Without a type, no other index is to be used.
    let sql = query.type == nil ? "+r.zone = ? AND +r.owner = ?" : "r.zone = ? AND r.owner = ? AND r.type = ?"
    let place = RowCondition(
      sql: sql,
      arguments: StatementArguments([zone.zone, zone.owner, query.type].compactMap(\.self))
    )
    var (start, size) = (Int64.min, 500)
    while true {
      let end: Int64? = try ledger.one(
        "SELECT r.rowid FROM records r WHERE \(place.sql) AND r.rowid > ? ORDER BY r.rowid LIMIT 1 OFFSET ?",
        place.arguments + [start, size - 1]
      )
      let part = RowCondition(sql: "r.rowid > ? AND r.rowid <= ?", arguments: [start, end ?? .max])
      let later = name.map { RowCondition(sql: "+r.name > ?", arguments: [$0]) }
      let rows = try read(ShownRecords.mirror.sql, [place, part, later, candidates, bounds, unqueued])
      while let row = try rows.next() {
        let (place, record) = try mirrored(row)
        _ = add(place, record)
      }
      guard let end else { return }
      (start, size) = (end, min(2 * size, 8000))
    }
  }

  private func mirrored(_ row: Row) throws -> (RecordPlace, MirrorRecord) {
    let place = RecordPlace.mirror(row["place"])
    guard case .constant(true) = query.condition, query.orders.isEmpty else {
      return (place, try MirrorRecord(row: row))
    }
    // Nothing depends on the values.
    let key = RecordKey(zone: row["zone"], owner: row["owner"], name: row["name"])
    return (place, MirrorRecord(key: key, type: "", changeTag: "", fields: [:]))
  }

  /// A queued change is read with its operation.
  private var unqueued: RowCondition? {
    guard !query.isMirrorOnly else { return nil }
    return RowCondition(
      sql: "NOT EXISTS (SELECT 1 FROM operations o WHERE o.name = r.name AND o.zone = r.zone AND o.owner = r.owner)"
    )
  }

  /// Not cached: there are as many statements as there are queries.
  private func read(_ sql: String, _ conditions: [RowCondition?], order: String? = nil) throws -> RowCursor {
    let all = RowCondition.all(conditions.compactMap(\.self)) ?? RowCondition(sql: "1")
    let statement = try ledger.database.makeStatement(
      sql: "\(sql) AND \(all.sql)\(order.map { " ORDER BY \($0)" } ?? "")"
    )
    return try Row.fetchCursor(statement, arguments: all.arguments)
  }

  // MARK: - Keeping the first

  private enum Addition {
    case kept, other
    /// Not among the first.
    case late(QueryPosition)
  }

  private mutating func add(_ place: RecordPlace, _ record: MirrorRecord) -> Addition {
    let values = RecordValues(record.wire)
    guard query.condition.holds(for: values) == true else { return .other }
    let position = query.position(of: values, record.key)
    if let after, !query.precedes(after, position) { return .other }
    count += 1
    if isCounting { return .other }
    if let last, !query.precedes(position, last) { return .late(position) }
    matches.append(Match(place: place, position: position))
    if matches.count / 2 > limit || (last == nil && matches.count == limit) { cut() }
    return .kept
  }

  /// Sorts the matches, and keeps the first of them.
  private mutating func cut() {
    matches.sort { query.precedes($0.position, $1.position) }
    guard matches.count >= limit else { return }
    matches.removeLast(matches.count - limit)
    last = matches.last?.position
  }

  /// The rows that can be between the start and the last record by the first order.
  private var bounds: RowCondition? {
    guard let order = query.orders.first else {
      return last.map { RowCondition(sql: "+r.name <= ?", arguments: [$0.key.name]) }
    }
    guard case .field(let field) = order.operand else { return nil }
    func rows(_ test: RowTest) -> RowCondition? { PredicateComparison.candidates(of: field, test, in: .mirror) }
    /// - Parameter isOpen: whether records without a value are on this side.
    func side(_ position: QueryPosition?, _ test: (FieldValue) -> RowTest, isOpen: Bool) -> RowCondition? {
      guard let key = position?.keys.first, let key, key.isOrderedForRows, let tested = rows(test(key)) else {
        return nil
      }
      return isOpen ? rows(.isMissing).flatMap { .any([$0, tested]) } : tested
    }
    let isAscending = order.isAscending
    return .all(
      [
        side(isAscending ? after : last, RowTest.atLeast, isOpen: false),
        side(isAscending ? last : after, RowTest.atMost, isOpen: true),
      ].compactMap(\.self)
    )
  }
}

extension Ledger {
  /// The zones with records of a type in the mirror.
  ///
  /// - Parameters:
  ///   - type: nil for all types.
  ///   - zone: only this one; nil for all.
  func zones(of type: String?, in zone: ZoneKey?) throws -> [ZoneKey] {
    try rows(
      """
      SELECT DISTINCT zone, owner FROM recordCounts
      WHERE mirrored > 0 AND (?1 IS NULL OR type = ?1) AND (?2 IS NULL OR (zone = ?2 AND owner = ?3))
      """,
      [type, zone?.zone, zone?.owner]
    ) { ZoneKey(zone: $0[0], owner: $0[1]) }
  }

  /// The record at a place, with its queued changes applied; nil if it is gone.
  fileprivate func record(at place: RecordPlace, _ deletedZones: Set<ZoneKey>) throws -> RecordRow? {
    switch place {
    case .operation(let id):
      let row = try row("\(ShownRecords.unsent.sql) AND o.id = ?", [id])
      return try row.flatMap { try record($0, deletedZones) }
    case .mirror(let rowid):
      return try row("\(ShownRecords.mirror.sql) AND r.rowid = ?", [rowid]).map(RecordRow.init(row:))
    }
  }

  /// - Parameter row: a row of `ShownRecords.unsent`.
  fileprivate func record(_ row: Row, _ deletedZones: Set<ZoneKey>) throws -> RecordRow? {
    guard !deletedZones.isEmpty, deletedZones.contains(ZoneKey(zone: row["zone"], owner: row["owner"])) else {
      return try RecordRow(row: row)
    }
    let key = RecordKey(zone: row["zone"], owner: row["owner"], name: row["name"])
    return try RecordRow(local(key))
  }
}
