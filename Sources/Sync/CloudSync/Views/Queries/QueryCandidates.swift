import CloudKit
import GRDB

/// A condition on rows that is true for every row that a predicate may match, and for some others.
///
/// SQL decides most rows without decoding them. Those that it leaves are evaluated by the predicate itself, so that
/// there is one meaning of a predicate.
struct RowCondition {
  var sql: String
  var arguments: StatementArguments = []

  /// The condition that all of these hold; nil if there are none.
  static func all(_ conditions: [RowCondition]) -> RowCondition? { joined(conditions, " AND ") }

  /// The condition that at least one of these holds; nil if there are none.
  static func any(_ conditions: [RowCondition]) -> RowCondition? { joined(conditions, " OR ") }

  private static func joined(_ conditions: [RowCondition], _ word: String) -> RowCondition? {
    guard !conditions.isEmpty else { return nil }
    return RowCondition(
      sql: "(" + conditions.map(\.sql).joined(separator: word) + ")",
      arguments: conditions.reduce(into: []) { $0 += $1.arguments }
    )
  }
}

/// The columns of a row that hold the values of a record.
struct ValueColumns {
  /// Columns with fields as JSON, and the path to the fields. A field has its value from one of them.
  var fields: [(column: String, path: String)]
  /// The column of the record name.
  var name: String

  /// A row of the mirror.
  static let mirror = ValueColumns(fields: [("r.fields", "$")], name: "r.name")
  /// An operation with its row of the mirror, if there is one.
  static let operation = ValueColumns(fields: [("r.fields", "$"), ("o.changes", "$.values")], name: "o.name")

  /// The column of a system field; nil for one that is not in a column of its own.
  fileprivate func system(_ name: String) -> String? {
    switch name {
    case "recordName": self.name
    case "createdTimestamp": "r.createdAt"
    case "modifiedTimestamp": "r.modifiedAt"
    case "createdUserRecordName": "r.createdBy"
    case "modifiedUserRecordName": "r.modifiedBy"
    case "share": "r.share"
    default: nil
    }
  }
}

extension PredicateNode {
  /// SQLite nests at most a thousand operators. Every value of an `IN` takes one or two.
  private static let mostArguments = 500

  /// The condition of the rows to evaluate; nil if all must be. The predicate is a simplified one.
  func candidates(in columns: ValueColumns) -> RowCondition? {
    guard let condition = condition(in: columns),
      condition.sql.utf8.count(where: { $0 == UInt8(ascii: "?") }) <= Self.mostArguments
    else { return nil }
    return condition
  }

  private func condition(in columns: ValueColumns) -> RowCondition? {
    switch self {
    case .constant(false): return RowCondition(sql: "0")
    case .constant(true), .not, .unusable: return nil
    case .and(let parts): return .all(parts.compactMap { $0.candidates(in: columns) })
    case .or(let parts):
      let conditions = parts.compactMap { $0.candidates(in: columns) }
      return conditions.count == parts.count ? .any(conditions) : nil
    case .comparison(let comparison): return comparison.candidates(in: columns)
    }
  }
}

extension PredicateComparison {
  fileprivate func candidates(in columns: ValueColumns) -> RowCondition? {
    guard case .field(let field) = left, !options.loosens else { return nil }
    if let bounds { return .all(bounds.compactMap { $0.candidates(in: columns) }) }
    guard let test = RowTest(self) else { return nil }
    return Self.candidates(of: field, test, in: columns)
  }

  /// The rows in which a field may pass a test.
  static func candidates(of field: String, _ test: RowTest, in columns: ValueColumns) -> RowCondition? {
    if case .system(let name) = WireFieldName(framework: field) {
      return columns.system(name).flatMap { test.condition(onColumn: $0) }
    }
    return .any(columns.fields.map { test.condition(on: $0.column, at: "\($0.path).\"\(field)\".value") })
  }
}

extension PredicateComparison {
  /// Returns the expression by which SQL sorts rows of the mirror as a query does by a field; nil if there is none.
  ///
  /// - Parameter type: the wire type of the field; nil if it is unknown.
  static func sortKey(of field: String, type: String?) -> String? {
    if case .system(let name) = WireFieldName(framework: field) { return ValueColumns.mirror.system(name) }
    let path = "$.\"\(field)\".value\(type == "REFERENCE" ? ".recordName" : "")"
    // JSON that cannot be read is at the end that has no values.
    return "CASE WHEN json_valid(r.fields) THEN json_extract(r.fields, '\(path)') END"
  }
}

/// A test of one value in SQL.
enum RowTest {
  /// The value is one of these, or a list.
  case isAny([FieldValue])
  case atLeast(FieldValue)
  case atMost(FieldValue)
  case isMissing
  /// The row's JSON contains one of these texts, or all of them.
  case holdsAny([String])
  case holdsAll([String])

  /// Nil for a comparison that SQL cannot decide.
  fileprivate init?(_ comparison: PredicateComparison) {
    let values: [FieldValue]
    switch comparison.right {
    case .value(.list(_, let elements)): values = elements
    case .value(let value): values = [value]
    case .null where comparison.comparator == .notEqual:
      guard case .field(let name) = comparison.left, case .field = WireFieldName(framework: name) else { return nil }
      self = .holdsAny(["\"\(name)\""])
      return
    case .field, .record, .null, .now, .distance: return nil
    }
    let isList = if case .value(.list) = comparison.right { true } else { false }
    switch (comparison.quantifier, comparison.comparator) {
    case (nil, .equal) where !isList, (nil, .in) where isList:
      guard values.allSatisfy({ $0.isScalarForRows }) else { return nil }
      self = .isAny(values)
    case (nil, .less) where !isList, (nil, .lessOrEqual) where !isList:
      guard values[0].isOrderedForRows else { return nil }
      self = .atMost(values[0])
    case (nil, .greater) where !isList, (nil, .greaterOrEqual) where !isList:
      guard values[0].isOrderedForRows else { return nil }
      self = .atLeast(values[0])
    case (nil, .beginsWith), (nil, .contains), (.any, .beginsWith):
      // A text may contain another one, or begin with it.
      let parts = values.compactMap { $0.jsonText?.dropFirst().dropLast() }.map(String.init)
      guard !parts.isEmpty else { return nil }
      self = .holdsAll(parts)
    case (.any, .equal) where !isList, (.any, .in) where isList:
      let texts = values.compactMap(\.jsonText)
      guard texts.count == values.count, !texts.isEmpty else { return nil }
      self = .holdsAny(texts)
    default: return nil
    }
  }

  /// Nil for texts in JSON, which a column of its own does not have.
  fileprivate func condition(onColumn column: String) -> RowCondition? {
    switch self {
    case .isAny(let values): .any(values.map { Self.equal($0, column) })
    case .atLeast(let value): RowCondition(sql: "\(column) >= ?", arguments: [value.rowBounds.lower])
    case .atMost(let value): RowCondition(sql: "\(column) <= ?", arguments: [value.rowBounds.upper])
    case .isMissing: RowCondition(sql: "\(column) IS NULL")
    case .holdsAny, .holdsAll: nil
    }
  }

  /// - Parameters:
  ///   - json: the column with the record's fields. JSON that cannot be read passes, so that decoding it reports it.
  ///   - path: the path of the value.
  fileprivate func condition(on json: String, at path: String) -> RowCondition {
    func decoded(_ conditions: [RowCondition], or more: String = "") -> RowCondition {
      let tested = RowCondition.any(conditions) ?? RowCondition(sql: "0")
      let sql = "CASE WHEN json_valid(\(json)) THEN \(tested.sql)\(more) ELSE \(json) IS NOT NULL END"
      return RowCondition(sql: sql, arguments: tested.arguments)
    }
    switch self {
    case .isAny(let values):
      let test = decoded(
        values.map { Self.equal($0, $0.column(json, path)) },
        or: " OR json_type(\(json), '\(path)') = 'array'"
      )
      // Looking for a text costs less than parsing.
      let texts = values.compactMap(\.jsonText)
      guard texts.count == values.count, let found = RowCondition.any((texts + ["["]).map { Self.holds($0, json) })
      else { return test }
      return RowCondition(
        sql: "CASE WHEN \(found.sql) THEN \(test.sql) ELSE 0 END",
        arguments: found.arguments + test.arguments
      )
    case .atLeast(let value):
      let column = value.column(json, path)
      return decoded([RowCondition(sql: "\(column) >= ?", arguments: [value.rowBounds.lower])])
    case .atMost(let value):
      let column = value.column(json, path)
      return decoded([RowCondition(sql: "\(column) <= ?", arguments: [value.rowBounds.upper])])
    case .isMissing: return decoded([RowCondition(sql: "json_extract(\(json), '\(path)') IS NULL")])
    case .holdsAny(let texts): return .any(texts.map { Self.holds($0, json) }) ?? RowCondition(sql: "0")
    case .holdsAll(let texts): return .all(texts.map { Self.holds($0, json) }) ?? RowCondition(sql: "1")
    }
  }

  private static func holds(_ text: String, _ json: String) -> RowCondition {
    RowCondition(sql: "instr(\(json), ?) > 0", arguments: [text])
  }

  private static func equal(_ value: FieldValue, _ column: String) -> RowCondition {
    let (lower, upper) = value.rowBounds
    return RowCondition(sql: "\(column) BETWEEN ? AND ?", arguments: [lower, upper])
  }
}

extension FieldValue {
  /// Whether SQL can compare the value with others for equality. SQLite ends some texts at a zero byte.
  fileprivate var isScalarForRows: Bool { if case .bytes = self { true } else { isOrderedForRows } }

  /// Whether SQL can compare the value with others by order.
  var isOrderedForRows: Bool {
    switch self {
    case .int64, .timestamp: true
    case .double(let number): number.isFinite
    case .string, .reference: text?.utf8.contains(0) == false
    case .bytes, .location, .asset, .list, .encrypted, .other: false
    }
  }

  /// Whether SQL sorts the two values as a query does. It reads decimals with a small error, and ends some texts at a
  /// zero byte.
  func isSortedAsInRows(with other: FieldValue) -> Bool {
    switch (number, other.number) {
    case (let one?, let other?): abs(one - other) > (one.magnitude + other.magnitude) * 1e-14
    case (nil, nil): isOrderedForRows && other.isOrderedForRows
    default: true
    }
  }

  private var number: Double? {
    switch self {
    case .int64(let number), .timestamp(let number): Double(number)
    case .double(let number): number
    case .string, .reference, .bytes, .location, .asset, .list, .encrypted, .other: nil
    }
  }

  /// The encoding of a text or bytes in a JSON column, with quotation marks; nil for other values.
  fileprivate var jsonText: String? {
    switch self {
    case .string, .reference: text.flatMap { try? JSONColumn.text($0) }
    case .bytes(let data): "\"\(data.base64EncodedString())\""
    default: nil
    }
  }

  /// The values between which SQLite takes a number for this one. SQLite reads decimals with a small error.
  fileprivate var rowBounds: (lower: any DatabaseValueConvertible, upper: any DatabaseValueConvertible) {
    switch self {
    case .int64(let number), .timestamp(let number):
      if number.magnitude < 1 << 50 { return (number, number) }
      return Self.around(Double(number))
    case .double(let number): return Self.around(number)
    case .bytes(let data):
      let text = data.base64EncodedString()
      return (text, text)
    default: return (text ?? "", text ?? "")
    }
  }

  private static func around(_ number: Double) -> (lower: Double, upper: Double) {
    let error = number.magnitude * 1e-14 + .leastNormalMagnitude
    return (number - error, number + error)
  }

  /// The value of a field in SQL, to be compared with this one: for a text also the record name of a reference.
  fileprivate func column(_ json: String, _ path: String) -> String {
    let value = "json_extract(\(json), '\(path)')"
    return text == nil ? value : "coalesce(json_extract(\(json), '\(path).recordName'), \(value))"
  }
}
