import CloudKit
import Facts

/// The user of a sync cycle, and handling the queue while its user is signed out.
extension Cycle {
  /// Verifies once per session that this store belongs to the user. A user named by the credential becomes the owner
  /// after the first successful reply, not if the server rejects the credential.
  func authenticate(endsBackOffs: Bool) async throws {
    guard try store.mayRequest(endsBackOffs: endsBackOffs) else { return isInterrupted = true }
    let signIn = client.signIn
    // Another process may have taken over the store since.
    if try signIn != session.authenticatedSignIn || store.owner() != session.authenticatedOwner {
      session.hasAuthenticated = false
    }
    guard !session.hasAuthenticated else { return }
    session.authenticatedSignIn = signIn
    let identity = engine.identity
    if !configuration.takesOver { try store.check(Sender(user: identity, credential: engine.credential)) }
    guard identity == nil else {
      // The credential is that of the store's user; whatever fails from here on has another cause.
      try store.noteRefusal(false)
      return
    }
    lease.shown.start(.fetching)
    let caller = try await request { (client, _) async throws(WebServicesError) in try await client.caller() }
    try adopt(caller.userRecordName)
    session.isSignedOut = false
    session.hasAskedForPolicy = false
  }

  /// Finds out whether the server accepts us if no feed has, and binds the store to the user whom the credential names.
  func confirmUser() async throws {
    if summary.requests == 0 {
      _ = try await request { (client, database) async throws(WebServicesError) in
        try await client.listZones(in: database)
      }
      summary.requests += 1
    }
    if !session.hasAuthenticated, let identity = engine.identity { try adopt(identity) }
  }

  /// Verifies that the credential is still that of the store's user, before what the server does not have is taken for
  /// deleted: a token that has become another user's finds neither the zones nor the change tokens of this store.
  func requireSameUser() async throws {
    guard engine.identity == nil, database != .public else { return }
    let caller = try await request { (client, _) async throws(WebServicesError) in try await client.caller() }
    do {
      try await engine.notingRefusal {
        try store.check(Sender(user: caller.userRecordName, credential: engine.credential))
      }
    } catch {
      session.hasAuthenticated = false
      throw error
    }
  }

  private func adopt(_ user: String) throws {
    try store.adopt(identity: user, signIn: engine.credential, takesOver: configuration.takesOver, lease)
    (session.hasAuthenticated, session.authenticatedOwner) = (true, user)
  }

  /// Handles a sign-out, or the sign-in of another user. The queue waits, unless the app discards it after its user has
  /// left.
  ///
  /// - Parameter hasLeft: whether the user signed out or another one signed in. An expired or rejected token does not
  ///   count.
  func signedOut(hasLeft: Bool) async throws {
    guard try store.owner() != nil else { return }
    if !session.isSignedOut {
      session.isSignedOut = true
      try store.note(.signedOut, lease)
      engine.broadcast.send(.signedOut)
    }
    guard hasLeft, !session.hasAskedForPolicy, let delegate = engine.delegate else { return }
    session.hasAskedForPolicy = true
    let engine = engine
    let heart = beat()
    defer { heart?.cancel() }
    // Without a reply nothing is discarded.
    let policy = try? await engine.ask { await delegate.signOutPolicy(of: engine) }
    try Task.checkCancellation()
    // The user may have signed in again meanwhile.
    guard policy == .discard, !isOtherSignIn else { return }
    try lease.renew(store)
    _ = try store.perform(.discard, on: .all, isFinal: true, actor: "app, signed out")
  }

  /// Stops sending when another user signs in during a sync, until the store's user is back.
  func park(_ wrongAccount: StoreError) async throws {
    let error = WebServicesError(.authenticationFailed, wrongAccount.message)
    try store.record(error, random: configuration.random(), lease)
    try await signedOut(hasLeft: true)
  }
}
