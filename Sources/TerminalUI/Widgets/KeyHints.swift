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

  /// Draws the line in the first row.
  public func draw(on grid: inout Grid, in area: Rect) {
    let line = area.row(0)
    grid.fill(line, Style(.keyLabel))
    let texts = hints.map { hint -> StyledText in [.init(hint.key, .key), .init(" \(hint.label)", .keyLabel)] }
    let noteWidth = note.cells(in: grid.glyphs)
    let firstWidth = texts.first?.cells(in: grid.glyphs) ?? 0
    let showsNote = noteWidth > 0 && firstWidth + 2 + noteWidth <= line.width
    let end = showsNote ? line.maxX - noteWidth - 2 : line.maxX
    var x = line.x
    for text in texts {
      let width = text.cells(in: grid.glyphs)
      guard x + width <= end else { break }
      grid.put(text, in: Rect(x: x, y: line.y, width: width, height: 1))
      x += width + 2
    }
    if showsNote { grid.put(note, in: line, .trailing) }
  }
}
