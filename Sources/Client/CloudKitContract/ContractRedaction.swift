import CloudKit
import Foundation
import JSONText

/// Removes private values from texts of the server, so that a report can be published.
struct ContractRedaction: Sendable {
  private var secrets: [String]

  /// Creates a redaction of a client's container and credential.
  init(_ configuration: WebServicesClient.Configuration) {
    secrets = [configuration.container]
    switch configuration.credential {
    case .serverToServerKey(let key): secrets.append(key.keyID)
    case .apiToken(let token): secrets.append(token)
    case .webAuth(let apiToken, let webAuthToken): secrets += [apiToken, webAuthToken]
    case nil: break
    }
  }

  /// Removes a further text, such as the user's record name.
  mutating func add(_ secret: String?) {
    if let secret, secret != CKCurrentUserDefaultName { secrets.append(secret) }
  }

  private static let longest = 200

  /// Returns the text without private values: those that are known, the queries of URLs, hosts, names of users, and
  /// anything else long enough to be a token or an identifier.
  func redact(_ text: String) -> String {
    var text = text
    for secret in secrets.sorted(by: { $0.count > $1.count }) where secret.count > 1 {
      for form in [secret, secret.percentEncoded] { text = text.replacing(form, with: "***") }
    }
    text = text.replacing(/\?[^\s"']*[=&][^\s"']*/, with: "?***")
    text = text.replacing(/[^\s"'<>@]+@[^\s"'<>@]+/, with: "***")
    text = text.replacing(/_[0-9a-f]{8,}/, with: "***")
    // Hosts with their ports, which errors of the connection name.
    text = text.replacing(/[A-Za-z0-9._-]*[A-Za-z][A-Za-z0-9._-]*:[0-9]{2,5}/, with: "***")
    text = text.replacing(/[0-9]{1,3}(\.[0-9]{1,3}){3}(:[0-9]{2,5})?|\[[0-9A-Fa-f:.]+\]:[0-9]{2,5}/, with: "***")
    text = text.replacing(/[A-Za-z0-9+\/=_%~.-]{24,}/) { match in
      // Codes such as VALIDATING_REFERENCE_ERROR stay.
      match.output.allSatisfy { $0.isUppercase || $0 == "_" } ? String(match.output) : "***"
    }
    text = String(text.unicodeScalars.map { $0.value < 0x20 || $0.value == 0x7F ? " " : Character($0) })
    return text.count > Self.longest ? "\(text.prefix(Self.longest))…" : text
  }
}
