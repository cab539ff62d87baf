// JSON has no bytes. Keys, checksums and names consist of digits.

extension Sequence<UInt8> {
  /// The bytes as lowercase hexadecimal digits.
  package var hexadecimal: String {
    let digits = reduce(into: [] as [UInt8]) { digits, byte in
      digits.append(Self.digit(byte >> 4))
      digits.append(Self.digit(byte & 15))
    }
    return String(decoding: digits, as: UTF8.self)
  }

  private static func digit(_ number: UInt8) -> UInt8 {
    number < 10 ? UInt8(ascii: "0") + number : UInt8(ascii: "a") - 10 + number
  }
}
