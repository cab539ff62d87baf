package import Foundation

/// A type that can be encoded directly to JSON bytes.
@usableFromInline package protocol JSONWritable {
  /// Writes one value. The keys of objects are written in order, so that equal values have equal bytes. Recordings and
  /// simulations depend on this.
  func write(to json: inout JSONWriter)
}

extension JSONWritable {
  /// Encodes the value as a document.
  ///
  /// - Throws: `JSONError` for a number that is not finite, which JSON cannot represent.
  package func json() throws(JSONError) -> Data { try JSONFragment(self).data }
}

/// An encoded value, to be embedded in a document.
package struct JSONFragment: JSONWritable, Sendable {
  fileprivate let bytes: [UInt8]

  /// Encodes what a closure writes, which is one value.
  ///
  /// - Throws: `JSONError` for a number that is not finite, which JSON cannot represent.
  package init(_ write: (inout JSONWriter) -> Void) throws(JSONError) {
    var writer = JSONWriter()
    write(&writer)
    if let failure = writer.failure { throw failure }
    bytes = writer.bytes
  }

  /// Encodes a value.
  package init(_ value: some JSONWritable) throws(JSONError) { try self.init { value.write(to: &$0) } }

  /// The bytes.
  package var data: Data { Data(bytes) }

  /// The number of bytes.
  package var count: Int { bytes.count }

  package func write(to json: inout JSONWriter) { json.fragment(self) }
}

/// Writes JSON on one line to bytes. Commas are added automatically.
@usableFromInline package struct JSONWriter {
  fileprivate private(set) var bytes: [UInt8] = []
  private var isCommaDue = false
  /// The latest failure, stored instead of thrown so that writing needs no `try` at every value.
  fileprivate private(set) var failure: JSONError?
  /// Whether a space follows commas and colons.
  private let isSpaced: Bool

  /// Creates a writer.
  package init(isSpaced: Bool = false) {
    self.isSpaced = isSpaced
    bytes.reserveCapacity(1024)
  }

  /// Returns the bytes of a value, which can always be written.
  package static func bytes(of value: JSON, isSpaced: Bool = false) -> [UInt8] {
    var writer = JSONWriter(isSpaced: isSpaced)
    value.write(to: &writer)
    return writer.bytes
  }

  fileprivate mutating func fragment(_ fragment: JSONFragment) {
    comma()
    bytes.append(contentsOf: fragment.bytes)
  }

  // MARK: - Structure

  @usableFromInline package mutating func beginObject() { begin(UInt8(ascii: "{")) }
  @usableFromInline package mutating func endObject() { end(UInt8(ascii: "}")) }
  @usableFromInline package mutating func beginArray() { begin(UInt8(ascii: "[")) }
  @usableFromInline package mutating func endArray() { end(UInt8(ascii: "]")) }

  private mutating func begin(_ bracket: UInt8) {
    comma()
    bytes.append(bracket)
    isCommaDue = false
  }

  private mutating func end(_ bracket: UInt8) {
    bytes.append(bracket)
    isCommaDue = true
  }

  private mutating func comma() {
    if isCommaDue { separator(UInt8(ascii: ",")) }
    isCommaDue = true
  }

  private mutating func separator(_ byte: UInt8) {
    bytes.append(byte)
    if isSpaced { bytes.append(UInt8(ascii: " ")) }
  }

  /// Begins a member whose name needs no escapes. Its value must follow.
  @usableFromInline package mutating func key(_ name: StaticString) {
    comma()
    bytes.append(UInt8(ascii: "\""))
    bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    bytes.append(UInt8(ascii: "\""))
    separator(UInt8(ascii: ":"))
    isCommaDue = false
  }

  /// Begins a member. Its value must follow.
  @usableFromInline package mutating func key(_ name: String) {
    string(name)
    separator(UInt8(ascii: ":"))
    isCommaDue = false
  }

  /// Writes an object whose members the closure writes.
  package mutating func object(_ members: (inout JSONWriter) -> Void) {
    beginObject()
    members(&self)
    endObject()
  }

  /// Writes a member, or nothing if the value is nil.
  @inlinable package mutating func member(_ name: StaticString, _ value: (some JSONWritable)?) {
    guard let value else { return }
    key(name)
    value.write(to: &self)
  }

  /// Writes the members of an object into the object that was begun.
  package mutating func members(_ object: JSONObject) {
    for member in object.members {
      key(member.key)
      member.value.write(to: &self)
    }
  }

  // MARK: - Values

  package mutating func null() { plain("null") }
  package mutating func bool(_ value: Bool) { plain(value ? "true" : "false") }
  package mutating func int64(_ value: Int64) { plain(String(value)) }

  /// Writes a number in the fewest digits that are read as the same value.
  package mutating func double(_ value: Double) {
    guard value.isFinite else { return fail("a number that is not finite") }
    let text = value.description
    // 3.0 is written as 3, as in all requests and stores so far.
    plain(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
  }

  /// Writes null for a value that JSON cannot represent, and fails the document.
  package mutating func fail(_ reason: String) {
    failure = JSONError(reason: reason, offset: bytes.count)
    null()
  }

  /// Writes bytes that are valid JSON and need no quotes.
  mutating func plain(_ text: String) {
    comma()
    bytes.append(contentsOf: text.utf8)
  }

  package mutating func string(_ text: String) {
    comma()
    bytes.append(UInt8(ascii: "\""))
    var text = text
    text.withUTF8 { text in
      // Most strings need no escapes and are copied at once.
      guard !UnsafeRawBufferPointer(text).needsNoEscapes else { return bytes.append(contentsOf: text) }
      var start = 0
      for index in text.indices {
        let byte = text[index]
        guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
        bytes.append(contentsOf: text[start..<index])
        escape(byte)
        start = index + 1
      }
      bytes.append(contentsOf: text[start...])
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private mutating func escape(_ byte: UInt8) {
    bytes.append(UInt8(ascii: "\\"))
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
    case 0x08: bytes.append(UInt8(ascii: "b"))
    case 0x09: bytes.append(UInt8(ascii: "t"))
    case 0x0A: bytes.append(UInt8(ascii: "n"))
    case 0x0C: bytes.append(UInt8(ascii: "f"))
    case 0x0D: bytes.append(UInt8(ascii: "r"))
    default:
      let digits = Array("0123456789abcdef".utf8)
      bytes.append(contentsOf: [UInt8(ascii: "u"), UInt8(ascii: "0"), UInt8(ascii: "0")])
      bytes.append(digits[Int(byte >> 4)])
      bytes.append(digits[Int(byte & 15)])
    }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the bytes are the contents of a JSON string as they are. The loop has no early exit, so that many bytes
  /// are checked at once.
  var needsNoEscapes: Bool {
    var special: UInt8 = 0
    for byte in self {
      special |= (byte < 0x20 ? 1 : 0) | (byte == UInt8(ascii: "\"") ? 1 : 0) | (byte == UInt8(ascii: "\\") ? 1 : 0)
    }
    return special == 0
  }
}
