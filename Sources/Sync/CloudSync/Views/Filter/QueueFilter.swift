/// The rows of a list that `--where` selects: operations of the queue, or events.
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

  /// The columns that the filter uses.
  var columns: Set<FilterColumn> { expression.columns }

  /// The fields of records that the filter names, in lower case.
  var fields: Set<String> {
    Set(columns.filter { $0.kind == .field && !FilterColumn.records.contains($0) }.map(\.field))
  }

  /// The condition on the table `operations`, in parentheses, with every value bound.
  ///
  /// `now` is in milliseconds since 1970: ages become points in time, so that the index on `enqueuedAt` can be used.
  ///
  /// - Parameter finder: the one of `finders` whose index finds the rows; nil: SQLite chooses.
  func sql(now: Int64, finder: QueueFilter? = nil) -> (sql: String, arguments: [FilterValue]) {
    var writer = SQLWriter(now: now, finder: finder?.expression)
    let sql = writer.sql(expression)
    return ("(\(sql))", writer.arguments)
  }

  /// The parts by each of which an index finds all rows that match.
  var finders: [QueueFilter] { expression.finders.map { QueueFilter($0) } }

  /// Whether indexes find the rows that match, or the counts that triggers keep.
  var isIndexed: Bool { expression.isIndexed }
}

/// Writes an expression as SQL, with the values to bind.
private struct SQLWriter {
  let now: Int64
  let finder: FilterExpression?
  var arguments: [FilterValue] = []

  mutating func sql(_ expression: FilterExpression) -> String {
    if let condition = ChangeCondition(expression) {
      arguments += condition.arguments.map(FilterValue.text)
      return condition.sql
    }
    // With a unary plus, SQLite uses no index for a column.
    func name(_ column: FilterColumn) -> String {
      finder == nil || finder == expression ? column.sql : "+\(column.sql)"
    }
    switch expression {
    case .all(let parts): return joined(parts, " AND ")
    case .any(let parts): return joined(parts, " OR ")
    case .not(let inner): return "NOT (\(sql(inner)))"
    case .isNull(let column): return "\(name(column)) IS NULL"
    case .like(let column, let pattern):
      arguments.append(.text(pattern))
      return finder == expression ? Self.sql(ofNamesLike: "?") : "\(name(column)) LIKE ?"
    case .compare(let column, let comparison, let value):
      bind(value, column)
      let comparison = column.kind == .age ? comparison.mirrored : comparison
      return "\(name(column)) \(comparison.rawValue) ?"
    case .among(let column, let values):
      for value in values { bind(value, column) }
      return "\(name(column)) IN (\(values.map { _ in "?" }.joined(separator: ", ")))"
    }
  }

  /// The condition on rows whose names are found by reading the index of names. Only the first `Ledger.few` are found.
  private static func sql(ofNamesLike pattern: String) -> String {
    """
    id IN (SELECT id FROM operations INDEXED BY operationsByRecord \
    WHERE name IS NOT NULL AND name LIKE \(pattern) LIMIT \(Ledger.few + 1))
    """
  }

  private mutating func joined(_ parts: [FilterExpression], _ separator: String) -> String {
    var pieces: [String] = []
    for part in parts { pieces.append("(\(sql(part)))") }
    return pieces.joined(separator: separator)
  }

  private mutating func bind(_ value: FilterValue, _ column: FilterColumn) {
    if case .integer(let age) = value, column.kind == .age {
      arguments.append(.integer(now.minus(age)))
    } else {
      arguments.append(value)
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
