import CloudKit
import Facts

/// The account that this engine uses.
extension SyncEngine {
  /// Rejects a sync with the store of another user.
  func refuseStrangers() async throws {
    if !configuration.takesOver { try store.check(Sender(user: identity, credential: credential)) }
    guard let owner = try store.owner(), owner != SyncStore.nobody else { return }
    let identity =
      if let identity { identity } else { try await client.caller().userRecordName }
    try store.check(Sender(user: identity, credential: credential))
  }

  /// Records in the store that a sync was rejected because its credential belongs to another user, for `status` and
  /// dashboards.
  func notingRefusal<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch let error as StoreError where error.kind == .otherUser {
      try store.noteRefusal(true)
      throw error
    }
  }

  /// The name of the credential, which identifies its user; nil if it does not.
  var credential: String? { configuration.credential }
}

extension SyncEngine.Configuration {
  /// The name of the credential, which identifies its user; nil if it does not.
  fileprivate var credential: String? {
    if let signIn { return signIn }
    // Another user may have signed in since the client was created.
    guard client.signIn == 0, case .webAuth(_, let token)? = client.configuration.credential else { return nil }
    return CredentialDigest.name(ofToken: token)
  }

  /// The user who enqueues, as far as the configuration shows; nil if unknown or signed out.
  var sender: Sender? {
    let user = identity ?? owner
    if let user { return user == SyncStore.nobody ? nil : Sender(user: user, credential: credential) }
    // A token that the server replaces with each reply would not be recognized at the next start.
    return signIn.map { Sender(user: nil, credential: $0) }
  }
}

/// Handling the queue while its user is signed out.
extension SyncEngine {
  /// Handles a sign-out, or the sign-in of another user. The queue waits, unless the app discards it after its user has
  /// left.
  ///
  /// - Parameter hasLeft: whether the user signed out or another one signed in. An expired or rejected token does not
  ///   count.
  func signedOut(_ lease: Lease, hasLeft: Bool) async throws {
    guard try store.owner() != nil else { return }
    if !isSignedOut {
      isSignedOut = true
      try store.note(.signedOut, lease)
      broadcast.send(.signedOut)
    }
    guard hasLeft, !hasAskedForPolicy, let delegate else { return }
    hasAskedForPolicy = true
    let heart = beat(lease)
    defer { heart?.cancel() }
    // Without a reply nothing is discarded.
    let policy = try? await ask { await delegate.signOutPolicy(of: self) }
    try Task.checkCancellation()
    // The user may have signed in again meanwhile.
    guard policy == .discard, !isOtherSignIn else { return }
    try lease.renew(store)
    _ = try store.perform(.discard, on: .all, isFinal: true, actor: "app, signed out")
  }

  /// Stops sending when another user signs in during a sync, until the store's user is back.
  func park(_ stranger: StoreError, _ lease: Lease) async throws {
    let error = WebServicesError(.authenticationFailed, stranger.message)
    try store.record(error, random: configuration.random(), lease)
    try await signedOut(lease, hasLeft: true)
  }
}
