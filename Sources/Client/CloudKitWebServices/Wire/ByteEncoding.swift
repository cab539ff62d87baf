extension String {
  /// The text with all bytes but letters, digits and `-._~` percent-encoded, for a part of a URL's path or query.
  package var percentEncoded: String { utf8.map(\.percentEncoded).joined() }
}

extension UInt8 {
  private static let unreserved = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~".utf8)

  /// The byte as a character, percent-encoded unless it is a letter, a digit or one of `-._~`.
  var percentEncoded: String {
    if Self.unreserved.contains(self) { return String(UnicodeScalar(self)) }
    return (self < 16 ? "%0" : "%") + String(self, radix: 16, uppercase: true)
  }
}
