package import Dispatch
import Facts
package import Foundation
package import GRDB
import Synchronization

/// The purpose for which a store is opened.
package enum StoreAccess: Hashable, Sendable {
  /// Read-only: nothing is created.
  case reading
  /// Read and write an existing store, without creating it.
  case changing
  /// Read and write; creates the store if needed.
  case making
}

/// A store in one SQLite file, which any number of processes may open at the same time, or in memory.
///
/// When `write` returns, the changes are on disk (WAL, `synchronous=FULL`) and survive a power failure. In memory,
/// several stores over one `SQLiteStorage` act like several processes over one file.
package final class SQLiteStorage: QueueStorage {
  /// The file's path, or the name of a store in memory for messages.
  package let name: String
  /// The connections to the file; nil while a full disk has no room for their shared memory. A reader then opens one
  /// for each transaction.
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
  ///   was made by another version, or is missing although this access does not create it.
  package init(
    path: String,
    access: StoreAccess = .making,
    pagesCheckedOnOpening limit: Int = SQLiteStorage.pagesCheckedOnOpening
  ) throws(StoreError) {
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

  deinit {
    guard madeLog, (try? connections.withLock({ try $0?.close() })) != nil else { return }
    SQLiteLog.removeEmpty(name)
  }

  /// Waits for two tries of another process, which otherwise would hardly ever find the lock free between two slices.
  package func letOthersWrite() { if seat == nil { usleep(2 * Self.triesEvery) } }

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
    if let seat { seat.notify() } else { Bell.notify(name) }
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

  package func holder(among fencingTokens: ClosedRange<Int64>) -> Int64? {
    if let seat { seat.holder(among: fencingTokens) } else { StoreLock.holder(among: fencingTokens, beside: name) }
  }

  package var trouble: StorageTrouble? {
    if let seat { return seat.trouble }
    // A quota may be used up while the file system has free space.
    return StoreLock.trouble(beside: name) ?? (isOnFullDisk ? .full : FileSystem(of: name)?.trouble)
  }

  package var isAwaited: Bool { seat.map { $0.trouble != nil } ?? (StoreLock.trouble(beside: name) != nil) }

  package func watch(on queue: DispatchQueue, locks: Bool, _ changed: @escaping @Sendable () -> Void)
    -> (any StorageWatch)?
  {
    if let seat { return SeatWatch(seat, queue: queue, changed: changed) }
    return BellWatch(name, queue: queue, locks: locks, isToMake: access != .reading, changed: changed)
  }
}
