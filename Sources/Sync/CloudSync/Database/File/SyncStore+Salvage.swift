package import CloudKit
import Facts
import Foundation
import GRDB

/// Saving the queue of a damaged file.
extension SyncStore {
  /// The result of saving a damaged store's queue.
  package struct Salvage: Hashable, Sendable {
    /// The operations in the new store.
    package var saved = 0
    /// The operations that the damaged store had, as far as its counts can be read.
    package var known: Int?
  }

  /// Copies every operation that can be read from a damaged store to a new one, with the owner, the settings, the
  /// pauses and the files of its assets. The damaged store is only read. The local copy is not copied: the next sync
  /// fetches it.
  ///
  /// - Parameters:
  ///   - container: Like the environment and the database, taken only where the store's own cannot be read.
  /// - Throws: `StoreError` if there is a file at the new path, or nothing can be read.
  package static func salvage(
    _ path: String,
    into newPath: String,
    container: String? = nil,
    environment: String? = nil,
    database: DatabaseName? = nil
  ) throws(StoreError) -> Salvage {
    let (path, newPath) = (Self.resolved(path), Self.resolved(newPath))
    guard !FileManager.default.fileExists(atPath: newPath) else {
      throw StoreError(.invalid, "there is a file at \(newPath) already; name a new one")
    }
    do {
      guard FileManager.default.fileExists(atPath: path) else { throw StoreError.missing(path) }
      var configuration = SQLiteStorage.configuration(isReadOnly: true)
      // Otherwise SQLite reads nothing of a file that lacks pages.
      configuration.prepareDatabase { try $0.execute(sql: "PRAGMA writable_schema = ON") }
      let settings = configuration
      return try SQLiteLog.leavingNone(path) {
        let old = try DatabaseQueue(path: path, configuration: settings)
        // Without a transaction: one in which a page was missing could not be ended.
        let scope = try old.unsafeRead { connection in
          // Where even this is damaged, the store counts as one of this version.
          if let version = try? Schema.version(of: connection), Schema.fit(version) == .rejected {
            throw StoreError.otherVersion(path, schema: version)
          }
          // If the schema is damaged, SQLite finds no tables.
          guard (try? connection.makeStatement(sql: "SELECT id FROM operations")) != nil else {
            throw StoreError(.damaged, "no operation of the store \(path) can be read; restore a copy")
          }
          let ledger = Ledger(connection)
          let named: String? = try? ledger.value(.database)
          return try Self.scope(
            of: path,
            (try? ledger.value(.container)) ?? container,
            (try? ledger.value(.environment)) ?? environment,
            named.flatMap(DatabaseName.init(rawValue:)) ?? database
          )
        }
        do {
          return try copy(old, path, to: SyncStore(path: newPath, scope: scope), newPath)
        } catch {
          // Half of a store would stand in the way of the next try.
          for part in ["", "-wal", "-shm", ".driver"] { try? FileManager.default.removeItem(atPath: newPath + part) }
          throw error
        }
      }
    } catch {
      throw StoreError(using: path, error, remedy: "restore a copy")
    }
  }

  private static func scope(
    of path: String,
    _ container: String?,
    _ environment: String?,
    _ database: DatabaseName?
  ) throws(StoreError) -> Scope {
    if let container, let environment, let database {
      return Scope(container: container, environment: environment, database: database)
    }
    let options = [
      container == nil ? "--container" : nil, environment == nil ? "--environment" : nil,
      database == nil ? "--database" : nil,
    ]
    let remedy = "give \(options.compactMap(\.self).joined(separator: " and "))"
    throw StoreError(.damaged, "the container, environment and database of the store \(path) cannot be read; \(remedy)")
  }

  private static func resolved(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().path }

  private static func copy(_ old: DatabaseQueue, _ path: String, to store: SyncStore, _ newPath: String) throws
    -> Salvage
  {
    let assets = (old: "\(path).assets", new: "\(newPath).assets")
    if FileManager.default.fileExists(atPath: assets.old), !FileManager.default.fileExists(atPath: assets.new) {
      try FileManager.default.copyItem(atPath: assets.old, toPath: assets.new)
    }
    var result = Salvage()
    try old.unsafeRead { database in
      let ledger = Ledger(database)
      result.known = try? ledger.operationCount()
      try store.write { new in
        for column in [StateColumn<String>.identity, .signIn, .queuedBy, .settings, .pausedBy] {
          if let value = try? ledger.value(column) { try new.setValue(column, value) }
        }
        if let pausedAt = try? ledger.value(.pausedAt) { try new.setValue(.pausedAt, pausedAt) }
        for row in (try? ledger.rows("SELECT zone, owner, type, at, actor FROM pauses")) ?? [] {
          let sql = "INSERT INTO pauses(zone, owner, type, at, actor) VALUES (?, ?, ?, ?, ?)"
          try new.run(sql, StatementArguments(row.databaseValues))
        }
        for zone in (try? ledger.zones()) ?? [] {
          // A zone that the server deleted, or whose deletions wait for a person, is not created again by a change.
          let isGone = zone.state == .deleted || zone.heldSince != nil
          try new.insertZone(zone.key, state: isGone ? .deleted : .unconfirmed)
        }
        for stored in (try? ledger.chores()) ?? [] { _ = try stored.inserted(new.database) }
      }
      var last: Int64 = 0
      while true {
        let (operations, end) = readable(after: last, ledger, limit: writtenAtOnce)
        guard let end else { return }
        last = end
        let readable = operations
        result.saved += try store.write { new in
          var saved = 0
          for var operation in readable {
            // Nothing knows what became of its request.
            if operation.state == .inFlight { operation.apply(.recovered) }
            // The local copy, with which it would be compared, is gone.
            if !operation.kind.isOfZone { operation.apply(.stale) }
            try new.insertZone(operation.key.zoneKey, state: .unconfirmed)
            do {
              try new.database.inSavepoint {
                _ = try new.insert(operation)
                return .commit
              }
              saved += 1
            } catch is DatabaseError {
              // A damaged tree may have a record twice.
            }
          }
          return saved
        }
      }
    }
    return result
  }

  /// The next operations that can be read, and the identifier up to which the queue was looked through; nil at its end.
  private static func readable(after id: Int64, _ ledger: Ledger, limit: Int) -> ([QueuedOperation], end: Int64?) {
    let sql = "SELECT \(QueuedOperation.columns) FROM operations WHERE id > ? ORDER BY id LIMIT 1"
    let newest: Int64? = (try? ledger.one("SELECT seq FROM sqlite_sequence WHERE name = 'operations'")) ?? nil
    var (operations, last, failures): ([QueuedOperation], Int64, Int) = ([], id, 0)
    while operations.count < limit {
      do {
        guard let row = try ledger.row(sql, [last]) else { return (operations, operations.isEmpty ? nil : last) }
        last = row["id"]
        if let operation = try? QueuedOperation(row: row) { operations.append(operation) }
        failures = 0
      } catch {
        // A page of the file is missing. The next rows may be on a page that is there.
        last += 1
        failures += 1
        if newest.map({ last > $0 }) ?? (failures > 100_000) { return (operations, operations.isEmpty ? nil : last) }
      }
    }
    return (operations, last)
  }
}
