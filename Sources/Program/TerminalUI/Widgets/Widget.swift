/// Something that can be drawn. Drawing is pure: the same widget on the same grid gives the same cells.
package protocol Widget: Sendable {
  /// Draws onto the grid inside `area`; whatever does not fit is left out.
  func draw(on grid: inout Grid, in area: Rect)
}

extension Grid {
  package mutating func draw(_ widget: some Widget, in area: Rect) {
    guard !area.intersection(bounds).isEmpty else { return }
    widget.draw(on: &self, in: area)
  }
}
