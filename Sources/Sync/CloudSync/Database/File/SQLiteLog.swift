import Foundation
import GRDB

/// The write-ahead log of a store's file.
///
/// A read-only connection creates an empty log and its index if there are none, and cannot remove them.
enum SQLiteLog {
  static func isThere(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path + "-wal") }

  /// Whether the log holds changes that are not in the file yet.
  static func hasContent(_ path: String) -> Bool { size(path) ?? 0 > 0 }

  /// Runs `body`, which opens and closes the file for reading, and removes the empty log that this created.
  static func leavingNone<Value>(_ path: String, _ body: () throws -> Value) rethrows -> Value {
    let isThere = isThere(path)
    defer { if !isThere { removeEmpty(path) } }
    return try body()
  }

  /// Removes an empty log and its index, unless another connection uses them. SQLite does so when the last writing
  /// connection closes; the file itself does not change.
  static func removeEmpty(_ path: String) {
    guard size(path) == 0 else { return }
    var configuration = Configuration()
    configuration.label = "cktop"
    // Opening would recreate a file that was deleted meanwhile.
    guard FileManager.default.fileExists(atPath: path),
      let queue = try? DatabaseQueue(path: path, configuration: configuration)
    else { return }
    _ = try? queue.read { try Int.fetchOne($0, sql: "PRAGMA schema_version") }
    try? queue.close()
  }

  /// Moves the log of a replaced file away. Otherwise SQLite would take it for the new file's log and write its pages
  /// there.
  ///
  /// - Parameter log: the log that belonged to the old file.
  /// - Returns: its new path, if it holds changes.
  static func setAside(_ path: String, ifItIs log: FileIdentity?) -> String? {
    guard let log, FileIdentity(atPath: path + "-wal") == log else { return nil }
    let hasContent = hasContent(path)
    // Keep earlier ones, which may hold the only copy of accepted changes.
    let names = (1...).lazy.map { $0 == 1 ? "\(path)-wal.replaced" : "\(path)-wal.replaced.\($0)" }
    guard let place = names.first(where: { !FileManager.default.fileExists(atPath: $0) }) else { return nil }
    try? FileManager.default.moveItem(atPath: path + "-wal", toPath: place)
    try? FileManager.default.removeItem(atPath: path + "-shm")
    return hasContent ? place : nil
  }

  /// The bytes of the log; nil if there is none.
  static func size(_ path: String) -> Int? {
    try? FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int
  }
}
