import CloudKit
import Foundation
import TestSupport
import Testing

@testable import CloudSync

/// The token that is kept beside a store.
struct KeptTokenTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func `a token is kept for the one it descends from, and forgotten once`() {
    let kept = KeptToken(storePath: folder.path("a.sqlite"), configured: "mine")
    kept.keep("newer")
    #expect(kept.read() == "newer")
    #expect(KeptToken(storePath: folder.path("a.sqlite"), configured: "another").read() == nil)
    #expect(!KeptToken(storePath: folder.path("a.sqlite"), configured: "another").forget())

    #expect(kept.forget())
    #expect(kept.read() == nil)
    #expect(!kept.forget())
  }

  @Test func `the token that is kept for a store's own sign-in stays when another is used with the store`() throws {
    let path = folder.path("a.sqlite")
    let store = try SyncStore(
      path: path,
      containerIdentifier: "iCloud.org.example.Test",
      databaseScope: .private
    )
    let (ana, ben) = (KeptToken(storePath: path, configured: "ana"), KeptToken(storePath: path, configured: "ben"))
    try store.adopt(identity: "ana", signIn: KeptToken.origin(of: "ana"), nil)
    ana.keep("ana's")

    ben.keep("ben's")

    #expect(ana.read() == "ana's" && ben.read() == "ben's")
    try store.adopt(identity: "ana", signIn: KeptToken.origin(of: "ben"), nil)
    ben.keep("ben's next")
    #expect(ben.read() == "ben's next" && ana.read() == nil)
    #expect(ben.forget() && !ben.forget())
  }

  @Test func `a token that cannot be kept leaves no file behind`() throws {
    let path = folder.path("a.sqlite")
    try FileManager.default.createDirectory(atPath: "\(path).token", withIntermediateDirectories: false)
    let before = try FileManager.default.subpathsOfDirectory(atPath: folder.url.path).sorted()

    KeptToken(storePath: path, configured: "mine").keep("newer")

    #expect(try FileManager.default.subpathsOfDirectory(atPath: folder.url.path).sorted() == before)
  }
}
