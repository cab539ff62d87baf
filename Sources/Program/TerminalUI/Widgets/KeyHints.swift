/// The line that says which keys do what. Hints that do not fit are dropped from the right.
package struct KeyHints: Widget {
  package struct Hint: Sendable, Hashable {
    /// The key, as it is written on keyboards.
    package var key: String
    /// What it does, in a word.
    package var label: String

    package init(_ key: String, _ label: String) { (self.key, self.label) = (key, label) }
  }

  /// The hints, most important first.
  package var hints: [Hint]
  /// What stands at the right, as long as it leaves room for the first hint.
  package var note: StyledText

  package init(_ hints: [Hint], note: StyledText = "") { (self.hints, self.note) = (hints, note) }

  /// The cells of the hints that fit, most important first.
  package func places(in area: Rect, _ glyphs: GlyphSet = .unicode) -> [Rect] {
    let line = area.row(0)
    let end = showsNote(in: line, glyphs) ? line.maxX - note.cells(in: glyphs) - 2 : line.maxX
    var places: [Rect] = []
    var x = line.x
    for text in texts {
      let width = text.cells(in: glyphs)
      guard x + width <= end else { break }
      places.append(Rect(x: x, y: line.y, width: width, height: 1))
      x += width + 2
    }
    return places
  }

  private var texts: [StyledText] { hints.map { [.init($0.key, .key), .init(" \($0.label)", .keyLabel)] } }

  private func showsNote(in line: Rect, _ glyphs: GlyphSet) -> Bool {
    let (noteWidth, firstWidth) = (note.cells(in: glyphs), texts.first?.cells(in: glyphs) ?? 0)
    return noteWidth > 0 && firstWidth + 2 + noteWidth <= line.width
  }

  package func draw(on grid: inout Grid, in area: Rect) {
    let line = area.row(0)
    grid.fill(line, Style(.keyLabel))
    for (text, place) in zip(texts, places(in: area, grid.glyphs)) { grid.put(text, in: place) }
    if showsNote(in: line, grid.glyphs) { grid.put(note, in: line, .trailing) }
  }
}
