/// The text broken into lines of at most `columns` cells, at blanks where there are any. Every line is safe to show.
public func wrap(_ text: String, to columns: Int, _ set: GlyphSet = .unicode) -> [String] {
  guard columns > 0 else { return [] }
  return text.split(omittingEmptySubsequences: false, whereSeparator: \.isLineFeed).flatMap { paragraph in
    wrap(glyphs(in: String(paragraph), set), to: columns).map { line in String(line.map(\.character)) }
  }
}

extension Character {
  fileprivate var isLineFeed: Bool { self == "\n" || self == "\r\n" }
}

private func wrap(_ glyphs: [Glyph], to columns: Int) -> [ArraySlice<Glyph>] {
  var lines: [ArraySlice<Glyph>] = []
  var rest = glyphs[...]
  while !rest.isEmpty {
    var used = 0
    let fitting = rest.prefix { glyph in
      used += glyph.columns
      return used <= columns
    }
    guard fitting.count < rest.count else { break }
    guard !fitting.isEmpty else {
      // A wide character in a single column: it cannot be shown, and the text must go on.
      rest = rest.dropFirst()
      continue
    }
    let next = rest[fitting.endIndex]
    let blank = next.character == " " ? fitting.endIndex : fitting.lastIndex { $0.character == " " }
    if let blank, blank > fitting.startIndex {
      lines.append(rest[..<blank])
      rest = rest[(blank + 1)...]
    } else {
      lines.append(fitting)
      rest = rest[fitting.endIndex...]
    }
  }
  return lines + [rest]
}
