package import Dispatch
package import Foundation

/// What holds the state of one database's sync: it runs transactions over a ledger, lends the driver's lock and tells
/// when something was committed.
///
/// `SQLiteStorage` is the one storage; a simulation puts another before it, to end a process at one of its writes.
package protocol QueueStorage: Sendable {
  /// What messages call the storage; for a file, its path.
  var name: String { get }

  /// Where copies of assets' files are kept; nil where the storage has no folder.
  var assetFolder: URL? { get }

  /// Reads one state: nothing that is written meanwhile shows.
  func read<Value>(_ body: (Ledger) throws -> Value) throws(StoreError) -> Value

  /// Changes all that `body` changes, or nothing where it throws. One transaction after the other, whoever writes; it
  /// is as durable as the storage is when this returns, and then everybody who watches is told.
  func write<Value>(_ body: (Ledger) throws -> Value) throws(StoreError) -> Value

  /// Whether a transaction that may as well go on in another one should end here, after so many rows: others of this
  /// process wait to write.
  func yields(after rows: Int) -> Bool

  /// Whether it was opened only to be read.
  var isReadOnly: Bool { get }

  /// Throws where the file that was opened is no longer the one at its path. Every read and write does the same first.
  func requireInPlace() throws(StoreError)

  /// The lock that one driver at a time holds. Not taken yet.
  func driverLock() -> any DriverLock

  /// Whether somebody, this process included, holds the driver's lock. Asking does not take it, even for a moment.
  var isDriven: Bool { get }

  /// Calls `changed` on `queue` after each write by whomever, several in a row at least once, until the watch is let go.
  ///
  /// - Parameter locks: also after somebody may have let the driver's lock go, by `release` or by its end.
  /// - Returns: nil where there is no watch to be had; the caller then has to look by itself.
  func watch(on queue: DispatchQueue, locks: Bool, _ changed: @escaping @Sendable () -> Void) -> (any StorageWatch)?
}

/// A lock that ends with its holder, in whatever way that ends.
package protocol DriverLock: AnyObject, Sendable {
  /// Takes the lock if it is free and not ours yet; whether it is ours.
  @discardableResult func take() -> Bool
  func release()

  /// Throws where the lock's file is no longer the one at its path, so that others do not see the lock.
  func requireInPlace() throws(StoreError)
}

extension DriverLock {
  /// A lock without a file stays in its place.
  package func requireInPlace() throws(StoreError) {}
}

/// Something that tells of writes for as long as it is held.
package protocol StorageWatch: AnyObject, Sendable {}
