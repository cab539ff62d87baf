/// Shows which part of a list is visible.
///
/// The bar has no track: it would cost as many bytes on the line as a column of data.
package struct ScrollBar: Widget {
  package var offset: Int
  package var total: Int

  /// Makes a bar; the height that it is drawn in is the number of visible lines.
  package init(offset: Int, total: Int) { (self.offset, self.total) = (offset, total) }

  /// Draws the bar in the leftmost column.
  package func draw(on grid: inout Grid, in area: Rect) {
    guard total > 0, area.height > 0 else { return }
    let length = max(1, min(area.height, area.height * area.height / total))
    let last = max(1, total - area.height)
    let start = (area.height - length) * min(max(0, offset), last) / last
    grid.fill(Rect(x: area.x, y: area.y + start, width: 1, height: length), Style(.border), with: "█")
  }
}
