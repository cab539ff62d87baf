import Crypto
import Foundation
import JSONText

/// A registered server-to-server key: the public key and its ID.
public struct ServerKey: Sendable {
  /// The key ID: the lowercase hexadecimal SHA-256 of the key's DER (SubjectPublicKeyInfo). Real key IDs also have 64
  /// digits [C], but are generated differently. [E]
  public let keyID: String

  let publicKey: P256.Signing.PublicKey

  /// The reason why a text is not a valid key.
  public enum Invalid: Error {
    /// It has no `BEGIN PUBLIC KEY` block. For example, it is a private key, which must not be registered.
    case noPublicKey
    /// The block does not contain a P-256 key.
    case notP256
  }

  /// Parses a P-256 public key in PEM (`BEGIN PUBLIC KEY`) with any line breaks.
  ///
  /// - Throws: `Invalid`.
  public init(_ pem: String) throws(Invalid) {
    let parts = pem.components(separatedBy: "-----")
    guard let begin = parts.firstIndex(of: "BEGIN PUBLIC KEY"), parts.count > begin + 2,
      let der = Data(base64Encoded: parts[begin + 1], options: .ignoreUnknownCharacters)
    else { throw .noPublicKey }
    guard let key = try? P256.Signing.PublicKey(derRepresentation: der) else { throw .notP256 }
    publicKey = key
    keyID = SHA256.hash(data: publicKey.derRepresentation).hexadecimal
  }
}

/// Verifies server-to-server signatures in a fixed order (reference 1.5). All failures have the same error. [L3]
enum ServerSignature {
  private static let names = (
    key: "x-apple-cloudkit-request-keyid", date: "x-apple-cloudkit-request-iso8601date",
    signature: "x-apple-cloudkit-request-signaturev1"
  )

  static func isClaimed(by request: EmulatorRequest) -> Bool {
    [names.key, names.date, names.signature].contains { request.header($0) != nil }
  }

  static func verify(
    _ request: EmulatorRequest,
    route: Route,
    configuration: EmulatorConfiguration,
    at time: Date
  ) throws(ServerError) -> Caller {
    guard let keyID = request.header(names.key), let dateText = request.header(names.date),
      let signatureText = request.header(names.signature),
      let key = configuration.serverKeys.first(where: { $0.keyID == keyID }),
      let date = Timestamps.date(fromISO8601: dateText),
      isTimely(time.timeIntervalSince(date), configuration.assumptions),
      let der = Data(base64Encoded: signatureText),
      let signature = try? P256.Signing.ECDSASignature(derRepresentation: der),
      bodyHashes(request.body, configuration.assumptions).contains(where: { hash in
        key.publicKey.isValidSignature(signature, for: Data("\(dateText):\(hash):\(request.path)".utf8))
      }),
      route.scope == .public, !route.operation.isAboutUsers
    else { throw .unauthenticated }
    return .server(keyID: keyID)
  }

  /// Whether the date of a signature is valid: by default at most ten minutes old [2nd] (Question 26), and at most ten
  /// minutes ahead [E] (Question 20).
  private static func isTimely(_ age: TimeInterval, _ assumptions: EmulatorAssumptions) -> Bool {
    let milliseconds = Int64((age * 1000).rounded())
    return milliseconds <= assumptions.signatureLifetime.milliseconds
      && -milliseconds <= assumptions.futureSkew.milliseconds
  }

  /// Returns the accepted body hashes. Without a body, some clients sign the hash of zero bytes and some the empty
  /// string. [C] (Question 2)
  private static func bodyHashes(_ body: Data, _ assumptions: EmulatorAssumptions) -> [String] {
    let hash = Data(SHA256.hash(data: body)).base64EncodedString()
    guard body.isEmpty else { return [hash] }
    return switch assumptions.emptyBodySignature {
    case .either: ["", hash]
    case .emptyText: [""]
    case .hashOfNothing: [hash]
    }
  }
}
