/// Decodes the escapes in JSON strings.
struct JSONEscapes {
  private let raw: UnsafeRawBufferPointer
  /// The offset of the contents in the document, for errors.
  private let start: Int
  private var at = 0

  /// Returns the contents of a string with its escapes resolved.
  ///
  /// - Throws: `JSONError` for an invalid escape, an unpaired surrogate or invalid UTF-8.
  static func resolved(_ raw: UnsafeRawBufferPointer, at start: Int) throws(JSONError) -> String {
    var escapes = JSONEscapes(raw: raw, start: start)
    var text: [UInt8] = []
    text.reserveCapacity(raw.count)
    while escapes.at < raw.count {
      let byte = raw[escapes.at]
      escapes.at += 1
      if byte == UInt8(ascii: "\\") { try escapes.escape(&text) } else { text.append(byte) }
    }
    guard let string = String(validating: text, as: UTF8.self) else {
      throw JSONError(reason: "not valid UTF-8", offset: start - 1)
    }
    return string
  }

  private func failure(_ reason: String, from escape: Int) -> JSONError {
    JSONError(reason: reason, offset: start + escape)
  }

  private mutating func escape(_ text: inout [UInt8]) throws(JSONError) {
    let escape = at - 1
    // The backslash is not the last byte: it would have escaped the closing quote.
    let kind = raw[at]
    at += 1
    switch kind {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(kind)
    case UInt8(ascii: "b"): text.append(0x08)
    case UInt8(ascii: "f"): text.append(0x0C)
    case UInt8(ascii: "n"): text.append(0x0A)
    case UInt8(ascii: "r"): text.append(0x0D)
    case UInt8(ascii: "t"): text.append(0x09)
    case UInt8(ascii: "u"): text.append(contentsOf: String(try scalar(escape)).utf8)
    default: throw failure("\\ is followed by no escape that JSON knows", from: escape)
    }
  }

  /// Returns the scalar of the next four hexadecimal digits, or of the next surrogate pair.
  private mutating func scalar(_ escape: Int) throws(JSONError) -> Unicode.Scalar {
    let unit = try unit(escape)
    if let scalar = Unicode.Scalar(unit) { return scalar }
    guard unit < 0xDC00, at + 1 < raw.count, raw[at] == UInt8(ascii: "\\"), raw[at + 1] == UInt8(ascii: "u") else {
      throw failure("half a surrogate pair", from: escape)
    }
    at += 2
    let low = try self.unit(escape)
    guard (0xDC00..<0xE000).contains(low),
      let scalar = Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
    else { throw failure("half a surrogate pair", from: escape) }
    return scalar
  }

  private mutating func unit(_ escape: Int) throws(JSONError) -> UInt32 {
    var unit: UInt32 = 0
    for digit in raw[at...].prefix(4) {
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit << 4 + UInt32(digit - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): unit = unit << 4 + UInt32(digit - UInt8(ascii: "a") + 10)
      case UInt8(ascii: "A")...UInt8(ascii: "F"): unit = unit << 4 + UInt32(digit - UInt8(ascii: "A") + 10)
      default: throw failure("\\u takes four hexadecimal digits", from: escape)
      }
    }
    guard at + 4 <= raw.count else { throw failure("\\u takes four hexadecimal digits", from: escape) }
    at += 4
    return unit
  }
}
