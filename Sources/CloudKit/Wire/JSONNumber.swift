/// A number as JSON spells it, not yet made into one of Swift's.
///
/// It borrows its bytes from the reader and must not outlive it.
package struct JSONNumber {
  let bytes: UnsafeRawBufferPointer
  /// Whether there is neither a fraction nor an exponent.
  let isPlain: Bool

  /// The number that the bytes begin with, as far as it goes; nil where they begin with none.
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

  /// The number that the bytes are.
  init?(wholeOf bytes: UnsafeRawBufferPointer) {
    self.init(startOf: bytes)
    guard self.bytes.count == bytes.count else { return nil }
  }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

  private var isNegative: Bool { bytes[0] == UInt8(ascii: "-") }

  /// The number as it is written.
  var text: String { String(decoding: bytes, as: UTF8.self) }

  /// The number where it is a whole one of 64 bits, however it is written; never rounded.
  var int64: Int64? {
    if isPlain { return Self.int64(bytes[(isNegative ? 1 : 0)...], zeros: 0, isNegative: isNegative) }
    // 12.50e1 is 125: the digits without the point and without zeros at either end, shifted by what is left.
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
      // Counted downwards, since there is one negative number more.
      let (sum, overflowed) = shifted.subtractingReportingOverflow(digit)
      value = sum
      return !overflow && !overflowed
    }
    for digit in digits { guard append(Int64(digit - UInt8(ascii: "0"))) else { return nil } }
    for _ in 0..<zeros { guard append(0) else { return nil } }
    if isNegative { return value }
    return value == .min ? nil : -value
  }

  /// An exponent with its sign. Beyond what any length of digits could make up for, more makes no difference.
  private static func exponent(_ text: Slice<UnsafeRawBufferPointer>) -> Int {
    var value = 0
    for digit in text where isDigit(digit) { value = min(value * 10 + Int(digit - UInt8(ascii: "0")), 1 << 48) }
    return text.first == UInt8(ascii: "-") ? -value : value
  }

  /// The nearest double; nil where the number is too large for any, or so small that nothing of it would be left.
  var double: Double? {
    if let exact = shortDecimal { return exact }
    // Zero is told apart from what is too small here, since both come out of `Double` as zero.
    let mantissa = bytes.prefix { $0 | 0x20 != UInt8(ascii: "e") }
    if mantissa.allSatisfy({ !(UInt8(ascii: "1")...UInt8(ascii: "9")).contains($0) }) { return isNegative ? -0.0 : 0 }
    guard let value = Double(text), value.isFinite, value != 0 else { return nil }
    return value
  }

  /// The double of up to 15 digits without an exponent: digits and power of ten are exact then, so that their quotient is
  /// rounded once.
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
