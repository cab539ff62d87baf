extension String {
  /// The text in a form safe for a terminal: characters that it would interpret or hide become symbols.
  ///
  /// Records, errors and file names are untrusted: an escape sequence in a record must not move the cursor, and a bidi
  /// override must not reverse a line.
  var visible: String {
    guard unicodeScalars.contains(where: { $0.symbol != nil }) else { return self }
    var text = ""
    for scalar in unicodeScalars {
      if let symbol = scalar.symbol { text += symbol } else { text.unicodeScalars.append(scalar) }
    }
    return text
  }

  /// The columns that the text takes on a terminal; the text must be `visible` already.
  var columns: Int {
    var total = 0
    for character in self { total += character.columns }
    return total
  }

  /// The text cut to a number of columns, with `…` at the cut.
  func cut(toColumns limit: Int) -> String {
    guard columns > limit else { return self }
    guard limit > 0 else { return "" }
    var (text, used) = ("", 0)
    for character in self {
      guard used + character.columns < limit else { break }
      text.append(character)
      used += character.columns
    }
    return text + "…"
  }
}

extension Unicode.Scalar {
  /// The symbol for a scalar that a terminal must not get; nil if the scalar is safe.
  fileprivate var symbol: String? {
    switch value {
    case 0x00..<0x20: return Unicode.Scalar(0x2400 + value).map(String.init)
    case 0x7F: return "␡"
    // Joiners are part of emoji and of some scripts' letters and cannot mislead.
    case 0x200C, 0x200D: return nil
    default: break
    }
    switch properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate:
      return "<U+" + String(repeating: "0", count: max(0, 4 - hex.count)) + hex + ">"
    default: return nil
    }
  }

  private var hex: String { String(value, radix: 16, uppercase: true) }

  /// Columns by East Asian Width, as terminals count: wide letters and emoji two, marks none.
  fileprivate var columns: Int {
    switch properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    switch value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
      0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
      0x20000...0x3FFFD:
      return 2
    default: return properties.isEmojiPresentation ? 2 : 1
    }
  }
}

extension Character {
  /// The widest of its scalars: a family of emoji takes two columns, an accent none.
  fileprivate var columns: Int {
    // A flag is two regional letters; a variation selector turns a sign into an emoji.
    if unicodeScalars.contains("\u{FE0F}") { return 2 }
    return unicodeScalars.reduce(0) { max($0, $1.columns) }
  }
}
