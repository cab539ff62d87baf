/// A credential that a program sends to CloudKit.
///
/// A container uses one kind of credential: Apple's configuration rules reject an API token together with a
/// server-to-server key. Descriptions and mirrors never show a secret.
public enum CKCredential: Sendable {
  /// A server-to-server key. Gives access to the public database only, as the key's own fixed user.
  case serverToServerKey(CKServerToServerKey)
  /// An API token without a user. Gives access to what the role `_world` may do in the public database.
  case apiToken(String)
  /// An API token with the web auth token of a signed-in user. Gives access to the public, private and shared
  /// databases.
  ///
  /// The server replaces the web auth token with each reply, errors included.
  case webAuth(apiToken: String, webAuthToken: String)
}

extension CKCredential {
  /// Returns the query that carries the tokens, percent-encoded, without its question mark.
  ///
  /// Web auth tokens contain `+`, `/` and `=`. Everything but letters, digits and `-._~` is encoded, because a bare `+`
  /// is read as a space.
  package static func query(apiToken: String, webAuthToken: String?) -> String {
    let query = "ckAPIToken=" + apiToken.percentEncoded
    guard let webAuthToken else { return query }
    return query + "&ckWebAuthToken=" + webAuthToken.percentEncoded
  }
}

extension CKCredential: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// The kind of credential, and for a key its public identifier.
  public var description: String {
    switch self {
    case .serverToServerKey(let key): key.description
    case .apiToken: "API token"
    case .webAuth: "API token with web auth token"
    }
  }

  /// The same as `description`.
  public var debugDescription: String { description }

  /// An empty mirror, because `dump` and crash reports print mirrors.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
