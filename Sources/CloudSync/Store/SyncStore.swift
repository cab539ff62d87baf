package import CloudKit
import Foundation
import GRDB

/// The state of one database's sync, in one SQLite file: mirror, queue, attempts, conflicts, feeds, waits, lease.
///
/// Any number of processes open the same file; see `Driver` for which of them sends. Every method that changes
/// something is one transaction that is on disk (WAL, `synchronous=FULL`) when it returns.
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

  package let path: String
  package let scope: Scope
  let pool: DatabasePool
  let now: @Sendable () -> Int64

  /// Opens the file, making it and its folder if need be.
  ///
  /// - Throws: `StoreError`, with nothing changed, where the file cannot be read or written, is no store, is damaged,
  ///   is from a newer version, or belongs to another container, environment or database.
  package init(
    path: String,
    scope: Scope,
    now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) }
  ) throws(StoreError) {
    self.path = path
    self.scope = scope
    self.now = now
    do {
      pool = try Self.open(path)
    } catch {
      throw StoreError(opening: path, error)
    }
    do {
      try pool.writeWithoutTransaction { database in
        // A corrupt page would otherwise show only when somebody reads it. This costs milliseconds for small stores and
        // is skipped for those where it would cost seconds.
        let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
        if pages < 20_000, let fault = try String.fetchOne(database, sql: "PRAGMA quick_check(1)"), fault != "ok" {
          throw StoreError(.damaged, "the store \(path) is damaged (\(fault)); restore a copy or move the file away")
        }
      }
      try adopt(scope)
    } catch let error as StoreError {
      throw error
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
    guard !FileManager.default.fileExists(atPath: path) || Lease.isKnown(path) else { return try openOrMake(path) }
    return try Lease.whileMaking(path) { try openOrMake(path) }
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
    try DatabaseQueue(path: path, configuration: configuration).read { database in
      if try !isStore(database) {
        throw StoreError(.notAStore, "\(path) is an SQLite file but no cktop store; choose another with --store")
      }
      if try Schema.migrator.hasBeenSuperseded(database) {
        throw StoreError(.newer, "the store \(path) was written by a newer cktop; update this one")
      }
    }
  }

  /// An empty database, or one that migrations of ours made.
  private static func isStore(_ database: Database) throws -> Bool {
    let tables = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_master") ?? 0
    return try tables == 0 || database.tableExists("grdb_migrations") && database.tableExists("operations")
  }

  private func adopt(_ scope: Scope) throws {
    try pool.write { database in
      let wanted = [
        "container": scope.container, "environment": scope.environment, "database": scope.database.rawValue,
      ]
      for (key, value) in wanted.sorted(by: { $0.key < $1.key }) {
        guard let stored = try Meta.value(key, database) else {
          try Meta.set(key, value, database)
          continue
        }
        if stored != value {
          throw StoreError(
            .otherScope,
            "the store \(path) is for \(key) \(stored), not \(value); choose another with --store"
          )
        }
      }
      if scope.database != .private { try ZoneTable.insertDefaultZone(database) }
    }
  }

  /// The value of `PRAGMA synchronous` on the writing connection: 2 is FULL.
  package func synchronousMode() throws(StoreError) -> Int {
    try wrap {
      try pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") ?? -1 }
    }
  }

  // MARK: - Transactions

  func read<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
    try wrap { try pool.read(body) }
  }

  func write<Value>(_ body: (Database) throws -> Value) throws(StoreError) -> Value {
    let value = try wrap { try pool.write(body) }
    Bell.ring(path)
    return value
  }

  private func wrap<Value>(_ body: () throws -> Value) throws(StoreError) -> Value {
    do {
      return try body()
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(using: path, error)
    }
  }
}

/// Single values of the store by name.
enum Meta {
  static func value(_ key: String, _ database: Database) throws -> String? {
    try String.fetchOne(
      database.cachedStatement(sql: "SELECT value FROM meta WHERE key = ?"),
      arguments: [key]
    )
  }

  static func set(_ key: String, _ value: String?, _ database: Database) throws {
    guard let value else {
      try database.execute(sql: "DELETE FROM meta WHERE key = ?", arguments: [key])
      return
    }
    try database.cachedStatement(
      sql: "INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value"
    ).execute(arguments: [key, value])
  }
}
