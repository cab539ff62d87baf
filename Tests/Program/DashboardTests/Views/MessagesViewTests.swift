import CloudService
import CloudSync
import TerminalUI
import Testing

@testable import Dashboard

/// The view of what this run has said.
struct MessagesViewTests {
  private typealias Session = AppTests.Session

  private static let long = """
    Retried 2 operations; left 3 operations alone: operation 12 was sent meanwhile, operation 13 is a conflict and waits \
    for your decision, operation 14 is being sent
    """

  /// A run that has said some things, with its view open.
  private static func session(_ size: Size = Size(width: 80, height: 24)) -> Session {
    var session = Session(Busy.world(size))
    let minute: Int64 = 60_000
    let said: [(age: Int64, text: String, isError: Bool, commandLine: String?)] = [
      (600, "The theme mine.toml cannot be read, midnight is used", true, nil),
      (42, "Paused everything; 12,345 changes wait", false, "cktop queue pause --all"),
      (40, "Operation 13104 changed meanwhile; look at it again", true, "cktop queue discard 13104@0123456789ab"),
      (3, Self.long, false, "cktop queue retry 10 11 12 13 14"),
      (0, "Copied 3 lines to the terminal's clipboard", false, nil),
    ]
    for message in said {
      session.world.now = Sample.now - message.age * minute
      session.send(.said(message.text, isError: message.isError, commandLine: message.commandLine))
    }
    session.type("0")
    return session
  }

  @Test func `the messages of a run, at four sizes`() throws {
    for (width, height) in [(80, 24), (120, 36), (200, 60), (40, 12)] {
      let session = Self.session(Size(width: width, height: height))
      try expectScreen(session.app.draw(session.world).grid, "messages-busy-\(width)x\(height)")
    }
    var session = Session()
    session.type("0")
    try expectScreen(session.app.draw(session.world).grid, "messages-empty-80x24")
  }

  @Test func `while no message has a command line, messages have the width of its column`() {
    var session = Session(Sample.world(Size(width: 80, height: 24)))
    let text = "The theme mine.toml cannot be read, midnight is used"
    session.send(.said(text, isError: true))
    session.type("0")
    #expect(session.text.contains(text) && !session.text.contains("COMMAND LINE"))
  }

  @Test func `a key copies the command line that does the same as the selected message, where there is one`() {
    var session = Self.session()
    session.type("y")
    #expect(session.effects.isEmpty && session.app.notice?.text == "No command line does the same")
    session.type("gjy")
    #expect(session.effects == [.copy("cktop queue retry 10 11 12 13 14")])
  }

  @Test func `Enter shows a long message whole`() {
    var session = Self.session(Size(width: 80, height: 16))
    #expect(!session.text.contains("operation 14 is being sent"))
    session.type("j")
    session.type(.enter)
    #expect(session.top is ValueScreen)
    let words = session.text.split { $0.isWhitespace || $0 == "│" }.joined(separator: " ")
    #expect(words.contains(Self.long) && words.contains("cktop queue retry 10 11 12 13 14"))
    session.type("y")
    #expect(session.effects == [.copy("cktop queue retry 10 11 12 13 14")])
  }

  @Test func `the cursor stays with its message when others come`() {
    var session = Self.session()
    session.send(.said("Synced", isError: false))
    session.type("y")
    session.type("jy")
    #expect(session.effects == [.copy("cktop queue retry 10 11 12 13 14")])
  }

  @Test func `the newest 500 messages are kept, and those of before a replaced store too`() {
    var session = Session()
    for number in 1...501 { session.send(.said("message \(number)", isError: false)) }
    #expect(session.app.notices.map(\.text) == (2...501).reversed().map { "message \($0)" })
    session.send(.replaced)
    #expect(session.app.notices.count == 500 && session.app.notices[1].text == "message 501")
  }

  @Test func `how far an export is, is shown and not kept`() {
    var session = Session()
    session.send(.progressed("Exporting 2,000…"))
    #expect(session.text.contains("Exporting 2,000…") && session.app.notices.isEmpty)
  }

  @Test func `why a key does nothing is shown and not kept`() {
    var session = Session()
    session.type("0z")
    #expect(session.app.notice != nil && session.app.notices.isEmpty)
    session.type("y")
    #expect(session.app.notice != nil && session.app.notices.isEmpty)
  }
}
