/// A small history of numbers, the newest at the right.
public struct Sparkline: Widget {
  /// The numbers, oldest first. Only the newest ones that fit are drawn.
  public var values: [Double]
  /// The number that fills a cell; nil for the largest visible one.
  public var ceiling: Double?
  /// The role of the bars.
  public var role: StyleRole

  /// Makes a history.
  public init(_ values: [Double], ceiling: Double? = nil, role: StyleRole = .sparkline) {
    self.values = values
    self.ceiling = ceiling
    self.role = role
  }

  /// Draws the history in the first row.
  public func draw(on grid: inout Grid, in area: Rect) {
    guard !area.isEmpty else { return }
    let visible = values.suffix(area.width).map { $0.isFinite ? max(0, $0) : 0 }
    let top = ceiling ?? visible.max() ?? 0
    let bars = grid.glyphs == .unicode ? Array("▁▂▃▄▅▆▇█") : Array("_.-=+*%#")
    let text = visible.map { value -> Character in
      // Nothing at all and a little must not look alike.
      guard value > 0, top > 0 else { return " " }
      return bars[min(7, Int(value / top * 8))]
    }
    let x = area.maxX - text.count
    grid.put(String(text), at: Position(x: x, y: area.y), Style(role), in: area)
  }
}
