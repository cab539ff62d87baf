/// Text over several lines, broken at blanks, that can be scrolled.
public struct Paragraph: Widget {
  /// The text; line feeds begin new lines.
  public var text: String
  /// How it looks.
  public var style: Style
  /// The first line to show.
  public var offset: Int

  /// Makes a text.
  public init(_ text: String, style: Style = .text, offset: Int = 0) {
    self.text = text
    self.style = style
    self.offset = offset
  }

  /// How many lines the text takes at this width.
  public func height(at width: Int, _ glyphs: GlyphSet = .unicode) -> Int {
    wrap(text, to: width, glyphs).count
  }

  /// Draws the visible lines, and a scroll bar if there are more.
  public func draw(on grid: inout Grid, in area: Rect) {
    var lines = wrap(text, to: area.width, grid.glyphs)
    let hasBar = lines.count > area.height && area.width > 2
    if hasBar { lines = wrap(text, to: area.width - 1, grid.glyphs) }
    let first = max(0, min(offset, lines.count - area.height))
    for (y, line) in lines.dropFirst(first).prefix(area.height).enumerated() {
      grid.put(line, at: Position(x: area.x, y: area.y + y), style, in: area)
    }
    guard hasBar else { return }
    let track = Rect(x: area.maxX - 1, y: area.y, width: 1, height: area.height)
    ScrollBar(offset: first, total: lines.count).draw(on: &grid, in: track)
  }
}
