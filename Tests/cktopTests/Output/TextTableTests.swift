import Testing

@testable import cktop

@Suite(.serialized) struct TextTableTests {
  private var table: TextTable {
    var table = TextTable([
      .init(title: "NAME", mayShrink: true), .init(title: "COUNT", alignment: .right),
      .init(title: "WHY", mayShrink: true),
    ])
    table.append(["日本", "5", "\u{1B}[2J"])
    table.append(["a longer name", "12345678", "the server said to wait a while"])
    return table
  }

  @Test func `columns are aligned by width, hostile text is shown`() {
    #expect(
      table.lines() == [
        "NAME              COUNT  WHY",
        "日本                  5  ␛[2J",
        "a longer name  12345678  the server said to wait a while",
      ]
    )
  }

  @Test func `on a narrow terminal the widest columns that may shrink do`() {
    #expect(
      table.lines(width: 40) == [
        "NAME              COUNT  WHY",
        "日本                  5  ␛[2J",
        "a longer name  12345678  the server sai…",
      ]
    )
    #expect(table.lines(width: 30).map(\.columns).max() ?? 0 <= 30)
    #expect(table.lines(width: 0).count == 3)
  }

  @Test func `a table of nothing is its titles`() {
    #expect(TextTable([.init(title: "A"), .init(title: "B")]).lines(width: 80) == ["A  B"])
    #expect(TextTable([]).lines() == [""])
  }
}
