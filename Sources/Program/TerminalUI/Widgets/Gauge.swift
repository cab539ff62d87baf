/// A bar that fills up from the left, with an optional label behind it.
package struct Gauge: Widget {
  /// How much is done, from 0 to 1. Anything else, including what is no number, counts as the nearest of the two.
  package var fraction: Double
  /// What stands behind the bar, such as `12 of 40`.
  package var label: StyledText

  package init(_ fraction: Double, label: StyledText = "") { (self.fraction, self.label) = (fraction, label) }

  /// The share of a number that is done, such as that of the cells of a bar.
  package static func share(_ fraction: Double, of count: Int) -> Int {
    // 23 of 40 is a little less as a fraction.
    fraction.isNaN ? 0 : Int(min(1, max(0, fraction)) * Double(count) + 1e-9)
  }

  package func draw(on grid: inout Grid, in area: Rect) {
    let labelWidth = label.cells(in: grid.glyphs)
    let hasRoom = labelWidth > 0 && area.width > labelWidth + 4
    let line = area.row(0)
    let bar = Rect(x: line.x, y: line.y, width: line.width - (hasRoom ? labelWidth + 1 : 0), height: line.height)
    let eighths = Self.share(fraction, of: bar.width * 8)
    // Shapes differ besides colours, so that a bar can be read on every terminal.
    grid.fill(bar, Style(.progressTrack), with: "░")
    grid.fill(Rect(x: bar.x, y: bar.y, width: eighths / 8, height: bar.height), Style(.progress), with: "█")
    if eighths % 8 > 0, grid.glyphs == .unicode {
      let part = Array("▏▎▍▌▋▊▉")[eighths % 8 - 1]
      grid.put(String(part), at: Position(x: bar.x + eighths / 8, y: bar.y), Style(.progress), in: bar)
    }
    if hasRoom { grid.put(label, in: area.row(0), .trailing) }
  }
}
