/// The columns of one operation that a filter looks at.
package struct FilterRow: Hashable, Sendable {
  package var state: String
  package var type: String?
  package var zone: String
  package var name: String?
  package var operation: String
  package var error: String?
  package var message: String?
  package var attempts: Int64
  /// Milliseconds since 1970.
  package var enqueuedAt: Int64
  /// What is to be sent, in the JSON that the store keeps.
  package var payload: String

  package init(
    state: String,
    type: String?,
    zone: String,
    name: String?,
    operation: String,
    error: String?,
    message: String?,
    attempts: Int64,
    enqueuedAt: Int64,
    payload: String
  ) {
    self.state = state
    self.type = type
    self.zone = zone
    self.name = name
    self.operation = operation
    self.error = error
    self.message = message
    self.attempts = attempts
    self.enqueuedAt = enqueuedAt
    self.payload = payload
  }
}

extension QueueFilter {
  /// Whether a row is meant, by the same rules as the SQL: what compares with null is unknown, and unknown is not meant.
  package func matches(_ row: FilterRow, now: Int64) -> Bool {
    Self.truth(expression, row, now) == true
  }

  /// SQL's three truths; nil is unknown.
  private static func truth(_ expression: FilterExpression, _ row: FilterRow, _ now: Int64) -> Bool? {
    switch expression {
    case .all(let parts):
      let truths = parts.map { truth($0, row, now) }
      return truths.contains(false) ? false : truths.contains(nil) ? nil : true
    case .any(let parts):
      let truths = parts.map { truth($0, row, now) }
      return truths.contains(true) ? true : truths.contains(nil) ? nil : false
    case .not(let inner): return truth(inner, row, now).map { !$0 }
    case .isNull(let column): return row.value(of: column) == nil
    case .like(let column, let pattern):
      guard case .text(let text) = row.value(of: column) else { return nil }
      return LikePattern(pattern).matches(text)
    case .compare(let column, let comparison, let value):
      guard let actual = row.value(of: column) else { return nil }
      let comparison = column == .age ? comparison.mirrored : comparison
      return comparison.holds(order(actual, value.resolved(for: column, now: now)))
    case .among(let column, let values):
      guard let actual = row.value(of: column) else { return nil }
      return values.contains { order(actual, $0.resolved(for: column, now: now)) == 0 }
    }
  }

  /// Below, equal or above 0, by bytes as SQLite compares: Swift's own order takes equivalent spellings as one.
  private static func order(_ left: FilterValue, _ right: FilterValue) -> Int {
    switch (left, right) {
    case (.integer(let left), .integer(let right)): return left < right ? -1 : left > right ? 1 : 0
    case (.text(let left), .text(let right)):
      if left.utf8.elementsEqual(right.utf8) { return 0 }
      return left.utf8.lexicographicallyPrecedes(right.utf8) ? -1 : 1
    case (.integer, .text): return -1
    case (.text, .integer): return 1
    }
  }
}

extension FilterRow {
  fileprivate func value(of column: FilterColumn) -> FilterValue? {
    switch column {
    case .state: .text(state)
    case .type: type.map(FilterValue.text)
    case .zone: .text(zone)
    case .name: name.map(FilterValue.text)
    case .operation: .text(operation)
    case .error: error.map(FilterValue.text)
    case .message: message.map(FilterValue.text)
    case .attempts: .integer(attempts)
    case .age: .integer(enqueuedAt)
    case .payload: .text(payload)
    }
  }
}

extension FilterValue {
  fileprivate func resolved(for column: FilterColumn, now: Int64) -> FilterValue {
    if column == .age, case .integer(let age) = self { return .integer(now.minus(age)) }
    return self
  }
}

extension FilterComparison {
  fileprivate func holds(_ order: Int) -> Bool {
    switch self {
    case .equal: order == 0
    case .notEqual: order != 0
    case .less: order < 0
    case .lessOrEqual: order <= 0
    case .greater: order > 0
    case .greaterOrEqual: order >= 0
    }
  }
}

/// SQLite's LIKE: `%` any run, `_` one Unicode scalar, letters of ASCII alike in both cases, no escape.
struct LikePattern {
  private let pattern: [Unicode.Scalar]

  init(_ pattern: String) { self.pattern = pattern.unicodeScalars.map(\.foldedInASCII) }

  /// Whether a pattern has three letters in a row, so that an index of trigrams serves; without, all would be read.
  static func hasTrigram(_ pattern: String) -> Bool {
    pattern.split { $0 == "%" || $0 == "_" }.contains { $0.unicodeScalars.count >= 3 }
  }

  /// Goes back only to the last `%`: time grows with text times pattern, whatever the pattern.
  func matches(_ text: String) -> Bool {
    // SQLite reads texts as C strings here: what follows a NUL does not count.
    let text = text.unicodeScalars.prefix { $0 != "\0" }.map(\.foldedInASCII)
    var (at, place) = (0, 0)
    var retry: (at: Int, place: Int)?
    while place < text.count {
      if at < pattern.count, pattern[at] == "%" {
        at += 1
        retry = (at, place)
      } else if at < pattern.count, pattern[at] == "_" || pattern[at] == text[place] {
        at += 1
        place += 1
      } else if let last = retry {
        retry = (last.at, last.place + 1)
        (at, place) = (last.at, last.place + 1)
      } else {
        return false
      }
    }
    return pattern[at...].allSatisfy { $0 == "%" }
  }
}

extension Unicode.Scalar {
  /// A small letter for a capital of ASCII; all else as it is.
  var foldedInASCII: Unicode.Scalar { ("A"..."Z").contains(self) ? Unicode.Scalar(UInt8(value) + 32) : self }
}
