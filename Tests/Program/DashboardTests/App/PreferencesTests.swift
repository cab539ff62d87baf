import CloudService
import Facts
import TerminalUI
import Testing

@testable import CloudSync
@testable import Dashboard

/// The user's own keys, the view to begin with, and the frozen screen.
struct PreferencesTests {
  private typealias Session = AppTests.Session

  @Test(arguments: Command.registry.flatMap(\.keys))
  func `every key of the registry can be written in the configuration file`(_ key: Key) {
    #expect(Key(named: key.name) == key)
  }

  @Test func `a command with another key has it on the screen, in the footer and in the help`() throws {
    let keys = try KeyMap(own: ["retry": ["F5"], "flush": ["Z"]])
    var session = Session(Sample.world(Size(width: 160, height: 40)) { $0.preferences.keys = keys })
    #expect(session.text.contains("Z retry now"))
    session.type("rZ")
    session.type(.function(5))

    #expect(session.commands == [.flush(), .perform(.retry, .ids([11]))])
    session.type("?")
    #expect(session.text.contains("F5"))
  }

  @Test(arguments: [true, false])
  func `the queue has a column of operation numbers unless a setting hides it`(_ isShown: Bool) {
    let session = Session(Sample.world(Size(width: 120, height: 36)) { $0.preferences.showsIDs = isShown })
    let titles = session.text.split(separator: "\n").first { $0.contains("STATE") && $0.contains("RECORD") }
    #expect(titles?.contains("ID ") == isShown)
  }

  @Test func `the key of the verdict's line is the user's own`() throws {
    let keys = try KeyMap(own: ["problems": ["P"], "pauseThese": ["F9"]])
    let session = Session(Sample.world { $0.preferences.keys = keys })
    #expect(session.text.contains("P show them"))
  }

  @Test(
    arguments: [
      (["nothing": ["x"]], "nothing"), (["retry": ["Crtl-r"]], "retry"), (["retry": []], "retry"),
      // The key of another command of the same screen, and of two at once.
      (["retry": ["d"]], "retry"), (["retry": ["F5"], "discard": ["F5"]], "retry"),
      // What has to be found however the keys are set.
      (["retry": ["Ctrl-H"]], "retry"), (["retry": ["Alt-O"]], "retry"), (["yes": ["j"]], "yes"),
      (["back": ["b"]], "back"),
    ] as [([String: [String]], String)]
  )
  func `keys that cannot be are refused, with the command`(_ own: [String: [String]], _ command: String) {
    do {
      _ = try KeyMap(own: own)
      Issue.record("The keys should not have been taken.")
    } catch {
      #expect(error.command == command && !error.message.isEmpty)
    }
  }

  @Test func `a key may have two meanings on two screens`() throws {
    let keys = try KeyMap(own: ["acceptDeletions": ["d"]])
    #expect(keys.command(named: .character("d"), in: ZonesScreen().scopes)?.id == .acceptDeletions)
    #expect(keys.command(named: .character("d"), in: QueueScreen().scopes)?.id == .discard)
  }

  @Test func `configuration files name views and their commands as ever`() {
    let names = ViewEntry.views.map { "\($0.command.id.rawValue) \($0.name) \($0.command.keyNames)" }
    #expect(
      names == [
        "view1 sync 1", "view2 account 2", "view3 queue 3", "view4 records 4", "view5 conflicts 5", "view6 events 6",
        "view7 zones 7", "view8 undo 8", "view9 pauses 9", "view0 messages 0",
      ]
    )
    #expect(Preferences.StartView.allCases.map(\.rawValue) == ["overview"] + ViewEntry.views.map(\.name))
  }

  @Test(arguments: Preferences.StartView.allCases)
  func `the dashboard begins with the view that is wanted`(_ view: Preferences.StartView) {
    // The store has not been read yet.
    var app = App()
    app.open(view)
    #expect(app.top.title == (view == .overview ? nil : view.rawValue.sentence))
  }

  // MARK: - Freezing

  @Test func `a frozen list stays as it is, while the verdict is the present one`() {
    var session = Session()
    session.type("F")
    session.show(Sample.data([]))
    #expect(session.text.contains("order-1") && session.text.contains("Everything is on the server"))
    // Verbs act on what is shown.
    session.type("r")
    #expect(session.commands == [.perform(.retry, .ids([11]))])

    session.type("F")
    session.send(.changed)
    #expect(session.text.contains("Nothing waits to be sent"))
  }

  @Test func `a frozen screen acts on no rows that it does not show`() {
    var session = Session()
    session.type("FaR")
    session.type("y")
    session.type("r")
    #expect(session.commands == [] && session.app.notice?.isError == true)
  }

  @Test func `the effect of a command ends the freeze`() {
    var session = Session()
    session.type("F")
    var receipt = Receipt(.flush())
    receipt.changed = 1
    session.send(.receipt(receipt))
    #expect(session.app.frozen == nil)
  }

  @Test func `a view that is opened while frozen is read once, and then frozen too`() {
    var session = Session()
    session.type("F6")
    var data = session.world.data
    data.events = Sample.events([EventRow(id: 9, at: Sample.now, event: .merged(record: "first"))])
    session.world.data.events = nil
    session.send(.changed)
    session.show(data)
    #expect(session.text.contains("first: merged") && !session.text.contains("following"))
    data.events = Sample.events([EventRow(id: 10, at: Sample.now, event: .merged(record: "second"))])
    session.show(data)
    #expect(!session.text.contains("second: merged"))
    session.type("F")
    session.show(data)
    #expect(session.text.contains("second: merged") && session.text.contains("following"))
  }
}
