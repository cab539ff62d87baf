/// A rectangle of cells that views draw on. Whatever does not fit is silently left out.
package struct Grid: Sendable, Hashable {
  package let size: Size
  /// The characters that may be put on the grid.
  package let glyphs: GlyphSet
  private var cells: [Cell]

  package init(_ size: Size, glyphs: GlyphSet = .unicode) {
    (self.size, self.glyphs) = (size, glyphs)
    cells = Array(repeating: .blank, count: size.width * size.height)
  }

  package var bounds: Rect { Rect(size) }

  /// The cell at a position, or nil outside of the grid.
  package subscript(_ position: Position) -> Cell? {
    bounds.contains(position) ? cells[index(position)] : nil
  }

  /// One row of cells; empty when there is no such row.
  package func row(_ y: Int) -> ArraySlice<Cell> {
    guard (0..<size.height).contains(y) else { return [] }
    return cells[y * size.width..<(y + 1) * size.width]
  }

  /// Puts text on one row, clipped to `area` if given and to the grid. Returns the column after the text.
  ///
  /// The text may be hostile: it is made safe on its way.
  @discardableResult
  package mutating func put(_ text: String, at position: Position, _ style: Style = .text, in area: Rect? = nil) -> Int
  {
    let area = area?.intersection(bounds) ?? bounds
    guard (area.y..<area.maxY).contains(position.y) else { return position.x }
    var x = position.x
    for glyph in TerminalUI.glyphs(in: text, glyphs) {
      guard x < area.maxX else { break }
      set(glyph, at: Position(x: x, y: position.y), style.of(glyph), in: area)
      x += glyph.columns
    }
    return x
  }

  /// Puts a line of styled text in a rectangle's first row, clipped with an ellipsis and aligned.
  package mutating func put(_ line: StyledText, in area: Rect, _ alignment: Alignment = .leading) {
    guard !area.isEmpty else { return }
    let clipped = line.clipped(to: area.width, glyphs)
    var x = area.x + alignment.offset(area.width - clipped.cells(in: glyphs))
    for span in clipped.spans { x = put(span.text, at: Position(x: x, y: area.y), span.style, in: area) }
  }

  /// Fills a rectangle with one character.
  package mutating func fill(_ area: Rect, _ style: Style = .text, with character: Character = " ") {
    let area = area.intersection(bounds)
    guard !area.isEmpty else { return }
    let glyph = TerminalUI.glyphs(in: String(character), glyphs).first { $0.columns == 1 } ?? Glyph(" ")
    for y in area.y..<area.maxY {
      for x in area.x..<area.maxX { set(glyph, at: Position(x: x, y: y), style, in: area) }
    }
  }

  /// Makes everything in a rectangle look like text that matters less.
  package mutating func dim(_ area: Rect) {
    let area = area.intersection(bounds)
    for y in area.y..<area.maxY {
      for x in area.x..<area.maxX {
        let index = index(Position(x: x, y: y))
        cells[index] = Cell(cells[index].character, columns: Int(cells[index].columns), style: Style(.dim))
      }
    }
  }

  private func index(_ position: Position) -> Int {
    position.y * size.width + position.x
  }

  private mutating func set(_ glyph: Glyph, at position: Position, _ style: Style, in area: Rect) {
    guard area.contains(position) else {
      // The right half of a wide character whose left half is cut off is shown as a blank.
      let right = Position(x: position.x + 1, y: position.y)
      if glyph.columns == 2, area.contains(right) { set(Glyph(" "), at: right, style, in: area) }
      return
    }
    let fits = glyph.columns == 1 || position.x + 1 < area.maxX
    splitWide(at: index(position))
    guard fits, glyph.columns == 2 else {
      cells[index(position)] = Cell(fits ? glyph.character : " ", style: style)
      return
    }
    splitWide(at: index(position) + 1)
    cells[index(position)] = Cell(glyph.character, columns: 2, style: style)
    cells[index(position) + 1] = .rightHalf(style)
  }

  /// Half a wide character cannot be shown: blanks what would be left of the one that `index` belongs to.
  private mutating func splitWide(at index: Int) {
    switch cells[index].columns {
    case 0: cells[index - 1] = Cell(" ", style: cells[index - 1].style)
    case 2: cells[index + 1] = Cell(" ", style: cells[index + 1].style)
    default: break
    }
  }
}
