package import Dispatch
package import Foundation
package import GRDB

/// A store in one SQLite file, which any number of processes open at the same time.
///
/// What `write` has returned is on disk (WAL, `synchronous=FULL`) and survives a power cut.
package final class SQLiteStorage: QueueStorage {
  /// The file's path.
  package let name: String
  package let pool: DatabasePool

  /// Opens the file, making it and its folder if need be.
  ///
  /// - Throws: `StoreError`, with nothing changed, where the file cannot be read or written, is no store, is damaged or
  ///   is from a newer version.
  package init(path: String) throws(StoreError) {
    name = path
    do {
      pool = try Self.open(path)
      try pool.writeWithoutTransaction { database in
        // A corrupt page would otherwise show only when somebody reads it. This costs milliseconds for small stores and
        // is skipped for those where it would cost seconds.
        let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
        if pages < 20_000, let fault = try String.fetchOne(database, sql: "PRAGMA quick_check(1)"), fault != "ok" {
          throw StoreError(.damaged, "the store \(path) is damaged (\(fault)); restore a copy or move the file away")
        }
      }
    } catch {
      throw StoreError(opening: path, error)
    }
  }

  private static func open(_ path: String) throws -> DatabasePool {
    let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
    try FileManager.default.createDirectory(
      at: folder,
      withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700]
    )
    // A stranger's file is left alone, without so much as a lock file beside it.
    guard !FileManager.default.fileExists(atPath: path) || StoreLock.isKnown(path) else { return try openOrMake(path) }
    return try StoreLock.whileMaking(path) { try openOrMake(path) }
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
    try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
    try Schema.migrator.migrate(pool)
    return pool
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
    guard FileManager.default.fileExists(atPath: path) else { return nil }
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
    try wrap { try pool.read { try body(SQLiteLedger($0)) } }
  }

  package func write<Value>(_ body: (any Ledger) throws -> Value) throws(StoreError) -> Value {
    let value = try wrap { try pool.write { try body(SQLiteLedger($0)) } }
    Bell.ring(name)
    return value
  }

  private func wrap<Value>(_ body: () throws -> Value) throws(StoreError) -> Value {
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
