package import CloudKit
import Foundation
import Synchronization

/// The state of one database's sync: mirror, queue, attempts, conflicts, feeds, waits, lease.
///
/// It is one SQLite file, which any number of processes open, or one in memory; see `Lease` for which of them sends. What a
/// method changed is on disk (WAL, `synchronous=FULL`) when it returns: in one transaction, or where the driver writes many
/// rows, in several, each of which is right by itself.
public final class SyncStore: Sendable {
  /// What a store is for. It belongs to the first identity that authenticates with it.
  package struct Scope: Hashable, Sendable {
    package var container: String
    package var environment: String
    package var database: DatabaseName

    package init(container: String, environment: String, database: DatabaseName) {
      self.container = container
      self.environment = environment
      self.database = database
    }

    /// The zone for changes that name none: custom zones alone have change feeds, and only private ones can be made.
    package var zoneForChangesWithoutOne: ZoneKey {
      database == .private ? ZoneKey(zone: "cktop") : .defaultZone
    }
  }

  let storage: any QueueStorage
  package let scope: Scope
  let now: @Sendable () -> Int64
  /// What this process has shown of its progress.
  let shown = Mutex(ShownProgress())
  /// The user who enqueues in this process; nil: not known.
  let sender = Mutex<Sender?>(nil)

  /// What messages call the store: for a file, its path.
  package var path: String { storage.name }

  /// Opens the file; with access to make it, the file and its folder are made if need be.
  ///
  /// - Throws: `StoreError`, with nothing changed, where the file cannot be read or written, is no store, is damaged,
  ///   is from a newer version, is not made for this access, or belongs to another container, environment or database.
  package convenience init(
    path: String,
    scope: Scope,
    access: StoreAccess = .making,
    now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
  ) throws(StoreError) {
    try self.init(SQLiteStorage(path: path, access: access), scope: scope, now: now)
  }

  /// A store in whatever storage; a new one becomes this scope's.
  ///
  /// - Throws: `StoreError`, with nothing changed, where it belongs to another container, environment or database.
  package init(
    _ storage: any QueueStorage,
    scope: Scope,
    now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
  ) throws(StoreError) {
    self.storage = storage
    self.scope = scope
    self.now = now
    try adopt(scope)
  }

  private func adopt(_ scope: Scope) throws(StoreError) {
    let wanted = [
      ("container", scope.container), ("database", scope.database.rawValue), ("environment", scope.environment),
    ]
    // Opening what is ours already writes nothing, for each write wakes all who watch.
    guard try read({ try isNew(wanted, $0) }), !storage.isReadOnly else { return }
    try write { ledger in
      guard try isNew(wanted, ledger) else { return }
      for (key, value) in wanted { try ledger.setValue(key, value) }
      if scope.database != .private { try ledger.insertZone(.defaultZone, state: .ready) }
    }
  }

  /// Whether the store is nobody's yet; what is another's is refused.
  private func isNew(_ wanted: [(key: String, value: String)], _ ledger: Ledger) throws -> Bool {
    var isNew = false
    for (key, value) in wanted {
      guard let stored = try ledger.value(key) else {
        isNew = true
        continue
      }
      if stored != value {
        throw StoreError(
          .otherScope,
          "the store \(path) is for \(key) \(stored), not \(value); choose another with --store"
        )
      }
    }
    return isNew
  }

  // MARK: - Transactions

  func read<Value>(_ body: (Ledger) throws -> Value) throws(StoreError) -> Value { try storage.read(body) }

  func write<Value>(_ body: (Ledger) throws -> Value) throws(StoreError) -> Value { try storage.write(body) }

  /// What the driver writes: nothing, where another process has taken over. `body` gets the time as well.
  func write<Value>(_ lease: Lease, _ body: (Ledger, Int64) throws -> Value) throws(StoreError) -> Value {
    let now = now()
    return try write { ledger in
      ledger.now = now
      try lease.check(ledger, now: now)
      return try body(ledger, now)
    }
  }
}
