import Foundation

/// Parses one JSON document from untrusted bytes. The grammar is strict, the text must be valid UTF-8, nesting is
/// limited to `depthLimit`, and no input traps.
struct JSONParser {
  struct Failure: Error {
    var reason: String
  }

  static let depthLimit = 100

  private let bytes: UnsafeBufferPointer<UInt8>
  private var position = 0

  static func parse(_ data: Data) throws(Failure) -> JSON {
    var outcome: Result<JSON, Failure> = .failure(Failure(reason: "Unexpected end of input"))
    data.withUnsafeBytes { raw in
      outcome = raw.withMemoryRebound(to: UInt8.self) { buffer in
        var parser = JSONParser(bytes: buffer)
        do throws(Failure) {
          return .success(try parser.document())
        } catch {
          return .failure(error)
        }
      }
    }
    return try outcome.get()
  }

  private init(bytes: UnsafeBufferPointer<UInt8>) {
    self.bytes = bytes
  }

  private mutating func document() throws(Failure) -> JSON {
    let value = try value(depth: 0)
    skipSpace()
    guard position == bytes.count else { throw failure("Unexpected input after the document") }
    return value
  }

  private func failure(_ reason: String) -> Failure {
    Failure(reason: "\(reason) at byte \(position)")
  }

  private mutating func skipSpace() {
    while position < bytes.count {
      switch bytes[position] {
      case 0x20, 0x09, 0x0A, 0x0D: position += 1
      default: return
      }
    }
  }

  private mutating func peek() throws(Failure) -> UInt8 {
    skipSpace()
    guard position < bytes.count else { throw failure("Unexpected end of input") }
    return bytes[position]
  }

  private mutating func value(depth: Int) throws(Failure) -> JSON {
    guard depth <= Self.depthLimit else { throw failure("Input is nested too deeply") }
    switch try peek() {
    case UInt8(ascii: "{"): return .object(try object(depth: depth + 1))
    case UInt8(ascii: "["): return .array(try array(depth: depth + 1))
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "t"): return try literal("true", .bool(true))
    case UInt8(ascii: "f"): return try literal("false", .bool(false))
    case UInt8(ascii: "n"): return try literal("null", .null)
    default: return try number()
    }
  }

  private mutating func object(depth: Int) throws(Failure) -> JSONObject {
    position += 1
    var object = JSONObject()
    if try peek() == UInt8(ascii: "}") {
      position += 1
      return object
    }
    while true {
      guard try peek() == UInt8(ascii: "\"") else { throw failure("Expected a key") }
      let key = try string()
      guard try peek() == UInt8(ascii: ":") else { throw failure("Expected ':'") }
      position += 1
      object.append(key, try value(depth: depth))
      switch try peek() {
      case UInt8(ascii: ","): position += 1
      case UInt8(ascii: "}"):
        position += 1
        return object
      default: throw failure("Expected ',' or '}'")
      }
    }
  }

  private mutating func array(depth: Int) throws(Failure) -> [JSON] {
    position += 1
    var elements: [JSON] = []
    if try peek() == UInt8(ascii: "]") {
      position += 1
      return elements
    }
    while true {
      elements.append(try value(depth: depth))
      switch try peek() {
      case UInt8(ascii: ","): position += 1
      case UInt8(ascii: "]"):
        position += 1
        return elements
      default: throw failure("Expected ',' or ']'")
      }
    }
  }

  private mutating func literal(_ word: StaticString, _ value: JSON) throws(Failure) -> JSON {
    let length = word.utf8CodeUnitCount
    guard bytes.count - position >= length else { throw failure("Unexpected input") }
    for offset in 0..<length where bytes[position + offset] != word.utf8Start[offset] {
      throw failure("Unexpected input")
    }
    position += length
    return value
  }
}

extension JSONParser {
  private mutating func string() throws(Failure) -> String {
    position += 1
    let start = position
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        let text = try text(from: start, to: position)
        position += 1
        return text
      case UInt8(ascii: "\\"): return try escapedString(prefix: try text(from: start, to: position))
      case 0..<0x20: throw failure("Control character in a string")
      default: position += 1
      }
    }
    throw failure("Unterminated string")
  }

  private func text(from start: Int, to end: Int) throws(Failure) -> String {
    guard let text = String(validating: UnsafeBufferPointer(rebasing: bytes[start..<end]), as: UTF8.self) else {
      throw failure("Invalid UTF-8")
    }
    return text
  }

  private mutating func escapedString(prefix: String) throws(Failure) -> String {
    var result = prefix
    var start = position
    while position < bytes.count {
      switch bytes[position] {
      case UInt8(ascii: "\""):
        result += try text(from: start, to: position)
        position += 1
        return result
      case UInt8(ascii: "\\"):
        result += try text(from: start, to: position)
        result.unicodeScalars.append(try escape())
        start = position
      case 0..<0x20: throw failure("Control character in a string")
      default: position += 1
      }
    }
    throw failure("Unterminated string")
  }

  private mutating func escape() throws(Failure) -> Unicode.Scalar {
    guard position + 1 < bytes.count else { throw failure("Unterminated string") }
    let kind = bytes[position + 1]
    position += 2
    switch kind {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(kind)
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "u"): return try unicodeEscape()
    default: throw failure("Unknown escape")
    }
  }

  private mutating func unicodeEscape() throws(Failure) -> Unicode.Scalar {
    let first = try hexadecimal()
    if let scalar = Unicode.Scalar(first) { return scalar }
    // A value that is not a scalar must be the first half of a surrogate pair.
    guard (0xD800..<0xDC00).contains(first), position + 1 < bytes.count, bytes[position] == UInt8(ascii: "\\"),
      bytes[position + 1] == UInt8(ascii: "u")
    else { throw failure("Lone surrogate") }
    position += 2
    let second = try hexadecimal()
    guard (0xDC00..<0xE000).contains(second),
      let scalar = Unicode.Scalar(0x10000 + (UInt32(first - 0xD800) << 10) + UInt32(second - 0xDC00))
    else { throw failure("Lone surrogate") }
    return scalar
  }

  private mutating func hexadecimal() throws(Failure) -> UInt16 {
    guard bytes.count - position >= 4 else { throw failure("Unterminated escape") }
    var value: UInt16 = 0
    for _ in 0..<4 {
      let digit: UInt8
      switch bytes[position] {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = bytes[position] - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = bytes[position] - UInt8(ascii: "a") + 10
      case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = bytes[position] - UInt8(ascii: "A") + 10
      default: throw failure("Expected a hexadecimal digit")
      }
      value = value << 4 | UInt16(digit)
      position += 1
    }
    return value
  }

  private mutating func digits() throws(Failure) {
    let start = position
    while position < bytes.count, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(bytes[position]) { position += 1 }
    guard position > start else { throw failure("Expected a digit") }
  }

  private mutating func number() throws(Failure) -> JSON {
    let start = position
    var isWhole = true
    if bytes[position] == UInt8(ascii: "-") { position += 1 }
    let firstDigit = position
    try digits()
    if bytes[firstDigit] == UInt8(ascii: "0"), position > firstDigit + 1 { throw failure("Number with a leading zero") }
    if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
      isWhole = false
      position += 1
      try digits()
    }
    if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
      isWhole = false
      position += 1
      if position < bytes.count, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
        position += 1
      }
      try digits()
    }
    let text = try text(from: start, to: position)
    if isWhole, let whole = Int64(text) { return .int(whole) }
    guard let number = Double(text), number.isFinite else { throw failure("Number out of range") }
    return .double(number)
  }
}
