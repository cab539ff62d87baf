/// A JSON syntax error with its position.
package struct JSONSyntaxError: Error, Hashable, Sendable {
  package let line: Int
  /// In bytes from 1.
  package let column: Int
  package let message: String
}

/// Parses JSON strictly (RFC 8259) and keeps what Foundation's decoder drops: the digits of numbers and the line
/// numbers of values.
struct JSONReader: PieceReader {
  /// Deeper nesting is rejected: an untrusted file must not exhaust the stack.
  static let maximumDepth = 64

  private(set) var bytes: [UInt8]
  private(set) var index: Int
  private var line: Int
  private var lineStart: Int
  private var depth = 0

  init(_ bytes: [UInt8], from index: Int = 0, line: Int = 1) {
    self.bytes = bytes
    self.index = index
    self.line = line
    lineStart = index
  }

  mutating func append(_ piece: [UInt8]) {
    bytes = bytes[index...] + piece
    lineStart -= index
    index = 0
  }

  /// Parses a text that consists of one value.
  static func value(_ bytes: [UInt8], line: Int = 1) throws(JSONSyntaxError) -> SourceValue {
    var reader = JSONReader(bytes, line: line)
    let value = try reader.value()
    try reader.end()
    return value
  }

  static func isNumber(_ text: String) -> Bool {
    var reader = JSONReader(Array(text.utf8))
    guard (try? reader.number()) != nil else { return false }
    return reader.index == reader.bytes.count
  }

  mutating func enterArray() throws(JSONSyntaxError) { try expect(UInt8(ascii: "["), "expected [") }

  /// Returns the next element of the array just entered, with the line on which it begins; nil after the last one.
  mutating func element(isFirst: Bool) throws(JSONSyntaxError) -> (value: SourceValue, line: Int)? {
    if isFirst {
      if skip(UInt8(ascii: "]")) { return nil }
    } else if !skip(UInt8(ascii: ",")) {
      try expect(UInt8(ascii: "]"), "expected , or ] in the array")
      return nil
    }
    return try valueWithLine()
  }

  /// Returns the next value with the line on which it begins.
  mutating func valueWithLine() throws(JSONSyntaxError) -> (value: SourceValue, line: Int) {
    skipSpace()
    let start = line
    return (try value(), start)
  }

  /// Reads the opening of an object with its first key; nil if it is empty.
  mutating func firstKey() throws(JSONSyntaxError) -> String? {
    try expect(UInt8(ascii: "{"), "expected {")
    if skip(UInt8(ascii: "}")) { return nil }
    return try key()
  }

  mutating func closeObject() -> Bool { skip(UInt8(ascii: "}")) }

  /// Returns the next byte that is not white space.
  mutating func peek() -> UInt8? {
    skipSpace()
    return index < bytes.count ? bytes[index] : nil
  }

  mutating func end() throws(JSONSyntaxError) {
    if peek() != nil { throw error("something follows the end of the JSON value") }
  }

  /// The error for unexpected input.
  mutating func unexpected() -> JSONSyntaxError {
    error(peek() == nil ? "the JSON ends too early" : "this is not a JSON list of records")
  }

  mutating func value() throws(JSONSyntaxError) -> SourceValue {
    guard let byte = peek() else { throw error("the JSON ends too early") }
    switch byte {
    case UInt8(ascii: "{"): return try object()
    case UInt8(ascii: "["): return .list(try list())
    case UInt8(ascii: "\""): return .text(try string())
    case UInt8(ascii: "t"): return try word("true", .bool(true))
    case UInt8(ascii: "f"): return try word("false", .bool(false))
    case UInt8(ascii: "n"): return try word("null", .null)
    default: return .number(try number())
    }
  }

  private mutating func object() throws(JSONSyntaxError) -> SourceValue {
    let start = index
    try descend()
    var members: [String: SourceValue] = [:]
    if var key = try firstKey() {
      while true {
        guard members.updateValue(try value(), forKey: key) == nil else {
          throw error("the key \"\(key)\" comes twice")
        }
        guard skip(UInt8(ascii: ",")) else { break }
        key = try self.key()
      }
      try expect(UInt8(ascii: "}"), "expected , or } in the object")
    }
    depth -= 1
    return .object(members, source: String(decoding: bytes[start..<index], as: UTF8.self))
  }

  private mutating func list() throws(JSONSyntaxError) -> [SourceValue] {
    try descend()
    var list: [SourceValue] = []
    try enterArray()
    while let element = try element(isFirst: list.isEmpty) { list.append(element.value) }
    depth -= 1
    return list
  }

  private mutating func descend() throws(JSONSyntaxError) {
    depth += 1
    guard depth <= Self.maximumDepth else { throw error("nested more than \(Self.maximumDepth) deep") }
  }

  private mutating func key() throws(JSONSyntaxError) -> String {
    guard peek() == UInt8(ascii: "\"") else { throw error("expected a key in double quotes") }
    let key = try string()
    try expect(UInt8(ascii: ":"), "expected : after the key")
    return key
  }

  private mutating func word(_ word: String, _ value: SourceValue) throws(JSONSyntaxError) -> SourceValue {
    guard bytes[index...].starts(with: word.utf8) else { throw error("this is not a JSON value") }
    index += word.utf8.count
    return value
  }

  private mutating func number() throws(JSONSyntaxError) -> String {
    let start = index
    if current == UInt8(ascii: "-") { index += 1 }
    if current == UInt8(ascii: "0") { index += 1 } else { try digits(start) }
    if current == UInt8(ascii: ".") {
      index += 1
      try digits(start)
    }
    if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
      index += 1
      if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { index += 1 }
      try digits(start)
    }
    return String(decoding: bytes[start..<index], as: UTF8.self)
  }

  private mutating func digits(_ start: Int) throws(JSONSyntaxError) {
    guard current?.isDigit == true else { throw error("this is not a JSON value", at: start) }
    while current?.isDigit == true { index += 1 }
  }

  private mutating func string() throws(JSONSyntaxError) -> String {
    let start = index
    index += 1
    var text: [UInt8] = []
    while let byte = current {
      index += 1
      switch byte {
      case UInt8(ascii: "\""):
        guard let string = String(validating: text, as: UTF8.self) else { throw error("not valid UTF-8", at: start) }
        return string
      case UInt8(ascii: "\\"): text.append(contentsOf: String(try escaped()).utf8)
      case 0..<0x20: throw error("a control character in a string must be escaped", at: index - 1)
      default: text.append(byte)
      }
    }
    throw error("this string is never closed", at: start)
  }

  private mutating func escaped() throws(JSONSyntaxError) -> Unicode.Scalar {
    guard let byte = current else { throw error("the JSON ends too early") }
    index += 1
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(byte)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return try unicode()
    default: throw error("\\ is followed by no escape that JSON knows", at: index - 2)
    }
  }

  private mutating func unicode() throws(JSONSyntaxError) -> Unicode.Scalar {
    let start = index - 2
    let high = try hexadecimal(start)
    if let scalar = Unicode.Scalar(high) { return scalar }
    guard high < 0xDC00, bytes[index...].starts(with: "\\u".utf8) else {
      throw error("half a surrogate pair", at: start)
    }
    index += 2
    let low = try hexadecimal(start)
    guard (0xDC00...0xDFFF).contains(low), let scalar = Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
    else { throw error("half a surrogate pair", at: start) }
    return scalar
  }

  private mutating func hexadecimal(_ start: Int) throws(JSONSyntaxError) -> UInt32 {
    let digits = bytes[index...].prefix(4)
    let valid = digits.allSatisfy { $0.isDigit || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0 | 0x20) }
    guard digits.count == 4, valid, let value = UInt32(String(decoding: digits, as: UTF8.self), radix: 16) else {
      throw error("\\u takes four hexadecimal digits", at: start)
    }
    index += 4
    return value
  }

  private var current: UInt8? { index < bytes.count ? bytes[index] : nil }

  private mutating func skipSpace() {
    while let byte = current {
      switch byte {
      case UInt8(ascii: "\n"):
        line += 1
        lineStart = index + 1
      case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): break
      default: return
      }
      index += 1
    }
  }

  private mutating func skip(_ byte: UInt8) -> Bool {
    guard peek() == byte else { return false }
    index += 1
    return true
  }

  private mutating func expect(_ byte: UInt8, _ message: String) throws(JSONSyntaxError) {
    guard skip(byte) else { throw error(current == nil ? "the JSON ends too early" : message) }
  }

  private func error(_ message: String, at place: Int? = nil) -> JSONSyntaxError {
    JSONSyntaxError(line: line, column: (place ?? index) - lineStart + 1, message: message)
  }
}
