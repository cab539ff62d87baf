import CloudKit
import Crypto
import Foundation
import JSONText

/// A keyed digest that recognizes a credential without revealing it. Each digest has its own random key, so that two
/// stores hold different texts for one credential.
package struct CredentialDigest: Codable, Hashable, Sendable {
  /// The key and the digest, as stored.
  let text: String

  /// Digests a credential with a new key.
  init(of credential: String) {
    let key = SymmetricKey(size: .bits256)
    let digest = HMAC<SHA256>.authenticationCode(for: Data(credential.utf8), using: key)
    text = "\(key.withUnsafeBytes(\.hexadecimal)):\(digest.hexadecimal)"
  }

  /// Decodes a stored digest.
  init(stored text: String) { self.text = text }

  /// Whether this is the digest of a credential.
  func matches(_ credential: String) -> Bool {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    guard parts.count == 2, let key = Self.bytes(parts[0]), let digest = Self.bytes(parts[1]) else { return false }
    return HMAC<SHA256>.isValidAuthenticationCode(
      digest,
      authenticating: Data(credential.utf8),
      using: SymmetricKey(data: key)
    )
  }

  /// The name that stands for a web auth token inside this process: its SHA-256.
  package static func name(ofToken token: String) -> String { SHA256.hash(data: Data(token.utf8)).hexadecimal }

  private static func bytes(_ text: Substring) -> Data? {
    let digits = Array(text)
    guard digits.count.isMultiple(of: 2) else { return nil }
    var bytes = Data()
    for index in stride(from: 0, to: digits.count, by: 2) {
      guard let byte = UInt8(String(digits[index...index + 1]), radix: 16) else { return nil }
      bytes.append(byte)
    }
    return bytes
  }
}
