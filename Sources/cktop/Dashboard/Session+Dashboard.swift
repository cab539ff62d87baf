import CloudService
import CloudSync
import Foundation

/// How the dashboard opens its store: to look at it, until something else is asked for.
extension Session {
  /// The three ways to the store. Looking neither makes nor changes nor claims anything; a sync makes the store.
  func opening() -> StoreOpening {
    StoreOpening(
      toRead: { try storeToLookAt() },
      toChange: { try storeForCommands() },
      toSync: {
        // Without a credential no store is made.
        _ = try client(scope())
        return try engine(try await storeToChange())
      }
    )
  }

  private func storeToLookAt() throws -> SyncStore? {
    let scope = try scope()
    guard let storePath, FileManager.default.fileExists(atPath: storePath) else { return nil }
    return try SyncStore(path: storePath, scope: scope, access: .reading)
  }

  private func storeForCommands() throws -> SyncStore {
    let scope = try scope()
    guard let storePath else {
      throw CommandFailure("there is no store yet; a sync makes it", .storeUnusable)
    }
    let store = try SyncStore(path: storePath, scope: scope, access: .changing)
    try claim(store)
    return store
  }
}
