extension Double {
  /// Creates the number that a decimal text stands for; nil for any other text, for a number out of range, and for one
  /// so small that it would become zero.
  package init?(decimal text: String) {
    guard let number = Double(text), number.isFinite else { return nil }
    let mantissa = text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }
    if number == 0, mantissa.contains(where: { (UInt8(ascii: "1")...UInt8(ascii: "9")).contains($0) }) { return nil }
    self = number
  }

  /// Returns a negative number if the integer is less than this number, 0 if they are equal, a positive number
  /// otherwise. Exact, unlike a comparison of both as floating-point numbers.
  package func order(of integer: Int64) -> Int {
    let bound = 0x1p63
    if self >= bound { return -1 }
    if self < -bound { return 1 }
    let whole = Int64(rounded(.towardZero))
    if integer != whole { return integer < whole ? -1 : 1 }
    let rest = self - Double(whole)
    return rest > 0 ? -1 : rest < 0 ? 1 : 0
  }
}
