import TerminalUI
import Testing

@Suite(.serialized) struct FittingTests {
  @Test(arguments: [
    ("hello", 5, "hello"), ("hello!", 5, "hell…"), ("hello", 1, "…"), ("hello", 0, ""), ("hello", -3, ""),
    ("한국어", 5, "한국…"), ("한국어", 4, "한…"), ("한국어", 2, "…"), ("", 3, ""),
  ])
  func `a text is cut by cells and the cut is shown`(text: String, columns: Int, shown: String) {
    #expect(clip(text, to: columns) == shown)
    #expect(cells(clip(text, to: columns)) <= max(0, columns))
  }

  private static let refusals = [
    "a type STRING that the field 'done' does not have", "a type STRING that the field 'total' does not have",
    "a type DOUBLE that the field 'done' does not have",
  ]

  @Test(arguments: [
    (refusals[0], refusals, "a type…'done' does not …"), (refusals[1], refusals, "a type…'total' does not…"),
    // The difference would be kept by a cut at the end.
    (refusals[2], refusals, "a type DOUBLE that the …"), (refusals[0], [], "a type…'done' does not …"),
    ("short enough", refusals, "short enough"), ("the server's answer is too long", [], "the server's answer is …"),
    ("no 0123456789-0123456789-a here", ["no 0123456789-0123456789-b here"], "no…a here"),
    ("", refusals, ""), ("한국어 한국어 한국어 한국어 끝", ["한국어 한국어 한국어 한국어 한"], "한국어 한국어 한국어…끝"),
  ])
  func `an elided text keeps what tells it from others`(_ text: String, _ others: [String], _ shown: String) {
    let elided = elide(text, to: 24, besides: Set(others + [text]))
    #expect(clip(elided, to: 24) == shown)
    #expect(elide(text, to: 3, besides: Set(others)) == text)
  }

  @Test func `styled text is cut where its parts meet`() {
    let line: StyledText = [.init("abc", .ok), .init("def", .error)]

    #expect(line.clipped(to: 6).plain == "abcdef")
    #expect(line.clipped(to: 4).plain == "abc…")
    #expect(line.clipped(to: 3).plain == "ab…")
    #expect(line.clipped(to: 0).plain == "")
  }

  @Test func `lines break at blanks, and long words anywhere`() {
    #expect(wrap("the quick brown fox", to: 9).map(\.plain) == ["the quick", "brown fox"])
    #expect(wrap("abcdefgh ij", to: 4).map(\.plain) == ["abcd", "efgh", "ij"])
    #expect(wrap("a\n\nb", to: 4).map(\.plain) == ["a", "", "b"])
    #expect(wrap("한국어", to: 1).map(\.plain) == [""])
    #expect(wrap("abc ", to: 3).map(\.plain) == ["abc"])
    #expect(wrap("abc", to: 0) == [])
  }

  @Test func `a wrapped line keeps its styles`() {
    let line: StyledText = [.init("1  ", .dim), .init("one two\u{7} three\nfour", .error)]

    #expect(
      wrap(line, to: 8) == [
        [.init("1  ", .dim), .init("one", .error)], [.init("two␇", .error)], [.init("three", .error)],
        [.init("four", .error)],
      ]
    )
    #expect(wrap(StyledText("a\u{7}b"), to: 8) == [[.init("a"), .init("␇", .escaped), .init("b")]])
  }

  @Test func `cells are dealt out without losing or inventing any`() {
    #expect(Length.deal(10, to: [.fixed(3), .flexible, .flexible]) == [3, 3, 4])
    #expect(Length.deal(2, to: [.fixed(3), .flexible]) == [2, 0])
    #expect(Length.deal(-1, to: [.fixed(3), .flexible]) == [0, 0])
    #expect(Length.deal(7, to: [.flex(2), .flex(1), .fixed(-4)]) == [4, 3, 0])
  }

  @Test func `rectangles split, shrink and never turn inside out`() {
    let area = Rect(x: 1, y: 1, width: 10, height: 4)

    #expect(area.rows([.fixed(1), .flexible]).map(\.height) == [1, 3])
    #expect(area.columns([.flexible, .flexible], gap: 1).map(\.x) == [1, 6])
    #expect(area.inset(by: 9).isEmpty)
    #expect(area.centred(Size(width: 4, height: 2)) == Rect(x: 4, y: 2, width: 4, height: 2))
    #expect(area.row(9).isEmpty)
    #expect(Rect(x: 0, y: 0, width: -5, height: -5).isEmpty)
  }
}
