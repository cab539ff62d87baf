/// The line that says which keys do what. Hints that do not fit are dropped from the right.
public struct KeyHints: Widget {
  /// One key and what it does.
  public struct Hint: Sendable, Hashable {
    /// The key, as it is written on keyboards.
    public var key: String
    /// What it does, in a word.
    public var label: String

    /// Makes a hint.
    public init(_ key: String, _ label: String) {
      self.key = key
      self.label = label
    }
  }

  /// The hints, most important first.
  public var hints: [Hint]
  /// What stands at the right, as long as it leaves room for the first hint.
  public var note: StyledText

  /// Makes a line of hints.
  public init(_ hints: [Hint], note: StyledText = "") {
    self.hints = hints
    self.note = note
  }

  /// The cells of the hints that fit, most important first.
  public func places(in area: Rect, _ glyphs: GlyphSet = .unicode) -> [Rect] {
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

  /// Draws the line in the first row.
  public func draw(on grid: inout Grid, in area: Rect) {
    let line = area.row(0)
    grid.fill(line, Style(.keyLabel))
    for (text, place) in zip(texts, places(in: area, grid.glyphs)) { grid.put(text, in: place) }
    if showsNote(in: line, grid.glyphs) { grid.put(note, in: line, .trailing) }
  }
}
