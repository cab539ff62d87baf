import DisplaySupport
import TerminalUI
import Testing

@Suite(.serialized) struct WidgetTests {
  private static let everyWidget: [any Widget] = [
    Box(title: "Queue", note: "12", isFocused: true),
    Box(title: [.init("Task/t1", .strong), .init(" in notes")], ground: .dialog),
    Table(
      columns: [.init("NAME", priority: 1), .init("SIZE", .fixed(6), .trailing), .init("WHY", .flex(2), minimum: 9)],
      rows: (0..<50).map {
        .init([StyledText("record-\($0) 한국어"), StyledText("\($0)", .dim), "why"], mark: StyledText("!", .error))
      },
      offset: 3,
      total: 900,
      selection: 5,
      marked: [4, 5],
      isFocused: true
    ),
    Table(columns: [], rows: []), Table(columns: [.init("NAME")], rows: [], emptyText: "Nothing waits to be sent."),
    FieldTable(
      (0..<40).map {
        .init(
          "field-\($0)",
          base: .init("Buy milk"),
          local: .init("Buy oat 한국어 milk", isChanged: true),
          server: .init("Buy skim milk", isChanged: true),
          chosen: .local
        )
      },
      offset: 2,
      selection: 4,
      isFocused: true
    ),
    FieldTable([]),
    Gauge(0.5, label: "12 of 24"), Gauge(.nan), Gauge(.infinity), Gauge(-1),
    Chart([0, 1, 2, .nan, 4, -3, .infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude]), Chart([]),
    KeyHints([.init("q", "quit"), .init("r", "retry")], note: "1.2 kB/s"),
    TextView([[.init("The quick ", .ok), .init("brown fox\njumps")], "over 한국어 the lazy dog."], offset: 99),
    TextView([], offset: -1),
    KeyValues([.init("state", "waiting"), .init("reason", StyledText("throttled", .warning))]),
    Dialog(
      title: "Discard",
      message: "Discard 3 changes?",
      keys: [.init("Esc", "cancel"), .init("d", "discard")],
      defaultKey: 0
    ),
    InputLine(prompt: "/", text: "filter"),
    ScrollBar(offset: 5, total: 0),
  ]

  private static let sizes =
    [0, 1, 2, 3, 4, 5, 7, 10].flatMap { width in [0, 1, 2, 3, 4, 7].map { (width, $0) } }
    + [(1, 30), (20, 5), (40, 10), (80, 24), (120, 36), (300, 1), (300, 100)]

  @Test(arguments: sizes, [GlyphSet.unicode, .console, .ascii])
  func `every widget draws at every size and stays in its place`(size: (Int, Int), glyphs: GlyphSet) {
    for widget in Self.everyWidget {
      var grid = Grid(Size(width: size.0 + 4, height: size.1 + 4), glyphs: glyphs)
      grid.fill(grid.bounds, Style(.base), with: "x")
      let untouched = grid
      let area = Rect(x: 2, y: 2, width: size.0, height: size.1)

      grid.draw(widget, in: area)

      grid.fill(area, Style(.base), with: "x")
      #expect(grid == untouched, "\(widget) drew outside")
    }
  }

  @Test func `a box shows title, note and focus`() {
    var grid = Grid(Size(width: 24, height: 3))

    grid.draw(Box(title: "Queue", note: "12 waiting", isFocused: false), in: grid.bounds)

    #expect(
      grid.snapshot == """
        ╭─ Queue ─ 12 waiting ─╮
        │                      │
        ╰──────────────────────╯
        aabbbbbbba............aa
        a......................a
        aaaaaaaaaaaaaaaaaaaaaaaa
        a = border
        b = title
        """
    )
    grid.draw(Box(title: "Queue", note: "12 waiting", isFocused: true), in: grid.bounds)
    #expect(grid.text.hasPrefix("╭─▸Queue ─ 12 waiting ─╮"))
  }

  @Test func `a box keeps the roles of its title, and leaves out a note that does not fit`() {
    var grid = Grid(Size(width: 20, height: 2), glyphs: .ascii)
    let box = Box(title: [.init("t1", .strong), .init(" in notes")], note: "failed", isFocused: true)

    grid.draw(box, in: grid.bounds)

    #expect(
      grid.snapshot == """
        +->t1 in notes ----+
        +------------------+
        aabccbbbbbbbbbbaaaaa
        aaaaaaaaaaaaaaaaaaaa
        a = borderFocused
        b = titleFocused
        c = strong
        """
    )
    #expect(box.noteArea(in: grid.bounds).width < 6)
    #expect(box.noteArea(in: Rect(x: 0, y: 0, width: 24, height: 2)) == Rect(x: 17, y: 0, width: 4, height: 1))
  }

  @Test func `a table shows its columns, its selection and where it is`() {
    var grid = Grid(Size(width: 24, height: 4))
    let rows = (4..<7).map { Table.Row([StyledText("record-\($0)"), StyledText("\($0 * 500)", .dim)]) }

    let columns: [Table.Column] = [.init("NAME"), .init("SIZE", .fixed(5), .trailing)]
    grid.draw(Table(columns: columns, rows: rows, offset: 4, total: 10, selection: 5, isFocused: true), in: grid.bounds)

    #expect(
      grid.snapshot == """
           NAME            SIZE
           record-4        2000
        ▌  record-5        2500█
           record-6        3000
        aaaaaaaaaaaaaaaaaaaaaaaa
        ...................bbbb.
        cdddddddddddddddddddddde
        ...................bbbb.
        a = header
        b = dim
        c = borderFocused on selection
        d = selection
        e = border
        """
    )
  }

  @Test func `a mark of the user replaces the row's own, also on the selected row`() {
    var grid = Grid(Size(width: 12, height: 4), glyphs: .ascii)
    let rows = ["a", "b", "c"].map { Table.Row([StyledText($0)], mark: StyledText("!", .error)) }

    grid.draw(
      Table(columns: [.init("NAME")], rows: rows, offset: 0, selection: 1, marked: [1, 2]),
      in: grid.bounds
    )

    #expect(
      grid.snapshot == """
           NAME
         ! a
         + b
         + c
        aaaaaaaaaaaa
        .b..........
        cdcccccccccc
        .e..........
        a = header
        b = error
        c = selectionUnfocused
        d = marked on selectionUnfocused
        e = marked
        """
    )
  }

  @Test func `a narrow table leaves out the columns that matter least`() {
    let columns: [Table.Column] = [
      .init("RECORD", .flex(2), minimum: 8, priority: 3), .init("OP", .fixed(4), priority: 1),
      .init("WHY", .flexible, minimum: 6, priority: 2), .init("NEXT", .fixed(5), priority: 1),
    ]
    func header(_ width: Int) -> String {
      var grid = Grid(Size(width: width, height: 2))
      grid.draw(Table(columns: columns, rows: [.init(["Task/t1041", "save", "ready", "now"])]), in: grid.bounds)
      return grid.text
    }

    #expect(header(38) == "   RECORD        OP    WHY       NEXT\n   Task/t1041    save  ready     now")
    #expect(header(30) == "   RECORD       OP    WHY\n   Task/t1041   save  ready")
    #expect(header(22) == "   RECORD      WHY\n   Task/t1041  ready")
    #expect(header(13) == "   RECORD\n   Task/t1041")
    #expect(header(9) == "   RECORD\n   Task/…")
  }

  @Test func `a table without rows says so in its middle`() {
    var grid = Grid(Size(width: 13, height: 3))

    grid.draw(Table(columns: [.init("NAME")], rows: [], emptyText: "Nothing"), in: grid.bounds)

    #expect(grid.text == "\n   Nothing\n")
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

  @Test(arguments: [(0.3, 3), (2, 10), (-1, 0), (.infinity, 10), (.nan, 0)])
  func `a share is at most all`(_ fraction: Double, _ share: Int) {
    #expect(Gauge.share(fraction, of: 10) == share)
  }

  @Test func `a chart ends at the newest number and tells nothing from a little`() {
    var grid = Grid(Size(width: 6, height: 1))
    var ascii = Grid(Size(width: 6, height: 1), glyphs: .ascii)
    let chart = Chart([8, 8, 0, 0, 0, 1, 4, 6, 9, 9, 0, 0])

    grid.draw(chart, in: grid.bounds)
    ascii.draw(chart, in: ascii.bounds)

    #expect(grid.text == "⣿⣀⣠⣾⣿⣀")
    #expect(ascii.text == "#_.*#_")
    for (values, text) in [([], ""), ([0, 0], "     ⣀"), ([5], "     ⢸"), ([1, 0, 0], "    ⢸⣀")] as [([Double], String)]
    {
      var short = Grid(Size(width: 6, height: 1))
      short.draw(Chart(values), in: short.bounds)
      #expect(short.text == text)
    }
  }

  @Test func `tabs leave out the empty ones first and never the selected one`() {
    let tabs = Tabs([
      .init("all", count: "1,204"), .init("pending", count: "1,190"), .init("retrying", count: "0", isEmpty: true),
      .init("failed", count: "3", role: .error, isSelected: true), .init("paused", count: "0", isEmpty: true),
    ])

    #expect(tabs.text(width: 80).plain == " all 1,204  pending 1,190  retrying 0 ▸failed 3  paused 0")
    #expect(tabs.text(width: 50).plain == " all 1,204  pending 1,190 ▸failed 3")
    #expect(tabs.text(width: 30).plain == " all 1,204 ▸failed 3")
    #expect(tabs.text(width: 10).plain == "▸failed 3")
    #expect(tabs.text(width: 5).plain == "▸fai…")
    #expect(
      tabs.text(width: 30).spans == [
        .init(" all 1,204"), .init(" "), .init("▸", .titleFocused), .init("failed 3", .error, .bold),
      ]
    )
  }

  @Test func `the labels of tabs get short before one is left out that must stay`() {
    let tabs = Tabs(
      [
        .init("all", count: "1,204", isSelected: true), .init("failed", short: "!", count: "3"),
        .init("conflict", short: "?", count: "20"), .init("pending", short: "·", count: "1,190"),
      ],
      keeping: 3
    )

    #expect(tabs.text(width: 40).plain == "▸all 1,204  failed 3  conflict 20")
    #expect(tabs.text(width: 30).plain == "▸all  !3  ?20  ·1,190")
    #expect(tabs.text(width: 14).plain == "▸all  !3  ?20")
    #expect(tabs.places(width: 14).map(\.cells) == [0..<4, 5..<8, 9..<13])
  }

  @Test func `a text is wrapped in its styles and scrolled`() {
    var grid = Grid(Size(width: 10, height: 2))
    let view = TextView([[.init("one ", .ok), .init("two three", .error)], "four"], offset: 1)

    grid.draw(view, in: grid.bounds)

    #expect(view.rows(in: grid.bounds) == 3)
    #expect(
      grid.snapshot == """
        three
        four     █
        aaaaa.....
        .........b
        a = error
        b = border
        """
    )
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
           ╭─▸Discard ──────────────────╮
           │ Discard 3 changes?         │
           │                            │
           │  [Esc cancel]  d discard   │
           ╰────────────────────────────╯

        """
    )
  }

  @Test func `a field table shows what changed and what is chosen`() {
    var grid = Grid(Size(width: 56, height: 5))
    let rows: [FieldTable.Row] = [
      .init("done", base: .init("0"), local: .init("yes", isChanged: true), server: .init("0")),
      .init(
        "title",
        base: .init("Buy milk"),
        local: .init("Buy oat milk", isChanged: true),
        server: .init("Buy skim milk", isChanged: true),
        chosen: .local
      ),
      .init("note", local: .missing, server: .init("2 l", isChanged: true), chosen: .server),
      .init("same", base: .init("1"), local: .init("1"), server: .init("2")),
    ]

    grid.draw(FieldTable(rows, selection: 2, isFocused: true), in: grid.bounds)

    #expect(
      grid.snapshot == """
         FIELD  BASE            LOCAL            SERVER
         done   0               yes              0
         title  Buy milk        [Buy oat milk]   Buy skim milk
        ▌note   –               –                [2 l]
         same   1               1                2
        aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
        ........b...............ccc..............d..............
        ........bbbbbbbb........eccccfffccccce...ggggffffggggg..
        hiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiiijkkkjiiiiiiiiii
        ........b...............d................d..............
        a = header
        b = base
        c = local
        d = dim
        e = strong
        f = match
        g = server
        h = borderFocused on selection
        i = selection
        j = strong on selection
        k = server on selection
        """
    )
  }

  @Test func `a field table leaves out the base where it does not fit`() {
    let row = FieldTable.Row("title", base: .init("a"), local: .init("b"), server: .init("c"))
    func text(_ width: Int, offset: Int = 0) -> String {
      var grid = Grid(Size(width: width, height: 2), glyphs: .ascii)
      grid.draw(FieldTable([row], offset: offset), in: grid.bounds)
      return grid.text
    }

    #expect(text(30) == " FIELD  LOCAL       SERVER\n title  b           c")
    #expect(text(30) == text(30, offset: 9))
    #expect(text(50).contains("BASE"))
  }

  @Test func `a cut value shows where it differs from the other side`() {
    func server(_ width: Int, _ local: String, _ server: String, chosen: FieldTable.Side? = nil) -> String {
      var grid = Grid(Size(width: 2 * width + 10, height: 2))
      let row = FieldTable.Row(
        "f",
        local: .init(local, isChanged: true),
        server: .init(server, isChanged: true),
        chosen: chosen
      )
      grid.draw(FieldTable([row]), in: grid.bounds)
      let line = grid.text.split(separator: "\n")[1]
      return String(line.dropFirst(8).dropFirst(width + 2))
    }

    #expect(server(10, "1 l of milk", "1 l of milk, organic") == "…, organic")
    #expect(server(10, "1 l of milk", "1 l of milk, organic", chosen: .server) == "[…, orga…]")
    #expect(server(10, "1 l of milk", "1 l of milk, organic and fresh") == "…, organi…")
    #expect(server(10, "one two three four", "one six three four") == "one six t…")
  }

  @Test func `two texts differ between the beginning and the end that they share`() {
    func expect(_ a: String, _ b: String, _ first: Range<Int>, _ second: Range<Int>) {
      let (left, right) = differing(a, b)
      #expect(left == first && right == second, "\(left) \(right)")
    }
    let long = String(repeating: "x", count: 3000)

    expect("Buy oat milk", "Buy skim milk", 4..<7, 4..<8)
    expect("Buy milk", "Buy oat milk", 4..<4, 4..<8)
    expect("aaa", "aa", 2..<3, 2..<2)
    expect("same", "same", 4..<4, 4..<4)
    expect("", "x", 0..<0, 0..<1)
    expect("e\u{301}x", "\u{E9}y", 1..<2, 1..<2)
    expect("a" + long, "b" + long, 0..<2000, 0..<2000)
    expect(long + "a", long + "b", 2000..<2000, 2000..<2000)
  }

  @Test func `hostile text cannot leave its cell`() {
    var grid = Grid(Size(width: 20, height: 2))

    grid.draw(KeyValues([.init("name", "\u{1B}[2J\u{202E}evil\n")]), in: grid.bounds)

    #expect(grid.text == "name ␛[2J‹202E›evil␊\n")
  }
}
