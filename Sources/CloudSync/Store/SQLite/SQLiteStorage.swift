package import Dispatch
import Facts
package import Foundation
package import GRDB
import Synchronization

/// The purpose for which a store is opened.
package enum StoreAccess: Hashable, Sendable {
  /// Read-only: nothing is created or migrated.
  case reading
  /// Read and write an existing store, without creating or migrating it.
  case changing
  /// Read and write; creates the store if needed and migrates one of an earlier version.
  case making
}

/// A store in one SQLite file, which any number of processes may open at the same time, or in memory.
///
/// When `write` returns, the changes are on disk (WAL, `synchronous=FULL`) and survive a power failure. In memory,
/// several stores over one `SQLiteStorage` act like several processes over one file.
package final class SQLiteStorage: QueueStorage {
  /// The file's path, or the name of a store in memory for messages.
  package let name: String
  /// The connections to the file; nil while a full disk has no room for their shared memory. A reader then opens one for
  /// each transaction.
  let connections: Mutex<(any DatabaseWriter)?>
  private let access: StoreAccess
  /// Whether reading created a log beside the file, which `deinit` removes.
  private let madeLog: Bool
  /// The replacement of the lock file for a store in memory; nil for a file.
  private let seat: InMemoryLocks?
  /// The opened file; nil in memory.
  package let identity: FileIdentity?
  /// The write-ahead log that this process writes; nil if read-only.
  private let log: FileIdentity?
  /// The damage found, after which the file must not be used.
  private let damage = Mutex<StoreError?>(nil)
  /// The path to which the log of a replaced file was moved.
  private let logOfReplaced = Mutex<String?>(nil)
  /// The number of calls that wait to write.
  private let waiting = Atomic(0)

  /// Opens the file.
  ///
  /// - Throws: `StoreError`, with nothing changed, if the file cannot be read or written, is not a store, is damaged,
  ///   is from a newer version, or does not fit the access: missing, or from an earlier version.
  package convenience init(path: String, access: StoreAccess = .making) throws(StoreError) {
    try self.init(path: path, access: access, pagesCheckedOnOpening: Self.pagesCheckedOnOpening)
  }

  init(path: String, access: StoreAccess = .making, pagesCheckedOnOpening limit: Int) throws(StoreError) {
    // Symbolic links are resolved, because the lock file and the assets are beside the file itself.
    name = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    self.access = access
    seat = nil
    madeLog = access == .reading && !SQLiteLog.isThere(name)
    if let type = Self.type(of: name), type != .typeRegular {
      let what = type == .typeDirectory ? "a folder" : "no regular file"
      throw StoreError(.notAStore, "\(path) is \(what); choose a file with --store")
    }
    if access != .reading, let names = FileIdentity.names(ofFileAt: name), names > 1 {
      let danger = "changes made under different names would damage it, for each name has a log of its own"
      throw StoreError(
        .cannotOpen,
        "the store \(path) is one file with \(names) names (hard links), and \(danger); remove the others, or use a copy"
      )
    }
    do {
      connections = Mutex(try Self.open(name, access))
      identity = FileIdentity(atPath: name)
      log = access == .reading ? nil : FileIdentity(atPath: name + "-wal")
      try checkOnOpening(upTo: limit)
    } catch {
      throw StoreError(opening: path, error)
    }
  }

  /// Creates an empty store in memory, for tests, simulations and previews.
  ///
  /// - Parameter name: its name in messages.
  package init(inMemory name: String) throws(StoreError) {
    self.name = name
    access = .making
    madeLog = false
    seat = InMemoryLocks()
    identity = nil
    log = nil
    do {
      let queue = try DatabaseQueue(configuration: Self.configuration())
      try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = OFF") }
      try Schema.migrator.migrate(queue)
      connections = Mutex(queue)
    } catch {
      throw StoreError(opening: name, error)
    }
  }

  /// The connections to a file that is written.
  package var writer: any DatabaseWriter {
    guard let writer = connections.withLock(\.self) else {
      preconditionFailure("A store on a full disk is only read.")
    }
    return writer
  }

  /// Microseconds between two tries to write while another process writes. SQLite's own waiting tries only ten times a
  /// second, and hardly ever between two slices.
  private static let triesEvery: UInt32 = 1000

  package func letOthersWrite() { if seat == nil { usleep(2 * Self.triesEvery) } }

  /// The configuration of every connection.
  static func configuration(isReadOnly: Bool = false) -> Configuration {
    var configuration = Configuration()
    configuration.readonly = isReadOnly
    configuration.busyMode = .callback { tries in
      usleep(triesEvery)
      return tries < 10_000_000 / Int(triesEvery)
    }
    configuration.label = "cktop"
    configuration.prepareDatabase {
      $0.add(function: words)
      $0.add(function: eventWords)
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

  deinit {
    guard madeLog, (try? connections.withLock({ try $0?.close() })) != nil else { return }
    SQLiteLog.removeEmpty(name)
  }

  /// The type of the file at a path, if any. Opening a pipe would block.
  private static func type(of path: String) -> FileAttributeType? {
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
  private static func open(_ path: String, _ access: StoreAccess) throws -> (any DatabaseWriter)? {
    let isThere = try isThere(path)
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
          try requireCurrent(queue, path)
          return queue
        } alone: {
          try requireCurrent($0, path)
          return nil
        }
      }
    case .changing:
      // Opening a pool writes to the file, so check it first.
      try whole(path) { try SQLiteLog.leavingNone(path) { try requireCurrent(openToRead(path), path) } }
      return try withJournalInMemory(openPool(path))
    case .making:
      let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
      try FileManager.default.createDirectory(
        at: folder,
        withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700]
      )
      // Do not create a lock file beside a file that may not be a store.
      let pool =
        isThere && !StoreLock.isKnown(path)
        ? try openOrMake(path)
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
      return try withJournalInMemory(pool)
    }
  }

  /// Opens a file read-only. On read-only media the file is read as is, provided that no log holds more.
  static func openToRead(_ path: String) throws -> DatabaseQueue {
    let configuration = configuration(isReadOnly: true)
    do {
      let queue = try DatabaseQueue(path: path, configuration: configuration)
      try queue.read { try inspect(path, $0) }
      return queue
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
    let queue = try DatabaseQueue(path: address, configuration: configuration(isReadOnly: true))
    try queue.read { try inspect(path, $0) }
    return queue
  }

  /// Opens an existing store; if that fails, waits for a process that may be creating or migrating it and tries again.
  private static func whole<Value>(_ path: String, _ open: () throws -> Value) throws -> Value {
    do { return try open() } catch {
      guard StoreLock.waitWhileMaking(path) else { throw error }
      return try open()
    }
  }

  /// Rejects a store of an earlier version.
  private static func requireCurrent(_ reader: some DatabaseReader, _ path: String) throws {
    let (version, isBegun) = try reader.read { database in
      (try Schema.version(database), try hasTables(database))
    }
    guard version != .current else { return }
    if isBegun { throw StoreError(.older, "the store \(path) was made by an earlier cktop; run `cktop sync` once") }
    throw FileSystem(of: path)?.trouble == .full
      ? .notMade(path)
      : StoreError(.older, "the store \(path) is empty: making it was cut off; run `cktop sync` once")
  }

  /// Opens a file for reading and writing, and creates an empty one if there is none.
  private static func openPool(_ path: String) throws -> DatabasePool {
    let configuration = configuration()
    let isNew = !FileManager.default.fileExists(atPath: path)
    if !isNew { try inspect(path) }
    let pool = try DatabasePool(path: path, configuration: configuration)
    if isNew { try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path) }
    // GRDB's WAL set-up resets the pragma to NORMAL, under which a power failure may undo an acknowledged change. A
    // checkpoint at 16 MB writes pages that many commits change only once, and delays fewer commits.
    let settings = "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000"
    try pool.writeWithoutTransaction { try $0.execute(sql: settings) }
    return pool
  }

  /// Keeps the statement journal in memory: a statement that fires triggers first copies each page to it that it changes.
  ///
  /// A migration has it in files, where it also sorts the indexes of a long queue.
  private static func withJournalInMemory(_ pool: DatabasePool) throws -> DatabasePool {
    try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA temp_store = MEMORY") }
    return pool
  }

  private static func openOrMake(_ path: String) throws -> DatabasePool {
    let isNew = !FileManager.default.fileExists(atPath: path)
    let pool = try openPool(path)
    let version = try pool.read { try Schema.version($0) }
    if version == .current { return pool }
    if !isNew {
      // A process of the earlier version would go on with tables that it does not know.
      if StoreLock.isHeld(beside: path) {
        let remedy = "stop it, and then run `cktop sync` once"
        throw StoreError(.older, "an earlier cktop is syncing the store \(path); \(remedy)")
      }
      if version == .former { try keepCopy(of: pool, path) }
    }
    try Schema.migrator.migrate(pool)
    return pool
  }

  /// Copies a store before a migration to `sync.sqlite.version-28`.
  private static func keepCopy(of pool: DatabasePool, _ path: String) throws {
    let copy = "\(path).version-28"
    let unfinished = copy + ".part"
    let files = FileManager.default
    guard !files.fileExists(atPath: copy) else { return }
    try? files.removeItem(atPath: unfinished)
    try pool.vacuum(into: unfinished)
    try files.setAttributes([.posixPermissions: 0o600], ofItemAtPath: unfinished)
    try files.moveItem(atPath: unfinished, toPath: copy)
  }

  /// Rejects a file that is not a store before anything is written: opening a pool would turn it into a WAL file.
  private static func inspect(_ path: String) throws {
    var configuration = Configuration()
    configuration.readonly = true
    configuration.busyMode = .timeout(10)
    do {
      try inspect(path, configuration)
    } catch {
      // After a crash the next process has to roll back the journal, which a read-only connection cannot do.
      guard (error as? DatabaseError)?.resultCode == .SQLITE_READONLY else { throw error }
      configuration.readonly = false
      try inspect(path, configuration)
    }
  }

  private static func inspect(_ path: String, _ configuration: Configuration) throws {
    try DatabaseQueue(path: path, configuration: configuration).read { try inspect(path, $0) }
  }

  static func inspect(_ path: String, _ database: Database) throws {
    // The lock file shows that this one had content.
    if try !hasTables(database), StoreLock.isMade(path) { throw StoreError.emptied(path) }
    if try !isStore(database) {
      throw StoreError(.notAStore, "\(path) is an SQLite file but no cktop store; choose another with --store")
    }
    switch try Schema.version(database) {
    case .newer: throw StoreError(.newer, "the store \(path) was written by a newer cktop; update this one")
    case .tooOld:
      let remedy = "send its changes with that cktop, then choose another store with --store"
      throw StoreError(.older, "the store \(path) was written by a cktop too old to be upgraded from; \(remedy)")
    case .none, .former, .current: break
    }
  }

  /// Whether the file is a store or an empty database, perhaps because its creation was interrupted.
  private static func isStore(_ database: Database) throws -> Bool {
    try !hasTables(database) || database.tableExists("grdb_migrations") && database.tableExists("operations")
  }

  /// Whether the file holds more than what comes before the first migration.
  private static func hasTables(_ database: Database) throws -> Bool {
    let sql = "SELECT count(*) FROM sqlite_master WHERE tbl_name <> 'grdb_migrations'"
    return try Int.fetchOne(database, sql: sql) ?? 0 > 0
  }

  /// Reads values of the store at a path without opening it; nil if there is no readable store.
  static func values(_ columns: [StateColumn<String>], ofFileAt path: String) -> [String?]? {
    let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    guard type(of: path) == .typeRegular else { return nil }
    func read(_ queue: DatabaseQueue) throws -> [String?] {
      try queue.read { database in try columns.map(Ledger(database).formerValue) }
    }
    // If no process has the file open, it is read without a log, which would be created and removed again. This may fail
    // if a process opens the file meanwhile.
    if !SQLiteLog.isThere(path), let values = try? read(openWithoutLog(path)) { return values }
    return try? SQLiteLog.leavingNone(path) {
      try onFullDisk(path) {
        try read(openToRead(path))
      } alone: {
        try read($0)
      }
    }
  }

  /// The value of `PRAGMA synchronous` on the writing connection: 2 is FULL.
  package func synchronousMode() throws(StoreError) -> Int {
    try wrap {
      try writer.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") ?? -1 }
    }
  }

  package var isReadOnly: Bool { access == .reading }

  package var assetFolder: URL? { seat == nil ? URL(fileURLWithPath: name + ".assets") : nil }

  // MARK: - Transactions

  package func read<Value>(_ body: (Ledger) throws -> Value) throws(StoreError) -> Value {
    try wrap {
      try setAsideUnreadable {
        try seat == nil ? connected { try $0.read { try body(Ledger($0)) } } : readInMemory(body)
      }
    }
  }

  /// Reads on the only connection of a store in memory. GRDB's own `read` sets a pragma, after which SQLite recompiles
  /// every statement.
  private func readInMemory<Value>(_ body: (Ledger) throws -> Value) throws -> Value {
    try writer.write { database in
      let changes = database.totalChangesCount
      let value = try body(Ledger(database))
      guard database.totalChangesCount == changes else {
        throw StoreError(.invalid, "a transaction that reads has tried to write")
      }
      return value
    }
  }

  package func write<Value>(_ body: (Ledger) throws -> Value) throws(StoreError) -> Value {
    if isOnFullDisk { throw .diskIsFull }
    let value = try wrap { try setAsideUnreadable { try inTurn { try body(Ledger($0)) } } }
    notify()
    return value
  }

  /// Notifies the watchers in all processes.
  private func notify() {
    if let seat { seat.notify() } else { Bell.ring(name) }
  }

  private func inTurn<Value>(_ body: (Database) throws -> Value) throws -> Value {
    waiting.add(1, ordering: .relaxed)
    var isWaiting = true
    defer { if isWaiting { waiting.subtract(1, ordering: .relaxed) } }
    return try writer.write { database in
      waiting.subtract(1, ordering: .relaxed)
      isWaiting = false
      return try body(database)
    }
  }

  package func yields(after rows: Int) -> Bool {
    rows % SyncStore.writtenAtOnce == 0 && waiting.load(ordering: .relaxed) > 0
  }

  /// Runs a transaction, and again whenever an unreadable row has been set aside.
  private func setAsideUnreadable<Value>(_ body: () throws -> Value) throws -> Value {
    var places: Set<UnreadableRow.Place> = []
    while true {
      do {
        return try body()
      } catch {
        guard let row = error as? UnreadableRow, places.insert(row.place).inserted else { throw error }
        guard access != .reading else {
          // A sync reads the queue, and of the local copy only what changed.
          let command = if case .record = row.place { "cktop verify --repair" } else { "cktop sync" }
          throw StoreError(.damaged, "a row of the store \(name) cannot be read; `\(command)` sets it aside")
        }
        try writer.write { try Quarantine.take(row, $0) }
        notify()
      }
    }
  }

  /// Rejects every transaction from now on.
  func refuse(_ error: StoreError) { damage.withLock { $0 = error } }

  private func wrap<Value>(_ body: () throws -> Value) throws(StoreError) -> Value {
    if let error = damage.withLock({ $0 }) { throw error }
    try requireInPlace()
    do {
      return try body()
    } catch let error as StoreError {
      throw error
    } catch {
      // A file that was deleted or replaced meanwhile fails in many ways.
      try requireInPlace()
      throw StoreError(using: name, error)
    }
  }

  // MARK: - Lock and watchers

  package func requireInPlace() throws(StoreError) {
    let present = FileIdentity(atPath: name)
    guard let identity, present != identity else { return }
    if identity.isOnLostVolume(name) { throw .volumeLost(name) }
    // A folder that this user may no longer enter hides the file; it is not gone.
    if present == nil { _ = try StoreFile(atPath: name).isPresent(name) }
    // The log is moved once, and named in each error.
    let place = logOfReplaced.withLock { known in
      known = known ?? SQLiteLog.setAside(name, ifItIs: log)
      return known
    }
    throw .replaced("the store \(name)", isGone: present == nil, log: place)
  }

  package func engineLock() -> any EngineLock {
    if let seat { SeatLock(seat) } else { StoreLock(beside: name) }
  }

  package var hasEngine: Bool { seat?.isTaken ?? StoreLock.isHeld(beside: name) }

  package var trouble: StorageTrouble? {
    if let seat { return seat.trouble }
    // A quota may be used up while the file system has free space.
    return StoreLock.trouble(beside: name) ?? (isOnFullDisk ? .full : FileSystem(of: name)?.trouble)
  }

  package func watch(on queue: DispatchQueue, locks: Bool, _ changed: @escaping @Sendable () -> Void)
    -> (any StorageWatch)?
  {
    if let seat { return SeatWatch(seat, queue: queue, changed: changed) }
    return BellWatch(name, queue: queue, locks: locks, isToMake: access != .reading, changed: changed)
  }
}
