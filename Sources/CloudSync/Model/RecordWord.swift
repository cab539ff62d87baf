import CloudKit
import Facts

/// A word to find in what lists show of a record: anywhere, or in a field, as `title=Buy`, `title!=Buy` or `count>=5`.
///
/// `name`, `type`, `zone`, `changed`, `created` and `by` stand for the record's own values, beside fields of these
/// names.
struct RecordWord: Hashable, Sendable {
  private enum Test: Hashable {
    /// A part of the value as it is shown, in any letter case.
    case contains, lacks
    case less, atMost, more, atLeast
  }

  /// The whole word in lower case.
  private let word: [UInt8]
  /// The name of the field in lower case; nil if the word has none.
  private let field: [UInt8]?
  private let test: Test
  private let value: String
  private let lowercasedValue: [UInt8]

  /// The operators, each before those that begin it.
  private static let operators: [(text: String, test: Test)] = [
    ("!=", .lacks), ("<=", .atMost), (">=", .atLeast), ("=", .contains), ("<", .less), (">", .more),
  ]

  init(_ word: String) {
    self.word = word.utf8.map(\.lowercased)
    let name = Self.name(in: word)
    let rest = word[name.endIndex...]
    let comparison = name.isEmpty ? nil : Self.operators.first { rest.hasPrefix($0.text) }
    field = comparison.map { _ in name.utf8.map(\.lowercased) }
    test = comparison?.test ?? .contains
    value = comparison.map { String(rest.dropFirst($0.text.count)) } ?? ""
    lowercasedValue = value.utf8.map(\.lowercased)
  }

  /// The beginning of a word that may be the name of a field.
  private static func name(in word: String) -> Substring {
    guard word.first.map({ $0.isLetter || $0 == "_" }) ?? false else { return "" }
    return word.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
  }

  /// Splits a text at its spaces, but not around an operator, nor in quotes after one: `title = 'Buy milk'` is one
  /// word.
  static func split(_ text: String) -> [String] {
    var (words, word) = ([String](), "")
    var quote: Character?
    // Whether the next part belongs to the word before it.
    var isOpen = false
    func end() {
      if !word.isEmpty { words.append(word) }
      word = ""
    }
    for place in text.indices {
      let character = text[place]
      if let mark = quote {
        if character == mark { quote = nil } else { word.append(character) }
      } else if character.isWhitespace || character == "\0" {
        isOpen = true
      } else {
        let isQuote = "'\"".contains(character)
        if isOpen || isQuote {
          let name = Self.name(in: word)
          let rest = word[name.endIndex...]
          let endsWithOperator = !name.isEmpty && operators.contains { $0.text == rest }
          let goesOn = !name.isEmpty && rest.isEmpty && beginsWithOperator(text[place...])
          if isOpen, !endsWithOperator, !goesOn { end() }
          isOpen = false
          if isQuote, endsWithOperator {
            quote = character
            continue
          }
        }
        word.append(character)
      }
    }
    end()
    return words
  }

  /// Whether a text after a space begins with an operator. A mail address in angle brackets does not.
  private static func beginsWithOperator(_ text: Substring) -> Bool {
    guard let found = operators.first(where: { text.hasPrefix($0.text) }) else { return false }
    return found.text != "<" || text.dropFirst().first?.isLetter != true
  }

  func isIn(_ record: MirrorRecord) -> Bool {
    if let field, test != .contains {
      let values = record.values(of: field)
      return test == .lacks ? !values.contains(where: isPart) : values.contains(where: isComparable)
    }
    for text in [record.key.name, record.type, record.key.zone] where text.contains(lowercased: word) { return true }
    if record.fields.contains(where: { $0.value.text.contains(lowercased: word) }) { return true }
    return field.map { record.values(of: $0).contains(where: isPart) } ?? false
  }

  /// Whether a value has the text; of numbers, whether it is the number.
  private func isPart(_ other: FieldValue) -> Bool {
    switch other {
    case .int64(let number): if let wanted = Double(value) { return Double(number) == wanted }
    case .double(let number): if let wanted = Double(value) { return number == wanted }
    default: break
    }
    return other.text.contains(lowercased: lowercasedValue)
  }

  /// The mistake in the word; nil if there is none.
  var problem: String? {
    guard let field, [.less, .atMost, .more, .atLeast].contains(test), !value.isEmpty else { return nil }
    let name = String(decoding: field, as: UTF8.self)
    guard ["changed", "created"].contains(name), RFC3339.milliseconds(ofShort: value) == nil else { return nil }
    return "\(name) is compared with a date, as in \(name)>2026-11-25 or \(name)>2026-11-25T14:30, in UTC"
  }

  /// Whether the comparison holds. A value that has no order with the text does not match.
  private func isComparable(_ other: FieldValue) -> Bool {
    func holds<Value: Comparable>(_ left: Value, _ right: Value?) -> Bool {
      guard let right else { return false }
      switch test {
      case .contains, .lacks: return false
      case .less: return left < right
      case .atMost: return left <= right
      case .more: return left > right
      case .atLeast: return left >= right
      }
    }
    // While the value is still to be typed, all records with the field are shown.
    guard !value.isEmpty else { return true }
    switch other {
    case .int64(let number):
      return Int64(value).map { holds(number, $0) } ?? holds(Double(number), Double(value))
    case .double(let number): return holds(number, Double(value))
    case .timestamp(let milliseconds): return holds(milliseconds, RFC3339.milliseconds(ofShort: value))
    case .string(let text): return holds(text.lowercased(), value.lowercased())
    case .encrypted(let inner): return isComparable(inner)
    default: return false
    }
  }

  /// Texts that the stored form of every record with this word has. Only letters are the same there: dates are stored
  /// as numbers, and quotes with a backslash.
  var storedTexts: [String] {
    let name = field.map { String(decoding: $0, as: UTF8.self) } ?? ""
    // Times and users stand elsewhere.
    guard !["changed", "created", "by"].contains(name) else { return [] }
    let field = MirrorRecord.ownValues.contains(name) ? [] : field
    let texts: [[UInt8]] =
      switch test {
      case .contains: field.map { [$0, lowercasedValue] } ?? [word]
      case .lacks: []
      case .less, .atMost, .more, .atLeast: [field ?? []]
      }
    return texts.filter { text in
      text.count > 1 && text.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0) }
    }.map { String(decoding: $0, as: UTF8.self) }
  }
}

/// The place of a field's value in a list that is ordered by it: numbers and dates by value, then texts in any letter
/// case.
enum FieldOrder: Hashable, Sendable {
  case number(Double)
  case text(String)
  /// The record has no such field.
  case none

  init(_ value: FieldValue?) {
    switch value {
    case nil: self = .none
    case .int64(let number), .timestamp(let number): self = .number(Double(number))
    case .double(let number): self = number.isNaN ? .none : .number(number)
    case .encrypted(let inner): self = FieldOrder(inner)
    case .string(let text): self = .text(String(text.prefix(100)).lowercased())
    case .some(let value): self = .text(String(value.text.prefix(100)).lowercased())
    }
  }

  /// Whether this one comes first. Records without the field come last in both directions.
  func precedes(_ other: FieldOrder, isDescending: Bool) -> Bool {
    switch (self, other) {
    case (.none, _): false
    case (_, .none): true
    case (.number(let left), .number(let right)): isDescending ? left > right : left < right
    case (.text(let left), .text(let right)): isDescending ? left > right : left < right
    case (.number, .text): !isDescending
    case (.text, .number): isDescending
    }
  }
}

extension MirrorRecord {
  /// Names of values that every record has, beside its fields.
  fileprivate static let ownValues: Set<String> = ["name", "type", "zone", "changed", "created", "by"]

  /// The values with a name in lower case: the fields, and the record's own value.
  fileprivate func values(of name: [UInt8]) -> [FieldValue] {
    var values = fields.filter { $0.key.utf8.map(\.lowercased) == name }.map(\.value)
    switch String(decoding: name, as: UTF8.self) {
    case "name": values.append(.string(key.name))
    case "type": values.append(.string(type))
    case "zone": values.append(.string(key.zone))
    case "changed": if let modifiedAt { values.append(.timestamp(modifiedAt)) }
    case "created": if let createdAt { values.append(.timestamp(createdAt)) }
    case "by": if let modifiedBy { values.append(.string(modifiedBy)) }
    default: break
    }
    return values
  }
}

extension RFC3339 {
  /// Reads a time whose end may be missing: `2026-12-01`, `2026-12-01T14:00`. Without an offset it is UTC.
  fileprivate static func milliseconds(ofShort text: String) -> Int64? {
    ["", "Z", ":00Z", "T00:00:00Z"].lazy.compactMap { milliseconds(text + $0) }.first
  }
}

extension UInt8 {
  /// The lower-case letter of an ASCII capital; any other byte as it is.
  fileprivate var lowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }
}

extension String {
  /// Whether a text of lower-case bytes is in this one in any letter case.
  fileprivate func contains(lowercased text: [UInt8]) -> Bool {
    guard let first = text.first else { return true }
    var copy = self
    return copy.withUTF8 { bytes in
      guard bytes.count >= text.count else { return false }
      for start in 0...bytes.count - text.count where bytes[start].lowercased == first {
        if (1..<text.count).allSatisfy({ bytes[start + $0].lowercased == text[$0] }) { return true }
      }
      return false
    }
  }
}
