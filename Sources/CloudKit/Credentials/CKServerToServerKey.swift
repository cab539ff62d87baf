internal import Crypto
import Foundation

/// A private key on the curve P-256 with the identifier under which its public half is registered with a container.
///
/// Its description shows the identifier, which is public, and nothing else.
public struct CKServerToServerKey: Sendable {
  /// The identifier that CloudKit Console gave the public key.
  public let keyID: String

  private let privateKey: P256.Signing.PrivateKey

  /// Reads a private key in PEM form: `EC PRIVATE KEY` (SEC 1, what `openssl ecparam` writes) or `PRIVATE KEY` (PKCS #8).
  ///
  /// - Throws: `CKCredentialError` when the text is no such key, is encrypted, or lies on another curve.
  public init(keyID: String, pemRepresentation: String) throws(CKCredentialError) {
    let keyID = keyID.trimmingCharacters(in: .whitespacesAndNewlines)
    // The identifier becomes a header: a line break in it would start another one.
    guard !keyID.isEmpty, keyID.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
      throw CKCredentialError("The key ID is empty or holds blanks: copy it from CloudKit Console.")
    }
    self.keyID = keyID
    privateKey = try Self.privateKey(inPEM: pemRepresentation)
  }

  /// A new key, which CloudKit does not know yet.
  ///
  /// Register `publicKeyPEM` in CloudKit Console, which answers with the key's identifier; an emulator takes `keyID`.
  public static func generate() -> Generated {
    let key = P256.Signing.PrivateKey()
    let digest = SHA256.hash(data: key.publicKey.derRepresentation)
    return Generated(
      keyID: digest.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined(),
      privateKeyPEM: key.pemRepresentation,
      publicKeyPEM: key.publicKey.pemRepresentation
    )
  }

  /// A freshly generated key, to be written to files. Only `privateKeyPEM` is secret.
  public struct Generated: Sendable {
    /// The SHA-256 of the public key's DER form, in lowercase hexadecimal digits.
    public let keyID: String
    /// The private key, PKCS #8 in PEM form.
    public let privateKeyPEM: String
    /// The public key in PEM form, to be registered.
    public let publicKeyPEM: String
  }

  /// The three headers that sign a request (CloudKit Web Services Reference, "Accessing CloudKit Using a
  /// Server-to-Server Key").
  ///
  /// - Parameters:
  ///   - body: The very bytes that will be sent.
  ///   - path: The percent-encoded path from `/database/…`, without the query.
  ///   - date: Now, by the server's clock: a signature is refused ten minutes after its date.
  ///
  /// - Throws: What the cryptographic library throws when it cannot sign, which only happens when memory runs out.
  package func signatureHeaders(body: Data, path: String, date: Date) throws -> [CKHTTPHeader] {
    let stamp = date.formatted(Date.ISO8601FormatStyle(timeZone: .gmt))
    let bodyHash = Data(SHA256.hash(data: body)).base64EncodedString()
    let message = Data("\(stamp):\(bodyHash):\(path)".utf8)
    // Signing hashes the message itself.
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
      throw CKCredentialError("This is the public half of a key: the private key is needed.")
    }
    for label in ["EC PRIVATE KEY", "PRIVATE KEY"] {
      // Without -noout, `openssl ecparam` writes the curve's parameters in front of the key.
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
  /// The identifier alone: `dump` and crash reports print mirrors.
  public var customMirror: Mirror { Mirror(self, children: ["keyID": keyID]) }
}

extension CKServerToServerKey.Generated: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The key's identifier.
  public var description: String { "generated key \(keyID)" }
  /// The same as `description`.
  public var debugDescription: String { description }
  /// The identifier alone: `dump` and crash reports print mirrors.
  public var customMirror: Mirror { Mirror(self, children: ["keyID": keyID]) }
}
