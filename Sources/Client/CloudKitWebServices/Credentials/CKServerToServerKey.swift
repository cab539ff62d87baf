internal import Crypto
package import Foundation
internal import JSONText

/// A P-256 private key with the identifier of its registered public key.
///
/// Its description shows only the identifier, which is public.
public struct CKServerToServerKey: Sendable {
  /// The identifier that CloudKit Console assigned to the public key.
  public let keyID: String

  private let privateKey: P256.Signing.PrivateKey

  /// Reads a private key in PEM form: `EC PRIVATE KEY` (SEC 1, as written by `openssl ecparam`) or `PRIVATE KEY` (PKCS
  /// #8).
  ///
  /// - Throws: `CKCredentialError` if the text is not a P-256 private key, or the key is encrypted, or the identifier
  ///   is empty or contains blanks.
  public init(keyID: String, pemRepresentation: String) throws(CKCredentialError) {
    let keyID = keyID.trimmingCharacters(in: .whitespacesAndNewlines)
    // The identifier becomes a header: a line break in it would start another header.
    guard !keyID.isEmpty, keyID.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw CKCredentialError("The key ID is empty or contains blanks: copy it from CloudKit Console.")
    }
    self.keyID = keyID
    privateKey = try Self.privateKey(inPEM: pemRepresentation)
  }

  /// Generates a key that CloudKit does not know yet.
  ///
  /// Register `publicKeyPEM` in CloudKit Console, which assigns the key's identifier. An emulator accepts `keyID`.
  public static func generate() -> Generated {
    let key = P256.Signing.PrivateKey()
    let digest = SHA256.hash(data: key.publicKey.derRepresentation)
    return Generated(
      keyID: digest.hexadecimal,
      privateKeyPEM: key.pemRepresentation,
      publicKeyPEM: key.publicKey.pemRepresentation
    )
  }

  /// A generated key, to be written to files. Only `privateKeyPEM` is secret.
  public struct Generated: Sendable {
    /// The SHA-256 of the public key's DER form, in lowercase hexadecimal digits.
    public let keyID: String
    /// The private key in PEM form (PKCS #8).
    public let privateKeyPEM: String
    /// The public key in PEM form, for registration.
    public let publicKeyPEM: String
  }

  /// The SHA-256 of the public key, which tells two keys of one identifier apart.
  package var fingerprint: String { SHA256.hash(data: privateKey.publicKey.derRepresentation).hexadecimal }

  /// Returns the three headers that sign a request (CloudKit Web Services Reference, "Accessing CloudKit Using a
  /// Server-to-Server Key").
  ///
  /// - Parameters:
  ///   - body: The exact bytes that will be sent; nil signs an empty text in place of their hash.
  ///   - path: The percent-encoded path from `/database/…`, without the query.
  ///   - date: The current date by the server's clock: the server rejects a signature ten minutes after its date.
  ///
  /// - Throws: The cryptographic library's error if it cannot sign, which happens only when memory runs out.
  package func signatureHeaders(body: Data?, path: String, date: Date) throws -> [CKHTTPHeader] {
    let stamp = date.formatted(Date.ISO8601FormatStyle(timeZone: .gmt))
    let bodyHash = body.map { Data(SHA256.hash(data: $0)).base64EncodedString() } ?? ""
    let message = Data("\(stamp):\(bodyHash):\(path)".utf8)
    // `signature(for:)` hashes the message.
    let signature = try privateKey.signature(for: message)
    return [
      CKHTTPHeader("X-Apple-CloudKit-Request-KeyID", keyID),
      CKHTTPHeader("X-Apple-CloudKit-Request-ISO8601Date", stamp),
      CKHTTPHeader("X-Apple-CloudKit-Request-SignatureV1", signature.derRepresentation.base64EncodedString()),
    ]
  }

  private static func privateKey(inPEM text: String) throws(CKCredentialError) -> P256.Signing.PrivateKey {
    if text.contains("ENCRYPTED") {
      throw CKCredentialError("The private key is encrypted: decrypt it with `openssl ec -in KEY -out PLAIN`.")
    }
    if !text.contains("PRIVATE KEY-----"), text.contains("PUBLIC KEY-----") || text.contains("CERTIFICATE-----") {
      throw CKCredentialError("This is the public half of a key: give the private key.")
    }
    for label in ["EC PRIVATE KEY", "PRIVATE KEY"] {
      // Without -noout, `openssl ecparam` writes the curve's parameters before the key.
      guard
        let begin = text.range(of: "-----BEGIN \(label)-----"),
        let end = text.range(of: "-----END \(label)-----", range: begin.upperBound..<text.endIndex)
      else { continue }
      let block = String(text[begin.lowerBound..<end.upperBound])
      if let key = try? P256.Signing.PrivateKey(pemRepresentation: block) { return key }
      throw CKCredentialError("The private key is not a P-256 key: make one with `openssl ecparam -name prime256v1`.")
    }
    throw CKCredentialError("No private key in PEM form was found (-----BEGIN EC PRIVATE KEY-----).")
  }
}

extension CKServerToServerKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The kind of credential and the key's public identifier.
  public var description: String { "server-to-server key \(keyID)" }
  /// The same as `description`.
  public var debugDescription: String { description }
  /// A mirror with only the identifier, because `dump` and crash reports print mirrors.
  public var customMirror: Mirror { Mirror(self, children: ["keyID": keyID]) }
}

extension CKServerToServerKey.Generated: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The key's identifier.
  public var description: String { "generated key \(keyID)" }
  /// The same as `description`.
  public var debugDescription: String { description }
  /// A mirror with only the identifier, because `dump` and crash reports print mirrors.
  public var customMirror: Mirror { Mirror(self, children: ["keyID": keyID]) }
}
