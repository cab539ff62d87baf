/// One character as it is shown, with the cells it takes.
package struct Glyph: Sendable, Hashable {
  /// The character: printable, and counted alike by terminal and C library.
  package let character: Character
  /// 1 or 2 cells.
  package let columns: Int
  /// Whether it stands for something that cannot be shown as it is.
  package let isEscape: Bool

  init(_ character: Character, columns: Int = 1, isEscape: Bool = false) {
    (self.character, self.columns, self.isEscape) = (character, columns, isEscape)
  }
}

/// What a text looks like on the terminal, however hostile it is.
///
/// Control characters, invisible characters and characters that turn the direction of writing become visible symbols.
/// Characters about whose width programs disagree become their base character or a placeholder.
package func glyphs(in text: String, _ set: GlyphSet = .unicode) -> [Glyph] {
  if isPlain(text) { return text.map { Glyph($0) } }
  var result: [Glyph] = []
  for cluster in text { append(cluster, to: &result, set) }
  return result
}

/// The cells that a text takes on the terminal.
package func cells(_ text: String, in set: GlyphSet = .unicode) -> Int {
  if isPlain(text) { return text.utf8.count }
  return glyphs(in: text, set).reduce(0) { $0 + $1.columns }
}

extension String {
  /// The text filled with blanks, at least one, for a column of that width.
  package func padding(to width: Int) -> String { self + String(repeating: " ", count: max(1, width - cells(self))) }
}

/// The text with everything replaced that could act on a terminal or deceive a reader.
package func sanitize(_ text: String, _ set: GlyphSet = .unicode) -> String {
  if isPlain(text) { return text }
  return String(glyphs(in: text, set).map(\.character))
}

/// Nearly every text is printable ASCII, which needs no look at its characters.
private func isPlain(_ text: String) -> Bool {
  text.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
}

private func append(_ cluster: Character, to result: inout [Glyph], _ set: GlyphSet) {
  var composer = GlyphComposer(set: set)
  if let syllable = hangulSyllable(cluster) {
    composer.add(syllable)
  } else {
    for scalar in cluster.unicodeScalars where !composer.isEmojiJoined { composer.add(scalar) }
  }
  result += composer.finish()
}

/// Korean letters that form one syllable, as the one character for that syllable.
private func hangulSyllable(_ cluster: Character) -> Unicode.Scalar? {
  let parts = cluster.unicodeScalars.map { Int($0.value) }
  guard (2...3).contains(parts.count), (0x1100..<0x1113).contains(parts[0]), (0x1161..<0x1176).contains(parts[1]) else {
    return nil
  }
  let tail = parts.count == 3 ? parts[2] - 0x11A7 : 0
  guard parts.count == 2 || (1..<28).contains(tail) else { return nil }
  return Unicode.Scalar(UInt32(0xAC00 + ((parts[0] - 0x1100) * 21 + parts[1] - 0x1161) * 28 + tail))
}
