/// The characters that a terminal can show.
package enum GlyphSet: Sendable, Hashable {
  /// All of Unicode.
  case unicode
  /// The characters in the fonts of the Linux console: no braille, no round corners and no eighths of blocks. Symbols of
  /// the program that these fonts lack are replaced by similar ones.
  case console
  /// ASCII. Symbols of the program are replaced by similar ones, all other characters by `?`.
  case ascii

  /// Chooses the glyphs of a terminal.
  ///
  /// - Parameter term: Its name, as the variable `TERM` has it.
  package init(isASCII: Bool, term: String) {
    self = isASCII ? .ascii : term == "linux" || term.hasPrefix("linux-") ? .console : .unicode
  }

  /// The character that is sent for one of the grid.
  package func sent(for character: Character) -> Character {
    switch self {
    case .unicode: character
    case .console: Self.consoleLikenesses[character] ?? character
    case .ascii: Self.ascii(character)
    }
  }

  private static let consoleLikenesses: [Character: Character] = {
    let groups: [(symbols: String, likeness: Character)] = [
      ("╭", "┌"), ("╮", "┐"), ("╰", "└"), ("╯", "┘"), ("●◉", "•"), ("▸❯", "►"), ("◂❮", "◄"), ("›", ">"), ("‹", "<"),
      ("▴", "▲"), ("▾", "▼"), ("⇅", "↕"), ("✓✔", "√"), ("✗✘✕", "x"), ("⚠", "!"), ("◌", "○"), ("…", "~"),
      ("–—‐‑", "-"), ("‘’", "'"), ("“”", "\""), ("▏▎▍", "▌"), ("▋▊▉", "█"),
    ]
    return groups.reduce(into: [:]) { table, group in for symbol in group.symbols { table[symbol] = group.likeness } }
  }()

  /// What stands at the end of a text that was cut.
  package var ellipsis: Character { self == .unicode ? "…" : "~" }

  /// What stands for a character that cannot be shown.
  var placeholder: Character { self == .unicode ? "\u{FFFD}" : "?" }

  /// The ASCII likeness of a character.
  package static func ascii(_ character: Character) -> Character {
    if character.isASCII, let value = character.asciiValue, (0x20..<0x7F).contains(value) { return character }
    return likenesses[character] ?? "?"
  }

  private static let likenesses: [Character: Character] = {
    var table: [Character: Character] = [:]
    let groups: [(symbols: String, likeness: Character)] = [
      ("─━╌┄═", "-"), ("│┃╎┆║▏▕", "|"), ("┌┐└┘├┤┬┴┼╭╮╰╯╔╗╚╝╠╣╦╩╬┏┓┗┛", "+"), ("…", "~"), ("•●▪◉", "*"), ("·", "."),
      ("■", "#"), ("◆", "o"),
      ("○◌□", "o"), ("►▶→›»▸❯", ">"), ("◀←‹«◂❮", "<"), ("▲↑▴", "^"), ("▼↓▾", "v"), ("⇅↕", "|"), ("✓✔", "+"),
      ("✗✘×✕", "x"), ("⚠", "!"), ("–—‐‑", "-"), ("‘’", "'"), ("“”", "\""), ("█▓", "#"), ("▉▊▋▌", "="),
      ("▒░", "."), ("▍▎", "-"), ("▁▂", "_"), ("▃▄", "-"), ("▅▆", "="), ("▇", "#"), ("≠", "!"), ("≈", "~"),
    ]
    for group in groups {
      for symbol in group.symbols { table[symbol] = group.likeness }
    }
    return table
  }()
}
