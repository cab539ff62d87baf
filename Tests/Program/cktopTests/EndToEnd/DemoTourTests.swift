import Foundation
import Testing

/// The demo's cards on the real demo, in a real terminal.
@Suite(.serialized, .timeLimit(.minutes(40))) struct DemoTourTests {
  /// A card, as the screen shows it.
  private struct Card: Hashable {
    var number: Int
    var count: Int
    var text: String

    init?(_ screen: String) {
      guard let found = screen.firstMatch(of: /Try (\d+)\/(\d+) +([^\n]+)/), let number = Int(found.1),
        let count = Int(found.2)
      else { return nil }
      (self.number, self.count, text) = (number, count, String(found.3))
    }
  }

  @Test func `whoever presses what each card says gets through all of them`() async throws {
    let terminal = try await Tmux(columns: 120, rows: 36)
    defer { terminal.close() }
    try await terminal.run("'\(Binary.cktop().path)' demo --seed 1; echo left with $?")

    var last: Card?
    while last.map({ $0.number < $0.count }) ?? true {
      let screen = try await terminal.screen { screen in Card(screen).map { $0.number > last?.number ?? 0 } ?? false }
      let card = try #require(Card(screen))
      for key in Self.keys(in: card.text) { try await terminal.type(key) }
      last = card
    }

    // The last one is done too.
    try await terminal.screen { Card($0) == nil && !$0.contains("left with") }
  }

  @Test(
    arguments: [
      ("Press D, then x: a record that the server rejects.", "D x"),
      ("Press e on it: set number=5, then r sends it again.", "e Enter C-u C-u n u m b e r = 5 Enter r"),
      ("Press c; S takes the server's side, Enter resolves.", "c S Enter"),
      ("? shows the keys, : finds a command. Try one.", "? :"),
      ("Press / in a list and type a word; Esc shows all.", "/ w o r d Escape"),
      ("Watch the queue: 600 changes are sent.", ""),
    ]
  )
  func `the keys of a card are those that it names`(_ text: String, _ keys: String) {
    #expect(Self.keys(in: text) == keys.split(separator: " ").map(String.init))
  }

  /// The keys that a card names, in their order, as tmux names them; an assignment is typed into the line that Enter
  /// opens.
  private static func keys(in text: String) -> [String] {
    text.split(separator: " ").flatMap { word -> [String] in
      let name = word.count > 1 ? String(word.prefix { !",;:.".contains($0) }) : String(word)
      if name == "Enter" { return ["Enter"] }
      if name == "Esc" { return ["Escape"] }
      if name == "word" { return name.map(String.init) }
      if name.contains("=") { return ["Enter", "C-u", "C-u"] + name.map(String.init) + ["Enter"] }
      // The article is no key.
      return name.count == 1 && name != "a" ? [name] : []
    }
  }
}
