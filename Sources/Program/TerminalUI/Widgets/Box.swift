/// A frame with a title at its left and a note at its right.
package struct Box: Widget {
  /// What the frame holds. Ordinary text in it gets the role of a title.
  package var title: StyledText
  /// A short remark, such as a count, or tabs.
  package var note: StyledText
  /// Whether the keyboard acts on what the frame holds.
  package var isFocused: Bool
  /// The role on whose ground the frame is drawn; nil for the screen's own.
  package var ground: StyleRole?

  package init(title: StyledText, note: StyledText = "", isFocused: Bool = false, ground: StyleRole? = nil) {
    (self.title, self.note, self.isFocused, self.ground) = (title, note, isFocused, ground)
  }

  /// The cells inside of a frame.
  package static func inside(_ area: Rect) -> Rect { area.inset() }

  /// The cells of the frame's top that a note may take. A longer note is left out.
  package func noteArea(in area: Rect, _ glyphs: GlyphSet = .unicode) -> Rect {
    let used = title.plain.isEmpty ? 0 : styledTitle(area.width - 4, glyphs).cells(in: glyphs) + 1
    return Rect(x: area.x + 3 + used, y: area.y, width: area.width - 6 - used, height: min(1, area.height))
  }

  /// The cells where the note is drawn; empty if it is left out.
  package func notePlace(in area: Rect, _ glyphs: GlyphSet = .unicode) -> Rect {
    let width = note.cells(in: glyphs)
    guard width <= noteArea(in: area, glyphs).width else { return Rect(x: area.x, y: area.y, width: 0, height: 0) }
    return Rect(x: area.maxX - 3 - width, y: area.y, width: width, height: min(1, area.height))
  }

  /// Draws the frame; what is inside stays as it is.
  package func draw(on grid: inout Grid, in area: Rect) {
    drawFrame(on: &grid, in: area, Style(isFocused ? .borderFocused : .border, on: ground))
    let top = Rect(x: area.x + 2, y: area.y, width: area.width - 4, height: min(1, area.height))
    if !title.plain.isEmpty { put(styledTitle(top.width, grid.glyphs), on: &grid, in: top, .leading) }
    guard !note.plain.isEmpty, note.cells(in: grid.glyphs) <= noteArea(in: area, grid.glyphs).width else { return }
    put(" " + note + " ", on: &grid, in: top, .trailing)
  }

  /// The title with a blank or the mark of the focus on its left, which tells the focus apart without colours, too.
  private func styledTitle(_ width: Int, _ glyphs: GlyphSet) -> StyledText {
    let role: StyleRole = isFocused ? .titleFocused : .title
    let marked: StyledText = StyledText(isFocused ? "▸" : " ") + title + " "
    return marked.castingText(to: role).clipped(to: width, glyphs)
  }

  private func put(_ text: StyledText, on grid: inout Grid, in area: Rect, _ alignment: Alignment) {
    grid.put(ground.map(text.on) ?? text, in: area, alignment)
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
      (area.x, area.y, "╭"), (right, area.y, "╮"), (area.x, bottom, "╰"), (right, bottom, "╯"),
    ] {
      grid.put(corner, at: Position(x: x, y: y), style, in: area)
    }
  }
}
