import Testing

@testable import cktop

@Suite(.serialized) struct VisibleTextTests {
  private static let texts: [(String, String)] = [
    ("plain", "plain"),
    ("\u{1B}[31mred\u{7}", "␛[31mred␇"),
    ("a\tb\r\nc\0", "a␉b␍␊c␀"),
    ("\u{7F}\u{9B}31m", "␡‹9B›31m"),
    ("\u{202E}gnp.exe\u{2066}", "‹202E›gnp.exe‹2066›"),
    ("a\u{200B}b\u{2028}c\u{FEFF}\u{E0041}", "a‹200B›b‹2028›c‹FEFF›‹E0041›"),
    ("é e\u{301} 日本", "é e\u{301} 日本"),
  ]

  @Test(arguments: texts) func `what a terminal would obey is shown`(_ text: String, _ visible: String) {
    #expect(text.visible == visible)
    #expect(text.visible.visible == visible)
  }

  private static let widths: [(String, Int)] = [
    ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("한", 2), ("😀", 2), ("␛", 1), ("Ａ", 2), ("ﾊ", 1),
  ]

  @Test(arguments: widths) func `columns are counted as a terminal does`(_ text: String, _ columns: Int) {
    #expect(text.columns == columns)
  }

  private static let cuts: [(String, Int, String)] = [
    ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 5, "日本…"), ("日本語", 4, "日…"), ("abc", 1, "…"), ("abc", 0, ""),
    ("", 0, ""),
  ]

  @Test(arguments: cuts) func `a cut never splits a wide character`(_ text: String, _ columns: Int, _ cut: String) {
    #expect(text.cut(toColumns: columns) == cut)
    #expect(text.cut(toColumns: columns).columns <= columns)
  }
}
