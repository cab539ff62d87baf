internal import Foundation

/// A type that can be decoded directly from JSON bytes.
package protocol JSONReadable {
  /// Reads one value and leaves the reader behind it.
  init(json: inout JSONReader) throws(JSONError)
}

extension JSONReadable {
  /// Reads a whole document. Bytes after the value are an error.
  package init(json document: Data) throws(JSONError) {
    let result = document.withUnsafeBytes { bytes in
      Result { () throws(JSONError) in
        var json = JSONReader(bytes)
        let value = try Self(json: &json)
        try json.end()
        return value
      }
    }
    self = try result.get()
  }
}

/// The reason that bytes are not the expected JSON.
package struct JSONError: Error, Hashable, Sendable {
  /// The problem. It never contains parts of the document, which may be private.
  package let reason: String
  /// The offset of the problem in bytes.
  package let offset: Int
}

/// Reads UTF-8 JSON sequentially. It builds no tree, so a value costs only what the caller creates from it.
///
/// Replies contain up to 200 records per page, and `Decodable` is several times slower. The grammar is strictly RFC
/// 8259. If an object has two members with the same name, the first one counts, as with `JSONDecoder`. Skipped values
/// are checked too, except for the contents of strings.
///
/// The bytes are borrowed: only `init(json document:)` creates a reader, which is valid only inside it.
package struct JSONReader {
  /// The maximum nesting depth of arbitrary arrays and objects. The protocol itself uses a depth of 8.
  static let largestDepth = 128

  private let bytes: UnsafeRawBufferPointer
  /// The current position, which callers can note and return to.
  package var offset = 0
  /// Whether an object or array was just entered, so that no comma is expected.
  private var isFirst = false

  fileprivate init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
  }

  /// Creates an error for the current position.
  package func failure(_ reason: String, at offset: Int? = nil) -> JSONError {
    JSONError(reason: reason, offset: offset ?? self.offset)
  }

  /// Returns the bytes from a noted position up to here.
  func slice(from start: Int) -> Data { Data(bytes[start..<offset]) }

  // MARK: - Structure

  /// Returns the next non-whitespace byte without consuming it; at the end 0, which starts no value.
  package mutating func peek() -> UInt8 {
    while offset < bytes.count {
      let byte = bytes[offset]
      guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return byte }
      offset += 1
    }
    return 0
  }

  fileprivate mutating func end() throws(JSONError) {
    _ = peek()
    guard offset == bytes.count else { throw failure("unexpected bytes after the document") }
  }

  /// Enters an object. `nextKey()` then advances through its members and leaves it.
  package mutating func enterObject() throws(JSONError) {
    guard peek() == UInt8(ascii: "{") else { throw failure("expected an object") }
    offset += 1
    isFirst = true
  }

  /// Advances to the next member, whose value must be read or skipped; nil at the end of the object.
  package mutating func nextKey() throws(JSONError) -> JSONKey? {
    guard try step(until: UInt8(ascii: "}")) else { return nil }
    guard peek() == UInt8(ascii: "\"") else { throw failure("expected a key") }
    let start = offset
    let (raw, isEscaped) = try scanText()
    let key = JSONKey(raw: raw, unescaped: isEscaped ? try unescape(raw, at: start) : nil, offset: start)
    guard peek() == UInt8(ascii: ":") else { throw failure("expected a colon") }
    offset += 1
    return key
  }

  /// Enters an array. `nextElement()` then advances through its elements and leaves it.
  package mutating func enterArray() throws(JSONError) {
    guard peek() == UInt8(ascii: "[") else { throw failure("expected an array") }
    offset += 1
    isFirst = true
  }

  /// Advances to the next element, which must be read or skipped; false at the end of the array.
  package mutating func nextElement() throws(JSONError) -> Bool { try step(until: UInt8(ascii: "]")) }

  private mutating func step(until end: UInt8) throws(JSONError) -> Bool {
    let byte = peek()
    defer { isFirst = false }
    if byte == end {
      offset += 1
      return false
    }
    if isFirst { return true }
    guard byte == UInt8(ascii: ",") else { throw failure("expected a comma") }
    offset += 1
    guard peek() != end else { throw failure("expected a value after the comma") }
    return true
  }

  // MARK: - Values

  /// Consumes a `null` if there is one.
  package mutating func null() throws(JSONError) -> Bool {
    guard peek() == UInt8(ascii: "n") else { return false }
    try literal("null")
    return true
  }

  package mutating func bool() throws(JSONError) -> Bool {
    switch peek() {
    case UInt8(ascii: "t"):
      try literal("true")
      return true
    case UInt8(ascii: "f"):
      try literal("false")
      return false
    default: throw failure("expected true or false")
    }
  }

  private mutating func literal(_ word: StaticString) throws(JSONError) {
    let expected = UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    guard bytes[offset...].starts(with: expected) else { throw failure("expected a value") }
    offset += expected.count
  }

  /// Reads a string. Unpaired surrogates are refused, because Swift strings cannot contain them.
  package mutating func string() throws(JSONError) -> String {
    guard peek() == UInt8(ascii: "\"") else { throw failure("expected a string") }
    let start = offset
    let (raw, isEscaped) = try scanText()
    if isEscaped { return try unescape(raw, at: start) }
    guard let text = String(utf8: raw) else { throw failure("invalid UTF-8", at: start) }
    return text
  }

  /// Reads a number of any size.
  package mutating func number() throws(JSONError) -> JSONNumber {
    let first = peek()
    guard first == UInt8(ascii: "-") || (first &- UInt8(ascii: "0")) < 10,
      let number = JSONNumber(startOf: UnsafeRawBufferPointer(rebasing: bytes[offset...]))
    else { throw failure("expected a number") }
    offset += number.bytes.count
    return number
  }

  /// Reads an integer in any JSON form, as a number or a string.
  package mutating func int64() throws(JSONError) -> Int64 { try numeric("expected a 64-bit integer") { $0.int64 } }

  /// Reads a double, as a number or a string.
  package mutating func double() throws(JSONError) -> Double { try numeric("expected a double") { $0.double } }

  /// Reads a number. With `numbersAsStrings`, the server sends numbers as strings.
  private mutating func numeric<Value>(
    _ expectation: String,
    _ value: (JSONNumber) -> Value?
  ) throws(JSONError) -> Value {
    let isText = peek() == UInt8(ascii: "\"")
    let start = offset
    var result: Value?
    if isText {
      let (raw, isEscaped) = try scanText()
      if isEscaped {
        var text = try unescape(raw, at: start)
        result = text.withUTF8 { JSONNumber(wholeOf: UnsafeRawBufferPointer($0)).flatMap(value) }
      } else {
        result = JSONNumber(wholeOf: raw).flatMap(value)
      }
    } else {
      result = value(try number())
    }
    guard let result else { throw failure(expectation, at: start) }
    return result
  }

  /// Reads an optional member; `null` counts as missing. A member that was already read is skipped.
  package mutating func read<Value: JSONReadable>(into value: inout Value?) throws(JSONError) {
    if try null() { return }
    if value == nil { value = try Value(json: &self) } else { try skip() }
  }

  /// Skips a value.
  package mutating func skip() throws(JSONError) { try skip(depth: 0) }

  private mutating func skip(depth: Int) throws(JSONError) {
    guard depth < Self.largestDepth else { throw failure("nested too deeply") }
    switch peek() {
    case UInt8(ascii: "{"):
      try enterObject()
      while try nextKey() != nil { try skip(depth: depth + 1) }
    case UInt8(ascii: "["):
      try enterArray()
      while try nextElement() { try skip(depth: depth + 1) }
    case UInt8(ascii: "\""): _ = try scanText()
    case UInt8(ascii: "t"), UInt8(ascii: "f"): _ = try bool()
    case UInt8(ascii: "n"): _ = try null()
    default: _ = try number()
    }
  }

  // MARK: - Strings

  /// Skips the string whose opening quote is here and returns the bytes between the quotes.
  private mutating func scanText() throws(JSONError) -> (raw: UnsafeRawBufferPointer, isEscaped: Bool) {
    let start = offset + 1
    var end = start
    var isEscaped = false
    while end < bytes.count {
      let byte = bytes[end]
      if byte == UInt8(ascii: "\"") {
        offset = end + 1
        return (UnsafeRawBufferPointer(rebasing: bytes[start..<end]), isEscaped)
      }
      guard byte >= 0x20 else { throw failure("a control character in a string", at: end) }
      if byte == UInt8(ascii: "\\") {
        isEscaped = true
        end += 1
      }
      end += 1
    }
    throw failure("an unterminated string")
  }

  private func unescape(_ raw: UnsafeRawBufferPointer, at start: Int) throws(JSONError) -> String {
    guard let text = JSONEscapes.resolved(raw) else { throw failure("invalid characters in a string", at: start) }
    return text
  }
}

/// The name of a member, which can be compared without creating a `String`.
package struct JSONKey {
  fileprivate let raw: UnsafeRawBufferPointer
  /// The decoded name, if it is written with escapes.
  fileprivate let unescaped: String?
  fileprivate let offset: Int

  /// Matches keys in a `switch`.
  package static func ~= (name: StaticString, key: JSONKey) -> Bool {
    if let unescaped = key.unescaped { return unescaped == name.description }
    guard key.raw.count == name.utf8CodeUnitCount, let start = key.raw.baseAddress else { return false }
    return memcmp(start, name.utf8Start, key.raw.count) == 0
  }

  /// Returns the name as a string.
  package func string() throws(JSONError) -> String {
    if let unescaped { return unescaped }
    guard let text = String(utf8: raw) else { throw JSONError(reason: "invalid UTF-8", offset: offset) }
    return text
  }
}

extension String {
  /// Creates a string from UTF-8 bytes; nil if they are invalid. Most strings are ASCII, which the standard library
  /// validates several times slower than it creates the string.
  fileprivate init?(utf8 bytes: UnsafeRawBufferPointer) {
    if bytes.allSatisfy({ $0 < 0x80 }) {
      self.init(decoding: bytes, as: UTF8.self)
    } else {
      self.init(validating: bytes, as: UTF8.self)
    }
  }
}
