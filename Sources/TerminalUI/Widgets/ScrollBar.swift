/// Shows which part of a list is visible.
public struct ScrollBar: Widget {
  /// The first visible line.
  public var offset: Int
  /// How many lines there are.
  public var total: Int

  /// Makes a bar; the height that it is drawn in is the number of visible lines.
  public init(offset: Int, total: Int) {
    self.offset = offset
    self.total = total
  }

  /// Draws the bar in the leftmost column.
  public func draw(on grid: inout Grid, in area: Rect) {
    let track = Rect(x: area.x, y: area.y, width: 1, height: area.height)
    grid.fill(track, Style(.progressTrack), with: "│")
    guard total > 0, track.height > 0 else { return }
    let length = max(1, min(track.height, track.height * track.height / total))
    let last = max(1, total - track.height)
    let start = (track.height - length) * min(max(0, offset), last) / last
    grid.fill(Rect(x: track.x, y: track.y + start, width: 1, height: length), Style(.border), with: "█")
  }
}
