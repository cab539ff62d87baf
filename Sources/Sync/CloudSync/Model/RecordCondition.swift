import CloudKit
import Facts

/// The condition on the records of a list: words that have to be in what lists show of a record, or an expression.
struct RecordCondition: Hashable, Sendable {
  private var words: [SearchWord] = []
  private var expression: FilterExpression?
  /// Texts that the stored form of every matching record has, in any letter case, so that most others need not be
  /// decoded.
  let storedTexts: [String]
  /// The times for which texts of the expression stand.
  private var times: FilterTimes = [:]

  /// - Parameter format: the time zone of dates without an offset.
  init(_ filter: ListFilter, _ format: Format = .local) {
    switch filter {
    case .none: storedTexts = []
    case .words(let words):
      self.words = words.map(SearchWord.init)
      storedTexts = words.filter(\.isStoredAsItIs)
    case .expression(let filter, _):
      expression = filter.expression
      storedTexts = Array(filter.expression.storedTexts.prefix(100))
      times = filter.expression.times(format)
    }
  }

  func isTrue(of record: MirrorRecord) -> Bool {
    words.allSatisfy(record.shows) && expression?.isTrue(times, record.values(of:)) ?? true
  }
}

/// Texts with the times for which they stand. They are read once, not for each record.
typealias FilterTimes = [String: Range<Int64>]

extension FilterExpression {
  /// The texts with which values are compared.
  fileprivate var texts: [String] {
    switch self {
    case .all(let parts), .any(let parts): parts.flatMap(\.texts)
    case .not(let inner): inner.texts
    case .compare(_, _, let value): [value.text]
    case .among(_, let values): values.map(\.text)
    case .like, .isNull: []
    }
  }

  /// The times for which its texts stand.
  ///
  /// - Parameter format: the time zone of dates without an offset.
  func times(_ format: Format) -> FilterTimes {
    var times: FilterTimes = [:]
    for text in texts { times[text] = format.times(text) }
    return times
  }

  /// Whether it is true of a record or a change.
  ///
  /// - Parameter values: returns the values with a name.
  func isTrue(_ times: FilterTimes, _ values: (_ name: String) -> [FieldValue]) -> Bool {
    switch self {
    case .all(let parts): parts.allSatisfy { $0.isTrue(times, values) }
    case .any(let parts): parts.contains { $0.isTrue(times, values) }
    case .not(let inner): !inner.isTrue(times, values)
    case .isNull(let column): values(column.name).isEmpty
    case .compare(let column, .notEqual, let value):
      !values(column.name).contains { $0.satisfies(.equal, value.text, times) }
    case .compare(let column, let comparison, let value):
      values(column.name).contains { $0.satisfies(comparison, value.text, times) }
    case .among(let column, let wanted):
      values(column.name).contains { found in wanted.contains { found.satisfies(.equal, $0.text, times) } }
    case .like(let column, let pattern): values(column.name).contains { $0.isLike(pattern) }
    }
  }

  /// Texts that occur in the stored form of every matching record or change, in any letter case.
  var storedTexts: [String] {
    switch self {
    case .all(let parts): parts.flatMap(\.storedTexts)
    case .compare(let column, .equal, let value): column.storedTexts(with: [value.text])
    case .like(let column, let pattern):
      column.storedTexts(with: pattern.split { "%_".contains($0) }.map(String.init))
    case .compare(let column, let comparison, _): comparison == .notEqual ? [] : column.storedTexts(with: [])
    case .among(let column, _): column.storedTexts(with: [])
    case .any, .not, .isNull: []
    }
  }
}

/// A word to find in any letter case.
struct SearchWord: Hashable, Sendable {
  let text: String
  /// The text, if it is ASCII: comparing bytes is many times as fast.
  let bytes: [UInt8]?

  init(_ word: String) {
    text = word.lowercased()
    bytes = text.utf8.allSatisfy { $0 < 0x80 } ? Array(text.utf8) : nil
  }
}

extension String {
  /// Whether a value with this text has it in its stored form too. Only letters are the same there: dates are stored as
  /// numbers, and quotes with a backslash. The words that describe files and bytes are not stored.
  var isStoredAsItIs: Bool {
    guard (2...1000).contains(utf8.count) else { return false }
    let text = lowercased()
    return utf8.allSatisfy { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0.lowercased) }
      && !["asset", "bytes", "size", "unknown"].contains { $0.contains(text) }
  }

  /// Whether a word is in this text.
  func contains(_ word: SearchWord) -> Bool {
    guard let text = word.bytes else { return lowercased().contains(word.text) }
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

  /// Whether it is like a pattern as in SQL, in any letter case: `%` stands for any text, `_` for one character.
  func isLike(_ pattern: String) -> Bool {
    let (text, pattern) = (Array(lowercased()), Array(pattern.lowercased()))
    var (place, next) = (0, 0)
    // The place of the last % in the pattern, and the end of the text that it stands for.
    var last: (pattern: Int, text: Int)?
    while place < text.count {
      if next < pattern.count, pattern[next] == "%" {
        last = (next, place)
        next += 1
      } else if next < pattern.count, pattern[next] == "_" || pattern[next] == text[place] {
        (place, next) = (place + 1, next + 1)
      } else if let (start, taken) = last {
        last = (start, taken + 1)
        (place, next) = (taken + 1, start + 1)
      } else {
        return false
      }
    }
    return pattern[next...].allSatisfy { $0 == "%" }
  }
}

extension FilterColumn {
  /// Returns the texts that the stored form of a record has if a value of it has all these texts.
  fileprivate func storedTexts(with texts: [String]) -> [String] {
    switch name {
    // Times and users are stored in other columns.
    case "changed", "created", "by": []
    case "name", "type", "zone": texts.filter(\.isStoredAsItIs)
    default: ([field] + texts).filter(\.isStoredAsItIs)
    }
  }
}

extension MirrorRecord {
  /// Whether lists show a word: in its name, type or zone, or in the value of a field.
  fileprivate func shows(_ word: SearchWord) -> Bool {
    for text in [key.name, type, key.zone] where text.contains(word) { return true }
    return fields.contains { $0.value.text(.local).contains(word) }
  }

  /// The values with a name in lower case: the field in any letter case, and the record's own value.
  fileprivate func values(of name: String) -> [FieldValue] {
    let field = FilterTable.field(name)
    var values = fields.filter { $0.key.lowercased() == field }.map(\.value)
    switch name {
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

extension FieldValue {
  /// Whether a comparison with a text holds: of numbers and dates by value, of texts in any letter case, of a list for
  /// one of its elements. A value that has no order with the text is neither less nor greater.
  fileprivate func satisfies(_ comparison: FilterComparison, _ text: String, _ times: FilterTimes) -> Bool {
    switch self {
    case .int64(let number):
      Int64(text).map { comparison.holds(number, $0) }
        ?? Double(decimal: text).map { comparison.holds($0.order(of: number), 0) } ?? false
    case .double(let number): comparison.holds(number, Double(decimal: text))
    case .timestamp(let time):
      (times[text] ?? Int64(text).flatMap { $0 < .max ? $0..<$0 + 1 : nil }).map { times in
        // A day, for example, is equal to each of its times.
        comparison.holds(times.contains(time) ? 0 : time < times.lowerBound ? -1 : 1, 0)
      } ?? false
    case .string(let own):
      if comparison != .equal, let number = Double(decimal: text) {
        // "many" is not more than 5, and "10" is.
        Double(decimal: own).map { comparison.holds($0, number) } ?? false
      } else {
        comparison.holds(own.lowercased(), text.lowercased())
      }
    case .reference(let reference):
      comparison == .equal && reference.recordName.lowercased() == text.lowercased()
    case .list(_, let elements): elements.contains { $0.satisfies(comparison, text, times) }
    case .encrypted(let inner): inner.satisfies(comparison, text, times)
    case .bytes, .location, .asset, .other:
      comparison == .equal && self.text(.local).lowercased() == text.lowercased()
    }
  }

  fileprivate func isLike(_ pattern: String) -> Bool {
    switch self {
    case .list(_, let elements): elements.contains { $0.isLike(pattern) }
    case .encrypted(let inner): inner.isLike(pattern)
    case .reference(let reference): reference.recordName.isLike(pattern)
    default: text(.local).isLike(pattern)
    }
  }
}

extension FilterComparison {
  fileprivate func holds<Value: Comparable>(_ left: Value, _ right: Value?) -> Bool {
    guard let right else { return false }
    return switch self {
    case .equal: left == right
    case .notEqual: left != right
    case .less: left < right
    case .lessOrEqual: left <= right
    case .greater: left > right
    case .greaterOrEqual: left >= right
    }
  }
}

extension UInt8 {
  /// The lower-case letter of an ASCII capital; any other byte as it is.
  fileprivate var lowercased: UInt8 { (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(self) ? self | 0x20 : self }
}
