/// Decodes the escapes in JSON strings.
enum JSONEscapes {
  /// Returns the contents of a string with its escapes resolved; nil for an invalid escape, an unpaired surrogate or
  /// invalid UTF-8.
  static func resolved(_ raw: UnsafeRawBufferPointer) -> String? {
    var text: [UInt8] = []
    text.reserveCapacity(raw.count)
    var at = 0
    while at < raw.count {
      let byte = raw[at]
      at += 1
      guard byte == UInt8(ascii: "\\") else {
        text.append(byte)
        continue
      }
      guard at < raw.count else { return nil }
      let kind = raw[at]
      at += 1
      switch kind {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(kind)
      case UInt8(ascii: "b"): text.append(0x08)
      case UInt8(ascii: "f"): text.append(0x0C)
      case UInt8(ascii: "n"): text.append(0x0A)
      case UInt8(ascii: "r"): text.append(0x0D)
      case UInt8(ascii: "t"): text.append(0x09)
      case UInt8(ascii: "u"):
        guard let scalar = scalar(raw, &at) else { return nil }
        text.append(contentsOf: String(scalar).utf8)
      default: return nil
      }
    }
    return String(validating: text, as: UTF8.self)
  }

  /// Returns the scalar of the next four hexadecimal digits, or of the next surrogate pair.
  private static func scalar(_ raw: UnsafeRawBufferPointer, _ at: inout Int) -> Unicode.Scalar? {
    guard let unit = unit(raw, &at) else { return nil }
    guard (0xD800..<0xDC00).contains(unit) else { return Unicode.Scalar(unit) }
    guard at + 1 < raw.count, raw[at] == UInt8(ascii: "\\"), raw[at + 1] == UInt8(ascii: "u") else { return nil }
    at += 2
    guard let low = Self.unit(raw, &at), (0xDC00..<0xE000).contains(low) else { return nil }
    return Unicode.Scalar(0x10000 + (unit - 0xD800) << 10 + (low - 0xDC00))
  }

  private static func unit(_ raw: UnsafeRawBufferPointer, _ at: inout Int) -> UInt32? {
    guard at + 4 <= raw.count else { return nil }
    var unit: UInt32 = 0
    for digit in raw[at..<at + 4] {
      switch digit {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): unit = unit << 4 + UInt32(digit - UInt8(ascii: "0"))
      case UInt8(ascii: "a")...UInt8(ascii: "f"): unit = unit << 4 + UInt32(digit - UInt8(ascii: "a") + 10)
      case UInt8(ascii: "A")...UInt8(ascii: "F"): unit = unit << 4 + UInt32(digit - UInt8(ascii: "A") + 10)
      default: return nil
      }
    }
    at += 4
    return unit
  }
}
