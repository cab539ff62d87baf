/// The line broken into lines of at most `columns` cells, at blanks where there are any. Its parts keep their styles,
/// and every line is safe to show.
package func wrap(_ line: StyledText, to columns: Int, _ set: GlyphSet = .unicode) -> [StyledText] {
  guard columns > 0 else { return [] }
  var lines: [StyledText] = []
  for paragraph in paragraphs(line) {
    let glyphs = paragraph.flatMap { span in
      TerminalUI.glyphs(in: span.text, set).map { StyledGlyph(glyph: $0, style: span.style.of($0)) }
    }
    var rest = glyphs[...]
    repeat {
      lines.append(StyledText(spans(takeLine(from: &rest, columns))))
    } while !rest.isEmpty
  }
  return lines
}

private struct StyledGlyph {
  var glyph: Glyph
  var style: Style
}

/// The parts between line feeds.
private func paragraphs(_ line: StyledText) -> [[StyledText.Span]] {
  var paragraphs: [[StyledText.Span]] = [[]]
  for span in line.spans {
    let parts = span.text.split(omittingEmptySubsequences: false, whereSeparator: \.isLineFeed)
    for (index, part) in parts.enumerated() {
      if index > 0 { paragraphs.append([]) }
      paragraphs[paragraphs.count - 1].append(StyledText.Span(String(part), style: span.style))
    }
  }
  return paragraphs
}

extension Character {
  fileprivate var isLineFeed: Bool { self == "\n" || self == "\r\n" }
}

/// Takes the glyphs of the next line, and the blank after it.
private func takeLine(from rest: inout ArraySlice<StyledGlyph>, _ columns: Int) -> ArraySlice<StyledGlyph> {
  // A wide character in a single column cannot be shown, and the text must go on.
  rest = rest.drop { $0.glyph.columns > columns }
  var used = 0
  let fitting = rest.prefix { item in
    used += item.glyph.columns
    return used <= columns
  }
  let next = rest[fitting.endIndex...].first
  let blank = next?.isBlank == true ? fitting.endIndex : fitting.lastIndex { $0.isBlank }
  guard next != nil, let blank, blank > fitting.startIndex else {
    rest = rest[fitting.endIndex...]
    return fitting
  }
  defer { rest = rest[(blank + 1)...] }
  return rest[..<blank]
}

extension StyledGlyph {
  fileprivate var isBlank: Bool { glyph.character == " " }
}

/// Neighbours of one style as one part.
private func spans(_ glyphs: ArraySlice<StyledGlyph>) -> [StyledText.Span] {
  var spans: [StyledText.Span] = []
  for item in glyphs {
    if spans.last?.style == item.style {
      spans[spans.count - 1].text.append(item.glyph.character)
    } else {
      spans.append(StyledText.Span(String(item.glyph.character), style: item.style))
    }
  }
  return spans
}
