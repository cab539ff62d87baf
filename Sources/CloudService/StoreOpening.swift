package import CloudSync
import Synchronization

/// How a service reaches its store: each way opens no more than what it is for, and when it is first needed.
package struct StoreOpening: Sendable {
  /// Opens the store to look at it; nil while there is none. Changes nothing.
  package var toRead: @Sendable () throws -> SyncStore?
  /// Opens the store for commands. Called again only after the store was replaced.
  package var toChange: @Sendable () throws -> SyncStore
  /// Makes the engine, with the store opened as a sync opens it; nil where this service never syncs.
  package var toSync: (@Sendable () async throws -> SyncEngine)?

  package init(
    toRead: @escaping @Sendable () throws -> SyncStore?,
    toChange: @escaping @Sendable () throws -> SyncStore,
    toSync: (@Sendable () async throws -> SyncEngine)?
  ) {
    self.toRead = toRead
    self.toChange = toChange
    self.toSync = toSync
  }

  /// A store that is open already.
  init(_ store: SyncStore, _ engine: SyncEngine?) {
    self.init(toRead: { store }, toChange: { store }, toSync: nil)
    if let engine { toSync = { engine } }
  }
}

extension SyncStore {
  /// This store; nil where its file was deleted, replaced or moved away since it was opened.
  var unlessReplaced: SyncStore? { isReplaced ? nil : self }
}

/// The connection for changes, opened when the first change needs it.
final class ChangingStore: Sendable {
  private let open: @Sendable () throws -> SyncStore
  private let opened = Mutex<SyncStore?>(nil)

  init(_ open: @escaping @Sendable () throws -> SyncStore) { self.open = open }

  /// Returns the store; one that could not be opened is tried again at the next call.
  func get() throws -> SyncStore {
    try opened.withLock { opened in
      if let opened = opened?.unlessReplaced { return opened }
      let store = try open()
      opened = store
      return store
    }
  }
}
