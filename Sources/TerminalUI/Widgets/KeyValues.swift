/// A list of names and values, the values all beginning in the same column.
public struct KeyValues: Widget {
  /// One name with its value.
  public struct Pair: Sendable, Hashable {
    /// The name.
    public var key: String
    /// The value.
    public var value: StyledText

    /// Makes a pair.
    public init(_ key: String, _ value: StyledText) {
      self.key = key
      self.value = value
    }
  }

  /// The pairs, from top to bottom.
  public var pairs: [Pair]

  /// Makes a list.
  public init(_ pairs: [Pair]) {
    self.pairs = pairs
  }

  /// Draws the pairs that fit.
  public func draw(on grid: inout Grid, in area: Rect) {
    let widest = pairs.map { cells($0.key, in: grid.glyphs) }.max() ?? 0
    // The names take half of the width at most, because the values are what one looks for.
    let places = area.columns([.fixed(min(widest, area.width / 2)), .flexible], gap: 1)
    for (y, pair) in pairs.prefix(area.height).enumerated() {
      grid.put(StyledText(pair.key, .dim), in: places[0].row(y))
      grid.put(pair.value, in: places[1].row(y))
    }
  }
}
