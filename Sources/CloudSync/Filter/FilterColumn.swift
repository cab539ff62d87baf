/// A column that a filter expression may name, spelled as the command line spells it.
enum FilterColumn: String, CaseIterable, Hashable, Sendable {
  case state, type, zone, name, operation, error, attempts, age, message, payload

  /// What a column is compared with.
  enum Kind: Hashable {
    case text
    /// A text out of a closed list: anything else is a slip of the pen that would match nothing, or with `!=` all.
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

  /// The column of the table `operations`. Not quoted: SQLite reads an unknown quoted name as a text.
  var sql: String {
    switch self {
    case .error: "errorCode"
    case .message: "errorMessage"
    case .age: "enqueuedAt"
    case .payload: "changes"
    case .state, .type, .zone, .name, .operation, .attempts: rawValue
    }
  }

  /// Whether `operationTexts` holds the column's trigrams.
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

  /// The comparison that holds with both sides negated: an age is above an hour where its start is below a point in time.
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

/// A filter expression, checked: every value fits its column.
indirect enum FilterExpression: Hashable, Sendable {
  /// Flat on purpose: a long chain must not nest as deep as it is long, neither here nor in SQLite.
  case all([FilterExpression])
  case any([FilterExpression])
  case not(FilterExpression)
  case compare(FilterColumn, FilterComparison, FilterValue)
  case among(FilterColumn, [FilterValue])
  case like(FilterColumn, pattern: String)
  case isNull(FilterColumn)

  /// The columns that it looks at.
  var columns: Set<FilterColumn> {
    switch self {
    case .all(let parts), .any(let parts): parts.reduce(into: []) { $0.formUnion($1.columns) }
    case .not(let inner): inner.columns
    case .compare(let column, _, _), .among(let column, _), .like(let column, _), .isNull(let column): [column]
    }
  }
}
