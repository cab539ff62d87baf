import Foundation
import GRDB

@testable import CloudSync

/// Where a world keeps its devices' storages and the files that they send, gone with the world.
final class StorageFolder {
  /// Nil: nothing but memory has been needed.
  private var url: URL?
  private let isFiled: Bool

  /// - Parameter seed: decides what the storages are, unless `STORE` says `memory` or `sqlite`.
  init(seed: UInt64) {
    let wish = ProcessInfo.processInfo.environment["STORE"]
    isFiled = wish.map { $0 != "memory" } ?? (seed % 8 == 0)
  }

  deinit {
    if let url { try? FileManager.default.removeItem(at: url) }
  }

  private func folder() throws -> URL {
    if let url { return url }
    // A file system in memory where there is one: what survives a power cut is others' matter.
    let memory = URL(fileURLWithPath: "/dev/shm")
    let isThere = FileManager.default.isWritableFile(atPath: memory.path)
    let folder = (isThere ? memory : FileManager.default.temporaryDirectory)
      .appendingPathComponent("simulation-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    url = folder
    return folder
  }

  /// A file of so many bytes, to be an asset.
  func file(of size: Int) throws -> URL {
    let file = try folder().appendingPathComponent("asset-\(size)")
    if !FileManager.default.fileExists(atPath: file.path) { try Data(repeating: 7, count: size).write(to: file) }
    return file
  }

  func storage(_ name: String) throws -> any QueueStorage {
    guard isFiled else { return MemoryStorage(name: name) }
    let file = try folder().appendingPathComponent("\(name).sqlite")
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
