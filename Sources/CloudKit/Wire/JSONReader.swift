internal import Foundation

/// What can be read straight from the bytes of JSON.
package protocol JSONReadable {
  /// Reads one value and leaves the reader behind it.
  init(json: inout JSONReader) throws(JSONError)
}

extension JSONReadable {
  /// Reads a whole document, of which nothing may be left over.
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

/// Why bytes are not the JSON that was expected.
package struct JSONError: Error, Hashable, Sendable {
  /// What is wrong; never a part of the document, which may be private.
  package let reason: String
  /// How many bytes in.
  package let offset: Int
}

/// Reads JSON in UTF-8 front to back: no tree is built, and a value costs only what the caller makes of it.
///
/// Answers come by the page, 200 records at a time, and `Decodable` takes several times as long over them. The grammar is
/// RFC 8259's, strictly; of two members with one name the first counts, as with `JSONDecoder`. What is skipped is held to
/// the grammar but for the insides of texts.
///
/// The bytes are borrowed: a reader lives only inside `init(json document:)`, which is the one place that makes it.
package struct JSONReader {
  /// How deep arrays and objects of no known shape may nest. The protocol's own go 8 deep.
  static let largestDepth = 128

  private let bytes: UnsafeRawBufferPointer
  /// Where the reader stands: what was noted can be returned to.
  package var offset = 0
  /// Whether an object or array was just entered, so that no comma is due.
  private var isFirst = false

  fileprivate init(_ bytes: UnsafeRawBufferPointer) {
    self.bytes = bytes
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { offset = 3 }
  }

  /// The error for what stands here.
  package func failure(_ reason: String, at offset: Int? = nil) -> JSONError {
    JSONError(reason: reason, offset: offset ?? self.offset)
  }

  /// The bytes from a place noted before up to here.
  func slice(from start: Int) -> Data { Data(bytes[start..<offset]) }

  // MARK: - Structure

  /// The next byte that is no blank, without stepping over it; 0, which begins nothing, at the end.
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
    guard offset == bytes.count else { throw failure("something follows the document") }
  }

  /// Steps into an object. `nextKey()` then leads from member to member and out of it.
  package mutating func enterObject() throws(JSONError) {
    guard peek() == UInt8(ascii: "{") else { throw failure("no object") }
    offset += 1
    isFirst = true
  }

  /// Steps to the next member, whose value has to be read or skipped; nil behind the object.
  package mutating func nextKey() throws(JSONError) -> JSONKey? {
    guard try step(until: UInt8(ascii: "}")) else { return nil }
    guard peek() == UInt8(ascii: "\"") else { throw failure("no key") }
    let start = offset
    let (raw, isEscaped) = try scanText()
    let key = JSONKey(raw: raw, unescaped: isEscaped ? try unescape(raw, at: start) : nil, offset: start)
    guard peek() == UInt8(ascii: ":") else { throw failure("no colon") }
    offset += 1
    return key
  }

  /// Steps into an array. `nextElement()` then leads from element to element and out of it.
  package mutating func enterArray() throws(JSONError) {
    guard peek() == UInt8(ascii: "[") else { throw failure("no array") }
    offset += 1
    isFirst = true
  }

  /// Steps to the next element, which has to be read or skipped; false behind the array.
  package mutating func nextElement() throws(JSONError) -> Bool { try step(until: UInt8(ascii: "]")) }

  private mutating func step(until end: UInt8) throws(JSONError) -> Bool {
    let byte = peek()
    defer { isFirst = false }
    if byte == end {
      offset += 1
      return false
    }
    if isFirst { return true }
    guard byte == UInt8(ascii: ",") else { throw failure("no comma") }
    offset += 1
    guard peek() != end else { throw failure("nothing follows a comma") }
    return true
  }

  // MARK: - Values

  /// Steps over a `null` if there is one.
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
    default: throw failure("neither true nor false")
    }
  }

  private mutating func literal(_ word: StaticString) throws(JSONError) {
    let expected = UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount)
    guard bytes[offset...].starts(with: expected) else { throw failure("no value") }
    offset += expected.count
  }

  /// A text. Half of a surrogate pair is refused: no text of Swift's can hold it.
  package mutating func string() throws(JSONError) -> String {
    guard peek() == UInt8(ascii: "\"") else { throw failure("no text") }
    let start = offset
    let (raw, isEscaped) = try scanText()
    if isEscaped { return try unescape(raw, at: start) }
    guard let text = String(utf8: raw) else { throw failure("no UTF-8", at: start) }
    return text
  }

  /// A number of any size.
  package mutating func number() throws(JSONError) -> JSONNumber {
    let first = peek()
    guard first == UInt8(ascii: "-") || (first &- UInt8(ascii: "0")) < 10,
      let number = JSONNumber(startOf: UnsafeRawBufferPointer(rebasing: bytes[offset...]))
    else { throw failure("no number") }
    offset += number.bytes.count
    return number
  }

  /// A whole number, in any spelling that JSON has for it, as a number or as text.
  package mutating func int64() throws(JSONError) -> Int64 { try numeric("no whole number of 64 bits") { $0.int64 } }

  /// A number as a number or as text.
  package mutating func double() throws(JSONError) -> Double { try numeric("no number that is a double") { $0.double } }

  /// With `numbersAsStrings` numbers come as texts.
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

  /// Reads a member that may be absent or, which is the same, `null`. Where it was read before, this one is skipped.
  package mutating func read<Value: JSONReadable>(into value: inout Value?) throws(JSONError) {
    if try null() { return }
    if value == nil { value = try Value(json: &self) } else { try skip() }
  }

  /// Steps over a value.
  package mutating func skip() throws(JSONError) { try skip(depth: 0) }

  private mutating func skip(depth: Int) throws(JSONError) {
    guard depth < Self.largestDepth else { throw failure("nested too deep") }
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

  // MARK: - Texts

  /// Steps over the text whose opening quote is here, and gives what stands between the quotes.
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
      guard byte >= 0x20 else { throw failure("a control character in a text", at: end) }
      if byte == UInt8(ascii: "\\") {
        isEscaped = true
        end += 1
      }
      end += 1
    }
    throw failure("a text without end")
  }

  private func unescape(_ raw: UnsafeRawBufferPointer, at start: Int) throws(JSONError) -> String {
    guard let text = JSONEscapes.resolved(raw) else { throw failure("no text that Unicode has", at: start) }
    return text
  }
}

/// The name of a member, to be compared without making a `String` of it.
package struct JSONKey {
  fileprivate let raw: UnsafeRawBufferPointer
  /// The name where it is written with escapes.
  fileprivate let unescaped: String?
  fileprivate let offset: Int

  /// Lets keys be told apart by `switch`.
  package static func ~= (name: StaticString, key: JSONKey) -> Bool {
    if let unescaped = key.unescaped { return unescaped == name.description }
    guard key.raw.count == name.utf8CodeUnitCount, let start = key.raw.baseAddress else { return false }
    return memcmp(start, name.utf8Start, key.raw.count) == 0
  }

  /// The name as a text.
  package func string() throws(JSONError) -> String {
    if let unescaped { return unescaped }
    guard let text = String(utf8: raw) else { throw JSONError(reason: "no UTF-8", offset: offset) }
    return text
  }
}

extension String {
  /// The text that these bytes are; nil where they are no UTF-8. Most are ASCII, where the standard library's check takes
  /// several times as long as the text itself.
  fileprivate init?(utf8 bytes: UnsafeRawBufferPointer) {
    if bytes.allSatisfy({ $0 < 0x80 }) {
      self.init(decoding: bytes, as: UTF8.self)
    } else {
      self.init(validating: bytes, as: UTF8.self)
    }
  }
}
