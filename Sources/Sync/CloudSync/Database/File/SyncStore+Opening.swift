public import CloudKit
package import Facts
import Foundation

extension SyncStore {
  /// Opens the store of one database, creating the file and its folder if needed.
  ///
  /// Any number of processes may open the same file. One of them syncs it, such as `cktop` or `cktop sync`.
  ///
  /// - Throws: `StoreError`, with nothing changed, if the file cannot be read or written, is not a store, is damaged,
  ///   was made by another version, or belongs to another container, environment or database.
  public convenience init(
    path: String,
    containerIdentifier: String,
    environment: CKContainerConfiguration.Environment = .development,
    databaseScope: CKDatabase.Scope
  ) throws(StoreError) {
    try self.init(path: path, scope: Scope(containerIdentifier, environment, databaseScope))
  }

  /// Creates a store of one database in memory, for tests and previews.
  public convenience init(
    inMemoryFor containerIdentifier: String,
    environment: CKContainerConfiguration.Environment = .development,
    databaseScope: CKDatabase.Scope
  ) throws(StoreError) {
    try self.init(SQLiteStorage(inMemory: "in memory"), scope: Scope(containerIdentifier, environment, databaseScope))
  }
}

extension SyncStore {
  /// Whether there is a store at a path.
  ///
  /// - Throws: `StoreError` if this user may not see that, or if the file was deleted while its log is still there.
  package static func exists(at path: String) throws(StoreError) -> Bool { try SQLiteStorage.isThere(path) }

  /// Throws if there is no store at a path although there was one: its lock file, journal or files of assets are there.
  package static func requireNeverMade(at path: String) throws(StoreError) {
    let name = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    let remains = [StoreLock.path(name), name + "-journal", name + ".assets"]
    guard try !exists(at: path), let left = remains.first(where: FileManager.default.fileExists(atPath:)) else {
      return
    }
    throw .lost(path, remains: left)
  }

  /// Why no store can be created at a path; nil if it can, as far as is known.
  package static func trouble(at path: String) -> StorageTrouble? { FileSystem(of: path)?.trouble }

  /// Reports to other processes that this one waits until the store at a path can be written.
  ///
  /// - Returns: the report, which lasts as long as this is kept; nil if the disk is not the reason.
  package static func reportWait(forStoreAt path: String, _ error: StoreError) -> (any EngineLock)? {
    guard let trouble = error.trouble else { return nil }
    let lock = StoreLock(beside: URL(fileURLWithPath: path).resolvingSymlinksInPath().path, isToAsk: true)
    lock.report(trouble)
    return lock
  }

  /// The error of a store whose file was deleted or replaced while it was open.
  package var replaced: StoreError { .replaced("the store \(path)", isGone: FileIdentity(atPath: path) == nil) }

  /// Whether both are the same store, opened once or twice, wherever its file is now.
  package func isSame(as other: SyncStore) -> Bool {
    guard self !== other, let file = storage.identity else { return self === other }
    return file == other.storage.identity
  }

  /// Whether the file was deleted or replaced since it was opened.
  package var isReplaced: Bool {
    do { try storage.requireInPlace() } catch { return true }
    return false
  }
}

extension SyncStore.Scope {
  fileprivate init(
    _ container: String,
    _ environment: CKContainerConfiguration.Environment,
    _ scope: CKDatabase.Scope
  ) {
    self.init(container: container, environment: environment.rawValue, database: scope.name)
  }
}
