/// Where a text stands in a space that is wider than it.
package enum Alignment: Sendable, Hashable {
  case leading, centre, trailing
}

/// The text cut to at most `columns` cells, safe to show; a cut is marked by an ellipsis.
package func clip(_ text: String, to columns: Int, _ set: GlyphSet = .unicode) -> String {
  String(clip(glyphs(in: text, set), to: columns, set).map(\.character))
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
