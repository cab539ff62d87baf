import Foundation
import GRDB

/// The write-ahead log beside a store's file.
///
/// A connection that only reads makes an empty log and its index where there are none, and cannot remove them.
enum SQLiteLog {
  static func isThere(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path + "-wal") }

  /// Whether the log holds changes that are not in the file itself.
  static func hasContent(_ path: String) -> Bool { size(path) ?? 0 > 0 }

  /// Lets `body` open the file, read it and close it, and removes the empty log that this made.
  static func leavingNone<Value>(_ path: String, _ body: () throws -> Value) rethrows -> Value {
    let isThere = isThere(path)
    defer { if !isThere { removeEmpty(path) } }
    return try body()
  }

  /// Removes an empty log and its index, unless another connection uses them. SQLite does that when the last connection
  /// that may write closes; the file itself stays as it is.
  static func removeEmpty(_ path: String) {
    guard size(path) == 0 else { return }
    var configuration = Configuration()
    configuration.label = "cktop"
    // Opening would make a file that was deleted meanwhile.
    guard FileManager.default.fileExists(atPath: path),
      let queue = try? DatabaseQueue(path: path, configuration: configuration)
    else { return }
    _ = try? queue.read { try Int.fetchOne($0, sql: "PRAGMA schema_version") }
    try? queue.close()
  }

  /// Moves the log of a file that was replaced out of the way: SQLite would take it for the log of the file that is there now,
  /// and write its pages into that one.
  ///
  /// - Parameter log: the log that belonged to the former file.
  /// - Returns: where it is now, if it holds changes.
  static func setAside(_ path: String, ifItIs log: FileIdentity?) -> String? {
    guard let log, FileIdentity(atPath: path + "-wal") == log else { return nil }
    let hasContent = hasContent(path)
    // Earlier ones stay: each may be all there is of accepted changes.
    let names = (1...).lazy.map { $0 == 1 ? "\(path)-wal.replaced" : "\(path)-wal.replaced.\($0)" }
    guard let place = names.first(where: { !FileManager.default.fileExists(atPath: $0) }) else { return nil }
    try? FileManager.default.moveItem(atPath: path + "-wal", toPath: place)
    try? FileManager.default.removeItem(atPath: path + "-shm")
    return hasContent ? place : nil
  }

  private static func size(_ path: String) -> Int? {
    try? FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
  }
}
