/// The rows of a list that `--where` selects: operations of the queue, or events.
///
/// ```swift
/// let filter = try QueueFilter(parsing: "state = 'failed' and age > 1h and message like '%quota%'")
/// let (sql, arguments) = filter.sql(now: 1_767_225_600_000)
/// ```
package struct QueueFilter: Sendable, Hashable {
  let expression: FilterExpression

  private init(_ expression: FilterExpression) { self.expression = expression }

  /// Parses an expression; the error shows the position.
  ///
  /// - Parameter table: the list whose columns the expression names.
  package init(parsing text: String, of table: FilterTable = .queue) throws(FilterError) {
    var parser = try FilterParser(text, table)
    expression = try parser.parse()
  }

  /// A value to bind to a `?`.
  package enum Argument: Hashable, Sendable {
    case text(String)
    case integer(Int64)
  }

  /// The columns that the filter uses.
  var columns: Set<FilterColumn> { expression.columns }

  /// The condition on the table `operations`, in parentheses, with every value bound.
  ///
  /// `now` is in milliseconds since 1970: ages become points in time, so that the index on `enqueuedAt` can be used.
  /// Patterns use the trigrams of `operationTexts` if possible.
  ///
  /// - Parameters:
  ///   - usesIndexes: whether the condition may find rows by itself, and not only be checked for rows at hand.
  ///   - finder: the one of `finders` whose index finds the rows; nil: SQLite chooses.
  package func sql(now: Int64, usesIndexes: Bool = true, finder: QueueFilter? = nil) -> (
    sql: String, arguments: [Argument]
  ) {
    var arguments: [Argument] = []
    // Where a row is at hand, its own texts are cheaper than the trigrams of all.
    let isAtHand = !usesIndexes || finder != nil
    let sql = Self.sql(expression, now: now, isNegated: isAtHand, finder: finder?.expression, &arguments)
    return ("(\(sql))", arguments)
  }

  /// The parts by each of which an index finds all rows that match.
  var finders: [QueueFilter] { expression.finders.map { QueueFilter($0) } }

  /// Whether indexes find the rows that match, or the counts that triggers keep.
  var isIndexed: Bool { expression.isIndexed }

  /// - Parameter isNegated: whether unknown and false differ here, as within `NOT`; a search has no unknown.
  private static func sql(
    _ expression: FilterExpression,
    now: Int64,
    isNegated: Bool,
    finder: FilterExpression?,
    _ arguments: inout [Argument]
  ) -> String {
    // With a unary plus, SQLite uses no index for a column.
    func name(_ column: FilterColumn) -> String {
      finder == nil || finder == expression ? column.sql : "+\(column.sql)"
    }
    switch expression {
    case .all(let parts): return joined(parts, " AND ", now: now, isNegated, finder, &arguments)
    case .any(let parts): return joined(parts, " OR ", now: now, isNegated, finder, &arguments)
    case .not(let inner): return "NOT (\(sql(inner, now: now, isNegated: true, finder: finder, &arguments)))"
    case .isNull(let column): return "\(name(column)) IS NULL"
    case .like(let column, let pattern):
      arguments.append(.text(pattern))
      let condition = "\(name(column)) LIKE ?"
      guard !isNegated, column.hasTrigrams, hasTrigram(pattern) else { return condition }
      return "id IN (SELECT rowid FROM operationTexts WHERE \(condition))"
    case .compare(let column, let comparison, let value):
      arguments.append(argument(column, value, now: now))
      let comparison = column.kind == .age ? comparison.mirrored : comparison
      return "\(name(column)) \(comparison.rawValue) ?"
    case .among(let column, let values):
      for value in values { arguments.append(argument(column, value, now: now)) }
      return "\(name(column)) IN (\(values.map { _ in "?" }.joined(separator: ", ")))"
    }
  }

  /// Whether a pattern has three letters in a row, so that the trigram index can be used.
  private static func hasTrigram(_ pattern: String) -> Bool {
    pattern.split { $0 == "%" || $0 == "_" }.contains { $0.unicodeScalars.count >= 3 }
  }

  private static func joined(
    _ parts: [FilterExpression],
    _ separator: String,
    now: Int64,
    _ isNegated: Bool,
    _ finder: FilterExpression?,
    _ arguments: inout [Argument]
  ) -> String {
    var pieces: [String] = []
    for part in parts {
      pieces.append("(\(sql(part, now: now, isNegated: isNegated, finder: finder, &arguments)))")
    }
    return pieces.joined(separator: separator)
  }

  private static func argument(_ column: FilterColumn, _ value: FilterValue, now: Int64) -> Argument {
    switch value {
    case .text(let text): .text(text)
    case .integer(let age) where column.kind == .age: .integer(now.minus(age))
    case .integer(let number): .integer(number)
    }
  }
}

extension Int64 {
  /// The difference, clamped to the range.
  func minus(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other > 0 ? .min : .max) : difference
  }
}
