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
  /// Patterns use the trigrams of `operationTexts` if possible.
  ///
  /// - Parameters:
  ///   - usesIndexes: whether the condition may find rows by itself, and not only be checked for rows at hand.
  ///   - finder: the one of `finders` whose index finds the rows; nil: SQLite chooses.
  func sql(now: Int64, usesIndexes: Bool = true, finder: QueueFilter? = nil) -> (sql: String, arguments: [FilterValue])
  {
    // Where a row is at hand, its own texts are cheaper than the trigrams of all.
    let isAtHand = !usesIndexes || finder != nil
    var writer = SQLWriter(now: now, finder: finder?.expression)
    let sql = writer.sql(expression, isNegated: isAtHand)
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

  /// - Parameter isNegated: whether unknown and false differ here, as within `NOT`; a search has no unknown.
  mutating func sql(_ expression: FilterExpression, isNegated: Bool) -> String {
    // With a unary plus, SQLite uses no index for a column.
    func name(_ column: FilterColumn) -> String {
      finder == nil || finder == expression ? column.sql : "+\(column.sql)"
    }
    switch expression {
    case .all(let parts): return joined(parts, " AND ", isNegated: isNegated)
    case .any(let parts): return joined(parts, " OR ", isNegated: isNegated)
    case .not(let inner): return "NOT (\(sql(inner, isNegated: true)))"
    case .isNull(let column): return "\(name(column)) IS NULL"
    case .like(let column, let pattern):
      arguments.append(.text(pattern))
      let condition = "\(name(column)) LIKE ?"
      guard !isNegated, column.hasTrigrams, Self.hasTrigram(pattern) else { return condition }
      return "id IN (SELECT rowid FROM operationTexts WHERE \(condition))"
    case .compare(let column, let comparison, let value):
      bind(value, column)
      let comparison = column.kind == .age ? comparison.mirrored : comparison
      return "\(name(column)) \(comparison.rawValue) ?"
    case .among(let column, let values):
      for value in values { bind(value, column) }
      return "\(name(column)) IN (\(values.map { _ in "?" }.joined(separator: ", ")))"
    }
  }

  private mutating func joined(_ parts: [FilterExpression], _ separator: String, isNegated: Bool) -> String {
    var pieces: [String] = []
    for part in parts { pieces.append("(\(sql(part, isNegated: isNegated)))") }
    return pieces.joined(separator: separator)
  }

  /// Whether a pattern has three letters in a row, so that the trigram index can be used.
  private static func hasTrigram(_ pattern: String) -> Bool {
    pattern.split { $0 == "%" || $0 == "_" }.contains { $0.unicodeScalars.count >= 3 }
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
