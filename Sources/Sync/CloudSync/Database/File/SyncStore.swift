package import CloudKit
import Facts
import Foundation
import Synchronization

/// The state of one database's sync: mirror, queue, attempts, conflicts, change feeds, throttles, lease.
///
/// It is one SQLite file, which any number of processes may open, or one in memory; `Lease` decides which process
/// syncs. A method's changes are on disk (WAL, `synchronous=FULL`) when it returns. They are one transaction; what a
/// decision causes in many rows follows in others (`Chore`), and each leaves a valid state.
public final class SyncStore: Sendable {
  /// The database that a store is for. A store belongs to the first user who authenticates with it.
  package struct Scope: Hashable, Sendable {
    package var container: String
    package var environment: String
    package var database: DatabaseName

    package init(container: String, environment: String, database: DatabaseName) {
      self.container = container
      self.environment = environment
      self.database = database
    }

    /// Whether records can be in a default zone. The shared database has only zones of other users.
    package var hasDefaultZone: Bool { database != .shared }

    /// The reason why this database has no such zone; nil if it may have it.
    package func problem(of zone: ZoneKey) -> String? {
      switch database {
      case .public where !zone.isDefaultZone: "the public database has no zone but \(WireZoneID.defaultZoneName)"
      case .shared where zone.owner.isEmpty || zone.isDefaultZone:
        "the shared database has no zone \(zone.zone) of this user; name a zone that another user shares"
      case .public, .private, .shared: nil
      }
    }

    /// The zone of changes that name none.
    package var zoneForChangesWithoutOne: ZoneKey {
      ZoneKey(zone: ZoneForChanges.name(isPrivate: database == .private))
    }
  }

  let storage: any QueueStorage
  package let scope: Scope
  let now: @Sendable () -> Int64
  /// See `SystemClock.offset()`; nil where the time is simulated.
  let clockOffset: @Sendable () -> Int64?
  /// The user who enqueues in this process; nil if unknown.
  let sender = Mutex<Sender?>(nil)
  /// Returns the name of the credential that requests of this process have; nil without an engine.
  let credential = Mutex<@Sendable () -> String?>({ nil })
  private let knownOrigin = Mutex<CKDatabase?>(nil)
  /// The database that downloads assets of records in this process; nil without an engine.
  package var origin: CKDatabase? {
    get { knownOrigin.withLock { $0 } }
    set { knownOrigin.withLock { $0 = newValue } }
  }
  /// The rule for the names of new records and zones in this process.
  private let nameRule = Mutex(NameRule())
  /// Whether new records and zones may have names beyond ASCII. False unless set: Apple states that the framework wants
  /// ASCII, and it is assumed that the server does. Records that the server has stay editable whatever their name.
  public var acceptsUnicodeNames: Bool {
    get { !nameRule.withLock { $0.isASCIIOnly } }
    set { nameRule.withLock { $0.isASCIIOnly = !newValue } }
  }
  var names: NameRule { nameRule.withLock { $0 } }
  /// The number of attempts after which a change that this process enqueues becomes a dead letter.
  let attemptLimit = Mutex(QueuedOperation.defaultAttemptLimit)
  /// The tasks of this process that wait for outcomes.
  let outcomeWaits = OutcomeWaits()
  /// The watch of commits that all listeners in this process share.
  let commitFeed = Mutex(CommitFeed.Shared())

  /// The store's name in messages; for a file, its path.
  package var path: String { storage.name }

  /// Opens the file, and creates it and its folder if `access` allows it.
  ///
  /// - Throws: `StoreError`, with nothing changed, if the file cannot be read or written, is not a store, is damaged,
  ///   was made by another version, does not fit the access, or belongs to another container, environment or database.
  package convenience init(
    path: String,
    scope: Scope,
    access: StoreAccess = .making,
    now: (@Sendable () -> Int64)? = nil,
    clockOffset: (@Sendable () -> Int64?)? = nil
  ) throws(StoreError) {
    try self.init(SQLiteStorage(path: path, access: access), scope: scope, now: now, clockOffset: clockOffset)
  }

  /// Creates a store in any storage; an empty storage is bound to this scope.
  ///
  /// - Parameters:
  ///   - now: the clock; by default the system's.
  ///   - clockOffset: what the clock is ahead of a clock that is never set; by default nothing is known of a given
  ///     clock.
  /// - Throws: `StoreError`, with nothing changed, if it belongs to another container, environment or database.
  package init(
    _ storage: any QueueStorage,
    scope: Scope,
    now: (@Sendable () -> Int64)? = nil,
    clockOffset: (@Sendable () -> Int64?)? = nil
  ) throws(StoreError) {
    self.storage = storage
    self.scope = scope
    self.now = now ?? SystemClock.now
    let isSystemClock = now == nil
    self.clockOffset = clockOffset ?? { isSystemClock ? SystemClock.offset() : nil }
    try adopt(scope)
  }

  private func adopt(_ scope: Scope) throws(StoreError) {
    let wanted: [(StateColumn<String>, name: String, value: String)] = [
      (.container, "container", scope.container), (.database, "database", scope.database.rawValue),
      (.environment, "environment", scope.environment),
    ]
    // Avoid a write when nothing changes: each write notifies every watcher.
    guard try read({ try isNew(wanted, $0) }), !storage.isReadOnly else { return }
    try write { ledger in
      guard try isNew(wanted, ledger) else { return }
      for (column, _, value) in wanted { try ledger.setValue(column, value) }
      if scope.database == .public { try ledger.insertZone(.defaultZone, state: .ready) }
    }
  }

  /// Whether the store is not bound to a scope yet. Throws if it is bound to another one.
  private func isNew(_ wanted: [(StateColumn<String>, name: String, value: String)], _ ledger: Ledger) throws -> Bool {
    var isNew = false
    for (column, name, value) in wanted {
      guard let stored = try ledger.value(column) else {
        isNew = true
        continue
      }
      if stored != value {
        throw StoreError(
          .otherScope,
          "the store \(path) is for \(name) \(stored), not \(value); choose another with --store"
        )
      }
    }
    return isNew
  }

  // MARK: - Transactions

  func read<Value>(_ body: (Ledger) throws -> Value) throws(StoreError) -> Value { try storage.read(body) }

  /// Runs a transaction. The chores that it stores follow, in transactions of their own.
  func write<Value>(_ body: (Ledger) throws -> Value) throws(StoreError) -> Value {
    let (value, hasChore) = try transaction { (try body($0), $0.hasChore) }
    if hasChore { try finishChores(nil) }
    return value
  }

  /// Runs a transaction, without the chores that it stores.
  func transaction<Value>(_ body: (Ledger) throws -> Value) throws(StoreError) -> Value {
    let now = now()
    let credential = credential.withLock { $0 }
    return try storage.write { ledger in
      (ledger.now, ledger.hasDecision, ledger.hasChore) = (now, false, false)
      ledger.credential = credential
      let value = try body(ledger)
      if ledger.hasDecision { try noteDecision(now: now, ledger) }
      return value
    }
  }

  /// Whether the process that has the lease has not ended.
  func hasEngine(_ ledger: Ledger) throws -> Bool {
    try ledger.lease().map { storage.holder(among: $0.fencingToken...$0.fencingToken) != nil } ?? false
  }

  /// Runs a transaction of the engine, with the current time. It publishes the activity, carries out the joined writes
  /// and logs the start of a sync that runs once. The chores that it stores follow, in transactions of their own.
  /// Throws if another process has taken the lease over.
  func write<Value>(_ lease: Lease, _ body: (Ledger, Int64) throws -> Value) throws(StoreError) -> Value {
    let joined = lease.joined.all
    let (value, oneSync, hasChore) = try lease.write(self) { ledger, publish in
      let now = ledger.now
      ledger.oneSync = lease.oneSync.value
      try lease.check(ledger, now: now)
      try publish()
      for write in joined { try write(ledger, now) }
      return (try body(ledger, now), ledger.oneSync, ledger.hasChore)
    }
    lease.oneSync.set(oneSync)
    lease.joined.removeFirst(joined.count)
    if hasChore { try finishChores(lease) }
    return value
  }
}
