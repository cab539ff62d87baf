import Foundation
import GRDB

@testable import CloudSync

/// Where a world keeps its devices' storages, gone with the world.
final class StorageFolder {
  /// Nil: in memory.
  private let url: URL?

  /// - Parameter seed: decides what the storages are, unless `STORE` says `memory` or `sqlite`.
  init(seed: UInt64) throws {
    let wish = ProcessInfo.processInfo.environment["STORE"]
    guard wish.map({ $0 != "memory" }) ?? (seed % 8 == 0) else {
      url = nil
      return
    }
    // A file system in memory where there is one: what survives a power cut is others' matter.
    let memory = URL(fileURLWithPath: "/dev/shm")
    let isThere = FileManager.default.isWritableFile(atPath: memory.path)
    let folder = (isThere ? memory : FileManager.default.temporaryDirectory)
      .appendingPathComponent("simulation-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder
  }

  deinit {
    if let url { try? FileManager.default.removeItem(at: url) }
  }

  func storage(_ name: String) throws -> any QueueStorage {
    guard let url else { return MemoryStorage(name: name) }
    let file = url.appendingPathComponent("\(name).sqlite")
    try Self.empty.get().write(to: file)
    return try SQLiteStorage(path: file.path)
  }

  /// A store in which nothing has happened yet: to make its tables takes longer than a simulation.
  private static let empty = Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("simulation-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("empty.sqlite")
    let pool = try SQLiteStorage(path: file.path).pool
    try pool.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    return try Data(contentsOf: file)
  }
}
