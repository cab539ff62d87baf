/// A column of a filter expression, named as on the command line.
enum FilterColumn: String, CaseIterable, Hashable, Sendable {
  case state, type, zone, name, operation, error, attempts, age, message, payload

  /// The type of values a column is compared with.
  enum Kind: Hashable {
    case text
    /// A text from a fixed list: any other text is a typing error that would match nothing, or with `!=` everything.
    case oneOf([String])
    case integer
    /// Milliseconds since the operation was enqueued.
    case age
  }

  var kind: Kind {
    switch self {
    case .state: .oneOf(["pending", "inFlight", "waiting", "failed", "paused", "conflict"])
    case .operation: .oneOf(["save", "delete", "zoneSave", "zoneDelete"])
    case .type, .zone, .name, .error, .message, .payload: .text
    case .attempts: .integer
    case .age: .age
    }
  }

  /// The column of the table `operations`. Not quoted, because SQLite reads an unknown quoted name as a text.
  var sql: String {
    switch self {
    case .error: "errorCode"
    case .message: "errorMessage"
    case .age: "enqueuedAt"
    case .payload: "changes"
    case .state, .type, .zone, .name, .operation, .attempts: rawValue
    }
  }

  /// Whether `operationTexts` indexes the column's trigrams.
  var hasTrigrams: Bool { self == .name || self == .message }

  static var list: String { allCases.map(\.rawValue).joined(separator: ", ") }
}

/// A comparison of a column with one value.
enum FilterComparison: String, Hashable, Sendable, CaseIterable {
  case equal = "="
  case notEqual = "!="
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="

  /// The comparison with both sides negated: an age is above an hour if its start is before a point in time.
  var mirrored: FilterComparison {
    switch self {
    case .equal, .notEqual: self
    case .less: .greater
    case .lessOrEqual: .greaterOrEqual
    case .greater: .less
    case .greaterOrEqual: .lessOrEqual
    }
  }
}

/// A value in a filter expression; an age is an integer of milliseconds.
enum FilterValue: Hashable, Sendable {
  case text(String)
  case integer(Int64)
}

/// A checked filter expression: every value fits its column.
indirect enum FilterExpression: Hashable, Sendable {
  /// Flat, because a long chain of nested nodes would exceed the depth limits of the stack and of SQLite.
  case all([FilterExpression])
  case any([FilterExpression])
  case not(FilterExpression)
  case compare(FilterColumn, FilterComparison, FilterValue)
  case among(FilterColumn, [FilterValue])
  case like(FilterColumn, pattern: String)
  case isNull(FilterColumn)

  /// The columns that it uses.
  var columns: Set<FilterColumn> {
    switch self {
    case .all(let parts), .any(let parts): parts.reduce(into: []) { $0.formUnion($1.columns) }
    case .not(let inner): inner.columns
    case .compare(let column, _, _), .among(let column, _), .like(let column, _), .isNull(let column): [column]
    }
  }
}
