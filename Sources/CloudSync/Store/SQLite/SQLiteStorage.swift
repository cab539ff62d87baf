package import Dispatch
package import Foundation
package import GRDB
import Synchronization

/// A store in one SQLite file, which any number of processes open at the same time.
///
/// What `write` has returned is on disk (WAL, `synchronous=FULL`) and survives a power cut.
package final class SQLiteStorage: QueueStorage {
  /// The file's path.
  package let name: String
  package let pool: DatabasePool
  /// Why the file is not to be used any more, once that is known.
  private let damage = Mutex<StoreError?>(nil)
  /// How many calls wait for their turn to write.
  private let waiting = Atomic(0)

  /// Opens the file, making it and its folder if need be.
  ///
  /// - Throws: `StoreError`, with nothing changed, where the file cannot be read or written, is no store, is damaged or
  ///   is from a newer version.
  package convenience init(path: String) throws(StoreError) {
    try self.init(path: path, pagesCheckedOnOpening: Self.pagesCheckedOnOpening)
  }

  init(path: String, pagesCheckedOnOpening limit: Int) throws(StoreError) {
    // By whatever links the file is reached, its lock and its assets lie beside the file itself.
    name = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    if let type = Self.type(of: name), type != .typeRegular {
      let what = type == .typeDirectory ? "a folder" : "no regular file"
      throw StoreError(.notAStore, "\(path) is \(what); choose a file with --store")
    }
    do {
      pool = try Self.open(name)
      try checkOnOpening(upTo: limit)
    } catch {
      throw StoreError(opening: path, error)
    }
  }

  /// What lies at a path, if anything: a pipe that is opened is waited for, without a word.
  private static func type(of path: String) -> FileAttributeType? {
    (try? FileManager.default.attributesOfItem(atPath: path))?[.type] as? FileAttributeType
  }

  private static func open(_ path: String) throws -> DatabasePool {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
    try FileManager.default.createDirectory(
      at: folder,
      withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700]
    )
    let isThere = FileManager.default.fileExists(atPath: path)
    // SQLite takes an empty file for a new one; what was in this one is lost, and is not to be forgotten as well.
    if isThere, StoreLock.isMade(path), try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == 0 {
      let remedy = "put a copy back, or remove \(StoreLock.path(path)) to begin anew"
      throw StoreError(.damaged, "the store \(path) is empty, and it was not: \(remedy)")
    }
    // A stranger's file is left alone, without so much as a lock file beside it.
    let pool =
      isThere && !StoreLock.isKnown(path)
      ? try openOrMake(path) : try StoreLock.whileMaking(path) { try openOrMake(path) }
    StoreLock.noteMade(path)
    return pool
  }

  private static func openOrMake(_ path: String) throws -> DatabasePool {
    var configuration = Configuration()
    configuration.busyMode = .timeout(10)
    configuration.label = "cktop"
    let isNew = !FileManager.default.fileExists(atPath: path)
    if !isNew { try inspect(path) }
    let pool = try DatabasePool(path: path, configuration: configuration)
    if isNew { try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path) }
    // GRDB's WAL set-up resets the pragma to NORMAL, under which a power cut may undo an acknowledged change.
    // The log is copied into the file once it has 16 MB: pages that many commits change are copied once for all of them, and
    // fewer commits have to do it.
    let settings = "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000"
    try pool.writeWithoutTransaction { try $0.execute(sql: settings) }
    if !isNew { try keepCopy(of: pool, path) }
    try Schema.migrator.migrate(pool)
    return pool
  }

  /// Copies a store that a migration is about to change, beside it: `sync.sqlite.version-2` is the store as the second
  /// migration left it.
  private static func keepCopy(of pool: DatabasePool, _ path: String) throws {
    let (done, isCurrent) = try pool.read { database in
      (try Schema.migrator.completedMigrations(database), try Schema.migrator.hasCompletedMigrations(database))
    }
    guard !isCurrent, !done.isEmpty else { return }
    let copy = "\(path).version-\(done.count)"
    let unfinished = copy + ".part"
    let files = FileManager.default
    guard !files.fileExists(atPath: copy) else { return }
    try? files.removeItem(atPath: unfinished)
    try pool.vacuum(into: unfinished)
    try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: unfinished)
    try files.moveItem(atPath: unfinished, toPath: copy)
  }

  /// Refuses what is no store of ours before anything is written: opening a pool alone would turn a stranger's file
  /// into one with a write-ahead log.
  private static func inspect(_ path: String) throws {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(10)
    do {
      try inspect(path, configuration)
    } catch {
      // A journal that a crash left has to be rolled back by whoever opens the file next, and reading alone may not.
      guard (error as? DatabaseError)?.resultCode == .SQLITE_READONLY else { throw error }
      configuration.readonly = false
      try inspect(path, configuration)
    }
  }

  private static func inspect(_ path: String, _ configuration: Configuration) throws {
    try DatabaseQueue(path: path, configuration: configuration).read { database in
      if try !isStore(database) {
        throw StoreError(.notAStore, "\(path) is an SQLite file but no cktop store; choose another with --store")
      }
      if try Schema.migrator.hasBeenSuperseded(database) {
        throw StoreError(.newer, "the store \(path) was written by a newer cktop; update this one")
      }
    }
  }

  /// One that migrations of ours made, or an empty one: also where its making was cut off before the first of them.
  private static func isStore(_ database: Database) throws -> Bool {
    let sql = "SELECT count(*) FROM sqlite_master WHERE tbl_name <> 'grdb_migrations'"
    let tables = try Int.fetchOne(database, sql: sql) ?? 0
    return try tables == 0 || database.tableExists("grdb_migrations") && database.tableExists("operations")
  }

  /// What the file at a path holds by these names, read without opening it as a store; nil where there is none, or none
  /// that can be read.
  static func values(_ keys: [String], ofFileAt path: String) -> [String: String]? {
    guard type(of: URL(fileURLWithPath: path).resolvingSymlinksInPath().path) == .typeRegular else { return nil }
    var configuration = Configuration()
    configuration.readonly = true
    guard let queue = try? DatabaseQueue(path: path, configuration: configuration) else { return nil }
    return try? queue.read { database in
      let ledger = SQLiteLedger(database)
      var values: [String: String] = [:]
      for key in keys { values[key] = try ledger.value(key) }
      return values
    }
  }

  /// The value of `PRAGMA synchronous` on the writing connection: 2 is FULL.
  package func synchronousMode() throws(StoreError) -> Int {
    try wrap {
      try pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") ?? -1 }
    }
  }

  package var assetFolder: URL? { URL(fileURLWithPath: name + ".assets") }

  // MARK: - Transactions

  package func read<Value>(_ body: (any Ledger) throws -> Value) throws(StoreError) -> Value {
    try wrap { try setAsideUnreadable { try pool.read { try body(SQLiteLedger($0)) } } }
  }

  package func write<Value>(_ body: (any Ledger) throws -> Value) throws(StoreError) -> Value {
    let value = try wrap { try setAsideUnreadable { try inTurn { try body(SQLiteLedger($0)) } } }
    Bell.ring(name)
    return value
  }

  private func inTurn<Value>(_ body: (Database) throws -> Value) throws -> Value {
    waiting.add(1, ordering: .relaxed)
    var isWaiting = true
    defer { if isWaiting { waiting.subtract(1, ordering: .relaxed) } }
    return try pool.write { database in
      waiting.subtract(1, ordering: .relaxed)
      isWaiting = false
      return try body(database)
    }
  }

  package func yields(after rows: Int) -> Bool {
    rows % SyncStore.writtenAtOnce == 0 && waiting.load(ordering: .relaxed) > 0
  }

  /// Does a transaction again once a row in its way has been set aside.
  private func setAsideUnreadable<Value>(_ body: () throws -> Value) throws -> Value {
    var places: Set<UnreadableRow.Place> = []
    while true {
      do {
        return try body()
      } catch {
        guard let row = error as? UnreadableRow, places.insert(row.place).inserted else { throw error }
        try pool.write { try Quarantine.take(row, $0) }
        Bell.ring(name)
      }
    }
  }

  /// Refuses every transaction from now on.
  func refuse(_ error: StoreError) { damage.withLock { $0 = error } }

  private func wrap<Value>(_ body: () throws -> Value) throws(StoreError) -> Value {
    if let error = damage.withLock({ $0 }) { throw error }
    do {
      return try body()
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(using: name, error)
    }
  }

  // MARK: - Driver and watchers

  package func driverLock() -> any DriverLock { StoreLock(beside: name) }

  package var isDriven: Bool { StoreLock.isHeld(beside: name) }

  package func watch(on queue: DispatchQueue, locks: Bool, _ changed: @escaping @Sendable () -> Void)
    -> (any StorageWatch)?
  {
    BellWatch(name, queue: queue, locks: locks, changed: changed)
  }
}
