import TerminalUI
import Testing

@Suite(.serialized) struct SanitizeTests {
  @Test func `an escape sequence is shown instead of obeyed`() {
    #expect(sanitize("\u{1B}[31mred") == "␛[31mred")
    #expect(sanitize("\u{1B}[31mred", .ascii) == "^[[31mred")
  }

  @Test func `a clipboard command is shown instead of obeyed`() {
    #expect(sanitize("\u{1B}]52;c;aGk=\u{7}") == "␛]52;c;aGk=␇")
  }

  @Test func `characters that turn the direction of writing are shown`() {
    #expect(sanitize("a\u{202E}b\u{2066}c\u{200F}d") == "a‹202E›b‹2066›c‹200F›d")
    #expect(sanitize("a\u{202E}b", .ascii) == "a<202E>b")
  }

  @Test func `invisible characters and separators are shown`() {
    #expect(sanitize("a\u{200B}b\u{FEFF}c\u{2028}d\u{AD}e") == "a‹200B›b‹FEFF›c‹2028›d‹AD›e")
    #expect(sanitize("pass\u{200D}word") == "pass‹200D›word")
    #expect(sanitize("a\tb\r\nc\u{7F}") == "a␉b␍␊c␡")
    #expect(sanitize("\u{9B}31m") == "‹9B›31m")
  }

  @Test func `no code point reaches the terminal as a control character`() {
    for scalar in everyInterestingScalar {
      for set in [GlyphSet.unicode, .ascii] {
        let shown = sanitize("a" + String(Character(scalar)), set)
        let isSafe = shown.unicodeScalars.allSatisfy { scalar in
          switch scalar.properties.generalCategory {
          case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: false
          default: set == .unicode || scalar.isASCII
          }
        }
        if !isSafe { Issue.record("U+\(String(scalar.value, radix: 16)) is shown as \(shown.debugDescription)") }
      }
    }
  }

  @Test func `what is safe stays as it is`() {
    for text in ["plain", "naïve", "한국어", "␛[31m", "‹202E›", "e\u{301}"] {
      #expect(sanitize(text) == text)
      #expect(sanitize(sanitize(text)) == sanitize(text))
    }
  }

  @Test(arguments: [
    (false, "linux", GlyphSet.console), (false, "linux-16color", .console), (true, "linux", .ascii),
    (false, "xterm-256color", .unicode), (false, "linuxvt", .unicode), (false, "", .unicode),
  ])
  func `the Linux console has glyphs of its own`(_ isASCII: Bool, _ term: String, _ set: GlyphSet) {
    #expect(GlyphSet(isASCII: isASCII, term: term) == set)
  }

  @Test func `what the fonts of the Linux console lack gets a likeness, and the rest stays`() {
    #expect(String("╭─╮│╰╯■◆▲●▸✓…█░é".map(GlyphSet.console.sent(for:))) == "┌─┐│└┘■◆▲•►√~█░é")
    #expect(sanitize("a\t\u{FFFE}b", .console) == "a^I?b")
  }

  @Test func `without Unicode our own symbols have a likeness and the rest is a question mark`() {
    #expect(sanitize("┌─┐│█░…é한", .ascii) == "+-+|#.~???")
  }
}
