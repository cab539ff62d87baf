import GRDB

/// The queue in the order of a listing. Rows are found by an index in the order of their numbers, and read one by one:
/// a window costs the distance to the nearer end of its part of the list.
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

  /// The numbers of the operations in a window of a listing that is no search. A screen jumps to any row, so a window
  /// has an offset and not a row after which it begins.
  ///
  /// - Parameter counts: those of the listing.
  func operationIDs(of listing: QueueListing, _ counts: [OperationState: Int], offset: Int, limit: Int, now: Int64)
    throws -> [Int64]
  {
    let query = ListQuery(listing.filter, now: now)
    let selection = try selection(query)
    var (ids, skipped) = ([Int64](), offset)
    for states in Self.parts(of: listing, counts) {
      let count = states.reduce(0) { $0 + (counts[$1] ?? 0) }
      let taken = min(limit - ids.count, count - skipped)
      if taken > 0 {
        ids += try NearerEnd(offset: skipped, limit: taken, of: count).read { isReversed, limit, offset in
          let isDescending = listing.isDescending != isReversed
          let (sql, arguments) = Self.matching(selection, in: states, isDescending: isDescending)
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
    return try parts(of: listing, now: now).flatMap { states in
      let (sql, arguments) = Self.matching(selection, in: states, isDescending: listing.isDescending)
      return try Int64.fetchAll(list(sql, isUsual: false), arguments: arguments)
    }
  }

  /// The parts of a listing, without states in which nothing matches as far as triggers count it.
  func parts(of listing: QueueListing, now: Int64) throws -> [[OperationState]] {
    let filter = ListQuery(listing.filter, now: now).filter
    guard !listing.filter.isSearch, filter?.isCounted ?? true else { return listing.parts }
    return Self.parts(of: listing, try counts(of: listing, now: now))
  }

  private static func parts(of listing: QueueListing, _ counts: [OperationState: Int]) -> [[OperationState]] {
    listing.parts.map { $0.filter { counts[$0] ?? 0 > 0 } }.filter { !$0.isEmpty }
  }

  /// Reads the operations in states that match, in the order of their numbers.
  private static func matching(
    _ selection: Selection,
    _ columns: String = "id",
    in states: [OperationState],
    after id: Int64? = nil,
    isDescending: Bool
  ) -> (String, StatementArguments) {
    let names = states.map { "'\($0.rawValue)'" }
    // The index of a filter is in the order of the numbers, too. Of each state by itself it would be read to its end.
    let parts =
      selection.hasFinder && states.count > 1
      ? ["+state IN (\(names.joined(separator: ", ")))"] : names.map { "\(selection.column("state")) = \($0)" }
    let (sql, arguments) = selection.condition
    return merge(columns, parts.map { "\(sql ?? "1") AND \($0)" }, arguments, after: id, isDescending)
  }

  /// Reads operations in the order of their numbers: a merge of ranges of an index, without sorting.
  ///
  /// - Parameter arguments: those of `columns` or of each condition.
  private static func merge(
    _ columns: String,
    _ conditions: [String],
    _ arguments: StatementArguments,
    after id: Int64?,
    _ isDescending: Bool
  ) -> (String, StatementArguments) {
    let (order, first) = isDescending ? ("<", Int64.max) : (">", Int64.min)
    let parts = conditions.map { "SELECT \(columns) FROM operations WHERE \($0) AND id \(order) ?" }
    let all = conditions.reduce(into: StatementArguments()) { all, _ in all += arguments + [id ?? first] }
    return (parts.joined(separator: " UNION ALL ") + " ORDER BY id" + (isDescending ? " DESC" : ""), all)
  }

  /// Operations that match, from a part of a listing.
  struct QueueSlice {
    var rows: [(id: Int64, state: OperationState?, zone: ZoneKey)]
    /// The operation after which the next slice begins; nil if the part has no others.
    var last: Int64?
    /// The number of operations that were read, at most.
    var read: Int
  }

  /// The next operations of a part of a listing that match. Only those that match are read if an index finds them.
  ///
  /// - Parameters:
  ///   - states: those of the part.
  ///   - selection: the condition of the listing's filter.
  ///   - id: only operations after this one, in the order of the listing.
  ///   - limit: the maximum number of matches.
  ///   - count: the maximum number of operations to read for them.
  func slice(
    _ states: [OperationState],
    of listing: QueueListing,
    _ selection: Selection,
    after id: Int64?,
    limit: Int,
    reading count: Int
  ) throws -> QueueSlice {
    let (columns, isDescending) = ("id, state, zone, owner", listing.isDescending)
    let (sql, arguments): (String, StatementArguments)
    var end: Int64?
    if selection.isChosen || !listing.filter.isSearch {
      (sql, arguments) = Self.matching(selection, columns, in: states, after: id, isDescending: isDescending)
    } else {
      // The table is in the order of the numbers. Reading all of it costs less than finding each row by its state.
      let all = states.count == OperationState.allCases.count
      let conditions = all ? ["1"] : states.map { "state = '\($0.rawValue)'" }
      let (places, first) = Self.merge("id", conditions, [], after: id, isDescending)
      end = try Int64.fetchOne(
        database.cachedStatement(sql: "\(places) LIMIT 1 OFFSET ?"),
        arguments: first + [count - 1]
      )
      (sql, arguments) = Self.merge(
        columns,
        conditions.map { "\(selection.condition.sql ?? "1") AND \($0) AND id \(isDescending ? ">=" : "<=") ?" },
        selection.condition.arguments + [end ?? (isDescending ? .min : .max)],
        after: id,
        isDescending
      )
    }
    let rows = try Row.fetchAll(database.cachedStatement(sql: "\(sql) LIMIT ?"), arguments: arguments + [limit])
      .map { (id: $0[0] as Int64, state: OperationState(rawValue: $0[1]), zone: ZoneKey(zone: $0[2], owner: $0[3])) }
    let isFull = rows.count == limit
    return QueueSlice(rows: rows, last: isFull ? rows.last?.id : end, read: end == nil ? rows.count : count)
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
