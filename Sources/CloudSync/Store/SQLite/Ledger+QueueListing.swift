import GRDB

/// The queue in the order of a listing. Rows are found by the index of states and numbers alone, and read one by one: a
/// window costs the distance to the nearer end of its part of the list.
extension Ledger {
  /// The number of operations that a listing shows, by state.
  func counts(of listing: QueueListing, now: Int64) throws -> [OperationState: Int] {
    let query = ListQuery(listing.filter, now: now)
    let isCounted = query.filter?.isCounted ?? true
    let selection = isCounted ? Selection(condition: Self.condition(query)) : try selection(query)
    let (sql, arguments) = selection.condition
    let source =
      isCounted
      ? "SELECT state, sum(count) AS number FROM \(Self.countedParts)"
      : "SELECT state, count(*) AS number FROM operations"
    // Grouping by the column would read all rows in the order of its index.
    let statement = try list(
      "\(source) WHERE \(sql ?? "1") GROUP BY \(selection.column("state"))",
      isUsual: sql == nil
    )
    return try Row.fetchAll(statement, arguments: arguments).reduce(into: [:]) { counts, row in
      guard let state = OperationState(rawValue: row["state"]) else { return }
      if listing.states.isEmpty || listing.states.contains(state) { counts[state] = row["number"] }
    }
  }

  /// The counts that triggers keep, under the names of the columns of `operations`.
  static let countedParts = "(SELECT state, zone, nullif(type, '') AS type, operation, count FROM queueCounts)"

  /// The numbers of the operations in a window of a listing that is no search.
  ///
  /// - Parameter counts: those of the listing.
  func operationIDs(of listing: QueueListing, _ counts: [OperationState: Int], offset: Int, limit: Int, now: Int64)
    throws -> [Int64]
  {
    let query = ListQuery(listing.filter, now: now)
    let selection = try selection(query)
    var (ids, skipped) = ([Int64](), offset)
    for states in listing.parts {
      let count = states.reduce(0) { $0 + (counts[$1] ?? 0) }
      let taken = min(limit - ids.count, count - skipped)
      if taken > 0 {
        ids += try NearerEnd(offset: skipped, limit: taken, of: count).read { isReversed, limit, offset in
          let isDescending = listing.isDescending != isReversed
          let (sql, arguments) = Self.sql(states, selection, isDescending: isDescending)
          let statement = try list("\(sql) LIMIT ? OFFSET ?", isUsual: query.filter == nil)
          return try Int64.fetchAll(statement, arguments: arguments + [limit, offset])
        }
      }
      skipped = max(0, skipped - count)
      if ids.count >= limit { break }
    }
    return ids
  }

  /// All operations that a listing shows, in its order.
  func operationIDs(of listing: QueueListing, now: Int64) throws -> [Int64] {
    let selection = try selection(ListQuery(listing.filter, now: now))
    return try listing.parts.flatMap { states in
      let (sql, arguments) = Self.sql(states, selection, isDescending: listing.isDescending)
      return try Int64.fetchAll(list(sql, isUsual: false), arguments: arguments)
    }
  }

  /// Reads operations in states, in the order of their numbers: a merge of the index's ranges, without sorting.
  private static func sql(_ states: [OperationState], _ selection: Selection, isDescending: Bool)
    -> (String, StatementArguments)
  {
    let (condition, arguments) = selection.condition
    let parts = states.map { state in
      "SELECT id FROM operations WHERE \(selection.column("state")) = '\(state.rawValue)'"
        + (condition.map { " AND \($0)" } ?? "")
    }
    let all = states.reduce(into: StatementArguments()) { all, _ in all += arguments }
    return (parts.joined(separator: " UNION ALL ") + " ORDER BY id" + (isDescending ? " DESC" : ""), all)
  }

  /// The next operations in states in the order of their numbers, each with whether it matches.
  func slice(
    _ states: [OperationState],
    _ query: ListQuery,
    after id: Int64?,
    isDescending: Bool,
    limit: Int
  ) throws -> [(id: Int64, state: OperationState?, zone: ZoneKey, isMatch: Bool)] {
    let (condition, arguments) = Self.condition(query, usesIndexes: false)
    let (order, first) = isDescending ? ("<", Int64.max) : (">", Int64.min)
    var all = StatementArguments()
    let parts = states.map { state in
      all += arguments + [id ?? first]
      return
        "SELECT id, state, zone, owner, (\(condition ?? "1")) IS TRUE FROM operations WHERE state = '\(state.rawValue)' AND id \(order) ?"
    }
    let sql = parts.joined(separator: " UNION ALL ") + " ORDER BY id\(isDescending ? " DESC" : "") LIMIT ?"
    return try Row.fetchAll(database.cachedStatement(sql: sql), arguments: all + [limit])
      .map { ($0[0], OperationState(rawValue: $0[1]), ZoneKey(zone: $0[2], owner: $0[3]), $0[4]) }
  }

  /// The zones that a retry of all that a listing shows creates again.
  func recreatedZones(byRetrying listing: QueueListing, now: Int64) throws -> [ZoneKey] {
    let states = listing.states(for: .retry)
    guard !states.isEmpty else { return [] }
    let (condition, arguments) = Self.condition(ListQuery(listing.filter, now: now))
    let names = states.map { "'\($0.rawValue)'" }.sorted().joined(separator: ", ")
    return try goneZones().filter { zone in
      try Bool.fetchOne(
        database,
        sql: """
          SELECT EXISTS (SELECT 1 FROM operations
            WHERE state IN (\(names)) AND zone = ? AND owner = ? AND \(condition ?? "1"))
          """,
        arguments: [zone.zone, zone.owner] + arguments
      ) ?? false
    }
  }

  /// The operations of these numbers that are still in the queue, in this order.
  func queueRows(_ ids: [Int64], _ shown: (QueueRow) throws -> QueueRow) throws -> [QueueRow] {
    try ids.compactMap { id in
      try row("SELECT \(QueueRow.columns) FROM operations WHERE id = ?", [id]).map { try shown(queueRow($0)) }
    }
  }
}

extension ListQuery {
  init(_ filter: ListFilter, now: Int64) {
    self.init(now: now)
    switch filter {
    case .none: break
    case .words(let words): self.words = words
    case .expression(let filter, _): self.filter = filter
    }
  }
}

extension QueueFilter {
  /// Whether the counts that triggers keep say how many operations match.
  var isCounted: Bool { columns.isSubset(of: [.state, .zone, .type, .operation]) }
}

/// A window of a long list that is read from the end of the list that is nearer.
struct NearerEnd {
  var offset: Int
  var limit: Int
  /// The number of all rows.
  var count: Int

  init(offset: Int, limit: Int, of count: Int) { (self.offset, self.limit, self.count) = (offset, limit, count) }

  /// Returns the rows in the order of the list.
  ///
  /// - Parameter rows: reads rows in the order of the list, or in the reversed one.
  func read<Row>(_ rows: (_ isReversed: Bool, _ limit: Int, _ offset: Int) throws -> [Row]) throws -> [Row] {
    let rest = max(0, count - offset - limit)
    return offset <= rest ? try rows(false, limit, offset) : try rows(true, limit, rest).reversed()
  }
}
