package import CloudKit

/// Finds the type that holds every value of a file's column.
///
/// Integers and Booleans are INT64, a fraction makes the column DOUBLE, anything else makes it STRING; for lists the
/// elements decide. In a table, which has nothing but text, a value that a number would not give back as it is written
/// makes the column STRING: it may be a code.
package struct ColumnType: Hashable {
  /// The reason for a column's type.
  package enum Reason: Hashable, Sendable {
    /// The option `--column` or `--reference` names it. Queued changes may have another.
    case given(queued: String? = nil)
    /// The field has it in the local copy.
    case known
    /// The field has it in queued changes. The file alone may give it another.
    case queued(own: String? = nil)
    case integers
    case fractions
    /// A value is no number.
    case text(String, line: Int)
    /// A value looks like a number, and would not be written back the same.
    case code(String, line: Int)
    case emptyTexts
    /// There is no value.
    case empty
  }

  /// A value of the column, and its line.
  struct Place: Hashable {
    var text: String
    var line: Int
  }

  /// Whether the values are cells of a table.
  private let isTable: Bool
  private var hasList = false
  private var hasSingle = false
  private var hasInteger = false
  private var hasFraction = false
  private var hasEmptyCell = false
  /// An integer that DOUBLE does not hold exactly, so that the column must not be widened.
  private var wideInteger: Place?
  private var text: Place?
  /// The number of decimal places of the values so far.
  private var decimals: Int?
  private var decimalsVary = false
  /// A number that is written back otherwise than it stands in the table, such as 1.10.
  private var padded: Place?
  /// A number that no column of numbers can hold as it stands in the table, such as 12E12.
  private var code: Place?

  package init(isTable: Bool = false) { self.isTable = isTable }

  /// Takes a value into account; false if lists and single values are mixed.
  package mutating func include(_ value: SourceValue, line: Int) -> Bool {
    switch value {
    case .null: return true
    case .emptyCell:
      hasEmptyCell = true
      return true
    case .list(let elements):
      guard !hasSingle else { return false }
      hasList = true
      for element in elements { classify(element, line) }
      return true
    case .bool, .number, .text, .object:
      guard !hasList else { return false }
      hasSingle = true
      classify(value, line)
      return true
    }
  }

  /// Takes a value of a column of references into account.
  package mutating func includeReference(_ value: SourceValue) {
    switch value {
    case .null, .emptyCell: break
    case .list: hasList = true
    case .bool, .number, .text, .object: hasSingle = true
    }
  }

  /// The type of a column of references: a list only if every value is one.
  package var referenceType: WireTypeTag? {
    hasSingle ? .scalar(.reference) : hasList ? .list(.reference) : nil
  }

  /// The type and the reason for it. The type is nil if there are only nulls; a column of empty lists has the unknown
  /// element type.
  package var result: (type: WireTypeTag?, reason: Reason) {
    let (element, reason) = element
    if hasList { return (.list(element ?? .unknown), reason) }
    if let element { return (.scalar(element), reason) }
    return hasEmptyCell ? (.scalar(.string), .emptyTexts) : (nil, .empty)
  }

  private var element: (FieldType?, Reason) {
    if let text { return (.string, .text(text.text, line: text.line)) }
    if let code { return (.string, .code(code.text, line: code.line)) }
    if hasFraction, let wideInteger { return (.string, .code(wideInteger.text, line: wideInteger.line)) }
    if hasFraction, decimalsVary, let padded { return (.string, .code(padded.text, line: padded.line)) }
    if hasFraction { return (.double, .fractions) }
    return hasInteger ? (.int64, .integers) : (nil, .empty)
  }

  private mutating func classify(_ value: SourceValue, _ line: Int) {
    func place() -> Place { Place(text: value.text ?? "", line: line) }
    if let integer = value.integer {
      hasInteger = true
      if wideInteger == nil, Int64(exactly: Double(integer)) != integer { wideInteger = place() }
      if isTable, case .number(let digits) = value {
        note(decimals: 0)
        if code == nil, String(integer) != digits { code = place() }
      }
    } else if case .number(let digits) = value, let number = value.double, value.isFraction {
      hasFraction = true
      guard isTable else { return }
      let form = DecimalForm(digits, number)
      note(decimals: form.places)
      if code == nil, form.isCode { code = place() }
      if padded == nil, form.isPadded { padded = place() }
    } else if text == nil {
      text = place()
    }
  }

  private mutating func note(decimals places: Int) {
    if let decimals, decimals != places { decimalsVary = true } else { decimals = places }
  }
}

/// The way in which a number with decimal places is written.
private struct DecimalForm {
  let places: Int
  /// Whether it has an exponent, or more digits than DOUBLE holds.
  let isCode: Bool
  /// Whether its last digit is a zero that writing it back drops.
  let isPadded: Bool

  init(_ digits: String, _ number: Double) {
    let hasExponent = digits.utf8.contains { $0 | 0x20 == UInt8(ascii: "e") }
    let fraction = digits.split(separator: ".").dropFirst().first ?? ""
    let significant = digits.utf8.filter(\.isDigit).drop { $0 == UInt8(ascii: "0") }.count
    places = fraction.utf8.count
    // Any number of 15 digits is held exactly.
    isCode = hasExponent || (significant > 15 && "\(number)" != digits)
    isPadded = fraction.utf8.count > 1 && fraction.hasSuffix("0")
  }
}

extension SourceValue {
  /// The reason why a value cannot be a field: it is an object or a mixed list.
  package var structuralProblem: String? {
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
}
