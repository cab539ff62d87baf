import Foundation
import TestSupport
import Testing

@testable import CloudSync

@Suite(.serialized) struct AssetVaultTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var vault: AssetVault { AssetVault(folder: folder.url.appendingPathComponent("store.sqlite.assets")) }

  private func file(_ name: String, _ bytes: String) throws -> URL {
    let url = URL(fileURLWithPath: folder.path(name))
    try Data(bytes.utf8).write(to: url)
    return url
  }

  @Test func `a copy holds what the file held, whatever becomes of the file`() throws {
    let photo = try file("photo", "abc")
    let content = try vault.keep(photo)
    try Data("another".utf8).write(to: photo)

    // The SHA-256 of "abc" (FIPS 180-2, appendix B.1).
    #expect(content.digest == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    #expect(content.size == 3)
    #expect(try Data(contentsOf: vault.file(content.digest)) == Data("abc".utf8))
  }

  @Test func `the same bytes are kept once, and only for the user's eyes`() throws {
    let first = try vault.keep(try file("a", "same"))
    let second = try vault.keep(try file("b", "same"))
    let names = try FileManager.default.contentsOfDirectory(atPath: folder.path("store.sqlite.assets"))
    let attributes = try FileManager.default.attributesOfItem(atPath: vault.file(first.digest).path)

    #expect(first == second)
    #expect(names == [first.digest])
    #expect(attributes[.posixPermissions] as? Int == 0o600)
  }

  @Test func `a file of several chunks is hashed as the whole that it is`() throws {
    let url = URL(fileURLWithPath: folder.path("large"))
    try Data(repeating: 7, count: (2 << 20) + 5).write(to: url)

    #expect(try vault.keep(url) == AssetVault.content(of: url))
    #expect(try vault.keep(url).size == (2 << 20) + 5)
  }

  @Test func `cleaning removes what nothing needs, and nothing while a copy is made`() throws {
    let needed = try vault.keep(try file("a", "needed"))
    let unneeded = try vault.keep(try file("b", "unneeded"))
    let whileKeeping = try vault.whileKeeping { try vault.remove(among: nil) { $0 } }
    let kept = FileManager.default.fileExists(atPath: vault.file(unneeded.digest).path)
    let later = try vault.remove(among: nil) { names in names.filter { $0 != needed.digest } }

    #expect(kept && !whileKeeping && later)
    #expect(FileManager.default.fileExists(atPath: vault.file(needed.digest).path))
    #expect(!FileManager.default.fileExists(atPath: vault.file(unneeded.digest).path))
  }

  @Test func `a file that cannot be read leaves nothing behind`() throws {
    _ = try vault.keep(try file("a", "a"))

    #expect(throws: (any Error).self) { try vault.keep(URL(fileURLWithPath: folder.path("nothing"))) }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("store.sqlite.assets")).count == 1)
  }

  @Test func `a file that is too large is refused by its size, and not copied`() throws {
    let large = try file("large", "")
    #expect(truncate(large.path, 20 << 30) == 0)

    #expect { try vault.keep(large) } throws: { ($0 as? AssetVault.TooLarge)?.size == 20 << 30 }
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path("store.sqlite.assets")).isEmpty)
  }

  @Test func `what is no file is told of and not waited for`() throws {
    let pipe = folder.path("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)

    #expect(throws: AssetVault.NoFile.self) { try AssetVault.content(of: URL(fileURLWithPath: pipe)) }
    #expect(throws: AssetVault.NoFile.self) { try vault.keep(folder.url) }
  }

  @Test func `a disk without room is known by its error`() throws {
    let full = try #require(FileHandle(forWritingAtPath: "/dev/full"))
    var found: (any Error)?
    do { try full.write(contentsOf: Data([1])) } catch { found = error }

    #expect(try AssetVault.isDiskFull(#require(found)))
    #expect(!AssetVault.isDiskFull(CocoaError(.fileReadNoSuchFile)))
  }
}
