/// A user who enqueues or sends, as far as known.
package struct Sender: Hashable, Sendable {
  /// The user that the credential or the server named; nil if the server has to be asked.
  package var user: String?
  /// The name of the credential; see `CredentialDigest.name(ofToken:)`. Nil if it does not identify the user.
  package var credential: String?

  package init(user: String?, credential: String? = nil) {
    self.user = user
    self.credential = credential
  }
}

/// The user that a store belongs to, as far as known.
package enum StoreOwner: Hashable, Sendable {
  /// No user yet.
  case none
  /// The user that the server named.
  case user(String)
  /// The user who queued its changes, according to the credential. The server has not confirmed it.
  case queuer(String)
  /// The credential with which its changes were queued. The server has not named its user yet.
  case credential(CredentialDigest)

  /// The access of a sender to the store's queue.
  package enum Access: Hashable, Sendable {
    case granted
    /// The server has to name the sender first. Enqueueing need not wait for that.
    case unknown
    case refused
  }

  /// The names of the settings with which the owner signs in.
  package var variables: String {
    switch self {
    case .user(let user) where user.hasPrefix("key:"), .queuer(let user) where user.hasPrefix("key:"):
      "CLOUDKIT_KEY_ID and CLOUDKIT_KEY_FILE"
    default: "CLOUDKIT_WEB_AUTH_TOKEN"
    }
  }

  /// Decides whether a sender may use the store's queue.
  ///
  /// - Parameter hasChanges: whether changes are queued. If not, only a user that the server named keeps the store.
  package func access(of sender: Sender, hasChanges: Bool) -> Access {
    switch self {
    case .none: return .granted
    case .user(let user): return sender.user.map { $0 == user ? .granted : .refused } ?? .unknown
    case .queuer where !hasChanges, .credential where !hasChanges: return .granted
    case .queuer(let user): return sender.user.map { $0 == user ? .granted : .refused } ?? .unknown
    case .credential(let digest): return sender.credential.map(digest.matches) == true ? .granted : .refused
    }
  }
}
