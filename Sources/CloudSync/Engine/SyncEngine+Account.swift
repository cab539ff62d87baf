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
