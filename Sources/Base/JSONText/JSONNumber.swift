/// A number in its JSON encoding, not converted to a Swift type yet.
///
/// It borrows its bytes from the reader and must not outlive it.
package struct JSONNumber {
  let bytes: UnsafeRawBufferPointer
  /// Whether the number has neither a fraction nor an exponent.
  let isPlain: Bool

  /// Creates the number at the start of the bytes; nil if there is none.
  init?(startOf bytes: UnsafeRawBufferPointer) {
    var end = 0
    func digits() -> Bool {
      let start = end
      while end < bytes.count, Self.isDigit(bytes[end]) { end += 1 }
      return end > start
    }

    if end < bytes.count, bytes[end] == UInt8(ascii: "-") { end += 1 }
    if end < bytes.count, bytes[end] == UInt8(ascii: "0") {
      end += 1
      guard end == bytes.count || !Self.isDigit(bytes[end]) else { return nil }
    } else {
      guard digits() else { return nil }
    }
    var isPlain = true
    if end < bytes.count, bytes[end] == UInt8(ascii: ".") {
      end += 1
      isPlain = false
      guard digits() else { return nil }
    }
    if end < bytes.count, bytes[end] | 0x20 == UInt8(ascii: "e") {
      end += 1
      isPlain = false
      if end < bytes.count, bytes[end] == UInt8(ascii: "+") || bytes[end] == UInt8(ascii: "-") { end += 1 }
      guard digits() else { return nil }
    }
    self.bytes = UnsafeRawBufferPointer(rebasing: bytes[..<end])
    self.isPlain = isPlain
  }

  /// Passes the number that a text consists of to a closure; nil if the text is no number.
  package static func read<Value>(_ text: String, _ body: (JSONNumber) -> Value?) -> Value? {
    var text = text
    return text.withUTF8 { JSONNumber(wholeOf: UnsafeRawBufferPointer($0)).flatMap(body) }
  }

  /// Creates the number that all of the bytes represent.
  init?(wholeOf bytes: UnsafeRawBufferPointer) {
    self.init(startOf: bytes)
    guard self.bytes.count == bytes.count else { return nil }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

  private var isNegative: Bool { bytes[0] == UInt8(ascii: "-") }

  /// The number as written.
  package var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The number as a 64-bit integer, in whatever form it is written; nil if it does not fit. It is never rounded.
  package var int64: Int64? {
    if isPlain { return Self.int64(bytes[(isNegative ? 1 : 0)...], zeros: 0, isNegative: isNegative) }
    // 12.50e1 is 125: the digits without the point and without zeros at either end, shifted by the remaining exponent.
    let exponentMark = bytes.firstIndex { $0 | 0x20 == UInt8(ascii: "e") } ?? bytes.count
    var digits = bytes[..<exponentMark].filter(Self.isDigit)
    var shift = Self.exponent(bytes[exponentMark...].dropFirst())
    if let point = bytes[..<exponentMark].firstIndex(of: UInt8(ascii: ".")) { shift -= exponentMark - point - 1 }
    while digits.last == UInt8(ascii: "0") {
      digits.removeLast()
      shift += 1
    }
    guard !digits.isEmpty else { return 0 }
    let significant = digits.drop { $0 == UInt8(ascii: "0") }
    guard shift >= 0, significant.count + shift <= 19 else { return nil }
    return Self.int64(significant, zeros: shift, isNegative: isNegative)
  }

  private static func int64(_ digits: some Sequence<UInt8>, zeros: Int, isNegative: Bool) -> Int64? {
    var value: Int64 = 0
    func append(_ digit: Int64) -> Bool {
      let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
      // Count down, because there is one more negative number.
      let (sum, overflowed) = shifted.subtractingReportingOverflow(digit)
      value = sum
      return !overflow && !overflowed
    }
    for digit in digits { guard append(Int64(digit - UInt8(ascii: "0"))) else { return nil } }
    for _ in 0..<zeros { guard append(0) else { return nil } }
    if isNegative { return value }
    return value == .min ? nil : -value
  }

  /// Parses an exponent with its sign. It is capped at a value that no number of digits can compensate.
  private static func exponent(_ text: Slice<UnsafeRawBufferPointer>) -> Int {
    var value = 0
    for digit in text where isDigit(digit) { value = min(value * 10 + Int(digit - UInt8(ascii: "0")), 1 << 48) }
    return text.first == UInt8(ascii: "-") ? -value : value
  }

  /// The nearest double; nil if the number overflows, or is not zero but rounds to zero.
  package var double: Double? {
    if let exact = shortDecimal { return exact }
    // Detect zero first: `Double` also returns zero for numbers that are too small.
    let mantissa = bytes.prefix { $0 | 0x20 != UInt8(ascii: "e") }
    if mantissa.allSatisfy({ !(UInt8(ascii: "1")...UInt8(ascii: "9")).contains($0) }) { return isNegative ? -0.0 : 0 }
    guard let value = Double(text), value.isFinite, value != 0 else { return nil }
    return value
  }

  /// The double of at most 15 digits without an exponent. The digits and the power of ten are exact then, so that the
  /// quotient is rounded only once.
  private var shortDecimal: Double? {
    guard bytes.count <= 16 else { return nil }
    var digits: Int64 = 0
    var count = 0
    var point: Int?
    for byte in bytes[(isNegative ? 1 : 0)...] {
      if Self.isDigit(byte) {
        digits = digits * 10 + Int64(byte - UInt8(ascii: "0"))
        count += 1
      } else if byte == UInt8(ascii: ".") {
        point = count
      } else {
        return nil
      }
    }
    guard count <= 15 else { return nil }
    let magnitude = Double(digits) / Self.powersOfTen[count - (point ?? count)]
    return isNegative ? -magnitude : magnitude
  }

  private static let powersOfTen: [Double] = [
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
  ]
}
