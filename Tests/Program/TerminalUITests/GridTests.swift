import DisplaySupport
import TerminalUI
import Testing

@Suite(.serialized) struct GridTests {
  @Test func `what lies outside is left out`() {
    var grid = Grid(Size(width: 4, height: 2))

    grid.put("abcdefgh", at: Position(x: 2, y: 0))
    grid.put("xyz", at: Position(x: -2, y: 1))
    grid.put("never", at: Position(x: 0, y: 7))

    #expect(grid.text == "  ab\nz")
  }

  @Test func `half of a wide character is never shown`() {
    var grid = Grid(Size(width: 5, height: 1))

    grid.put("한국", at: Position(x: 0, y: 0))
    grid.put("x", at: Position(x: 1, y: 0))
    grid.put("어", at: Position(x: 4, y: 0))

    #expect(grid.text == " x국")
    grid.put("a", at: Position(x: 2, y: 0))
    #expect(grid.text == " xa")
  }

  @Test func `a wide character that is cut at the left edge leaves a blank`() {
    var grid = Grid(Size(width: 3, height: 1))
    grid.put("abc", at: Position(x: 0, y: 0))

    grid.put("한", at: Position(x: -1, y: 0))

    #expect(grid.text == " bc")
  }

  @Test(arguments: [Size.zero, Size(width: 1, height: 1), Size(width: -3, height: 5)])
  func `a tiny grid takes everything and shows what it can`(size: Size) {
    var grid = Grid(size)

    grid.put("한글 and more", at: Position(x: 0, y: 0))
    grid.put(StyledText("styled"), in: Rect(x: -5, y: -5, width: 100, height: 100))
    grid.fill(Rect(x: -10, y: -10, width: 5, height: 5), Style(.error))

    #expect(grid[Position(x: 5, y: 5)] == nil)
    #expect(grid.row(3).isEmpty)
  }

  @Test func `escaped characters stand out from ordinary text`() {
    var grid = Grid(Size(width: 4, height: 1))

    grid.put("a\u{1B}b", at: Position(x: 0, y: 0))

    #expect(grid.snapshot == "a␛b\n.a..\na = escaped")
  }
}
