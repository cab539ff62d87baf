import Foundation

@testable import CloudSync

/// Where a world keeps its devices' storages, gone with the world.
final class StorageFolder {
  private let url: URL

  /// - Parameter seed: decides what the storages are.
  init(seed: UInt64) throws {
    // In memory where there is such a place: what survives a power cut is others' matter.
    let memory = URL(fileURLWithPath: "/dev/shm")
    let isThere = FileManager.default.isWritableFile(atPath: memory.path)
    url = (isThere ? memory : FileManager.default.temporaryDirectory)
      .appendingPathComponent("simulation-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(at: url) }

  func storage(_ name: String) throws -> any QueueStorage {
    try SQLiteStorage(path: url.appendingPathComponent("\(name).sqlite").path)
  }
}
