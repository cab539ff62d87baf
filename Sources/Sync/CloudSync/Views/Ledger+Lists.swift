import CloudKit
import Facts
import Foundation
import GRDB

/// Lists and counts, for people.
extension Ledger {
  // MARK: - Queue

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
  struct Selection: Sendable {
    var condition: (sql: String?, arguments: StatementArguments)
    /// Whether an index that finds few rows is chosen, so that other conditions must not use theirs.
    var isChosen = false
    /// Whether an index finds all rows that match.
    var hasFinder = false

    /// A column of another condition.
    func column(_ name: String) -> String { isChosen ? "+\(name)" : name }
  }

  /// The number of rows that are found without delay.
  static let few = 1000

  /// Returns the condition of a query. SQLite does not know how many rows an index finds, and of two equalities, such
  /// as a name and the state of a part of the list, might take the one that most rows meet.
  func selection(_ query: ListQuery) throws -> Selection {
    var best: (finder: QueueFilter, count: Int)?
    let finders = query.filter?.finders ?? []
    for finder in finders {
      let condition = finder.sql(now: query.now, finder: finder)
      let sql = "SELECT count(*) FROM (SELECT 1 FROM operations WHERE \(condition.sql) LIMIT \(Self.few + 1))"
      let count = try Int.fetchOne(list(sql, isUsual: false), arguments: .init(condition.arguments)) ?? 0
      if count <= Self.few, count < best?.count ?? .max { best = (finder, count) }
    }
    return Selection(
      condition: Self.condition(query, finder: best?.finder),
      isChosen: best != nil,
      hasFinder: !finders.isEmpty
    )
  }

  /// The SQL condition of a query; nil if it matches the whole queue.
  ///
  /// - Parameter finder: the part of the filter whose index finds the rows; nil: SQLite chooses.
  static func condition(_ query: ListQuery, finder: QueueFilter? = nil) -> (
    sql: String?, arguments: StatementArguments
  ) {
    var conditions: [String] = []
    var arguments = StatementArguments()
    if let filter = query.filter {
      let condition = filter.sql(now: query.now, finder: finder)
      conditions.append("(\(condition.sql))")
      arguments += StatementArguments(condition.arguments)
    }
    for word in query.words {
      let (shown, held) = (condition([word], in: shownTexts), ChangeCondition(showing: word))
      conditions.append("(\((shown.sql + [held.sql]).joined(separator: " OR ")))")
      arguments += shown.arguments + StatementArguments(held.arguments)
    }
    return (conditions.isEmpty ? nil : conditions.joined(separator: " AND "), arguments)
  }

  /// The conditions that each word is in one of the texts that a list shows of a row, in any letter case.
  ///
  /// - Parameter texts: expressions over the columns of the row. Each is evaluated only where those before it lack the
  ///   word.
  static func condition(_ words: [String], in texts: [String]) -> (sql: [String], arguments: StatementArguments) {
    let isShown = texts.map { "\($0) LIKE ? ESCAPE '\\'" }.joined(separator: " OR ")
    let patterns = words.flatMap { [String](repeating: likePattern($0), count: texts.count) }
    return (words.map { _ in "(\(isShown))" }, StatementArguments(patterns))
  }

  /// The texts that lists show of an operation.
  private static let shownTexts: [String] = {
    func names(_ column: String, _ others: [(stored: String, shown: String)]) -> String {
      let cases = others.map { "WHEN '\($0.stored)' THEN '\($0.stored) \($0.shown)'" }.joined(separator: " ")
      return "CASE \(column) \(cases) ELSE \(column) END"
    }
    let states = OperationState.allCases.map { ($0.rawValue, Words.state($0.rawValue)) }
    let kinds = OperationKind.allCases.filter(\.isOfZone).map { ($0.rawValue, Words.operation($0.rawValue)) }
    let columns = [
      "coalesce(name, '')", "coalesce(type, '')", "zone", "owner", names("state", states), names("operation", kinds),
      "coalesce(errorMessage, '')",
    ]
    return [columns.joined(separator: " || ' ' || "), "words(reason)"]
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

  private static func likePattern(_ text: String) -> String {
    var pattern = "%"
    for character in text {
      if character == "%" || character == "_" || character == "\\" { pattern.append("\\") }
      pattern.append(character)
    }
    return pattern + "%"
  }

  /// The time at which the oldest operation in a state was accepted.
  ///
  /// - Parameter parts: the parts of the queue that do not count; each older operation in them is passed over.
  func oldestOperation(in state: OperationState, except parts: [QueuePart] = []) throws -> Int64? {
    guard !parts.isEmpty else {
      return try one("SELECT max(0, min(enqueuedAt)) FROM operations WHERE state = ?", [state.rawValue])
    }
    return try one(
      """
      SELECT max(0, enqueuedAt) FROM operations INDEXED BY operationsByAge WHERE state = ?
        AND (zone, owner, coalesce(type, '')) NOT IN
          (SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?))
        ORDER BY enqueuedAt LIMIT 1
      """,
      [state.rawValue, Self.json(parts.map { [$0.zone.zone, $0.zone.owner, $0.type] })]
    )
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
      return QueuePart(state: state, zone: zone, type: row["type"], count: row["count"], bytes: max(0, row["bytes"]))
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
    let sources = ShownRecords.all(mirrorOnly: mirrorOnly).map { ($0.sql, $0.table) }
    let last = limit.map { offset + $0 } ?? -1
    let (sql, arguments) = ShownRecords.next(of: sources, after: key, of: zone, type: type, limit: last)
    return try rows("\(sql) LIMIT ? OFFSET ?", arguments + [limit ?? -1, offset]).map(RecordRow.init(row:))
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
}
