import Foundation
import Testing

@testable import cktop

/// The token that is kept beside a store.
@Suite(.serialized) struct KeptTokenTests {
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
}
