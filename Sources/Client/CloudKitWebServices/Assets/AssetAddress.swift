internal import Foundation

/// Builds the URL of an asset's bytes from the address that the server returned.
enum AssetAddress {
  /// Returns the address with its placeholder `${f}` replaced by a file name and all characters that are illegal in a
  /// URL percent-encoded (reference 5.9); nil if the result is not the address of a web host.
  static func url(_ text: String, fileName: String = "asset") -> URL? {
    let encoded = encodingIllegalBytes(of: text.replacing("${f}", with: fileName.percentEncoded))
    guard
      let parts = URLComponents(string: encoded), let scheme = parts.scheme?.lowercased(),
      ["http", "https"].contains(scheme), let host = parts.percentEncodedHost, !host.isEmpty, !host.contains("%"),
      parts.user == nil, parts.password == nil
    else { return nil }
    return parts.url
  }

  private static let reserved = Set(":/?#@!$&'()*+,;=".utf8)

  /// Bytes that are already percent-encoded stay unchanged, because signatures cover them.
  private static func encodingIllegalBytes(of text: String) -> String {
    let bytes = Array(text.utf8)
    // Brackets are legal only around an IPv6 address.
    let authorityEnd = bytes.indices.dropFirst("https://".utf8.count).first { "/?#".utf8.contains(bytes[$0]) }
    return bytes.enumerated().map { index, byte in
      let isEscape =
        byte == UInt8(ascii: "%") && index + 2 < bytes.count && isHexDigit(bytes[index + 1])
        && isHexDigit(bytes[index + 2])
      let isBracket = "[]".utf8.contains(byte) && index < authorityEnd ?? bytes.count
      return isEscape || isBracket || reserved.contains(byte) ? String(UnicodeScalar(byte)) : byte.percentEncoded
    }
    .joined()
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool { Character(UnicodeScalar(byte)).isHexDigit }
}
