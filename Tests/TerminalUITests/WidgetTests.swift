import TerminalUI
import Testing

@Suite(.serialized) struct WidgetTests {
  private static let everyWidget: [any Widget] = [
    Box(title: "Queue", note: "12", isFocused: true),
    Table(
      columns: [.init("NAME"), .init("SIZE", .fixed(6), .trailing)],
      rows: (0..<50).map { [StyledText("record-\($0) 한국어"), StyledText("\($0)", .dim)] },
      offset: 3,
      total: 900,
      selection: 5,
      isFocused: true
    ),
    Table(columns: [], rows: []),
    Gauge(0.5, label: "12 of 24"), Gauge(.nan), Gauge(.infinity), Gauge(-1),
    Sparkline([0, 1, 2, .nan, 4, -3]), Sparkline([]),
    KeyHints([.init("q", "quit"), .init("r", "retry")], note: "1.2 kB/s"),
    Paragraph("The quick brown fox\njumps over 한국어 the lazy dog.", offset: 99),
    KeyValues([.init("state", "waiting"), .init("reason", StyledText("throttled", .warning))], offset: -4),
    Dialog(
      title: "Discard",
      message: "Discard 3 changes?",
      input: InputLine(prompt: "> "),
      keys: [.init("Esc", "cancel"), .init("d", "discard")],
      defaultKey: 0
    ),
    InputLine(prompt: "/", text: "filter"),
    DeskRow(field: "name", base: "a", local: "b", server: "c", taken: .local, isSelected: true),
    ScrollBar(offset: 5, total: 0),
  ]

  @Test(arguments: [(80, 24), (40, 10), (1, 1), (0, 0), (2, 2), (3, 1), (1, 30)], [GlyphSet.unicode, .ascii])
  func `every widget draws at every size and stays in its place`(size: (Int, Int), glyphs: GlyphSet) {
    for widget in Self.everyWidget {
      var grid = Grid(Size(width: size.0 + 4, height: size.1 + 4), glyphs: glyphs)
      grid.fill(grid.bounds, Style(.base), with: "x")
      let area = Rect(x: 2, y: 2, width: size.0, height: size.1)

      grid.draw(widget, in: area)

      for y in 0..<grid.size.height {
        for x in 0..<grid.size.width where !area.contains(Position(x: x, y: y)) {
          #expect(grid[Position(x: x, y: y)]?.character == "x", "\(widget) drew at \(x),\(y)")
        }
      }
    }
  }

  @Test func `a box shows title, note and focus`() {
    var grid = Grid(Size(width: 24, height: 3))

    grid.draw(Box(title: "Queue", note: "12 waiting", isFocused: false), in: grid.bounds)

    #expect(
      grid.snapshot == """
        ┌─ Queue ─ 12 waiting ─┐
        │                      │
        └──────────────────────┘
        aabbbbbbba............aa
        a......................a
        aaaaaaaaaaaaaaaaaaaaaaaa
        a = border
        b = title
        """
    )
    grid.draw(Box(title: "Queue", note: "12 waiting", isFocused: true), in: grid.bounds)
    #expect(grid.text.hasPrefix("┌─ ▶ Queue ────────────┐"))
  }

  @Test func `a table shows its columns, its choice and where it is`() {
    var grid = Grid(Size(width: 20, height: 4))
    let rows = (4..<7).map { [StyledText("record-\($0)"), StyledText("\($0 * 500)", .dim)] }

    let columns: [Table.Column] = [.init("NAME"), .init("SIZE", .fixed(5), .trailing)]
    grid.draw(Table(columns: columns, rows: rows, offset: 4, total: 10, selection: 5, isFocused: true), in: grid.bounds)

    #expect(
      grid.snapshot == """
        NAME           SIZE
        record-4       2000│
        record-5       2500█
        record-6       3000│
        aaaaaaaaaaaaaaaaaaaa
        ...............bbbbc
        ddddddddddddddddddde
        ...............bbbbc
        a = header
        b = dim
        c = progressTrack
        d = selection
        e = border
        """
    )
  }

  @Test func `a table scrolls no further than it must`() {
    #expect(Table.offset(showing: 5, from: 0, visible: 10, total: 100) == 0)
    #expect(Table.offset(showing: 12, from: 0, visible: 10, total: 100) == 3)
    #expect(Table.offset(showing: 2, from: 8, visible: 10, total: 100) == 2)
    #expect(Table.offset(showing: 3, from: 8, visible: 10, total: 4) == 0)
    #expect(Table.offset(showing: 3, from: 8, visible: 0, total: 4) == 3)
  }

  @Test func `a gauge fills up by eighths of a cell`() {
    var grid = Grid(Size(width: 8, height: 2))

    grid.draw(Gauge(0.3), in: grid.bounds)

    #expect(grid.text == "██▍░░░░░\n")
  }

  @Test func `a sparkline ends at the newest number`() {
    var grid = Grid(Size(width: 4, height: 1))

    grid.draw(Sparkline([9, 0, 1, 4, 8]), in: grid.bounds)

    #expect(grid.text == " ▂▅█")
  }

  @Test func `key hints that do not fit are dropped from the right`() {
    let hints = KeyHints([.init("q", "quit"), .init("r", "retry"), .init("/", "filter")], note: "idle")
    var wide = Grid(Size(width: 40, height: 1))
    var narrow = Grid(Size(width: 16, height: 1))

    wide.draw(hints, in: wide.bounds)
    narrow.draw(hints, in: narrow.bounds)

    #expect(wide.text == "q quit  r retry  / filter           idle")
    #expect(narrow.text == "q quit      idle")
  }

  @Test func `a dialog lies in the middle and says what the keys do`() {
    var grid = Grid(Size(width: 36, height: 6))
    let dialog = Dialog(
      title: "Discard",
      message: "Discard 3 changes?",
      keys: [.init("Esc", "cancel"), .init("d", "discard")],
      defaultKey: 0,
      width: 30
    )

    grid.draw(dialog, in: grid.bounds)

    #expect(
      grid.text == """
           ┌─ ▶ Discard ────────────────┐
           │ Discard 3 changes?         │
           │                            │
           │  [Esc cancel]  d discard   │
           └────────────────────────────┘

        """
    )
  }

  @Test func `a conflict row shows which sides changed and which one is taken`() {
    var grid = Grid(Size(width: 44, height: 2))

    DeskRow.drawHeader(on: &grid, in: grid.bounds)
    let row = DeskRow(field: "title", base: "Old", local: "Mine", server: "Theirs", taken: .server)
    grid.draw(row, in: Rect(x: 0, y: 1, width: 44, height: 1))

    #expect(
      grid.text == """
        FIELD   BASE        LOCAL       SERVER
        ≠ title   Old       • Mine      ✓ Theirs
        """
    )
  }

  @Test func `hostile text cannot leave its cell`() {
    var grid = Grid(Size(width: 20, height: 2))

    grid.draw(KeyValues([.init("name", "\u{1B}[2J\u{202E}evil\n")]), in: grid.bounds)

    #expect(grid.text == "name ␛[2J‹202E›evil␊\n")
  }
}
