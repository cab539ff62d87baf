import Foundation
import TestSupport
import Testing

@testable import CloudKit
@testable import CloudKitWebServices

@Suite(.serialized) struct AssetFolderTests {
  private let scratch: TemporaryFolder

  init() throws { scratch = try TemporaryFolder() }

  /// A folder as a process makes it, with its lock held or not.
  private func folder(_ name: String, lock: Bool = true) throws -> String {
    let path = scratch.url.appending(path: "staging/\(name)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    if lock { try Data().write(to: URL(fileURLWithPath: path + "/lock")) }
    try Data("bytes".utf8).write(to: URL(fileURLWithPath: path + "/file"))
    return path
  }

  @Test func `folders of dead processes are swept, those of the living and of others stay`() throws {
    let dead = try folder("assets-1-dead")
    let living = try folder("assets-2-living")
    let young = try folder("assets-3-young", lock: false)
    let foreign = try folder("photos")
    let lock = open(living + "/lock", O_RDWR)
    try #require(flock(lock, LOCK_EX | LOCK_NB) == 0)
    defer { close(lock) }

    AssetFolder.sweep(scratch.url.appending(path: "staging").path)

    let exists = [dead, living, young, foreign].map { FileManager.default.fileExists(atPath: $0) }
    #expect(exists == [false, true, true, true])
  }

  @Test func `a folder in use is not swept`() throws {
    let options = AssetFolder.Options(root: scratch.url.appending(path: "staging"), grace: .zero)
    let file = try OwnedFile(in: AssetFolder.current(options))

    AssetFolder.sweep(scratch.url.appending(path: "staging").path)

    #expect(FileManager.default.fileExists(atPath: file.url.path))
  }

  @Test func `the folder goes with the last file, and the next file makes a new one`() throws {
    let options = AssetFolder.Options(root: scratch.url.appending(path: "staging"), grace: .zero)
    for _ in 0..<3 {
      var first: OwnedFile? = try OwnedFile(in: AssetFolder.current(options))
      let second = try OwnedFile(in: AssetFolder.current(options))

      #expect(first?.url.deletingLastPathComponent() == second.url.deletingLastPathComponent())
      first = nil
      #expect(try scratch.contents(of: "staging").count == 3)
      withExtendedLifetime(second) {}
    }
    #expect(try scratch.contents(of: "staging").isEmpty)
  }

  @Test func `a place that cannot be written is an error that says so`() throws {
    let file = try scratch.file("file", "")

    let error = #expect(throws: AssetFileError.self) {
      try AssetFolder.current(AssetFolder.Options(root: file.appending(path: "below")))
    }

    #expect(error.map { CKError($0).code } == .internalError)
  }
}
