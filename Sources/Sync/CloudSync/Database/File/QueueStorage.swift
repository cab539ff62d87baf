package import Dispatch
package import Facts
package import Foundation

/// Storage for the state of one database's sync: it runs transactions over a ledger, provides the engine's lock and
/// reports commits.
///
/// `SQLiteStorage` is the only real implementation; a simulation wraps it to kill a process at one of its writes.
package protocol QueueStorage: Sendable {
  /// The storage's name in messages; for a file, its path.
  var name: String { get }

  /// The folder for copies of asset files; nil if the storage has none.
  var assetFolder: URL? { get }

  /// Reads one consistent snapshot; concurrent writes do not show.
  func read<Value>(_ body: (Ledger) throws -> Value) throws(StoreError) -> Value

  /// Runs `body` in one transaction and rolls it back if it throws. Transactions are serialized across all writers.
  /// When this returns, the changes are as durable as the storage allows, and watchers are notified.
  func write<Value>(_ body: (Ledger) throws -> Value) throws(StoreError) -> Value

  /// Whether a transaction that can be split should end after this many rows, because others in this process wait to
  /// write.
  func yields(after rows: Int) -> Bool

  /// Waits between two transactions of a long series until other processes had a chance to write: SQLite has no queue
  /// for them.
  func letOthersWrite()

  /// Whether it was opened read-only.
  var isReadOnly: Bool { get }

  /// The opened file; nil in memory.
  var identity: FileIdentity? { get }

  /// Throws if the opened file is no longer the one at its path. Every read and write checks this first.
  func requireInPlace() throws(StoreError)

  /// Reads everything once, one table after the other, without blocking others. If damage is found, all later
  /// transactions are rejected.
  func checkContents() throws(StoreError)

  /// Returns the lock that only one engine holds at a time, not taken yet.
  func engineLock() -> any EngineLock

  /// Returns a fencing token in this range whose process, this one included, shows it and has not ended; nil without
  /// one. Asking takes no lock.
  func holder(among fencingTokens: ClosedRange<Int64>) -> Int64?

  /// Why nothing can be written, as a process that waits for it reports it or the file system shows it; nil if nothing
  /// is known.
  var trouble: StorageTrouble? { get }

  /// Whether a process reports that it waits until it can write.
  var isAwaited: Bool { get }

  /// Calls `changed` on `queue` after writes by any process, until the watch is released. Several writes in a row may
  /// cause only one call.
  ///
  /// - Parameter locks: whether to call also when the engine's lock may have been released, explicitly or by a crash.
  /// - Returns: nil if no watch is available; the caller must then poll.
  func watch(on queue: DispatchQueue, locks: Bool, _ changed: @escaping @Sendable () -> Void) -> (any StorageWatch)?
}

/// A lock that is released when its holder ends, even by a crash.
package protocol EngineLock: AnyObject, Sendable {
  /// Takes the lock if it is free. Returns whether this process holds it now.
  @discardableResult func take() -> Bool

  /// Shows other processes the fencing token with which this one has the lease, until the lock is released or the
  /// process ends. One that took the lease over shows it although the former holder keeps the lock.
  func show(_ fencingToken: Int64)
  func release()

  /// Reports to other processes why nothing can be written to the store; nil: it can again. This needs no space on the
  /// disk, and ends with the process.
  func report(_ trouble: StorageTrouble?)

  /// Throws if the lock's file is no longer the one at its path, because other processes then do not see the lock.
  func requireInPlace() throws(StoreError)
}

extension EngineLock {
  package func requireInPlace() throws(StoreError) {}
}

/// Reports writes until it is released.
package protocol StorageWatch: AnyObject, Sendable {}
