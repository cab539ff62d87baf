/// A list of names and values, the values all beginning in the same column.
package struct KeyValues: Widget {
  package struct Pair: Sendable, Hashable {
    package var key: String
    package var value: StyledText

    package init(_ key: String, _ value: StyledText) { (self.key, self.value) = (key, value) }
  }

  package var pairs: [Pair]

  package init(_ pairs: [Pair]) { self.pairs = pairs }

  package func draw(on grid: inout Grid, in area: Rect) {
    let widest = pairs.map { cells($0.key, in: grid.glyphs) }.max() ?? 0
    // The names take half of the width at most, because the values are what one looks for.
    let places = area.columns([.fixed(min(widest, area.width / 2)), .flexible], gap: 1)
    for (y, pair) in pairs.prefix(area.height).enumerated() {
      grid.put(StyledText(pair.key, .dim), in: places[0].row(y))
      grid.put(pair.value, in: places[1].row(y))
    }
  }
}
