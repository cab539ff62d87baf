import Synchronization
import Testing

@testable import CloudKitWebServices

/// Which token a refused request may be sent again with.
@Suite(.serialized) struct WebAuthSessionTests {
  private let session = WebAuthSession(token: "first", rotated: { _ in }, refused: nil)

  @Test func `a request that is refused with an older token goes again with the newer one of the same user`() throws {
    let sent = try #require(session.current)
    #expect(session.adopt("second", inAnswerTo: sent))

    #expect(session.replacement(of: sent, isInvalid: true)?.text == "second")
  }

  @Test func `a session that a callback begins follows the change that called it`() throws {
    final class Program: Sendable {
      let session = Mutex<WebAuthSession?>(nil)
      let log = Mutex<[String]>([])

      func note(_ line: String, thenBegin token: String?? = .none) {
        log.withLock { $0.append(line) }
        if let token { session.withLock(\.self)?.begin(with: token) }
      }
    }
    let program = Program()
    let session = WebAuthSession(
      token: "first",
      rotated: { program.note("keep \($0)", thenBegin: $0 == "second" ? .some(nil) : .none) },
      refused: { program.note("drop \($0)", thenBegin: $0 == "third" ? .some("fourth") : .none) }
    )
    program.session.withLock { $0 = session }

    #expect(session.adopt("second", inAnswerTo: try #require(session.current)))
    #expect(session.current == nil && session.hasSignedOut)
    session.begin(with: "third")
    #expect(session.replacement(of: try #require(session.current), isInvalid: true) == nil)

    #expect(session.current?.text == "fourth")
    #expect(program.log.withLock(\.self) == ["keep second", "drop second", "keep third", "drop third", "keep fourth"])
    program.session.withLock { $0 = nil }
  }

  @Test func `only a token that the server calls invalid is dropped`() throws {
    let session = WebAuthSession(token: "first", rotated: { _ in }, refused: { _ in })
    let sent = try #require(session.current)

    #expect(session.replacement(of: sent, isInvalid: false) == nil)
    #expect(session.current == sent)
    #expect(session.replacement(of: sent, isInvalid: true) == nil)
    #expect(session.current == nil)
  }

  @Test func `what one user sent never goes again as another who has signed in since`() throws {
    let sent = try #require(session.current)
    session.begin(with: "another's")

    #expect(session.replacement(of: sent, isInvalid: true) == nil)
    #expect(session.current?.text == "another's")
  }
}
