/// Where a text stands in a space that is wider than it.
package enum Alignment: Sendable, Hashable {
  case leading, centre, trailing
}

/// The text cut to at most `columns` cells, safe to show; a cut is marked by an ellipsis.
package func clip(_ text: String, to columns: Int, _ set: GlyphSet = .unicode) -> String {
  String(clip(glyphs(in: text, set), to: columns, set).map(\.character))
}

/// The text with an ellipsis in place of words in its middle, so that a cut to `columns` cells keeps what tells it from
/// others: the first word that differs, or where no other begins like it, its first name in quotes.
package func elide(_ text: String, to columns: Int, besides others: Set<String>, _ set: GlyphSet = .unicode) -> String {
  guard columns >= 12, cells(text, in: set) > columns else { return text }
  let (bytes, blank) = (Array(text.utf8), UInt8(ascii: " "))
  func before(_ place: Int) -> String { String(decoding: bytes[..<place], as: UTF8.self) }
  /// Whether a cut at the end keeps the place, with some cells after it.
  func isKept(_ place: Int) -> Bool { cells(before(place), in: set) + 6 < columns }
  let alike = others.filter { $0 != text }.map { zip(bytes, $0.utf8).prefix { $0 == $1 }.count }.max() ?? 0
  var start: Int
  if isKept(alike) {
    let quote = bytes.indices.first { bytes[$0] == UInt8(ascii: "'") && ($0 == 0 || bytes[$0 - 1] == blank) }
    let isUnlike = alike <= (bytes.firstIndex(of: blank) ?? 0)
    start = isUnlike ? quote ?? 0 : 0
  } else {
    start = (bytes[..<alike].lastIndex(of: blank) ?? -1) + 1
    if isKept(start) {
      start = alike
      // Not in the middle of a character.
      while start > 0, start < bytes.count, bytes[start] & 0xC0 == 0x80 { start -= 1 }
    }
  }
  guard !isKept(start) else { return text }
  let tail = String(decoding: bytes[start...], as: UTF8.self)
  let room = max(columns / 3, columns - 1 - cells(tail, in: set))
  var head = ""
  for word in before(start).split(separator: " ") {
    let longer = head.isEmpty ? String(word) : "\(head) \(word)"
    guard cells(longer, in: set) <= room else { break }
    head = longer
  }
  return (head.isEmpty ? clip(text, to: room + 1, set) : head + String(set.ellipsis)) + tail
}

extension Alignment {
  /// How many of the free cells stand before the text.
  func offset(_ free: Int) -> Int {
    switch self {
    case .leading: 0
    case .centre: max(0, free) / 2
    case .trailing: max(0, free)
    }
  }
}

func clip(_ glyphs: [Glyph], to columns: Int, _ set: GlyphSet) -> [Glyph] {
  let total = glyphs.reduce(0) { $0 + $1.columns }
  guard total > columns else { return glyphs }
  guard columns > 0 else { return [] }
  var used = 0
  let kept = glyphs.prefix { glyph in
    used += glyph.columns
    return used < columns
  }
  return kept + [Glyph(set.ellipsis)]
}

extension StyledText {
  /// The line cut to at most `columns` cells; a cut is marked by an ellipsis.
  package func clipped(to columns: Int, _ set: GlyphSet = .unicode) -> StyledText {
    guard cells(in: set) > columns else { return self }
    var left = columns
    var result: [Span] = []
    for span in spans where left > 0 {
      let taken = TerminalUI.cells(span.text, in: set)
      // The last span that fits may fill the line to its end, but then nothing of the next one shows the cut.
      if taken < left {
        result.append(span)
      } else {
        result.append(Span(clip(span.text + "  ", to: left, set), style: span.style))
      }
      left -= taken
    }
    return StyledText(result)
  }
}
