import CloudKit
import Facts

/// The account that this engine uses.
extension SyncEngine {
  /// Rejects a sync with the store of another user.
  func rejectWrongAccount() async throws {
    if !configuration.takesOver { try store.check(Sender(user: identity, credential: credential)) }
    guard let owner = try store.owner(), owner != SyncStore.anonymous else { return }
    let identity =
      if let identity { identity } else { try await client.caller().userRecordName }
    try store.check(Sender(user: identity, credential: credential))
  }

  /// Records in the store that a sync was rejected because its credential belongs to another user, for `status` and
  /// dashboards.
  nonisolated func notingRefusal<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch let error as StoreError where error.kind == .otherUser {
      try store.noteRefusal(true)
      throw error
    }
  }

  /// The name of the credential, which identifies its user; nil if it does not.
  nonisolated var credential: String? { configuration.credential }
}

extension SyncEngine.Configuration {
  /// The name of the credential, which identifies its user; nil if it does not.
  fileprivate var credential: String? {
    if let signIn { return signIn }
    // Another user may have signed in since the client was created.
    guard client.signIn == 0, case .webAuth(_, let token)? = client.configuration.credential else { return nil }
    return CredentialDigest.name(ofToken: token)
  }

  /// Returns the name of everything that the server checks of a request, which stays the same while the server replaces
  /// the token.
  var requestCredential: @Sendable () -> String? {
    { [client, signIn] in
      switch client.configuration.credential {
      case .serverToServerKey(let key): "\(key.keyID) \(key.fingerprint)"
      case .apiToken(let token): "\(token) \(client.signIn)"
      case .webAuth(let apiToken, let token): "\(apiToken) \(signIn ?? token) \(client.signIn)"
      case nil: nil
      }
    }
  }

  /// The user who enqueues, as far as the configuration shows; nil if unknown or signed out.
  var sender: Sender? {
    let user = identity ?? owner
    if let user { return user == SyncStore.anonymous ? nil : Sender(user: user, credential: credential) }
    // A token that the server replaces with each reply would not be recognized at the next start.
    return signIn.map { Sender(user: nil, credential: $0) }
  }
}
