/// What the terminal can show.
public enum GlyphSet: Sendable, Hashable {
  /// Everything that UTF-8 can say.
  case unicode
  /// Nothing beyond ASCII. Our own symbols get a likeness, every other character becomes `?`.
  case ascii

  /// What stands at the end of a text that was cut.
  public var ellipsis: Character { self == .unicode ? "…" : "~" }

  /// What stands for a character that cannot be shown.
  var placeholder: Character { self == .unicode ? "\u{FFFD}" : "?" }

  /// The ASCII likeness of a character.
  public static func ascii(_ character: Character) -> Character {
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
