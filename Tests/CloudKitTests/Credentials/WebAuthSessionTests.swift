import Testing

@testable import CloudKit

/// Which token a refused request may be sent again with.
@Suite(.serialized) struct WebAuthSessionTests {
  private let session = WebAuthSession(token: "first", rotated: { _ in }, refused: nil)

  @Test func `a request that is refused with an older token goes again with the newer one of the same user`() throws {
    let sent = try #require(session.current)
    #expect(session.adopt("second", inAnswerTo: sent))

    #expect(session.replacement(of: sent)?.text == "second")
  }

  @Test func `what one user sent never goes again as another who has signed in since`() throws {
    let sent = try #require(session.current)
    session.begin(with: "another's")

    #expect(session.replacement(of: sent) == nil)
    #expect(session.current?.text == "another's")
  }
}
