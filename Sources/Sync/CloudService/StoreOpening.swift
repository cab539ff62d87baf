package import CloudSync
package import Facts
import Synchronization

/// The ways in which a service opens its store: each when it is first needed, and with no more access than needed.
package struct StoreOpening: Sendable {
  /// Opens the store read-only; nil while there is none.
  package var toRead: @Sendable () throws -> SyncStore?
  /// Opens the store for commands. Called again only after the store was replaced.
  package var toChange: @Sendable () throws -> SyncStore
  /// Creates the engine with its store; nil if this service never syncs.
  package var toSync: (@Sendable () async throws -> SyncEngine)?
  /// Returns why no store can be created, while there is none.
  package var trouble: @Sendable () -> StorageTrouble?

  package init(
    toRead: @escaping @Sendable () throws -> SyncStore?,
    toChange: @escaping @Sendable () throws -> SyncStore,
    toSync: (@Sendable () async throws -> SyncEngine)?,
    trouble: @escaping @Sendable () -> StorageTrouble? = { nil }
  ) {
    (self.toRead, self.toChange, self.toSync, self.trouble) = (toRead, toChange, toSync, trouble)
  }

  /// Uses a store that is open already.
  init(_ store: SyncStore, _ engine: SyncEngine?) {
    self.init(toRead: { store }, toChange: { store }, toSync: nil)
    if let engine { toSync = { engine } }
  }
}

extension SyncStore {
  /// This store; nil if its file was deleted, replaced or moved away since it was opened.
  var unlessReplaced: SyncStore? { isReplaced ? nil : self }
}

/// The connection for changes, opened when the first change needs it.
final class ChangingStore: Sendable {
  private let open: @Sendable () throws -> SyncStore
  private let opened = Mutex<SyncStore?>(nil)

  init(_ open: @escaping @Sendable () throws -> SyncStore) { self.open = open }

  /// Returns the store; after a failure the next call tries again.
  ///
  /// - Parameter seen: the store that the caller sees; nil if none. Throws if another file is in its place.
  func get(seen: SyncStore?) throws -> SyncStore {
    try opened.withLock { opened in
      // Opening a file for changes writes to it.
      if let seen, seen.isReplaced { throw seen.replaced }
      let store = try opened?.unlessReplaced ?? open()
      opened = store
      if let seen, !store.isSame(as: seen) { throw seen.replaced }
      return store
    }
  }

  /// Closes the store if its file was replaced. This moves its log away from the file that is there now.
  func closeIfReplaced() { opened.withLock { $0 = $0?.unlessReplaced } }
}
