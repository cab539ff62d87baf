import Facts
import GRDB

/// A list that filter expressions choose from, with the columns that they may name.
package enum FilterTable: Hashable, Sendable {
  /// The changes in the queue, by their own values and by the fields that they set: `fields.NAME`.
  case queue
  case events
  /// Records, by their own values and by any field.
  ///
  /// Values need no quotes: `title = Buy` is the same as `title = 'Buy'`. Texts are equal in any letter case, and a
  /// list if one of its elements is. A record without a field is not equal to any value of it: it matches `!=` and
  /// `not`.
  case records

  private var columns: [FilterColumn] {
    switch self {
    case .queue: FilterColumn.queue
    case .events: FilterColumn.events
    case .records: FilterColumn.records
    }
  }

  var columnNames: String {
    let others =
      switch self {
      case .records: " and every field"
      case .queue: " and fields.NAME"
      case .events: ""
      }
    return columns.map(\.name).joined(separator: ", ") + others
  }

  /// The field that a name means: `fields.name` is the field `name`, where `name` is that of the record.
  package static func field(_ name: String) -> String { name.hasPrefix("fields.") ? String(name.dropFirst(7)) : name }

  /// An expression that error messages show.
  var example: String {
    switch self {
    case .queue: "state = 'failed'"
    case .events: "kind = 'error'"
    case .records: "title = 'Buy milk'"
    }
  }

  /// Returns the column with a name in any letter case; nil if there is none.
  func column(_ name: String) -> FilterColumn? {
    if let column = columns.first(where: { $0.name == name.lowercased() }) { return column }
    switch self {
    case .records: return FilterColumn(field: name)
    // Only with the prefix: a mistyped column must not be taken for a field.
    case .queue: return name.lowercased().hasPrefix("fields.") ? FilterColumn(field: name) : nil
    case .events: return nil
    }
  }
}

/// A column that a filter expression may name, as the command line writes it.
struct FilterColumn: Hashable, Sendable {
  /// The type of values a column is compared with.
  enum Kind: Hashable {
    case text
    /// A text from a fixed list: any other text is a typing error that would match nothing, or with `!=` everything.
    case oneOf([String])
    case integer
    /// Milliseconds since the row was made.
    case age
    /// A time of a record, or a field of any type.
    case date, field
  }

  let name: String
  let kind: Kind
  /// The column of the table, or an expression over its columns. Not quoted: SQLite reads an unknown quoted name as a
  /// text.
  let sql: String

  private init(_ name: String, _ kind: Kind, sql: String? = nil) {
    (self.name, self.kind, self.sql) = (name, kind, sql ?? name)
  }

  static let state = FilterColumn("state", .oneOf(["pending", "inFlight", "waiting", "failed", "paused", "conflict"]))
  static let type = FilterColumn("type", .text)
  static let zone = FilterColumn("zone", .text)
  static let operation = FilterColumn("operation", .oneOf(["save", "delete", "zoneSave", "zoneDelete"]))

  static let name = FilterColumn("name", .text)
  static let error = FilterColumn("error", .text, sql: "errorCode")

  /// A value as lists show it.
  func listed(_ value: String) -> String {
    switch self {
    case .state: Words.state(value)
    case .operation: Words.operation(value)
    default: value
    }
  }

  /// Whether an index of the table `operations` finds the rows with one value.
  var hasIndex: Bool { [.state, .type, .zone, .operation, .name, .error].contains(self) }

  static let queue = [
    state, type, zone,
    // Of the user's own zones it is null, as in the output.
    FilterColumn("owner", .text, sql: "nullif(owner, '')"), name, operation, error, FilterColumn("attempts", .integer),
    FilterColumn("age", .age, sql: "enqueuedAt"),
    FilterColumn("message", .text, sql: "errorMessage"),
    // An encrypted value must not be found out by a filter.
    FilterColumn(
      "payload",
      .text,
      sql: "CASE WHEN changes LIKE '%encrypted%' THEN readableChange(changes) ELSE changes END"
    ),
  ]

  static let records =
    ["name", "type", "zone", "by"].map { FilterColumn($0, .field) }
    + ["changed", "created"].map { FilterColumn($0, .date) }

  /// A field of records, with or without `fields.` before its name; nil if no field has such a name.
  init?(field name: String) {
    let field = FilterTable.field(name.lowercased())
    guard field.utf8.count <= 255, field.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" }),
      field.first?.isNumber == false
    else {
      return nil
    }
    self.init(name.lowercased(), .field)
  }

  /// The field that it means.
  var field: String { FilterTable.field(name) }

  static let events = [
    FilterColumn("kind", .oneOf(Event.kinds)), zone, FilterColumn("operation", .integer),
    FilterColumn("by", .text, sql: "actor"), FilterColumn("age", .age, sql: "at"),
    FilterColumn("text", .text, sql: "eventWords(kind, message)"),
  ]
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
enum FilterValue: Hashable, Sendable, DatabaseValueConvertible {
  case text(String)
  case integer(Int64)

  var text: String {
    switch self {
    case .text(let text): text
    case .integer(let number): String(number)
    }
  }

  var databaseValue: DatabaseValue {
    switch self {
    case .text(let text): text.databaseValue
    case .integer(let number): number.databaseValue
    }
  }

  static func fromDatabaseValue(_ value: DatabaseValue) -> FilterValue? {
    Int64.fromDatabaseValue(value).map(Self.integer) ?? String.fromDatabaseValue(value).map(Self.text)
  }
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

  /// Whether indexes on single values find the rows that match. Names are nearly unique.
  var isIndexed: Bool {
    switch self {
    case .compare(let column, .equal, _), .among(let column, _): column.hasIndex
    case .all(let parts): parts.allSatisfy(\.isIndexed) || parts.contains { $0.columns == [.name] && $0.isIndexed }
    case .any(let parts): parts.allSatisfy(\.isIndexed)
    case .compare, .not, .like, .isNull: false
    }
  }

  /// The conditions by each of which an index finds all rows that match, and perhaps others. The index of names is read
  /// as a whole for a part of one, which costs much less than reading the rows.
  var finders: [FilterExpression] {
    switch self {
    case .compare(let column, .equal, _), .among(let column, _): column.hasIndex ? [self] : []
    case .like(let column, _): column == .name ? [self] : []
    case .all(let parts): parts.flatMap(\.finders)
    case .any, .compare, .not, .isNull: []
    }
  }
}
