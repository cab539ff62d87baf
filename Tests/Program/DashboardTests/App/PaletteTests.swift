import CloudService
import CloudSync
import TerminalUI
import Testing

@testable import Dashboard

/// The palette: which command a text finds, and what it says where there is none.
struct PaletteTests {
  private typealias Session = AppTests.Session

  private static let faults = [DemoHint(key: "n", label: "network off or on"), DemoHint(key: "x", label: "bad record")]

  /// The names that a text finds over the queue, in their order.
  private static func names(_ text: String) -> [String] {
    let session = Session(Sample.world { $0.faults = faults })
    var palette = PaletteScreen(for: session.app)
    for character in text { _ = palette.type(.character(character), session.world) }
    return palette.matches(session.world).map(\.name)
  }

  @Test(
    arguments: [
      ("pause", ["pause", "pause these"]), ("retry", ["retry", "retry all", "retry now"]),
      ("sync", ["sync", "Sync", "keep syncing"]), ("all", ["retry all", "mark all"]),
      ("fault", ["faults", "fault: network off or on", "fault: bad record"]),
    ]
  )
  func `an exact name comes first, then names that begin with the text, then others`(text: String, names: [String]) {
    #expect(Self.names(text).prefix(names.count).elementsEqual(names), "\(Self.names(text))")
  }

  @Test func `Enter runs the command of exactly the name that was typed`() {
    var session = Session()
    session.type(":pause")
    session.type(.enter)

    #expect((session.top as? Question)?.kind.commands == [.pause([.everything])])
  }

  @Test func `a text that no command matches leaves the palette open, which says so`() {
    var session = Session()
    session.type(":zzz")
    session.type(.enter)

    #expect(session.top is PaletteScreen && session.text.contains("No command matches"))
    session.type(.escape)
    #expect(session.app.stack.count == 1)
  }

  @Test func `every command has a short name, and the names of faults are not cut`() {
    for command in Command.registry where !command.scopes.contains(.moving) {
      #expect((1...18).contains(command.title.count), "\(command.id): \(command.title)")
    }
    var session = Session(Sample.world { $0.faults = Self.faults })
    session.type(":fault")
    for fault in Self.faults { #expect(session.text.contains("fault: \(fault.label)")) }
  }

  @Test func `in read-only mode a command says that it is not allowed`() {
    var session = Session(Sample.world { $0.isReadOnly = true })
    session.type("p")

    #expect(session.app.notice?.text == "Not allowed in read-only mode")
  }
}
