import Foundation
import Glibc
import TerminalUI
import Testing

/// Every code point, besides the planes that hold nothing but Chinese characters or nothing at all.
let everyInterestingScalar = [0...0x1FFFF, 0x2FF80...0x30080, 0xE0000...0xE0200, 0x10FF00...0x10FFFF]
  .flatMap { (range: ClosedRange<UInt32>) in range.compactMap(Unicode.Scalar.init) }

@Suite(.serialized) struct WidthTests {
  @Test(arguments: [
    ("abc", 3), ("", 0), ("한국어", 6), ("日本", 4), ("e\u{301}", 1), ("ｆｕｌｌ", 8), ("👍", 2), ("…", 1),
  ])
  func `what everybody counts alike is counted as everybody does`(text: String, columns: Int) {
    #expect(cells(text) == columns)
    #expect(sanitize(text) == text)
  }

  @Test(arguments: [
    ("👍🏽", "👍"), ("👩‍👩‍👧‍👦", "👩"), ("⚠️", "⚠"), ("🇺🇸", "US"), ("1️⃣", "1"), ("\u{1FAE8}", "\u{FFFD}"),
    ("\u{1100}\u{1161}\u{11A8}", "각"), ("\u{E000}", "\u{FFFD}"), ("\u{301}x", "\u{FFFD}x"),
  ])
  func `what programs count differently becomes something they agree on`(text: String, shown: String) {
    #expect(sanitize(text) == shown)
    #expect(cells(text) == cells(shown))
  }

  @Test func `the C library counts every character that is shown as we do`() throws {
    let locale = try #require(newlocale(LC_CTYPE_MASK, "C.UTF-8", nil))
    let previous = uselocale(locale)
    defer { uselocale(previous) }
    // The header hides the function from Swift; the library does not.
    typealias Width = @convention(c) (wchar_t) -> CInt
    let wcwidth = unsafeBitCast(try #require(dlsym(nil, "wcwidth")), to: Width.self)

    var wrong: [String] = []
    for scalar in everyInterestingScalar {
      for glyph in glyphs(in: "x" + String(Character(scalar))) {
        let width = glyph.character.unicodeScalars.reduce(0) { $0 + Int(wcwidth(wchar_t($1.value))) }
        if width != glyph.columns { wrong.append(String(scalar.value, radix: 16)) }
      }
    }

    #expect(wrong == [])
  }

  @Test func `a letter with a hundred marks keeps as many as a cell can hold`() {
    let zalgo = "a" + String(repeating: "\u{301}", count: 100)

    #expect(glyphs(in: zalgo).map(\.character.unicodeScalars.count) == [5])
  }
}
