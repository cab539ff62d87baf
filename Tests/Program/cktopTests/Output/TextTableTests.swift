import Testing

@testable import cktop

@Suite(.serialized) struct TextTableTests {
  private var table: TextTable {
    var table = TextTable([.shrinking("NAME"), .numbers("COUNT"), .shrinking("WHY")])
    table.append(["日本", "5", "\u{1B}[2J"])
    table.append(["a longer name", "12345678", "the server said to wait a while"])
    return table
  }

  @Test func `columns are aligned by width, hostile text is shown`() {
    var table = table
    #expect(
      table.lines() == [
        "NAME              COUNT  WHY",
        "日本                  5  ␛[2J",
        "a longer name  12345678  the server said to wait a while",
      ]
    )
  }

  @Test func `on a narrow terminal the widest columns that may shrink do`() {
    func lines(_ width: Int) -> [String] {
      var table = table
      return table.lines(width: width)
    }
    #expect(
      lines(40) == [
        "NAME              COUNT  WHY",
        "日本                  5  ␛[2J",
        "a longer name  12345678  the server sai…",
      ]
    )
    #expect(lines(30).map(\.columns).max() ?? 0 <= 30)
    #expect(lines(0).count == 3)
  }

  @Test func `later pages keep the widths of the first, and cut only on a terminal`() {
    func pages(_ width: Int?) -> [[String]] {
      var table = TextTable([.numbers("ID"), .shrinking("NAME"), .shrinking("WHY")])
      return [["99", "abcdef", "none"], ["9", "abcdefgh", "so"], ["1000", "a", "because"]].map {
        table.append($0)
        return table.lines(width: width)
      } + [table.lines(width: width)]
    }
    #expect(
      pages(nil) == [["ID  NAME    WHY", "99  abcdef  none"], [" 9  abcdefgh  so"], ["1000  a       because"], []]
    )
    #expect(pages(80) == [["ID  NAME    WHY", "99  abcdef  none"], [" 9  abcde…  so"], ["1000  a       bec…"], []])
  }

  @Test func `columns that may not shrink take their room from the others`() {
    var table = TextTable([.numbers("ID"), .shrinking("WHY")])
    table.append(["99", "a longer reason"])
    #expect(table.lines(width: 16) == ["ID  WHY", "99  a longer re…"])
    table.append(["1000", "another reason"])
    #expect(table.lines(width: 16) == ["1000  another r…"])
  }

  @Test func `a table of nothing is its titles`() {
    var (titles, nothing) = (TextTable(["A", "B"]), TextTable([]))
    #expect(titles.lines(width: 80) == ["A  B"])
    #expect(nothing.lines() == [""])
  }
}
