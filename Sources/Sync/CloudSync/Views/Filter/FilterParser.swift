import Facts

/// Parses a filter expression: `or` of `and` of `not` of comparisons, as in SQL.
struct FilterParser {
  /// Limits that keep the SQL within SQLite's own: a parser stack of 100 symbols (a level takes up to six), expression
  /// depth 1000, 32766 parameters, patterns of 50000 bytes.
  enum Limit {
    static let depth = 12
    static let comparisons = 400
    static let values = 10_000
    static let patternBytes = 10_000
  }

  private let table: FilterTable
  private let tokens: [FilterToken]
  private var index = 0
  private var depth = 0
  private var comparisons = 0
  private var values = 0

  init(_ expression: String, _ table: FilterTable) throws(FilterError) {
    self.table = table
    var lexer = FilterLexer(expression, table)
    tokens = try lexer.tokens()
  }

  mutating func parse() throws(FilterError) -> FilterExpression {
    guard token.kind != .end else { throw error("the expression is empty; write for example \(table.example)") }
    let result = try disjunction()
    switch token.kind {
    case .end: return result
    case .close: throw error("this ) closes nothing")
    default: throw error("expected 'and', 'or' or the end of the expression")
    }
  }

  private mutating func disjunction() throws(FilterError) -> FilterExpression {
    var parts = [try conjunction()]
    while accept("or") { parts.append(try conjunction()) }
    return parts.count == 1 ? parts[0] : .any(parts)
  }

  private mutating func conjunction() throws(FilterError) -> FilterExpression {
    var parts = [try negation()]
    while accept("and") { parts.append(try negation()) }
    return parts.count == 1 ? parts[0] : .all(parts)
  }

  private mutating func negation() throws(FilterError) -> FilterExpression {
    depth += 1
    defer { depth -= 1 }
    guard depth <= Limit.depth else { throw error("the expression is nested more than \(Limit.depth) deep") }
    if accept("not") { return .not(try negation()) }
    guard token.kind == .open else { return try predicate() }
    let opening = token
    index += 1
    let inner = try disjunction()
    if token.kind == .end { throw error("this ( is never closed", at: opening) }
    guard accept(.close) else { throw error("expected 'and', 'or' or )") }
    return inner
  }

  private mutating func predicate() throws(FilterError) -> FilterExpression {
    comparisons += 1
    guard comparisons <= Limit.comparisons else {
      throw error("more than \(Limit.comparisons) comparisons; use 'in' with a list")
    }
    let column = try self.column()
    if accept("is") {
      let negated = accept("not")
      guard accept("null") else { throw error(negated ? "expected null" : "expected null or not null") }
      return negated ? .not(.isNull(column)) : .isNull(column)
    }
    let negated = accept("not")
    if accept("in") {
      let among = FilterExpression.among(column, try list(for: column))
      return negated ? .not(among) : among
    }
    if token.isWord("like") {
      let like = FilterExpression.like(column, pattern: try pattern(for: column))
      return negated ? .not(like) : like
    }
    guard !negated else { throw error("expected 'in' or 'like' after 'not'") }
    guard case .comparison(let comparison) = token.kind else {
      throw error("expected one of = != < <= > >= like in is after \(column.name)")
    }
    index += 1
    return .compare(column, comparison, try value(for: column))
  }

  private mutating func column() throws(FilterError) -> FilterColumn {
    switch token.kind {
    case .word(let word):
      if FilterToken.keywords.contains(word.lowercased()) {
        throw error("expected a column before '\(word)': \(table.columnNames)")
      }
      if let column = table.column(word) {
        index += 1
        return column
      }
      throw error("there is no column '\(word.excerpt)'; the columns are \(table.columnNames)")
    case .end: throw error("the expression ends where a column is expected: \(table.columnNames)")
    default: throw error("expected a column here: \(table.columnNames)")
    }
  }

  private mutating func list(for column: FilterColumn) throws(FilterError) -> [FilterValue] {
    guard accept(.open) else { throw error("expected ( and a list after 'in'") }
    var list: [FilterValue] = []
    repeat { list.append(try value(for: column)) } while accept(.comma)
    guard accept(.close) else { throw error("expected , or ) in the list") }
    return list
  }

  private mutating func pattern(for column: FilterColumn) throws(FilterError) -> String {
    switch column.kind {
    case .text, .oneOf, .field: index += 1
    case .integer, .age: throw error("like compares text, and \(column.name) is a number; use = != < <= > >=")
    case .date: throw error("like compares text, and \(column.name) is a date; use = != < <= > >=")
    }
    let pattern: String
    switch token.kind {
    case .text(let text): pattern = text
    // `I like milk` is words.
    case .word(let word) where table == .records && word.contains(where: { "%_".contains($0) }): pattern = word
    default: throw error("like takes a text in single quotes: \(column.name) like '%quota%'")
    }
    if pattern.contains("*"), !pattern.contains(where: { "%_".contains($0) }) {
      throw error(
        "in a pattern % stands for any text: \(column.name) like '\(pattern.replacing("*", with: "%").excerpt)'"
      )
    }
    guard pattern.utf8.count <= Limit.patternBytes else {
      throw error("a pattern is at most \(Limit.patternBytes) bytes long")
    }
    index += 1
    return pattern
  }

  private mutating func value(for column: FilterColumn) throws(FilterError) -> FilterValue {
    values += 1
    guard values <= Limit.values else { throw error("more than \(Limit.values) values in one expression") }
    let value = try checked(token.kind, for: column)
    index += 1
    return value
  }

  private func checked(_ kind: FilterToken.Kind, for column: FilterColumn) throws(FilterError) -> FilterValue {
    switch (column.kind, kind) {
    case (.text, .text(let text)): return .text(text)
    case (.oneOf(let known), .text(let text)):
      // Lists show other words for some states and operations.
      let text = known.first { column.listed($0) == text } ?? text
      guard known.contains(text) else {
        throw error("there is no \(column.name) '\(text.excerpt)'; known are \(known.joined(separator: ", "))")
      }
      return .text(text)
    case (.field, .text(let text)): return .text(text)
    case (.field, .integer(let number)): return .text(String(number))
    case (.field, .word(let word)) where word.lowercased() != "null": return .text(word)
    case (.date, .text(let text)), (.date, .word(let text)):
      guard RFC3339.times(ofShort: text) != nil else {
        throw error("\(column.name) compares with a date: 2026-11-25 or 2026-11-25T14:30")
      }
      return .text(text)
    case (.integer, .integer(let number)): return .integer(number)
    case (.age, .age(let milliseconds)): return .integer(milliseconds)
    case (_, .word(let word)) where word.lowercased() == "null":
      throw error("nothing compares with null; write \(column.name) is null or \(column.name) is not null")
    case (_, .end): throw error("the expression ends where \(column.expectation) is expected")
    case (.age, .integer): throw error("an age needs a unit: 90s, 5m, 1h, 2d")
    case (.text, .word(let word)), (.oneOf, .word(let word)):
      throw error("text goes in single quotes: '\(word.excerpt)'")
    default: throw error("\(column.name) compares with \(column.expectation)")
    }
  }

  private var token: FilterToken { tokens[index] }

  private mutating func accept(_ keyword: String) -> Bool {
    guard token.isWord(keyword) else { return false }
    index += 1
    return true
  }

  private mutating func accept(_ kind: FilterToken.Kind) -> Bool {
    guard token.kind == kind else { return false }
    index += 1
    return true
  }

  private func error(_ message: String, at place: FilterToken? = nil) -> FilterError {
    FilterError(message: message, column: (place ?? token).column)
  }
}

extension FilterToken {
  fileprivate static let keywords: Set<String> = ["and", "or", "not", "in", "is", "null", "like"]

  fileprivate func isWord(_ keyword: String) -> Bool {
    guard case .word(let word) = kind else { return false }
    return word.lowercased() == keyword
  }
}

extension FilterColumn {
  fileprivate var expectation: String {
    switch kind {
    case .text, .oneOf: "a text in single quotes"
    case .integer: "a whole number"
    case .age: "an age such as 90s, 5m, 1h, 2d"
    case .field: "a value"
    case .date: "a date such as 2026-11-25"
    }
  }
}
