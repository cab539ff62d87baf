import Facts
import Foundation
import GRDB

/// Opening a store's file. Nothing is changed if it is not a store that this version can use.
extension SQLiteStorage {
  /// The type of the file at a path, if any. Opening a pipe would block.
  static func type(of path: String) -> FileAttributeType? {
    (try? FileManager.default.attributesOfItem(atPath: path))?[.type] as? FileAttributeType
  }

  /// Whether there is a store at a path.
  ///
  /// - Throws: `StoreError` if this user may not see that, or if the file was deleted while its log is still there.
  static func isThere(_ path: String) throws(StoreError) -> Bool {
    let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    if try StoreFile(atPath: path).isPresent(path) { return true }
    // SQLite would empty the log, which may hold the only copy of accepted changes.
    if SQLiteLog.isThere(path) { throw .deleted(path) }
    return false
  }

  /// Opens a file; nil if a full disk lets it be read only by connections that are closed at once.
  static func open(_ path: String, _ access: StoreAccess) throws -> (any DatabaseWriter)? {
    let isThere = try isThere(path)
    guard StoreError.longestName >= URL(fileURLWithPath: path).lastPathComponent.utf8.count else {
      throw StoreError.nameTooLong(path)
    }
    // SQLite takes an empty file for a new one, but the lock file shows that this one had content.
    if isThere, StoreLock.isMade(path), try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == 0 {
      throw StoreError.emptied(path)
    }
    if access != .making, !isThere { throw StoreError.missing(path) }
    switch access {
    case .reading:
      return try whole(path) {
        try onFullDisk(path) {
          let queue = try openToRead(path)
          try requireMade(queue, path)
          try requireCurrent(queue, path)
          return queue
        } alone: {
          try requireMade($0, path)
          try requireCurrent($0, path)
          return nil
        }
      }
    case .changing:
      // Opening a pool writes to the file, so check it first.
      try whole(path) { try SQLiteLog.leavingNone(path) { try requireMade(openToRead(path), path) } }
      return try openMigrated(path)
    case .making:
      try FileSystem.makeFolder(URL(fileURLWithPath: path).deletingLastPathComponent())
      // Do not create a lock file beside a file that may not be a store.
      let pool =
        isThere && !StoreLock.isKnown(path)
        ? try openMigrated(path)
        : try StoreLock.whileMaking(path) { isLocked in
          // Another process may have created it while this one waited for the lock.
          let isNew = try isLocked && !self.isThere(path)
          do { return try openOrMake(path) } catch {
            // No other process uses it before it is whole.
            if isNew { removeDatabase(path) }
            throw error
          }
        }
      StoreLock.noteMade(path)
      return pool
    }
  }

  /// Opens a file read-only. On read-only media the file is read as is, provided that no log holds more.
  static func openToRead(_ path: String) throws -> DatabaseQueue {
    do {
      return try open(path, path, configuration(isReadOnly: true))
    } catch let error as DatabaseError
      where error.resultCode == .SQLITE_CANTOPEN && FileManager.default.isReadableFile(atPath: path)
    {
      guard !SQLiteLog.hasContent(path) else {
        throw StoreError(
          .cannotOpen,
          "the store \(path) has unmerged changes in \(path)-wal, which cannot be read where nothing can be written; "
            + "copy both files to a folder that can be written, and read the copy with --store"
        )
      }
      return try openWithoutLog(path)
    }
  }

  /// Opens a file that has no log for reading only it, which neither creates a log nor needs to.
  private static func openWithoutLog(_ path: String) throws -> DatabaseQueue {
    let address = URL(fileURLWithPath: path).absoluteString + "?immutable=1"
    return try open(path, address, configuration(isReadOnly: true))
  }

  /// Opens an address of a file, and rejects a file that is not a store that this version can use.
  static func open(_ path: String, _ address: String, _ configuration: Configuration) throws -> DatabaseQueue {
    let queue = try DatabaseQueue(path: address, configuration: configuration)
    try queue.read { try inspect(path, $0) }
    return queue
  }

  /// Opens an existing store; if that fails, waits for a process that may be creating it and tries again.
  private static func whole<Value>(_ path: String, _ open: () throws -> Value) throws -> Value {
    do { return try open() } catch {
      guard StoreLock.waitWhileMaking(path) else { throw error }
      return try open()
    }
  }

  /// Rejects a file without tables: its creation was interrupted.
  private static func requireMade(_ reader: some DatabaseReader, _ path: String) throws {
    guard try !reader.read(hasTables) else { return }
    throw FileSystem(of: path)?.trouble == .full
      ? .notMade(path)
      : StoreError(.missing, "the store \(path) is empty: making it was cut off; run `cktop sync` once")
  }

  /// Rejects a store of an earlier schema, which is migrated when it is opened to be written.
  private static func requireCurrent(_ reader: some DatabaseReader, _ path: String) throws {
    guard try !reader.read(Schema.migrator.hasCompletedMigrations) else { return }
    throw StoreError(
      .otherVersion,
      "the store \(path) was made by an earlier version of cktop; run `cktop sync` once to migrate it"
    )
  }

  /// Opens a file for reading and writing, and creates an empty one if there is none.
  private static func openPool(_ path: String) throws -> DatabasePool {
    let configuration = configuration()
    let isNew = !FileManager.default.fileExists(atPath: path)
    if !isNew { try inspect(path) }
    let pool = try DatabasePool(path: path, configuration: configuration)
    if isNew { try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path) }
    // GRDB's WAL set-up resets the pragma to NORMAL, under which a power failure may undo an acknowledged change. A
    // checkpoint at 16 MB writes pages that many commits change only once, and delays fewer commits. A statement that
    // fires triggers first copies each page that it changes to a journal, which is kept in memory.
    let settings = "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000; PRAGMA temp_store = MEMORY"
    try pool.writeWithoutTransaction { try $0.execute(sql: settings) }
    return pool
  }

  /// Opens a file that is there. One process at a time migrates a store of an earlier schema.
  private static func openMigrated(_ path: String) throws -> DatabasePool {
    let pool = try openPool(path)
    if try pool.read(Schema.migrator.hasCompletedMigrations) { return pool }
    return try StoreLock.whileMaking(path) { _ in
      guard try isThere(path) else { throw StoreError.missing(path) }
      return try openOrMake(path)
    }
  }

  private static func openOrMake(_ path: String) throws -> DatabasePool {
    let pool = try openPool(path)
    if try !pool.read(Schema.migrator.hasCompletedMigrations) { try Schema.migrator.migrate(pool) }
    return pool
  }

  /// Rejects a file that is not a store before anything is written: opening a pool would turn it into a WAL file.
  private static func inspect(_ path: String) throws {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(10)
    do {
      _ = try open(path, path, configuration)
    } catch let error as DatabaseError where error.resultCode == .SQLITE_READONLY {
      // After a crash the next process has to roll back the journal, which a read-only connection cannot do.
      configuration.readonly = false
      _ = try open(path, path, configuration)
    }
  }

  static func inspect(_ path: String, _ database: Database) throws {
    guard try hasTables(database) else {
      // Its creation was interrupted, unless the lock file shows that it had content.
      if StoreLock.isMade(path) { throw StoreError.emptied(path) }
      return
    }
    guard try database.tableExists("operations"), let version = try Schema.version(of: database) else {
      throw StoreError(.notAStore, "\(path) is an SQLite file but no cktop store; choose another with --store")
    }
    if Schema.fit(version) == .rejected { throw StoreError.otherVersion(path, schema: version) }
  }

  /// Whether the file holds more than the list of its migrations, which is made first.
  private static func hasTables(_ database: Database) throws -> Bool {
    let sql = "SELECT count(*) FROM sqlite_master WHERE tbl_name <> 'grdb_migrations'"
    return try Int.fetchOne(database, sql: sql) ?? 0 > 0
  }

  /// Reads values of the store at a path without opening it; nil if there is no readable store.
  static func values(_ columns: [StateColumn<String>], ofFileAt path: String) -> [String?]? {
    let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    guard type(of: path) == .typeRegular else { return nil }
    func read(_ queue: DatabaseQueue) throws -> [String?] {
      try queue.read { database in try columns.map { try Ledger(database).value($0) } }
    }
    // If no process has the file open, it is read without a log, which would be created and removed again. This may
    // fail if a process opens the file meanwhile.
    if !SQLiteLog.isThere(path), let values = try? read(openWithoutLog(path)) { return values }
    return try? SQLiteLog.leavingNone(path) {
      try onFullDisk(path) {
        try read(openToRead(path))
      } alone: {
        try read($0)
      }
    }
  }

  /// Microseconds between two tries to write while another process writes. SQLite's own waiting tries only ten times a
  /// second, and hardly ever between two slices.
  static let triesEvery: UInt32 = 1000

  /// The configuration of every connection.
  static func configuration(isReadOnly: Bool = false) -> Configuration {
    var configuration = Configuration()
    configuration.readonly = isReadOnly
    configuration.busyMode = .callback { tries in
      // SQLite calls this on the connection's own thread and waits for it; nothing tells when the lock is free.
      usleep(triesEvery)
      return tries < 10_000_000 / Int(triesEvery)
    }
    configuration.label = "cktop"
    configuration.prepareDatabase {
      $0.add(function: words)
      $0.add(function: eventWords)
      $0.add(function: conflictVersion)
      for function in ChangeCondition.functions { $0.add(function: function) }
    }
    return configuration
  }

  /// An SQL function for the text of a stored cause, so that lists can be searched for the text they show.
  private static let words = DatabaseFunction("words", argumentCount: 1, pure: true) { values in
    values.first.flatMap(String.fromDatabaseValue).map { Cause(stored: $0).text }
  }

  /// A stored event as lists show it.
  private static let eventWords = DatabaseFunction("eventWords", argumentCount: 2, pure: true) { values in
    guard let kind = String.fromDatabaseValue(values[0]), let text = String.fromDatabaseValue(values[1]) else {
      return nil
    }
    return Event(kind: kind, stored: text).text
  }

  private static let conflictVersion = DatabaseFunction("conflictVersion", argumentCount: 5, pure: true) { values in
    guard let id = Int64.fromDatabaseValue(values[0]),
      let kind = String.fromDatabaseValue(values[1]).flatMap(OperationKind.init(rawValue:)),
      let generation = Int64.fromDatabaseValue(values[2]), let isUnconfirmed = Bool.fromDatabaseValue(values[3])
    else { return nil }
    return DecisionVersion.operation(
      id,
      kind,
      .conflict,
      generation: generation,
      isUnconfirmed: isUnconfirmed,
      serverTag: String.fromDatabaseValue(values[4])
    )
  }
}
