import CNcurses
import TerminalUI

/// Rows of cells as ncurses takes them.
extension TerminalScreen {
  func put(_ row: ArraySlice<Cell>, at y: Int, _ palette: Palette) {
    cknc_erase(Int32(y))
    let ground = palette[.text].background
    // A grid of another size than the terminal is cut or padded.
    var rest = row.prefix(size.width)
    // ncurses writes the last cell of the screen by inserting what stands before it, which parts marks from their letter.
    if y == size.height - 1, rest.count == size.width, let corner = rest.last(where: { $0.columns > 0 }) {
      rest = rest.dropLast(Int(corner.columns)) + [corner.withoutMarks] + rest.suffix(Int(corner.columns) - 1)
    }
    var x = 0
    while let first = rest.first {
      let run = rest.prefix { $0.style == first.style && $0.isBlank == first.isBlank }
      let look = first.isBlank ? palette.blank(first.style) : palette[first.style]
      let isErased = first.isBlank && look.background == ground && look.attributes.isEmpty
      if !isErased { put(run, at: Position(x: x, y: y), look) }
      x += run.count
      rest = rest.dropFirst(run.count)
    }
  }

  private func put(_ run: ArraySlice<Cell>, at position: Position, _ look: Palette.Entry) {
    let text = codePoints(of: run)
    cknc_put(
      Int32(position.y),
      Int32(position.x),
      text,
      Int32(text.count),
      Int32(look.foreground),
      Int32(look.background),
      Int32(look.attributes.rawValue)
    )
  }

  private func codePoints(of run: ArraySlice<Cell>) -> [UInt32] {
    var result: [UInt32] = []
    for cell in run where cell.columns > 0 {
      result += glyphs.shown(cell.character).unicodeScalars.lazy.map(\.value)
      if glyphs == .ascii, cell.columns == 2 { result.append(0x20) }
    }
    return result
  }
}
