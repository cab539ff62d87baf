import CloudKit
import Facts

/// Who we are to the server.
extension SyncEngine {
  /// Refuses to compare the server with the store of another user.
  func refuseStrangers() async throws {
    if !configuration.takesOver { try store.check(Sender(user: identity, credential: credential)) }
    guard let owner = try store.owner(), owner != SyncStore.nobody else { return }
    let identity =
      if let identity { identity } else { try await client.caller().userRecordName }
    try store.check(Sender(user: identity, credential: credential))
  }

  /// Stores that this sync was refused because its credential belongs to another user, for `status` and dashboards.
  func notingRefusal<Value>(_ body: () async throws -> Value) async throws -> Value {
    do {
      return try await body()
    } catch let error as StoreError where error.kind == .otherUser {
      try store.noteRefusal(true)
      throw error
    }
  }

  /// The name of the credential, by which its user is recognized; nil where it says nothing about the user.
  var credential: String? { configuration.credential }
}

extension SyncEngine.Configuration {
  /// The name of the credential, by which its user is recognized; nil where it says nothing about the user.
  fileprivate var credential: String? {
    if let signIn { return signIn }
    // Another user may have signed in since the client was made.
    guard client.signIn == 0, case .webAuth(_, let token)? = client.configuration.credential else { return nil }
    return CredentialDigest.name(ofToken: token)
  }

  /// The user who enqueues, as far as the configuration tells; nil without a user.
  var sender: Sender? {
    let user = identity ?? owner
    if let user { return user == SyncStore.nobody ? nil : Sender(user: user, credential: credential) }
    // A token that the server replaces with each answer would not be recognized at the next start.
    return signIn.map { Sender(user: nil, credential: $0) }
  }
}

/// What becomes of a queue whose user is away.
extension SyncEngine {
  /// Nobody is signed in, or somebody else is. The queue waits, unless its user has left and the app gives it up.
  ///
  /// - Parameter hasLeft: the user signed out, or another one signed in. A token that ended or was refused is no such thing.
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
    // No answer gives nothing up.
    let policy = try? await ask { await delegate.signOutPolicy(of: self) }
    try Task.checkCancellation()
    // Whoever has signed in meanwhile may be the user.
    guard policy == .discard, !isOtherSignIn else { return }
    try lease.renew(store)
    _ = try store.perform(.discard, on: .all, isFinal: true, actor: "app, signed out")
  }

  /// Somebody else is signed in while the store is driven: nothing goes before its user is back.
  func park(_ stranger: StoreError, _ lease: Lease) async throws {
    let error = WebServicesError(.authenticationFailed, stranger.message)
    try store.record(error, random: configuration.random(), lease)
    try await signedOut(lease, hasLeft: true)
  }
}
