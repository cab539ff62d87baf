internal import Foundation

/// A type that can be encoded directly to JSON bytes.
package protocol JSONWritable {
  /// Writes one value. The keys of objects are written in order, so that equal values have equal bytes. Recordings and
  /// simulations depend on this.
  func write(to json: inout JSONWriter)
}

extension JSONWritable {
  /// Encodes the value as a document.
  ///
  /// - Throws: `JSONError` for a number that is not finite, which JSON cannot represent.
  package func json() throws(JSONError) -> Data {
    var writer = JSONWriter()
    write(to: &writer)
    return try writer.document()
  }
}

/// An encoded value, to be embedded in a document.
package struct JSONFragment: JSONWritable, Sendable {
  fileprivate let bytes: [UInt8]

  /// - Throws: `JSONError` for a number that is not finite, which JSON cannot represent.
  package init(_ value: some JSONWritable) throws(JSONError) {
    var writer = JSONWriter()
    value.write(to: &writer)
    if let failure = writer.failure { throw failure }
    bytes = writer.bytes
  }

  /// The number of bytes.
  package var count: Int { bytes.count }

  package func write(to json: inout JSONWriter) { json.fragment(self) }
}

/// Writes JSON without whitespace to bytes. Commas are added automatically.
package struct JSONWriter {
  fileprivate private(set) var bytes: [UInt8] = []
  private var isCommaDue = false
  /// The first failure, stored instead of thrown so that writing needs no `try` at every value.
  fileprivate private(set) var failure: JSONError?

  package init() { bytes.reserveCapacity(1024) }

  fileprivate func document() throws(JSONError) -> Data {
    if let failure { throw failure }
    return Data(bytes)
  }

  fileprivate mutating func fragment(_ fragment: JSONFragment) {
    comma()
    bytes.append(contentsOf: fragment.bytes)
  }

  // MARK: - Structure

  package mutating func beginObject() { begin(UInt8(ascii: "{")) }
  package mutating func endObject() { end(UInt8(ascii: "}")) }
  package mutating func beginArray() { begin(UInt8(ascii: "[")) }
  package mutating func endArray() { end(UInt8(ascii: "]")) }

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
    if isCommaDue { bytes.append(UInt8(ascii: ",")) }
    isCommaDue = true
  }

  /// Begins a member whose name needs no escapes. Its value must follow.
  package mutating func key(_ name: StaticString) {
    comma()
    bytes.append(UInt8(ascii: "\""))
    bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    bytes.append(UInt8(ascii: "\""))
    bytes.append(UInt8(ascii: ":"))
    isCommaDue = false
  }

  /// Begins a member. Its value must follow.
  package mutating func key(_ name: String) {
    string(name)
    bytes.append(UInt8(ascii: ":"))
    isCommaDue = false
  }

  /// Writes a member, or nothing if the value is nil.
  package mutating func member(_ name: StaticString, _ value: (some JSONWritable)?) {
    guard let value else { return }
    key(name)
    value.write(to: &self)
  }

  /// Writes the members of an object that is only `Encodable`. For rare values only.
  mutating func members(of object: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    guard let document = try? encoder.encode(object), document.first == UInt8(ascii: "{") else {
      failure = JSONError(reason: "\(type(of: object)) could not be encoded", offset: bytes.count)
      return
    }
    guard document.count > 2 else { return }
    comma()
    bytes.append(contentsOf: document.dropFirst().dropLast())
  }

  // MARK: - Values

  package mutating func null() { plain("null") }
  package mutating func bool(_ value: Bool) { plain(value ? "true" : "false") }
  package mutating func int64(_ value: Int64) { plain(String(value)) }

  /// Writes a number in the fewest digits that are read as the same value.
  package mutating func double(_ value: Double) {
    guard value.isFinite else {
      failure = JSONError(reason: "a number that is not finite", offset: bytes.count)
      return null()
    }
    let text = value.description
    // 3.0 is written as 3, as in all requests and stores so far.
    plain(text.hasSuffix(".0") ? String(text.dropLast(2)) : text)
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
      if text.allSatisfy({ !Self.needsEscape($0) }) { return bytes.append(contentsOf: text) }
      for byte in text { if Self.needsEscape(byte) { escape(byte) } else { bytes.append(byte) } }
    }
    bytes.append(UInt8(ascii: "\""))
  }

  private static func needsEscape(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
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
