import CloudKit

/// Finds the type that holds every value of a file's column.
///
/// Integers and Booleans are INT64, a fraction makes the column DOUBLE, anything else makes it STRING; for lists the
/// elements decide.
struct ColumnType: Hashable {
  private var isList: Bool?
  private var hasDigitsOnly = false
  private var hasFraction = false
  private var hasText = false
  private var hasEmptyCell = false
  /// An integer that DOUBLE does not hold exactly, so that the column must not be widened.
  private var hasWideInteger = false

  /// Takes a value into account; false if lists and single values are mixed.
  mutating func include(_ value: SourceValue) -> Bool {
    switch value {
    case .null: return true
    case .emptyCell:
      hasEmptyCell = true
      return true
    case .list(let elements):
      guard isList != false else { return false }
      isList = true
      for element in elements { classify(element) }
      return true
    case .bool, .number, .text, .object:
      guard isList != true else { return false }
      isList = false
      classify(value)
      return true
    }
  }

  /// The type; nil if there are only nulls. A column of empty lists has the unknown element type.
  var result: WireTypeTag? {
    let element: FieldType? =
      if hasText || (hasFraction && hasWideInteger) {
        .string
      } else if hasFraction {
        .double
      } else if hasDigitsOnly {
        .int64
      } else {
        nil
      }
    if isList == true { return .list(element ?? .unknown) }
    if let element { return .scalar(element) }
    return hasEmptyCell ? .scalar(.string) : nil
  }

  private mutating func classify(_ value: SourceValue) {
    if let integer = value.integer {
      hasDigitsOnly = true
      if Int64(exactly: Double(integer)) != integer { hasWideInteger = true }
    } else if value.isFiniteFraction {
      hasFraction = true
    } else {
      hasText = true
    }
  }
}

extension SourceValue {
  /// The reason why a value cannot be a field: it is an object or a mixed list.
  var structuralProblem: String? {
    switch self {
    case .object: return "is an object; a field holds one value or a list, so give its parts fields of their own"
    case .list(let elements):
      let kinds = Set(elements.map(\.kind))
      if kinds.contains(.other) { return "is a list that holds null, lists or objects; give a list of plain values" }
      return kinds.count > 1 ? "is a mixed list; give a list of numbers or a list of texts" : nil
    case .null, .bool, .number, .text, .emptyCell: return nil
    }
  }

  private enum Kind { case number, text, other }

  private var kind: Kind {
    switch self {
    case .bool, .number: .number
    case .text, .emptyCell: .text
    case .null, .list, .object: .other
    }
  }

  /// Whether it is a number with a point or an exponent. Integers beyond INT64 stay exact only as text.
  fileprivate var isFiniteFraction: Bool {
    guard case .number(let digits) = self, let number = Double(digits), number.isFinite else { return false }
    return digits.utf8.contains { !$0.isDigit && $0 != UInt8(ascii: "-") }
  }
}
