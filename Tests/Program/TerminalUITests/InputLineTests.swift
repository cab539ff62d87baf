import DisplaySupport
import TerminalUI
import Testing

@Suite(.serialized) struct InputLineTests {
  private func line(_ keys: [Key], text: String = "") -> InputLine {
    var line = InputLine(text: text)
    for key in keys {
      let isTaken = line.handle(key)
      #expect(isTaken)
    }
    return line
  }

  @Test func `a line is edited where its cursor is`() {
    #expect(line([.left, .character("x")], text: "ab").text == "axb")
    #expect(line([.home, .delete], text: "ab").text == "b")
    #expect(line([.backspace], text: "").text == "")
    #expect(line([.ctrl("w")], text: "one two ").text == "one ")
    #expect(line([.home, .ctrl("k"), .character("z")], text: "abc").text == "z")
    #expect(line([.ctrl("u")], text: "abc").text == "")
  }

  @Test func `Ctrl-U leaves the name of a value at first`() {
    var line = InputLine(text: "title=abc", kept: 6)
    #expect(line.handle(.ctrl("u")) && line.text == "title=")
    #expect(line.handle(.ctrl("u")) && line.text == "")
  }

  @Test func `a paste of several lines is put in as one and ends nothing`() {
    #expect(line([.paste("a\nb\u{1B}c\r\n")]).text == "abc")
  }

  @Test func `a line takes no more than the longest paste`() {
    let text = String(repeating: "x", count: KeyParser.longestPaste)

    #expect(line([.character("y"), .paste(text), .character("z")]).text == "y" + text.dropLast())
  }

  @Test func `a mark that joins its letter does not move the cursor`() {
    let line = line([.character("e"), .character("\u{301}")])

    #expect(line.text == "e\u{301}")
    #expect(line.cursor == 1)
  }

  @Test func `keys that mean nothing to it are left to others`() {
    var line = InputLine()

    let isTaken = [Key.enter, .escape, .tab].map { line.handle($0) }

    #expect(isTaken == [false, false, false])
  }

  @Test func `a long line scrolls with its cursor`() {
    let area = Rect(x: 0, y: 0, width: 8, height: 1)
    var grid = Grid(area.size)
    let line = InputLine(prompt: ":", text: "abcdefghij")

    grid.draw(line, in: area)

    #expect(grid.text == ":efghij")
    #expect(line.cursor(in: area) == Position(x: 7, y: 0))
  }
}
