import CloudService
import CloudSync
import TerminalUI
import Testing

@testable import Dashboard

/// What the keys do that people who know k9s, lazygit, less or vim try first.
struct KeyTests {
  private typealias Session = AppTests.Session

  /// A view, the keys that open it, and the screen that Enter opens there; nil: none.
  private static let views: [(name: String, keys: String, enter: Any.Type?)] = [
    ("overview", "", OperationScreen.self), ("queue", "3", RecordScreen.self), ("records", "44", OperationScreen.self),
    ("causes", "C", QueueScreen.self), ("events", "6", nil), ("zones", "7", QueueScreen.self), ("undo", "8", nil),
    ("pauses", "9", nil), ("conflicts", "c", nil), ("sync", "11", nil), ("account", "22", nil),
  ]

  @Test func `texts name the keys that a user gave to commands`() throws {
    let own = ["view1": "F1", "view6": "F6", "markRange": "F7", "keepSyncing": "F8"]
    let keys = try KeyMap(own: own.mapValues { [$0] })
    let session = Session(Busy.world(Size(width: 120, height: 36)) { $0.preferences.keys = keys })

    #expect(session.text.contains("─ F1 Sync ─") && session.text.contains("─ F6 Events ─"))
    for id in [CommandID.markRange, .keepSyncing] {
      let help = try #require(keys.commands.first { $0.id == id }).help
      #expect(help.contains(keys.name(of: id)) && !help.contains("KEY"))
    }
  }

  @Test func `more keys at once than anybody types are text, of which only Ctrl-C stays a key`() {
    let typed = [Key](repeating: .character("d"), count: [Key].longestTyping)
    let pasted = [Key](repeating: .character("x"), count: 3 * KeyParser.longestPaste)

    #expect(typed.typed == typed)
    #expect(
      (typed + [.enter, .ctrl("z"), .ctrl("c"), .character("y")]).typed
        == [.paste(String(repeating: "d", count: [Key].longestTyping) + "\ny"), .ctrl("c")]
    )
    #expect(pasted.typed == [.paste(String(repeating: "x", count: KeyParser.longestPaste))])
  }

  private func session(_ keys: String) -> Session {
    var session = Session(Busy.world(Size(width: 120, height: 36)) { $0.data.status?.pauses = Sample.pauses })
    session.type(keys)
    return session
  }

  @Test(arguments: views.indices)
  func `every view knows the keys that other programs have`(_ index: Int) {
    let view = Self.views[index]
    func after(_ keys: Key...) -> Session {
      var session = session(view.keys)
      for key in keys { session.type(key) }
      return session
    }
    #expect(after(.character("?")).top is HelpScreen)
    #expect(after(.character("?"), .escape).text == after().text)
    #expect(after(.character(":")).top is PaletteScreen)
    #expect(after(.escape).app.stack.count == 1)
    #expect(after(.character(":"), .character("q"), .enter).app.hasEnded)
    if let enter = view.enter { #expect(type(of: after(.enter).top) == enter) }
    let down = after(.ctrl("d"))
    if view.name != "conflicts", view.name != "account" { #expect(down.text != after().text) }
    #expect(after(.ctrl("d"), .ctrl("u")).text == after().text)
  }

  @Test(arguments: ["", "3", "44", "6", "7", "8"])
  func `every list is filtered with a slash, and its footer begins with that, Enter and the palette`(_ keys: String) {
    for width in [80, 120] {
      var session = session(keys)
      session.world.size = Size(width: width, height: 36)
      session.send(.resized)
      let footer = session.text.split(separator: "\n").last ?? ""
      #expect(footer.hasPrefix(" / filter  ") && footer.contains(": more"), "\(footer)")
      session.type("/t1041")
      #expect(session.top.prompt(session.world)?.input.text == "t1041")
    }
  }

  @Test func `q in the palette asks before unsent changes stay behind, and keeps edits`() {
    var session = Session(Busy.world(Size(width: 120, height: 36)) { $0.syncing = .always })
    session.world.data.status?.syncingProcess = nil
    session.type("7:q")
    session.type(.enter)
    #expect(session.top is Question && !session.app.hasEnded)
  }

  @Test(arguments: [40, 60, 80]) func `the help says each effect whole, and scrolls to the last`(_ width: Int) {
    var session = Session(Sample.world { $0.size = Size(width: width, height: 12) })
    session.type("?")
    for _ in 0..<200 {
      let lines = session.text.split(separator: "\n").filter { $0.contains("│") }
      #expect(!lines.joined().contains("…"))
      session.type("j")
    }
    #expect(session.text.contains("fine"))
  }
}
