/// A frame with a title at its left and a note at its right.
public struct Box: Widget {
  /// What the frame holds.
  public var title: String
  /// A short remark, such as a count.
  public var note: StyledText
  /// Whether the keyboard acts on what the frame holds.
  public var isFocused: Bool
  /// The role on whose ground the frame is drawn; nil for the screen's own.
  public var ground: StyleRole?

  /// Makes a frame.
  public init(title: String, note: StyledText = "", isFocused: Bool = false, ground: StyleRole? = nil) {
    self.title = title
    self.note = note
    self.isFocused = isFocused
    self.ground = ground
  }

  /// The cells inside of a frame.
  public static func inside(_ area: Rect) -> Rect { area.inset() }

  /// Draws the frame; what is inside stays as it is.
  public func draw(on grid: inout Grid, in area: Rect) {
    drawFrame(on: &grid, in: area, Style(isFocused ? .borderFocused : .border, on: ground))
    let room = area.width - 4
    guard room > 0 else { return }
    // Titles tell the focus apart without colours, too.
    let mark = isFocused ? "▶ " : ""
    let title = StyledText(" \(mark)\(self.title) ", isFocused ? .titleFocused : .title).clipped(to: room, grid.glyphs)
    let top = Rect(x: area.x + 2, y: area.y, width: room, height: 1)
    if !self.title.isEmpty { grid.put(ground.map(title.on) ?? title, in: top) }
    let used = self.title.isEmpty ? 0 : title.cells(in: grid.glyphs) + 1
    let noted: StyledText = [.init(" ")] + note + [.init(" ")]
    if !note.plain.isEmpty, noted.cells(in: grid.glyphs) <= room - used {
      grid.put(ground.map(noted.on) ?? noted, in: top, .trailing)
    }
  }

  private func drawFrame(on grid: inout Grid, in area: Rect, _ style: Style) {
    guard !area.isEmpty else { return }
    let (right, bottom) = (area.maxX - 1, area.maxY - 1)
    grid.fill(Rect(x: area.x, y: area.y, width: area.width, height: 1), style, with: "─")
    grid.fill(Rect(x: area.x, y: bottom, width: area.width, height: 1), style, with: "─")
    grid.fill(Rect(x: area.x, y: area.y + 1, width: 1, height: area.height - 2), style, with: "│")
    grid.fill(Rect(x: right, y: area.y + 1, width: 1, height: area.height - 2), style, with: "│")
    guard area.width > 1, area.height > 1 else { return }
    for (x, y, corner) in [
      (area.x, area.y, "┌"), (right, area.y, "┐"), (area.x, bottom, "└"), (right, bottom, "┘"),
    ] {
      grid.put(corner, at: Position(x: x, y: y), style, in: area)
    }
  }
}
