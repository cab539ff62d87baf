/// A question or message in the middle of the screen, with the keys that answer it.
package struct Dialog: Widget {
  package var title: StyledText
  /// What it says; it is wrapped.
  package var message: StyledText
  /// The answers, the safest first.
  package var keys: [KeyHints.Hint]
  /// The answer that Enter gives, shown in brackets. It should be the safe one.
  package var defaultKey: Int?
  /// The widest that the dialog gets.
  package var width: Int

  package init(
    title: StyledText,
    message: StyledText,
    keys: [KeyHints.Hint],
    defaultKey: Int? = nil,
    width: Int = 60
  ) {
    (self.title, self.message, self.keys, self.defaultKey) = (title, message, keys, defaultKey)
    self.width = width
  }

  /// Where the dialog lies when it is drawn in `area`.
  package func frame(in area: Rect, _ glyphs: GlyphSet = .unicode) -> Rect {
    let columns = min(width, area.width)
    let lines = wrap(message, to: columns - 4, glyphs).count
    return area.centred(Size(width: columns, height: lines + 4))
  }

  /// Draws the dialog over whatever is there.
  package func draw(on grid: inout Grid, in area: Rect) {
    let frame = frame(in: area, grid.glyphs)
    grid.fill(frame, Style(.dialog))
    Box(title: title, isFocused: true, ground: .dialog).draw(on: &grid, in: frame)
    let inside = frame.inset(horizontally: 2, vertically: 1)
    let text = Rect(x: inside.x, y: inside.y, width: inside.width, height: inside.height - 2)
    grid.draw(TextView([message.castingText(to: .dialog).on(.dialog)]), in: text)
    let line = keyTexts.reduce(StyledText([])) { $0.spans.isEmpty ? $1 : $0 + " " + $1 }
    grid.put(line.on(.dialog), in: inside.row(inside.height - 1), .centre)
  }

  /// The cells of the answers when the dialog is drawn in `area`.
  package func keyPlaces(in area: Rect, _ glyphs: GlyphSet = .unicode) -> [Rect] {
    let inside = frame(in: area, glyphs).inset(horizontally: 2, vertically: 1)
    let widths = keyTexts.map { $0.cells(in: glyphs) }
    var x = inside.x + max(0, inside.width - widths.reduce(widths.count - 1, +)) / 2
    return widths.map { width in
      defer { x += width + 1 }
      return Rect(x: x, y: inside.maxY - 1, width: max(0, min(width, inside.maxX - x)), height: 1)
    }
  }

  private var keyTexts: [StyledText] {
    keys.enumerated().map { index, hint -> StyledText in
      let isDefault = index == defaultKey
      return [
        .init(isDefault ? "[" : " ", .key), .init(hint.key, .key),
        .init(" \(hint.label)", isDefault ? .strong : .dialog), .init(isDefault ? "]" : " ", .key),
      ]
    }
  }
}
