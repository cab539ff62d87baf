import TerminalUI
import Testing

@Suite(.serialized) struct KeyParserTests {
  private func keys(_ text: String) -> [Key] {
    var parser = KeyParser()
    return parser.feed(text.utf8) + parser.flush()
  }

  @Test(arguments: [
    ("a", Key.character("a")), ("한", .character("한")), ("\r", .enter), ("\t", .tab), ("\u{7F}", .backspace),
    ("\u{3}", .ctrl("c")), ("\u{1A}", .ctrl("z")), ("\u{1B}", .escape), ("\u{1B}[A", .up), ("\u{1B}OB", .down),
    ("\u{1B}[1;5C", .right), ("\u{1B}[H", .home), ("\u{1B}[1~", .home), ("\u{1B}[7~", .home), ("\u{1B}OF", .end),
    ("\u{1B}[4~", .end), ("\u{1B}[5~", .pageUp), ("\u{1B}[6~", .pageDown), ("\u{1B}[3~", .delete),
    ("\u{1B}[2~", .insert), ("\u{1B}[Z", .backTab), ("\u{1B}OP", .function(1)), ("\u{1B}[[A", .function(1)),
    ("\u{1B}[15~", .function(5)), ("\u{1B}[21~", .function(10)), ("\u{1B}[24~", .function(12)), ("\u{1B}x", .alt("x")),
    ("\u{1B}OM", .enter), ("\u{1B}[99~", .unknown), ("\u{1B}]", .alt("]")), ("\u{1B}P", .alt("P")),
    ("\u{1B}_", .alt("_")), ("\u{1B}X", .alt("X")), ("\u{1B}^", .alt("^")),
    ("\u{1B}[<0;12;4M", .mouse(Mouse(.press, at: Position(x: 11, y: 3)))),
    ("\u{1B}[<64;1;1M", .mouse(Mouse(.wheelUp, at: Position(x: 0, y: 0)))),
    ("\u{1B}[<65;300;90M", .mouse(Mouse(.wheelDown, at: Position(x: 299, y: 89)))),
  ])
  func `a sequence of bytes is one key`(text: String, key: Key) {
    #expect(keys(text) == [key])
  }

  @Test(arguments: ["\u{1B}[A한\u{1B}[200~p\u{1B}x\u{1B}[201~q\u{1B}]11;rgb:0/0/0\u{1B}\\z\u{1B}[3~"])
  func `it does not matter in what pieces bytes arrive`(text: String) {
    let whole: [Key] = [
      .up, .character("한"), .paste("p\u{1B}x"), .character("q"), .character("z"), .delete,
    ]
    let bytes = Array(text.utf8)

    for size in 1...bytes.count {
      var parser = KeyParser()
      let pieces = stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
      var keys: [Key] = []
      for piece in pieces { keys += parser.feed(piece) }
      #expect(keys == whole)
    }
  }

  @Test(arguments: [
    "\u{1B}[?1;2c", "\u{1B}[>41;354;0c", "\u{1B}[12;40R", "\u{1B}[0n", "\u{1B}[?2026;2$y", "\u{1B}[8;24;80t",
    "\u{1B}]11;rgb:ffff/ffff/ffff\u{7}", "\u{1B}]10;rgb:0/0/0\u{1B}\\", "\u{1B}P>|xterm(379)\u{1B}\\",
    "\u{1B}_Gi=1;OK\u{1B}\\", "\u{1B}[I", "\u{1B}[O", "\u{1B}[<0;1;1m", "\u{1B}[<2;1;1M", "\u{1B}[<0;0;1M",
    "\u{1B}[<0;1M", "\u{1B}[M !!", "\u{1B}[201~",
  ])
  func `what the terminal answers is no key`(answer: String) {
    #expect(keys(answer) == [])
    #expect(keys("a" + answer + "b") == [.character("a"), .character("b")])
  }

  @Test(arguments: ["]", "P", "X", "^", "_"])
  func `a letter typed with Alt swallows nothing`(letter: Character) {
    #expect(keys("\u{1B}\(letter)q\u{3}") == [.alt(letter), .character("q"), .ctrl("c")])
  }

  @Test func `Ctrl-C is a key although an answer has not ended`() {
    #expect(keys("\u{1B}]11;rgb\u{3}q") == [.ctrl("c"), .character("q")])
  }

  @Test func `what is pasted never becomes a command`() {
    #expect(keys("\u{1B}[200~dd\r:q!\r\u{1B}[B\u{1B}[201~j") == [.paste("dd\r:q!\r\u{1B}[B"), .character("j")])
  }

  @Test func `a huge paste is cut`() {
    let text = String(repeating: "x", count: 3 * KeyParser.longestPaste)

    #expect(keys("\u{1B}[200~\(text)\u{1B}[201~") == [.paste(String(text.prefix(KeyParser.longestPaste)))])
    let accents = String(repeating: "é", count: KeyParser.longestPaste / 2)
    #expect(keys("\u{1B}[200~x\(accents)\u{1B}[201~") == [.paste("x" + accents.dropLast())])
  }

  @Test func `Escape is decided by what follows within a blink`() {
    var parser = KeyParser()

    #expect(parser.feed([0x1B]) == [])
    #expect(parser.millisecondsToFlush == 25)
    #expect(parser.flush() == [.escape])
    #expect(parser.feed([0x1B, 0x5B]) == [])
    #expect(parser.millisecondsToFlush == nil)
    #expect(parser.flush() == [])
    #expect(parser.feed([0x42]) == [.down])
  }

  @Test(arguments: [
    ("\u{1B}[200~dd\u{3}", [Key.paste("dd\u{3}")]), ("\u{1B}[200~dd\u{1B}[20", [.paste("dd")]),
    ("\u{1B}[200~", [.paste("")]), ("\u{1B}]11;rgb", []), ("\u{1B}P>|x", []), ("\u{1B}_Gi=1", []),
  ])
  func `a paste or an answer whose end does not come swallows keys for a moment only`(begun: String, keys: [Key]) {
    var parser = KeyParser()
    #expect(parser.feed(begun.utf8) == [])

    #expect(parser.millisecondsToFlush.map { $0 > 25 } == true)
    #expect(parser.flush() == keys)

    #expect(parser.millisecondsToFlush == nil)
    #expect(parser.feed("q\u{3}\u{1B}[201~".utf8) == [.character("q"), .ctrl("c")])
  }

  @Test func `nonsense neither traps nor hangs`() {
    var random = SystemRandomNumberGenerator()
    var parser = KeyParser()

    for _ in 0..<2000 {
      let alphabet: [UInt8] = [0x1B, 0x5B, 0x4F, 0x5D, 0x3B, 0x7E, 0x32, 0x30, 0xE2, 0x80, 0xFF, 0x41, 0x07, 0x00]
      _ = parser.feed((0..<7).compactMap { _ in alphabet.randomElement(using: &random) })
      _ = parser.flush()
    }
    _ = parser.feed("\u{1B}\\\u{1B}[201~".utf8)
    #expect(parser.feed("k".utf8).last == .character("k"))
  }
}
