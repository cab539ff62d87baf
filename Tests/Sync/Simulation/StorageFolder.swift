import Foundation
import GRDB
import Synchronization

@testable import CloudSync

/// Where a world keeps its devices' storages and the files that they send, gone with the world.
final class StorageFolder {
  /// Nil: no file has been needed.
  private var url: URL?
  private let isFiled: Bool
  private var lent: [SQLiteStorage] = []

  /// - Parameter seed: decides what the storages are, unless `STORE` says `memory` or `file`.
  init(seed: UInt64) {
    let wish = ProcessInfo.processInfo.environment["STORE"]
    isFiled = wish.map { $0 != "memory" } ?? (seed % 8 == 0)
  }

  deinit {
    if let url { try? FileManager.default.removeItem(at: url) }
    Self.spare.withLock { [lent, isFiled] in $0[isFiled, default: []] += lent }
  }

  private static func makeFolder() throws -> URL {
    // A file system in memory where there is one: what survives a power cut is others' matter.
    let memory = URL(fileURLWithPath: "/dev/shm")
    let isThere = FileManager.default.isWritableFile(atPath: memory.path)
    let folder = (isThere ? memory : FileManager.default.temporaryDirectory)
      .appendingPathComponent("simulation-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    return folder
  }

  /// A file of so many bytes, to be an asset.
  func file(of size: Int) throws -> URL {
    let folder = try url ?? Self.makeFolder()
    url = folder
    let file = folder.appendingPathComponent("asset-\(size)")
    if !FileManager.default.fileExists(atPath: file.path) { try Data(repeating: 7, count: size).write(to: file) }
    return file
  }

  func storage(_ name: String) throws -> SQLiteStorage {
    let storage = try Self.spare.withLock { $0[isFiled]?.popLast() } ?? Self.makeStorage(isFiled: isFiled)
    try Self.empty(storage)
    lent.append(storage)
    return storage
  }

  // MARK: - Stores that go from world to world

  /// Stores that no world uses just now, on file or not: to make one takes longer than a simulation.
  private static let spare = Mutex<[Bool: [SQLiteStorage]]>([:])

  /// Closes the stores that worlds have left, and removes their files.
  static func removeSpares() {
    let spare = spare.withLock { spare in
      defer { spare = [:] }
      return spare
    }
    for (isFiled, storages) in spare {
      for storage in storages {
        try? storage.writer.close()
        guard isFiled else { continue }
        try? FileManager.default.removeItem(at: URL(fileURLWithPath: storage.name).deletingLastPathComponent())
      }
    }
  }

  private static func makeStorage(isFiled: Bool) throws -> SQLiteStorage {
    guard isFiled else { return try SQLiteStorage(inMemory: "in memory") }
    return try SQLiteStorage(path: makeFolder().appendingPathComponent("device.sqlite").path)
  }

  /// Takes everything out of a store, so that it is as when it was made.
  private static func empty(_ storage: SQLiteStorage) throws {
    if let assets = storage.assetFolder { try? FileManager.default.removeItem(at: assets) }
    try storage.writer.write { database in
      let names = try database.cachedStatement(
        sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'grdb_migrations'"
      )
      // First what makes a deletion be noted for an app, and what goes along with it by triggers. No pragma: it would have
      // every statement compiled anew.
      let tables = ["state", "operations", "records"] + (try String.fetchAll(names))
      var steps = tables.map { "DELETE FROM \($0)" }
      steps += Schema.rows.split(separator: "\n").map(String.init)
      for step in steps { try database.cachedStatement(sql: step).execute() }
    }
  }
}
