/// Lines of text, wrapped to the width, that can be scrolled.
package struct TextView: Widget {
  /// The lines; line feeds in them begin new ones.
  package var lines: [StyledText]
  /// The first wrapped row to show.
  package var offset: Int

  package init(_ lines: [StyledText], offset: Int = 0) { (self.lines, self.offset) = (lines, offset) }

  /// The number of rows that the wrapped lines take in an area, visible or not.
  package func rows(in area: Rect, _ glyphs: GlyphSet = .unicode) -> Int { layout(area, glyphs).rows.count }

  /// Draws the visible rows, and a scroll bar if there are more.
  package func draw(on grid: inout Grid, in area: Rect) {
    let (rows, hasBar) = layout(area, grid.glyphs)
    let first = max(0, min(offset, rows.count - area.height))
    for (y, row) in rows.dropFirst(first).prefix(area.height).enumerated() { grid.put(row, in: area.row(y)) }
    guard hasBar else { return }
    let track = Rect(x: area.maxX - 1, y: area.y, width: 1, height: area.height)
    ScrollBar(offset: first, total: rows.count).draw(on: &grid, in: track)
  }

  private func layout(_ area: Rect, _ glyphs: GlyphSet) -> (rows: [StyledText], hasBar: Bool) {
    let rows = lines.flatMap { wrap($0, to: area.width, glyphs) }
    guard rows.count > area.height, area.width > 2 else { return (rows, false) }
    return (lines.flatMap { wrap($0, to: area.width - 1, glyphs) }, true)
  }
}
