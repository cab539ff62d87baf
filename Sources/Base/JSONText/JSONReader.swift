package import Foundation

/// A type that can be decoded directly from JSON bytes.
@usableFromInline package protocol JSONReadable {
  /// Reads one value and leaves the reader behind it.
  init(json: inout JSONReader) throws(JSONError)
  /// Reads a value that may be missing; nil for `null`, and for other forms of a missing value that the type has.
  static func optional(json: inout JSONReader) throws(JSONError) -> Self?
}

extension JSONReadable {
  @inlinable package static func optional(json: inout JSONReader) throws(JSONError) -> Self? {
    try json.null() ? nil : Self(json: &json)
  }

  /// Reads a whole document, which may begin with a byte order mark. Bytes after the value are an error.
  package init(json document: Data) throws(JSONError) {
    let result = document.withUnsafeBytes { bytes in
      Result { () throws(JSONError) in
        var json = JSONReader(bytes, from: bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0)
        do throws(JSONError) {
          let value = try Self(json: &json)
          try json.end()
          return value
        } catch {
          throw error.located(from: TextPosition(), in: bytes.prefix(error.offset))
        }
      }
    }
    self = try result.get()
  }
}

/// The reason that bytes are not the expected JSON.
@usableFromInline package struct JSONError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The problem. It contains no values of the document, which may be private.
  package let reason: String
  /// The offset of the problem in bytes.
  package let offset: Int
  /// The line and column of the problem. Found only when the error leaves the document: a reader recovers from errors,
  /// and counting lines each time would take quadratic time.
  package private(set) var position = TextPosition()

  package init(reason: String, offset: Int) { (self.reason, self.offset) = (reason, offset) }

  /// Returns the error with its line and column.
  ///
  /// - Parameters:
  ///   - start: The position of the first byte.
  ///   - bytes: The bytes before the problem.
  package func located(from start: TextPosition, in bytes: some Sequence<UInt8>) -> JSONError {
    var error = self
    error.position = start
    error.position.advance(over: bytes)
    return error
  }

  @usableFromInline package var description: String { "\(reason) at byte \(offset)" }
}

/// A place in a text.
package struct TextPosition: Hashable, Sendable {
  /// The line, from 1.
  package private(set) var line = 1
  /// The column in bytes, from 1.
  package private(set) var column = 1

  package init() {}

  /// Moves behind the bytes that follow.
  package mutating func advance(over bytes: some Sequence<UInt8>) {
    if bytes.withContiguousStorageIfAvailable({ advance(over: $0) }) == nil { advance(over: Array(bytes)) }
  }

  /// Not generic, because other modules call it for every byte of large files.
  private mutating func advance(over bytes: UnsafeBufferPointer<UInt8>) {
    for byte in bytes {
      column += 1
      if byte == UInt8(ascii: "\n") { (line, column) = (line + 1, 1) }
    }
  }
}

/// Reads UTF-8 JSON sequentially. It builds no tree, so a value costs only what the caller creates from it.
///
/// Replies contain up to 200 records per page, and `Decodable` is several times slower. The grammar is strictly RFC
/// 8259. If an object has two members with the same name, the last one counts. Skipped values are checked too, except
/// for the contents of strings.
///
/// The bytes are borrowed, and must outlive the reader.
@usableFromInline package struct JSONReader {
  /// The maximum nesting depth of arrays and objects. The protocol itself uses a depth of 8.
  package static let largestDepth = 100

  private let bytes: UnsafeRawBufferPointer
  /// The current position, which callers can note and return to after a whole value.
  package var offset: Int
  /// Whether an object or array was just entered, so that no comma is expected.
  private var isFirst = false
  private var depth = 0

  /// Creates a reader of the bytes from an offset.
  package init(_ bytes: UnsafeRawBufferPointer, from offset: Int = 0) {
    self.bytes = bytes
    self.offset = offset
  }

  /// Creates an error for the current position.
  package func failure(_ reason: String, at offset: Int? = nil) -> JSONError {
    let offset = offset ?? self.offset
    return JSONError(reason: offset < bytes.count ? reason : "the JSON ends too early", offset: offset)
  }

  /// Returns the text from a noted position up to here.
  package func text(from start: Int) -> String { String(decoding: bytes[start..<offset], as: UTF8.self) }

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

  /// Checks that nothing follows.
  package mutating func end() throws(JSONError) {
    _ = peek()
    guard offset == bytes.count else { throw failure("something follows the end of the JSON value") }
  }

  /// Enters an object. `nextKey()` then advances through its members and leaves it.
  @usableFromInline package mutating func enterObject() throws(JSONError) {
    guard peek() == UInt8(ascii: "{") else { throw failure("expected an object") }
    try enter()
  }

  /// Advances to the next member, whose value must be read or skipped; nil at the end of the object.
  @usableFromInline package mutating func nextKey() throws(JSONError) -> JSONKey? {
    guard try step(until: UInt8(ascii: "}"), "expected , or } in the object") else { return nil }
    guard peek() == UInt8(ascii: "\"") else { throw failure("expected a key in double quotes") }
    let start = offset
    let (raw, isEscaped) = try scanText()
    let key = JSONKey(
      raw: raw,
      unescaped: isEscaped ? try JSONEscapes.resolved(raw, at: start + 1) : nil,
      offset: start
    )
    guard peek() == UInt8(ascii: ":") else { throw failure("expected : after the key") }
    offset += 1
    return key
  }

  /// Enters an array. `nextElement()` then advances through its elements and leaves it.
  @usableFromInline package mutating func enterArray() throws(JSONError) {
    guard peek() == UInt8(ascii: "[") else { throw failure("expected an array") }
    try enter()
  }

  private mutating func enter() throws(JSONError) {
    guard depth < Self.largestDepth else { throw failure("nested more than \(Self.largestDepth) deep") }
    depth += 1
    offset += 1
    isFirst = true
  }

  /// Advances to the next element, which must be read or skipped; false at the end of the array.
  @usableFromInline package mutating func nextElement() throws(JSONError) -> Bool {
    try step(until: UInt8(ascii: "]"), "expected , or ] in the array")
  }

  private mutating func step(until end: UInt8, _ expectation: String) throws(JSONError) -> Bool {
    let byte = peek()
    defer { isFirst = false }
    if byte == end {
      offset += 1
      depth -= 1
      return false
    }
    if isFirst { return true }
    guard byte == UInt8(ascii: ",") else { throw failure(expectation) }
    offset += 1
    guard peek() != end else { throw failure("expected a value after the comma") }
    return true
  }

  // MARK: - Values

  /// Consumes a `null` if there is one.
  @usableFromInline package mutating func null() throws(JSONError) -> Bool {
    guard peek() == UInt8(ascii: "n") else { return false }
    try literal("null")
    return true
  }

  /// Reads `true` or `false`.
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
    guard bytes[offset...].starts(with: expected) else { throw failure("this is not a JSON value") }
    offset += expected.count
  }

  /// Reads a string. Unpaired surrogates are refused, because Swift strings cannot contain them.
  package mutating func string() throws(JSONError) -> String {
    guard peek() == UInt8(ascii: "\"") else { throw failure("expected a string") }
    let start = offset
    let (raw, isEscaped) = try scanText()
    if isEscaped { return try JSONEscapes.resolved(raw, at: start + 1) }
    guard let text = String(utf8: raw) else { throw failure("not valid UTF-8", at: start) }
    return text
  }

  /// Reads a number of any size.
  package mutating func number() throws(JSONError) -> JSONNumber {
    let first = peek()
    guard first == UInt8(ascii: "-") || (first &- UInt8(ascii: "0")) < 10,
      let number = JSONNumber(startOf: UnsafeRawBufferPointer(rebasing: bytes[offset...]))
    else { throw failure("this is not a JSON value") }
    offset += number.bytes.count
    return number
  }

  /// Reads an integer in any JSON form, as a number or a string.
  package mutating func int64() throws(JSONError) -> Int64 { try numeric("expected a 64-bit integer") { $0.int64 } }

  /// Reads a number in any JSON form, rounded to an integer: servers may send times with a fraction of a millisecond.
  package mutating func roundedInt64() throws(JSONError) -> Int64 {
    try numeric("expected a number that fits 64 bits") { number in
      number.int64 ?? number.double.flatMap { Int64(exactly: $0.rounded()) }
    }
  }

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
      result =
        isEscaped
        ? JSONNumber.read(try JSONEscapes.resolved(raw, at: start + 1), value)
        : JSONNumber(wholeOf: raw).flatMap(value)
    } else {
      result = value(try number())
    }
    guard let result else { throw failure(expectation, at: start) }
    return result
  }

  /// Reads an optional member.
  @inlinable package mutating func read<Value: JSONReadable>(into value: inout Value?) throws(JSONError) {
    value = try Value.optional(json: &self)
  }

  /// Skips a value.
  package mutating func skip() throws(JSONError) {
    switch peek() {
    case UInt8(ascii: "{"):
      try enterObject()
      while try nextKey() != nil { try skip() }
    case UInt8(ascii: "["):
      try enterArray()
      while try nextElement() { try skip() }
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
    // Most strings have neither escapes nor errors, and end at the first quote.
    if let first = bytes.baseAddress, let quote = memchr(first + start, CInt(UInt8(ascii: "\"")), bytes.count - start) {
      let place = UnsafeRawPointer(quote) - first
      if UnsafeRawBufferPointer(rebasing: bytes[start..<place]).needsNoEscapes { end = place }
    }
    while end < bytes.count {
      let byte = bytes[end]
      if byte == UInt8(ascii: "\"") {
        offset = end + 1
        return (UnsafeRawBufferPointer(rebasing: bytes[start..<end]), isEscaped)
      }
      guard byte >= 0x20 else { throw failure("a control character in a string must be escaped", at: end) }
      if byte == UInt8(ascii: "\\") {
        isEscaped = true
        end += 1
      }
      end += 1
    }
    throw failure("this string is never closed")
  }
}

/// The name of a member, which can be compared without creating a `String`.
@usableFromInline package struct JSONKey {
  @usableFromInline let raw: UnsafeRawBufferPointer
  /// The decoded name, if it is written with escapes.
  @usableFromInline let unescaped: String?
  fileprivate let offset: Int

  /// Matches keys in a `switch`.
  @inlinable package static func ~= (name: StaticString, key: JSONKey) -> Bool {
    if let unescaped = key.unescaped { return unescaped == name.description }
    return key.raw.count == name.utf8CodeUnitCount && key.isEqual(name)
  }

  @usableFromInline func isEqual(_ name: StaticString) -> Bool {
    guard let start = raw.baseAddress else { return false }
    return memcmp(start, name.utf8Start, raw.count) == 0
  }

  /// Returns the name as a string.
  @usableFromInline package func string() throws(JSONError) -> String {
    if let unescaped { return unescaped }
    guard let text = String(utf8: raw) else { throw JSONError(reason: "not valid UTF-8", offset: offset) }
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
