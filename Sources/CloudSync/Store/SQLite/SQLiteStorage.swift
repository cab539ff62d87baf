package import Dispatch
import Facts
package import Foundation
package import GRDB
import Synchronization

/// What a store is opened for.
package enum StoreAccess: Hashable, Sendable {
  /// Only to look: the file is opened read-only, and nothing is made or migrated.
  case reading
  /// To change a store that is there: it is neither made nor migrated.
  case changing
  /// To make the store where there is none, and to migrate one that an earlier version made.
  case making
}

/// A store in one SQLite file, which any number of processes open at the same time, or in this process's memory.
///
/// What `write` has returned is on disk (WAL, `synchronous=FULL`) and survives a power cut. In memory the stores over one
/// `SQLiteStorage` are what processes are over one file, and everything is gone with the process.
package final class SQLiteStorage: QueueStorage {
  /// The file's path, or what messages call a store in memory.
  package let name: String
  package let writer: any DatabaseWriter
  private let access: StoreAccess
  /// Whether reading made a log beside the file that goes when the storage does.
  private let madeLog: Bool
  /// What stands in for the lock file of a store in memory; nil for a file.
  private let seat: DriverSeat?
  /// Which file was opened; nil in memory.
  private let identity: FileIdentity?
  /// Which write-ahead log this process writes, if it may.
  private let log: FileIdentity?
  /// Why the file is not to be used any more, once that is known.
  private let damage = Mutex<StoreError?>(nil)
  /// The path that the log of a replaced file was moved to.
  private let logOfReplaced = Mutex<String?>(nil)
  /// How many calls wait for their turn to write.
  private let waiting = Atomic(0)

  /// Opens the file.
  ///
  /// - Throws: `StoreError`, with nothing changed, where the file cannot be read or written, is no store, is damaged,
  ///   is from a newer version, or is not made for this access: missing, or from an earlier version.
  package convenience init(path: String, access: StoreAccess = .making) throws(StoreError) {
    try self.init(path: path, access: access, pagesCheckedOnOpening: Self.pagesCheckedOnOpening)
  }

  init(path: String, access: StoreAccess = .making, pagesCheckedOnOpening limit: Int) throws(StoreError) {
    // By whatever links the file is reached, its lock and its assets lie beside the file itself.
    name = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    self.access = access
    seat = nil
    madeLog = access == .reading && !SQLiteLog.isThere(name)
    if let type = Self.type(of: name), type != .typeRegular {
      let what = type == .typeDirectory ? "a folder" : "no regular file"
      throw StoreError(.notAStore, "\(path) is \(what); choose a file with --store")
    }
    do {
      writer = try Self.open(name, access)
      identity = FileIdentity(atPath: name)
      log = access == .reading ? nil : FileIdentity(atPath: name + "-wal")
      try checkOnOpening(upTo: limit)
    } catch {
      throw StoreError(opening: path, error)
    }
  }

  /// Makes an empty store in this process's memory, for tests, simulations and previews.
  ///
  /// - Parameter name: what messages call it.
  package init(inMemory name: String) throws(StoreError) {
    self.name = name
    access = .making
    madeLog = false
    seat = DriverSeat()
    identity = nil
    log = nil
    do {
      let queue = try DatabaseQueue(configuration: Self.configuration())
      try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = OFF") }
      try Schema.migrator.migrate(queue)
      writer = queue
    } catch {
      throw StoreError(opening: name, error)
    }
  }

  /// How every connection is made.
  private static func configuration(isReadOnly: Bool = false) -> Configuration {
    var configuration = Configuration()
    configuration.readonly = isReadOnly
    configuration.busyMode = .timeout(10)
    configuration.label = "cktop"
    configuration.prepareDatabase {
      $0.add(function: words)
      $0.add(function: eventWords)
    }
    return configuration
  }

  /// A stored cause as lists show it, so that a list can be searched for what it shows.
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
    guard madeLog, (try? writer.close()) != nil else { return }
    SQLiteLog.removeEmpty(name)
  }

  /// What lies at a path, if anything: a pipe that is opened is waited for, without a word.
  private static func type(of path: String) -> FileAttributeType? {
    (try? FileManager.default.attributesOfItem(atPath: path))?[.type] as? FileAttributeType
  }

  private static func open(_ path: String, _ access: StoreAccess) throws -> any DatabaseWriter {
    let isThere = FileManager.default.fileExists(atPath: path)
    // SQLite takes an empty file for a new one; what was in this one is lost, and is not to be forgotten as well.
    if isThere, StoreLock.isMade(path), try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int == 0 {
      let remedy = "put a copy back, or remove \(StoreLock.path(path)) to start over"
      throw StoreError(.damaged, "the store \(path) is empty, and it was not: \(remedy)")
    }
    if access != .making, !isThere { throw StoreError.missing(path) }
    switch access {
    case .reading:
      return try whole(path) {
        let queue = try openToRead(path)
        try requireCurrent(queue, path)
        return queue
      }
    case .changing:
      // Opening a pool writes to the file.
      try whole(path) { try SQLiteLog.leavingNone(path) { try requireCurrent(openToRead(path), path) } }
      return try openPool(path)
    case .making:
      let folder = URL(fileURLWithPath: path).deletingLastPathComponent()
      try FileManager.default.createDirectory(
        at: folder,
        withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700]
      )
      // A stranger's file is left alone, without so much as a lock file beside it.
      let pool =
        isThere && !StoreLock.isKnown(path)
        ? try openOrMake(path) : try StoreLock.whileMaking(path) { try openOrMake(path) }
      StoreLock.noteMade(path)
      return pool
    }
  }

  /// Opens a file read-only. One on media that cannot be written is read as it is, as long as no log holds more.
  private static func openToRead(_ path: String) throws -> DatabaseQueue {
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
      let address = URL(fileURLWithPath: path).absoluteString + "?immutable=1"
      let queue = try DatabaseQueue(path: address, configuration: configuration)
      try queue.read { try inspect(path, $0) }
      return queue
    }
  }

  /// Opens a store that is there, again once if need be: a process may just have been making or migrating it.
  private static func whole<Value>(_ path: String, _ open: () throws -> Value) throws -> Value {
    do { return try open() } catch {
      guard StoreLock.waitWhileMaking(path) else { throw error }
      return try open()
    }
  }

  /// Refuses a store that an earlier version made.
  private static func requireCurrent(_ reader: some DatabaseReader, _ path: String) throws {
    guard try reader.read({ try Schema.migrator.hasCompletedMigrations($0) }) else {
      throw StoreError(.older, "the store \(path) was made by an earlier cktop; run `cktop sync` once")
    }
  }

  /// Opens a file for reading and writing, and makes an empty one where there is none.
  private static func openPool(_ path: String) throws -> DatabasePool {
    let configuration = configuration()
    let isNew = !FileManager.default.fileExists(atPath: path)
    if !isNew { try inspect(path) }
    let pool = try DatabasePool(path: path, configuration: configuration)
    if isNew { try? FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path) }
    // GRDB's WAL set-up resets the pragma to NORMAL, under which a power cut may undo an acknowledged change.
    // The log is copied into the file once it has 16 MB: pages that many commits change are copied once for all of them, and
    // fewer commits have to do it.
    let settings = "PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000"
    try pool.writeWithoutTransaction { try $0.execute(sql: settings) }
    return pool
  }

  private static func openOrMake(_ path: String) throws -> DatabasePool {
    let isNew = !FileManager.default.fileExists(atPath: path)
    let pool = try openPool(path)
    guard try !pool.read({ try Schema.migrator.hasCompletedMigrations($0) }) else { return pool }
    if !isNew {
      // A process of the earlier version would go on with tables that it does not know.
      if StoreLock.isHeld(beside: path) {
        let remedy = "stop it, and then run `cktop sync` once"
        throw StoreError(.older, "an earlier cktop is syncing the store \(path); \(remedy)")
      }
      try keepCopy(of: pool, path)
    }
    try Schema.migrator.migrate(pool)
    return pool
  }

  /// Copies a store that a migration is about to change, beside it: `sync.sqlite.version-2` is the store as the second
  /// migration left it.
  private static func keepCopy(of pool: DatabasePool, _ path: String) throws {
    let done = try pool.read { try Schema.migrator.completedMigrations($0) }
    guard !done.isEmpty else { return }
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
    try DatabaseQueue(path: path, configuration: configuration).read { try inspect(path, $0) }
  }

  private static func inspect(_ path: String, _ database: Database) throws {
    if try !isStore(database) {
      throw StoreError(.notAStore, "\(path) is an SQLite file but no cktop store; choose another with --store")
    }
    if try Schema.migrator.hasBeenSuperseded(database) {
      throw StoreError(.newer, "the store \(path) was written by a newer cktop; update this one")
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
    let path = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    guard type(of: path) == .typeRegular else { return nil }
    return try? SQLiteLog.leavingNone(path) {
      try openToRead(path).read { database in
        let ledger = Ledger(database)
        var values: [String: String] = [:]
        for key in keys { values[key] = try ledger.value(key) }
        return values
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
    try wrap { try setAsideUnreadable { try seat == nil ? writer.read { try body(Ledger($0)) } : readInMemory(body) } }
  }

  /// Reads on the one connection that a store in memory has. GRDB would set a pragma around each reading, after which SQLite
  /// compiles every statement again.
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
    let value = try wrap { try setAsideUnreadable { try inTurn { try body(Ledger($0)) } } }
    notify()
    return value
  }

  /// Wakes whoever watches, in whatever process.
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

  /// Does a transaction again once a row in its way has been set aside.
  private func setAsideUnreadable<Value>(_ body: () throws -> Value) throws -> Value {
    var places: Set<UnreadableRow.Place> = []
    while true {
      do {
        return try body()
      } catch {
        guard let row = error as? UnreadableRow, places.insert(row.place).inserted else { throw error }
        guard access != .reading else {
          throw StoreError(.damaged, "a row of the store \(name) cannot be read; `cktop sync` sets it aside")
        }
        try writer.write { try Quarantine.take(row, $0) }
        notify()
      }
    }
  }

  /// Refuses every transaction from now on.
  func refuse(_ error: StoreError) { damage.withLock { $0 = error } }

  private func wrap<Value>(_ body: () throws -> Value) throws(StoreError) -> Value {
    if let error = damage.withLock({ $0 }) { throw error }
    try requireInPlace()
    do {
      return try body()
    } catch let error as StoreError {
      throw error
    } catch {
      throw StoreError(using: name, error)
    }
  }

  // MARK: - Driver and watchers

  package func requireInPlace() throws(StoreError) {
    guard let identity, FileIdentity(atPath: name) != identity else { return }
    // The log is moved once, and named each time.
    let place = logOfReplaced.withLock { known in
      known = known ?? SQLiteLog.setAside(name, ifItIs: log)
      return known
    }
    throw .replaced("the store \(name)", log: place)
  }

  package func driverLock() -> any DriverLock {
    if let seat { SeatLock(seat) } else { StoreLock(beside: name) }
  }

  package var isDriven: Bool { seat?.isTaken ?? StoreLock.isHeld(beside: name) }

  package func watch(on queue: DispatchQueue, locks: Bool, _ changed: @escaping @Sendable () -> Void)
    -> (any StorageWatch)?
  {
    if let seat { return SeatWatch(seat, queue: queue, changed: changed) }
    return BellWatch(name, queue: queue, locks: locks, isToMake: access != .reading, changed: changed)
  }
}
