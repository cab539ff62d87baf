/// Gzip by hand: what goes over the wire in a test is not made by the library that reads it.
enum Gzip {
  /// Bytes as they are, in a gzip of one stored block; at most 65,535.
  static func stored(_ text: String) -> [UInt8] {
    let bytes = Array(text.utf8)
    let count = UInt16(bytes.count)
    return header + [1] + littleEndian(count) + littleEndian(~count) + bytes + littleEndian(checksum(bytes))
      + littleEndian(UInt32(bytes.count))
  }

  /// Zeros, 258 for every thirteen bits.
  static func zeros(_ count: Int) -> [UInt8] {
    let whole = 1 + count / 258 * 258
    return bomb(zeros: count, end: "0000000") + littleEndian(checksum([UInt8](repeating: 0, count: whole)))
      + littleEndian(UInt32(whole))
  }

  /// Zeros, 258 for every thirteen bits, without an end.
  static func bomb(zeros: Int, end: String = "") -> [UInt8] {
    var bits: [Bool] = [true, true, false]
    let append = { (code: String) in bits += code.map { $0 == "1" } }
    // The codes of the fixed tree: one zero, then matches of the greatest length at distance 1.
    append("00110000")
    for _ in 0..<zeros / 258 { append("1100010100000") }
    append(end)
    return header
      + stride(from: 0, to: bits.count, by: 8).map { start in
        bits[start..<min(start + 8, bits.count)].enumerated().reduce(0) { $0 | ($1.element ? 1 << $1.offset : 0) }
      }
  }

  private static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]

  private static func littleEndian(_ number: some FixedWidthInteger) -> [UInt8] {
    withUnsafeBytes(of: number.littleEndian) { Array($0) }
  }

  private static func checksum(_ bytes: [UInt8]) -> UInt32 {
    ~bytes.reduce(UInt32.max) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
    }
  }
}
