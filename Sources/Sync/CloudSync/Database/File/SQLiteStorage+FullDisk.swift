import Foundation
import GRDB
import Synchronization

/// Reading on a full disk, where SQLite cannot create the shared memory of a file's connections (its -shm file).
///
/// A connection with an exclusive lock on the file keeps that index in its own memory. No other process can lock the
/// file meanwhile, so what is read is whole even if a sync starts. The lock is held for one transaction only, so that
/// the sync does start.
extension SQLiteStorage {
  /// Whether the disk had no room for the connections' shared memory when the store was last read.
  var isOnFullDisk: Bool { connections.withLock { $0 == nil } }

  /// Runs `body` with connections that read. On a full disk it looks first whether there is room for them now.
  func connected<Value>(_ body: (any DatabaseWriter) throws -> Value) throws -> Value {
    if let writer = connections.withLock(\.self) { return try body(writer) }
    return try Self.onFullDisk(name) {
      let queue = try Self.openToRead(name)
      let value = try body(queue)
      connections.withLock { $0 = queue }
      return value
    } alone: {
      try body($0)
    }
  }

  /// Runs `shared`, or `alone` with a connection of its own if the disk is full.
  static func onFullDisk<Value>(
    _ path: String,
    _ shared: () throws -> Value,
    alone: (DatabaseQueue) throws -> Value
  ) throws -> Value {
    do { return try shared() } catch let error as DatabaseError where needsRoom(error, path) {
      do { return try self.alone(path, alone) } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY
      {
        // A process that opened the file meanwhile has created the shared memory.
        return try shared()
      }
    }
  }

  /// Whether SQLite had no room for the files beside a store. A quota that is used up ends in the same errors.
  static func needsRoom(_ error: DatabaseError, _ path: String) -> Bool {
    switch error.extendedResultCode {
    case .SQLITE_IOERR_SHMSIZE, .SQLITE_FULL: true
    default: error.resultCode == .SQLITE_CANTOPEN && FileSystem(of: path)?.trouble == .full
    }
  }

  /// Reads a file that no other connection has open.
  private static func alone<Value>(_ path: String, _ body: (DatabaseQueue) throws -> Value) throws -> Value {
    var configuration = configuration()
    configuration.busyMode = .timeout(1)
    // Only a connection that may write can get the lock.
    configuration.prepareDatabase { try $0.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
    return try mergingNothing(path, configuration) { queue in
      try queue.read { try inspect(path, $0) }
      return try body(queue)
    }
  }

  /// Runs `body` with a connection that may write to a file that is there.
  static func mergingNothing<Value>(
    _ path: String,
    _ configuration: Configuration,
    _ body: (DatabaseQueue) throws -> Value
  ) throws -> Value {
    // This mode creates no file.
    let address = URL(fileURLWithPath: path).absoluteString + "?mode=rw"
    let queue = try DatabaseQueue(path: address, configuration: configuration)
    defer {
      // On closing, SQLite would merge the log into the file. An interrupted connection leaves both as they are.
      queue.interrupt()
      try? queue.close()
    }
    return try body(queue)
  }

  /// Removes a database: its file, its logs and the index of its log.
  static func removeDatabase(_ path: String) {
    for suffix in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: path + suffix) }
  }
}
