import CloudService
import Foundation
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// What the mouse does, by where the last frame has drawn things.
struct MouseTests {
  private typealias Session = AppTests.Session

  /// The place of a text on the screen.
  private static func place(_ text: String, in session: Session) throws -> Position {
    let lines = session.text.split(separator: "\n", omittingEmptySubsequences: false)
    for (y, line) in lines.enumerated() {
      if let range = line.range(of: text) {
        return Position(x: line.distance(from: line.startIndex, to: range.lowerBound), y: y)
      }
    }
    throw Missing(text: text)
  }

  private struct Missing: Error { var text: String }

  private static func point(_ action: Mouse.Action, _ text: String, _ session: inout Session) throws {
    let frame = session.app.draw(session.world)
    let target = try #require(frame.target(at: try place(text, in: session)))
    session.send(.pointed(action, target))
  }

  @Test func `a click selects a row and its pane, and a second one opens it`() throws {
    var session = Session(Sample.world(Size(width: 120, height: 36)))
    try Self.point(.press, "order-9", &session)
    #expect(session.app.overview.focus == .records && session.app.stack.count == 1)
    try Self.point(.press, "order-9", &session)
    #expect(session.top.title == "order-9")
  }

  @Test func `the first click on another pane only selects, also the row at its cursor`() throws {
    var session = Session(Sample.world(Size(width: 120, height: 36)))
    let frame = session.app.draw(session.world)
    let target = Target.row(0, .records)
    #expect(frame.targets.contains { $0.target == target })
    session.send(.pointed(.press, target))
    #expect(session.app.overview.focus == .records && session.app.stack.count == 1)
  }

  @Test func `a click on a tab shows only its operations, on the overview and in full`() throws {
    var session = Session()
    try Self.point(.press, "failed 1", &session)
    #expect(session.app.overview.queue.listing.states == [.failed])

    session = Session(Sample.world(Size(width: 160, height: 36)))
    session.type("3")
    try Self.point(.press, "conflict 1", &session)
    #expect((session.top as? QueueScreen)?.list.listing.states == [.conflict])
  }

  @Test func `a click on a key of the footer runs its command`() throws {
    var session = Session()
    try Self.point(.press, "? help", &session)
    #expect(session.top is HelpScreen)
  }

  @Test func `a click on a key of the verdict's line runs its command, and one on an answer gives it`() throws {
    var session = Session()
    try Self.point(.press, "show them", &session)
    #expect(session.app.overview.queue.listing.filter != .none || !session.app.overview.queue.listing.states.isEmpty)

    session = Session()
    session.type("d")
    try Self.point(.press, "Enter no", &session)
    #expect(session.commands.isEmpty && session.app.stack.count == 1)
    session.type("d")
    try Self.point(.press, "y yes", &session)
    #expect(session.commands.count == 1)
  }

  @Test func `the wheel moves in the list that it is turned over`() throws {
    var session = Session()
    try Self.point(.wheelDown, "order-1", &session)
    #expect(session.app.overview.queue.state.cursor == 3)
    try Self.point(.wheelUp, "order-1", &session)
    #expect(session.app.overview.queue.state.cursor == 0)
  }

  @Test func `nothing under a question or beside a text that is typed can be clicked`() throws {
    var session = Session()
    let row = try Self.place("order-1", in: session)
    session.type("d")
    #expect(session.app.draw(session.world).target(at: row) == .body)

    session = Session()
    session.type("/x")
    session.send(.pointed(.press, .command(.syncOnce)))
    #expect(session.commands.isEmpty)
  }

  @Test func `a click selects a conflict, and a field of the one that is shown`() throws {
    var session = Session(Busy.world(Size(width: 120, height: 36)))
    session.type("c")
    let conflicts = try #require(session.world.data.conflicts?.rows)
    func shown() -> ConflictsScreen? { session.top as? ConflictsScreen }
    for target in [Target.row(1, nil), .field(1)] {
      #expect(session.app.draw(session.world).targets.contains { $0.target == target })
      session.send(.pointed(.press, target))
    }
    #expect(shown()?.conflictID == conflicts[1].id && shown()?.field == 1)
    session.send(.pointed(.press, .row(0, nil)))
    #expect(shown()?.conflictID == conflicts[0].id && shown()?.field == 0)
  }

  @Test func `a click selects in the palette and in the help, and a second one runs the command`() throws {
    var session = Session(Sample.world(Size(width: 120, height: 100)))
    session.type(":")
    session.send(.pointed(.press, .row(2, nil)))
    #expect(session.top is PaletteScreen)
    session.type("next theme")
    try Self.point(.press, "Switch to the next theme", &session)
    #expect(session.effects.contains(.nextTheme) && session.app.stack.count == 1)

    session.effects = []
    session.type("?")
    try Self.point(.press, "Switch to the next theme", &session)
    #expect(session.top is HelpScreen && session.effects.isEmpty)
    try Self.point(.press, "Switch to the next theme", &session)
    #expect(session.effects.contains(.nextTheme) && session.app.stack.count == 1)
  }

  @Test func `the rows of every list can be clicked`() throws {
    for key in ["6", "7", "8"] {
      var session = Session()
      session.type(key)
      #expect(session.app.draw(session.world).targets.contains { $0.target == .row(0, nil) }, "\(key)")
    }
  }
}
