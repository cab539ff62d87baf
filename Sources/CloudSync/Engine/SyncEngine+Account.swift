import CloudKit

/// Who we are to the server.
extension SyncEngine {
  /// Throws where the store belongs to another identity than ours: its mirror would be compared with the wrong records.
  func refuseStrangers() async throws {
    guard let owner = try store.owner(), owner != SyncStore.nobody else { return }
    let identity =
      if let known = configuration.identity { known } else { try await client.caller().userRecordName }
    guard identity == owner else {
      throw StoreError(
        .otherScope,
        "the store \(store.path) belongs to \(owner), not to \(identity); choose another with --store"
      )
    }
  }
}

/// What becomes of a queue whose user is away.
extension SyncEngine {
  /// Nobody is signed in, or somebody else is. The queue waits, unless the app gives it up.
  func signedOut(_ lease: Lease) async throws {
    guard !isSignedOut, try store.owner() != nil else { return }
    isSignedOut = true
    try store.note("account", "its user is signed out: what is queued waits", lease)
    broadcast.send(.signedOut)
    guard let delegate, try await ask({ await delegate.signOutPolicy(of: self) }) == .discard else { return }
    _ = try store.perform(.discard, on: .all, actor: "app, signed out")
  }

  /// Somebody else is signed in while the store is driven: nothing goes before its user is back.
  func park(_ stranger: StoreError, _ lease: Lease) async throws {
    let error = WebServicesError(.authenticationFailed, stranger.message)
    try store.record(error, random: configuration.random(), lease)
    try await signedOut(lease)
  }
}
