import CloudKit
import Facts
import Foundation
import GRDB

/// Lists and counts, for people.
extension Ledger {
  // MARK: - Queue

  /// The number of operations that match.
  func operationCount(matching filter: QueueFilter?, now: Int64) throws -> Int {
    let query = ListQuery(filter: filter, now: now)
    let isCounted = filter?.isCounted ?? true
    let (sql, arguments) = isCounted ? Self.condition(query) : try selection(query).condition
    let source =
      isCounted
      ? "SELECT coalesce(sum(count), 0) FROM \(Self.countedParts)" : "SELECT count(*) FROM operations"
    return try Int.fetchOne(list("\(source) WHERE \(sql ?? "1")", isUsual: sql == nil), arguments: arguments) ?? 0
  }

  /// The next operations that match, oldest first. Operations added or removed between two calls do not shift the
  /// others.
  ///
  /// - Parameter shown: returns a row as it is shown. It is called with each row as it is read: a message can be long.
  func operations(
    matching filter: QueueFilter?,
    after id: Int64,
    limit: Int?,
    now: Int64,
    shown: (QueueRow) throws -> QueueRow
  ) throws -> [QueueRow] {
    let (sql, arguments) = try selection(ListQuery(filter: filter, now: now)).condition
    let statement = try list(
      "SELECT \(QueueRow.columns) FROM operations WHERE id > ? AND \(sql ?? "1") ORDER BY id LIMIT ?",
      isUsual: sql == nil
    )
    let cursor = try Row.fetchCursor(statement, arguments: [id] + arguments + [limit ?? -1])
    var rows: [QueueRow] = []
    while let row = try cursor.next() { rows.append(try shown(queueRow(row))) }
    return rows
  }

  func queueRow(_ row: Row) throws -> QueueRow {
    let blockers = try blockers(of: row["id"], limit: Words.named + 1)
    return try QueueRow(row: row, blockers: blockers, serverTag: serverTag(row))
  }

  /// The change tag of the server's record, if the operation is in conflict.
  private func serverTag(_ row: Row) throws -> String? {
    guard row["state"] == OperationState.conflict.rawValue else { return nil }
    return try changeTag(RecordKey(zone: row["zone"], owner: row["owner"], name: row["name"] ?? ""))
  }

  /// Caches the statements of common lists, but not those of searches.
  func list(_ sql: String, isUsual: Bool) throws -> Statement {
    isUsual ? try database.cachedStatement(sql: sql) : try database.makeStatement(sql: sql)
  }

  /// A condition on operations that finds them by the index that has the fewest to offer.
  struct Selection {
    var condition: (sql: String?, arguments: StatementArguments)
    /// Whether an index that finds few rows is chosen, so that other conditions must not use theirs.
    var isChosen = false

    /// A column of another condition.
    func column(_ name: String) -> String { isChosen ? "+\(name)" : name }
  }

  /// The number of rows that are found without delay.
  private static let few = 1000

  /// Returns the condition of a query. SQLite does not know how many rows an index finds, and of two equalities might take
  /// the one that most rows meet.
  func selection(_ query: ListQuery) throws -> Selection {
    var best: (finder: QueueFilter, count: Int)?
    let finders = query.filter?.finders ?? []
    // Of one equality SQLite takes the index by itself.
    guard finders.count > 1 else { return Selection(condition: Self.condition(query)) }
    for finder in finders {
      let condition = SQLCondition(finder, now: query.now)
      let sql = "SELECT count(*) FROM (SELECT 1 FROM operations WHERE \(condition.sql) LIMIT \(Self.few + 1))"
      let count = try Int.fetchOne(list(sql, isUsual: false), arguments: condition.arguments) ?? 0
      if count <= Self.few, count < best?.count ?? .max { best = (finder, count) }
    }
    return Selection(condition: Self.condition(query, finder: best?.finder), isChosen: best != nil)
  }

  /// The SQL condition of a query; nil if it matches the whole queue.
  ///
  /// - Parameters:
  ///   - usesIndexes: whether it may find rows by itself, and not only be checked for rows at hand.
  ///   - finder: the part of the filter whose index finds the rows; nil: SQLite chooses.
  static func condition(_ query: ListQuery, usesIndexes: Bool = true, finder: QueueFilter? = nil) -> (
    sql: String?, arguments: StatementArguments
  ) {
    var conditions: [String] = []
    var arguments = StatementArguments()
    if let filter = query.filter {
      let condition = SQLCondition(filter, now: query.now, usesIndexes: usesIndexes, finder: finder)
      conditions.append("(\(condition.sql))")
      arguments += condition.arguments
    }
    for word in query.words {
      conditions.append(shownText)
      arguments += [likePattern(word), likePattern(word)]
    }
    return (conditions.isEmpty ? nil : conditions.joined(separator: " AND "), arguments)
  }

  /// The condition that a text is in what lists show of an operation. The cause is decoded only where nothing else has
  /// it.
  private static let shownText: String = {
    func names(_ column: String, _ others: [(stored: String, shown: String)]) -> String {
      let cases = others.map { "WHEN '\($0.stored)' THEN '\($0.stored) \($0.shown)'" }.joined(separator: " ")
      return "CASE \(column) \(cases) ELSE \(column) END"
    }
    let states = OperationState.allCases.map { ($0.rawValue, Words.state($0.rawValue)) }
    let kinds = [(OperationKind.zoneSave.rawValue, "create"), (OperationKind.zoneDelete.rawValue, "delete")]
    return """
      (coalesce(name, '') || ' ' || coalesce(type, '') || ' ' || zone || ' ' || owner || ' ' || \(names("state", states)) \
      || ' ' || \(names("operation", kinds)) || ' ' || coalesce(errorMessage, '') LIKE ? ESCAPE '\\' \
      OR words(reason) LIKE ? ESCAPE '\\')
      """
  }()

  /// The identifiers of the operations that match a filter, oldest first; nil means all.
  ///
  /// - Parameters:
  ///   - state: only those in this state.
  ///   - id: only those after this one.
  func operationIDs(
    matching filter: QueueFilter?,
    in state: OperationState? = nil,
    after id: Int64 = 0,
    limit: Int? = nil,
    now: Int64
  ) throws -> [Int64] {
    let selection = try selection(ListQuery(filter: filter, now: now))
    var (sql, arguments) = selection.condition
    if let state {
      sql = ["\(selection.column("state")) = ?", sql].compactMap(\.self).joined(separator: " AND ")
      arguments = [state.rawValue] + arguments
    }
    return try Int64.fetchAll(
      list("SELECT id FROM operations WHERE id > ? AND \(sql ?? "1") ORDER BY id LIMIT ?", isUsual: sql == nil),
      arguments: [id] + arguments + [limit ?? -1]
    )
  }

  static func likePattern(_ text: String) -> String {
    var pattern = "%"
    for character in text {
      if character == "%" || character == "_" || character == "\\" { pattern.append("\\") }
      pattern.append(character)
    }
    return pattern + "%"
  }

  /// The time at which the oldest operation in a state was accepted.
  func oldestOperation(in state: OperationState) throws -> Int64? {
    try one("SELECT min(enqueuedAt) FROM operations WHERE state = ?", [state.rawValue])
  }

  /// The number of operations that wait for another one, up to a limit, to bound the cost.
  func blockedCount(limit: Int) throws -> Int {
    try one("SELECT count(*) FROM (SELECT 1 FROM operations WHERE waitsFor IS NOT NULL LIMIT ?)", [limit]) ?? 0
  }

  /// The queue by state, zone and type, in this order, without empty parts.
  func queueParts() throws -> [QueuePart] {
    try rows(
      """
      SELECT state, zone, owner, type, sum(count) AS count, sum(bytes) AS bytes FROM queueCounts
      GROUP BY state, zone, owner, type HAVING sum(count) > 0 ORDER BY state, zone, owner, type
      """
    ).compactMap { row in
      guard let state = OperationState(rawValue: row["state"]) else { return nil }
      let zone = ZoneKey(zone: row["zone"], owner: row["owner"])
      return QueuePart(state: state, zone: zone, type: row["type"], count: row["count"], bytes: row["bytes"])
    }
  }

  // MARK: - Records

  /// The number of records, from the counts that triggers keep.
  func recordCount(mirrorOnly: Bool = false) throws -> Int {
    try one("SELECT sum(\(mirrorOnly ? "mirrored" : "mirrored + queued")) FROM recordCounts") ?? 0
  }

  /// The next records by zone, owner and name. They cost what the rows up to the last of them cost, not the whole list.
  /// Records added or removed between two calls do not shift those after a key.
  func records(
    after key: RecordKey? = nil,
    of zone: ZoneKey? = nil,
    type: String? = nil,
    mirrorOnly: Bool = false,
    offset: Int = 0,
    limit: Int? = nil
  ) throws -> [RecordRow] {
    var parts: [String] = []
    var arguments = StatementArguments()
    for source in ShownRecords.all(mirrorOnly: mirrorOnly) {
      let of = source.table
      var sql = source.sql
      if let zone {
        sql += " AND \(of).zone = ? AND \(of).owner = ?"
        arguments += [zone.zone, zone.owner]
      }
      if let key {
        sql += zone == nil ? " AND (\(of).zone, \(of).owner, \(of).name) > (?, ?, ?)" : " AND \(of).name > ?"
        arguments += zone == nil ? [key.zone, key.owner, key.name] : [key.name]
      }
      if let type {
        // The unary plus keeps SQLite from using the type index, which is in another order.
        sql += " AND +\(of).type = ?"
        arguments += [type]
      }
      // Each source uses its own index order, so that a page costs only a page.
      parts.append("SELECT * FROM (\(sql) ORDER BY \(of).zone, \(of).owner, \(of).name LIMIT ?)")
      arguments += [limit.map { offset + $0 } ?? -1]
    }
    let sql = parts.joined(separator: " UNION ALL ") + " ORDER BY zone, owner, name LIMIT ? OFFSET ?"
    return try rows(sql, arguments + [limit ?? -1, offset]).map(RecordRow.init(row:))
  }

  /// Records of this name in any zone.
  func records(named name: String, mirrorOnly: Bool) throws -> [RecordRow] {
    let sources = mirrorOnly ? [ShownRecords.mirror] : [.overlaid, .createdByName]
    let parts = sources.map { "SELECT * FROM (\($0.sql) AND \($0.table).name = ?)" }
    return try rows("\(parts.joined(separator: " UNION ALL ")) ORDER BY zone, owner", .init(sources.map { _ in name }))
      .map(RecordRow.init(row:))
  }

  /// The number of records by zone and type, with pending edits applied to the mirror.
  func recordTotals() throws -> [RecordTotal] {
    try rows(
      """
      SELECT zone, type, sum(mirrored + queued) AS number FROM recordCounts
      GROUP BY zone, type HAVING number > 0 ORDER BY zone, type
      """
    ).map { RecordTotal(zone: $0["zone"], type: $0["type"], count: $0["number"]) }
  }

  /// The fields of the newest record of a type in a zone.
  func newestFields(of type: String, in zone: ZoneKey) throws -> [String: FieldValue] {
    let sql = """
      SELECT \(MirrorRecord.columns) FROM records WHERE zone = ? AND owner = ? AND type = ? ORDER BY rowid DESC LIMIT 1
      """
    return try rows(sql, [zone.zone, zone.owner, type]).first.map(MirrorRecord.init(row:))?.fields ?? [:]
  }

  /// The wire types of a record type's fields, from its newest records in the mirror, else from its newest operations
  /// that have not failed. A type can have any number of records, so only some are read.
  ///
  /// - Parameter wanted: the fields to look for in older ones if the newest lack them; nil if any field is of interest.
  func fieldTypes(of type: String, wanted: Set<String>? = nil) throws -> [String: String] {
    let (few, many) = (500, 2000)
    guard let wanted else { return try fieldTypes(of: type, inNewest: many) }
    let types = try fieldTypes(of: type, inNewest: few)
    return wanted.isSubset(of: types.keys) ? types : try fieldTypes(of: type, inNewest: many)
  }

  private func fieldTypes(of type: String, inNewest limit: Int) throws -> [String: String] {
    func types(_ sql: String, _ arguments: StatementArguments) throws -> [String: String] {
      try rows(sql, arguments).reduce(into: [:]) { $0[$1["name"]] = $1["type"] as String? }
    }
    let queued = """
      SELECT f.key AS name, max(\(Self.wireType)) AS type
        FROM (SELECT state, changes FROM operations WHERE type = ? ORDER BY id DESC LIMIT ?) o,
          json_each(iif(json_valid(o.changes), o.changes, '{}'), '$.values') f
        WHERE o.state <> 'failed' GROUP BY f.key
      """
    let mirrored = """
      SELECT f.key AS name, max(\(Self.wireType)) AS type
        FROM (SELECT fields FROM records WHERE zone = ? AND owner = ? AND type = ? ORDER BY rowid DESC LIMIT ?) r,
          json_each(iif(json_valid(r.fields), r.fields, '{}')) f
        GROUP BY f.key
      """
    // The index finds the newest records of a zone. Each zone has its share, and leaves what it does not need to the
    // next.
    let zones = try rows(
      "SELECT zone, owner, mirrored FROM recordCounts WHERE type = ? AND mirrored > 0 ORDER BY mirrored LIMIT ?",
      [type, limit]
    )
    var (found, left) = ([String: String](), limit)
    for (index, zone) in zones.enumerated() {
      let share = min(left / (zones.count - index), zone["mirrored"])
      left -= share
      found.merge(try types(mirrored, [zone["zone"], zone["owner"], type, share]), uniquingKeysWith: max)
    }
    return try types(queued, [type, limit]).merging(found) { $1 }
  }

  /// An encrypted value is stored as it is sent: the plain type with a flag.
  private static let wireType =
    "iif(json_extract(f.value, '$.isEncrypted'), 'ENCRYPTED_', '') || json_extract(f.value, '$.type')"
}

/// One source of the record lists. Further conditions can be appended to its SQL.
struct ShownRecords {
  private let columns: String
  private let rows: String
  /// The table whose columns give the order.
  let table: String

  var sql: String { "SELECT \(columns) \(rows)" }

  /// The SQL with more columns.
  func with(_ more: String) -> String { "SELECT \(columns), \(more) \(rows)" }

  /// The sources of the mirror alone, or with pending edits applied.
  static func all(mirrorOnly: Bool) -> [ShownRecords] { mirrorOnly ? [mirror] : [overlaid, created] }

  private static let stamps = "r.createdAt, r.modifiedAt, r.modifiedBy, r.createdBy, r.share"
  private static let mirrored = "r.zone, r.owner, r.name, r.type, r.changeTag, r.fields, \(stamps)"

  static let mirror = ShownRecords(
    columns: "\(mirrored), NULL AS operation, NULL AS operationId, NULL AS changes, NULL AS state",
    rows: "FROM records r WHERE 1",
    table: "r"
  )

  private static let queued = "o.operation, o.id AS operationId, o.changes, o.state"

  private static let samePlace = "o.zone = r.zone AND o.owner = r.owner AND o.name = r.name"

  /// The mirror with pending edits applied, and with the records that are deleted here.
  static let joined = ShownRecords(
    columns: "\(mirrored), \(queued)",
    rows: "FROM records r LEFT JOIN operations o ON \(samePlace) WHERE 1",
    table: "r"
  )

  static let overlaid = ShownRecords(
    columns: "\(mirrored), \(queued)",
    rows:
      "FROM records r LEFT JOIN operations o ON \(samePlace) WHERE (o.operation IS NULL OR o.operation <> 'delete')",
    table: "r"
  )

  /// Records that exist in the queue alone, by zone, owner and name.
  static let created = created(by: "operationsThatCreate")

  /// Records that exist in the queue alone, to be found by their name.
  static let createdByName = created(by: "operationsByRecord")

  private static func created(by index: String) -> ShownRecords {
    ShownRecords(
      columns: """
        o.zone, o.owner, o.name, o.type, NULL, '{}', NULL, NULL, NULL, NULL, NULL, o.operation, o.id, o.changes, o.state
        """,
      rows: """
        FROM operations o INDEXED BY \(index)
          WHERE o.isMirrored = 0 AND o.operation = 'save' AND o.name IS NOT NULL
        """,
      table: "o"
    )
  }

  /// Records with a queued save.
  static let unsent = ShownRecords(
    columns: """
      o.zone, o.owner, o.name, coalesce(r.type, o.type) AS type, r.changeTag, coalesce(r.fields, '{}') AS fields, \
      \(stamps), \(queued)
      """,
    rows: "FROM operations o LEFT JOIN records r ON \(samePlace) WHERE o.operation = 'save'",
    table: "o"
  )
}

struct SQLCondition {
  let sql: String
  let arguments: StatementArguments

  init(_ filter: QueueFilter, now: Int64, usesIndexes: Bool = true, finder: QueueFilter? = nil) {
    let rendered = filter.sql(now: now, usesIndexes: usesIndexes, finder: finder)
    sql = rendered.sql
    arguments = StatementArguments(
      rendered.arguments.map { argument -> any DatabaseValueConvertible in
        switch argument {
        case .text(let text): text
        case .integer(let number): number
        }
      }
    )
  }
}
