/// A history of numbers in one row, two to a cell, the newest at the right.
package struct Chart: Widget {
  /// The numbers, oldest first. Only the newest ones that fit are drawn.
  package var values: [Double]

  /// Makes a chart, whose largest visible number fills the row's height.
  package init(_ values: [Double]) { self.values = values }

  /// Draws the chart in the first row. Nothing is drawn left of the oldest number.
  package func draw(on grid: inout Grid, in area: Rect) {
    guard !area.isEmpty else { return }
    let visible = values.suffix(2 * area.width).map { $0.isFinite ? max(0, $0) : 0 }
    let top = visible.max() ?? 0
    let levels = grid.glyphs == .unicode ? 3 : 7
    var heights = visible.map { value -> Int? in
      // Nothing at all and a little must not look alike.
      value > 0 ? 1 + min(levels - 1, Int(value / top * Double(levels))) : 0
    }
    if !heights.count.isMultiple(of: 2) { heights.insert(nil, at: 0) }
    let cells = stride(from: 0, to: heights.count, by: 2).map { index in
      grid.glyphs == .unicode
        ? Self.braille(heights[index], heights[index + 1])
        // One column has to stand for both numbers.
        : Self.ascii[max(heights[index] ?? 0, heights[index + 1] ?? 0)]
    }
    grid.put(String(cells), at: Position(x: area.maxX - cells.count, y: area.y), Style(.sparkline), in: area)
  }

  private static let ascii = Array("_.-=+*%#")
  /// The dots of a column from the bottom up, as bits of a braille character.
  private static let left: [UInt32] = [0x40, 0x44, 0x46, 0x47]
  private static let right: [UInt32] = [0x80, 0xA0, 0xB0, 0xB8]

  /// Two columns of 1 to 4 dots, or of none where there is no number.
  private static func braille(_ first: Int?, _ second: Int?) -> Character {
    let dots = (first.map { left[$0] } ?? 0) | (second.map { right[$0] } ?? 0)
    return Unicode.Scalar(0x2800 + dots).map { Character($0) } ?? " "
  }
}
