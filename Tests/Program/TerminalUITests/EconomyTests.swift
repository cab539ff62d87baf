import CNcurses
import Glibc
import Testing

/// What is left out of the frames that ncurses makes.
@Suite(.serialized) struct EconomyTests {
  /// What is sent for a frame.
  private func sent(_ frame: String) -> String {
    var text: UnsafeMutablePointer<CChar>?
    var length = 0
    let file = open_memstream(&text, &length)
    defer { free(text) }
    cknc_economy_write(file, frame, frame.utf8.count)
    fclose(file)
    return String(cString: text!)
  }

  /// Starts from a terminal with its default look.
  private func begin() { _ = sent("\u{1B}[53m\u{1B}[mx") }

  @Test func `only a change of the look that is seen is sent, in one sequence`() {
    begin()

    #expect(sent("\u{1B}[38;5;253m\u{1B}[48;5;233ma") == "\u{1B}[38;5;253;48;5;233ma")
    #expect(sent("\u{1B}[38;5;253m\u{1B}[48;5;233mb") == "b")
    #expect(sent("\u{1B}[38;5;247m\u{1B}[48;5;233m \u{1B}[38;5;253m\u{1B}[48;5;233mc") == " c")
    #expect(sent("\u{1B}[1m\u{1B}[48;5;17m d") == "\u{1B}[48;5;17m \u{1B}[1md")
    #expect(sent("\u{1B}(B\u{1B}[0;4m\u{1B}[2;5H ") == "\u{1B}(B\u{1B}[2;5H\u{1B}[;4m ")
    #expect(sent("\u{1B}[39;49m\u{1B}(B\u{1B}[m") == "")
    #expect(sent("e") == "\u{1B}[me")
  }

  @Test func `bold ends without a reset where there are more than 16 colours`() {
    begin()

    #expect(sent("\u{1B}[48;5;233m\u{1B}[1ma\u{1B}[0m\u{1B}[48;5;233mb") == "\u{1B}[1;48;5;233ma\u{1B}[22mb")
    #expect(sent("\u{1B}[0;1m\u{1B}[44mc\u{1B}[0m\u{1B}[44md") == "\u{1B}[1;44mc\u{1B}[;44md")
    #expect(
      sent("\u{1B}[0;1;4m\u{1B}[48;5;17me\u{1B}[0;1m\u{1B}[48;5;17mf") == "\u{1B}[1;4;48;5;17me\u{1B}[;1;48;5;17mf"
    )
  }

  @Test func `blanks are sent in the ground that an erasure leaves, too`() {
    begin()

    #expect(sent("\u{1B}[31m\u{1B}[K") == "\u{1B}[K")
    #expect(sent("\u{1B}[44m\u{1B}[3X") == "\u{1B}[44m\u{1B}[3X")
    #expect(sent("\u{1B}[7m ") == "\u{1B}[7;31m ")
  }

  @Test func `colours are passed on in every notation`() {
    begin()

    #expect(sent("\u{1B}[38;2;1;2;3;1ma") == "\u{1B}[1;38;2;1;2;3ma")
    #expect(sent("\u{1B}[48:2::4:5:6ma") == "\u{1B}[48:2::4:5:6ma")
    #expect(sent("\u{1B}[0;10;1m\u{1B}[97m\u{1B}[101ma") == "\u{1B}[97;101ma")
    #expect(sent("\u{1B}[39ma") == "\u{1B}[;1;101ma")
  }

  @Test func `what is not known is sent as it is, and so is all after it until the look is reset`() {
    begin()

    #expect(sent("\u{1B}[31m\u{1B}[53ma\u{1B}[31mb") == "\u{1B}[31m\u{1B}[53ma\u{1B}[31mb")
    #expect(sent("\u{1B}[31mc\u{1B}[m\u{1B}[31md") == "\u{1B}[31mc\u{1B}[;31md")
    #expect(sent("\u{1B}8\u{1B}[31mc") == "\u{1B}8\u{1B}[31mc")
    begin()
    #expect(
      sent("\u{1B}[31m\u{1B}]52;c;bWlsaw==\u{07}\u{1B}[?25h\u{1B}[4;5H\r")
        == "\u{1B}]52;c;bWlsaw==\u{07}\u{1B}[?25h\u{1B}[4;5H\r"
    )
    begin()
    #expect(sent("\u{1B}(B\u{0F}\u{1B}(B\u{0F}\u{0E}\u{0F}") == "\u{1B}(B\u{0F}\u{0E}\u{0F}")
  }

  @Test(arguments: 0..<50)
  func `the screen is the same as if all had been sent`(seed: UInt64) {
    begin()
    var random = Random(state: seed)
    var (whole, economical) = (Emulator(), Emulator())
    var bytes = (whole: 0, economical: 0)
    for _ in 0..<40 {
      let frame = (0..<30).map { _ in piece(&random) }.joined() + "\u{1B}[39;49m\u{1B}(B\u{1B}[m"
      let part = sent(frame)
      whole.show(frame)
      economical.show(part)
      bytes = (bytes.whole + frame.utf8.count, bytes.economical + part.utf8.count)

      #expect(whole.cells == economical.cells)
    }
    #expect(bytes.economical < bytes.whole * 3 / 4)
  }

  /// A piece of a frame as ncurses makes it: mostly changes of the look, text and blanks.
  private func piece(_ random: inout Random) -> String {
    let colors = ["38;5;253", "38;5;75", "31", "39", "48;5;233", "48;5;17", "44", "49", "38;2;1;2;3"]
    return switch Int.random(in: 0..<20, using: &random) {
    case 0..<7: "\u{1B}[\(colors.randomElement(using: &random)!)m"
    case 7: "\u{1B}(B\u{1B}[0;\(Int.random(in: 1...7, using: &random))m"
    case 8: "\u{1B}(B\u{1B}[m"
    case 9: "\u{1B}[\(Int.random(in: 1...4, using: &random));\(Int.random(in: 1...12, using: &random))H"
    case 10: "\u{1B}[\(Int.random(in: 1...5, using: &random))X"
    case 11: "\u{1B}[K"
    case 12: "\u{1B}[\(Int.random(in: 0...30, using: &random) == 0 ? 53 : 1)m"
    case 13..<16: "  "
    default: ["a", "bc", "─", "한"].randomElement(using: &random)!
    }
  }
}

/// A tiny terminal: text, erasures, movements and looks. Its blanks have no more look than one can see.
private struct Emulator {
  private static let size = (columns: 12, rows: 4)
  private(set) var cells = Array(repeating: "", count: Self.size.columns * Self.size.rows)
  private var place = 0
  private var attributes: Set<Int> = []
  private var colors = ["39", "49"]

  mutating func show(_ text: String) {
    var rest = Substring(text)
    while let character = rest.popFirst() {
      guard character == "\u{1B}" else {
        put(character, at: place)
        place = min(place + 1, cells.count - 1)
        continue
      }
      guard rest.popFirst() == "[" else {
        rest.removeFirst()
        continue
      }
      let end = rest.firstIndex { $0.isLetter }!
      act(rest[end], rest[..<end].split(separator: ";", omittingEmptySubsequences: false).map { Int($0) ?? 0 })
      rest = rest[rest.index(after: end)...]
    }
  }

  private mutating func act(_ letter: Character, _ numbers: [Int]) {
    let columns = Self.size.columns
    switch letter {
    case "H": place = (numbers[0] - 1) * columns + numbers[1] - 1
    case "X": for x in place..<min(place + numbers[0], (place / columns + 1) * columns) { put(" ", at: x) }
    case "K": for x in place..<(place / columns + 1) * columns { put(" ", at: x) }
    default:
      var rest = numbers[...]
      while let code = rest.first {
        let count = code == 38 || code == 48 ? (rest.dropFirst().first == 5 ? 3 : 5) : 1
        set(code, rest.prefix(count).map(String.init).joined(separator: ";"))
        rest = rest.dropFirst(count)
      }
    }
  }

  private mutating func set(_ code: Int, _ text: String) {
    switch code {
    case 0: (attributes, colors) = ([], ["39", "49"])
    case 22: attributes.subtract([1, 2])
    case 30..<40: colors[0] = text
    case 40..<50: colors[1] = text
    default: attributes.insert(code)
    }
  }

  private mutating func put(_ character: Character, at index: Int) {
    let isGround = character == " " && attributes.isDisjoint(with: [4, 7])
    let look = isGround ? Set(attributes).subtracting([1, 2]) : attributes
    cells[index] = "\(character) \(look.sorted()) \(isGround ? "" : colors[0]) \(colors[1])"
  }
}

/// The same numbers for the same seed.
private struct Random: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return state ^ state >> 29
  }
}
