import Foundation
import TerminalUI

/// A grid as a terminal shows it, as an SVG image.
struct Picture {
  let grid: Grid
  let palette: Palette

  // A monospaced font of 14 pixels; rows that touch, so that frames have no gaps.
  private static let (cellWidth, cellHeight, baseline) = (8.4, 16.0, 12.5)

  init(_ grid: Grid, _ theme: Theme) {
    self.grid = grid
    palette = Palette(theme, depth: .direct)
  }

  var svg: String {
    let (width, height) = (Double(grid.size.width) * Self.cellWidth, Double(grid.size.height) * Self.cellHeight)
    let ground = look(.text).ground
    let head = """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(number(width)) \(number(height))" \
      font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14" xml:space="preserve">
      <rect width="100%" height="100%" fill="\(ground)"/>
      """
    let grounds = runs { self.look($0.style).ground }.filter { look($0.style).ground != ground }.map(rectangle)
    let texts = runs { Group(style: $0.style, isASCII: $0.character.isASCII) }.compactMap(text)
    return ([head] + grounds + texts + ["</svg>"]).joined(separator: "\n") + "\n"
  }

  // MARK: - Runs

  /// Neighbouring cells of one row.
  private struct Run {
    let x: Int
    let y: Int
    let style: Style
    let text: String
    let columns: Int
  }

  /// Characters of other fonts have other widths, so they are placed apart from ASCII.
  private struct Group: Hashable {
    let style: Style
    let isASCII: Bool
  }

  /// The runs of cells with equal keys.
  private func runs<Key: Equatable>(by key: (Cell) -> Key) -> [Run] {
    (0..<grid.size.height).flatMap { y in
      var runs: [Run] = []
      var rest = grid.row(y)
      while let first = rest.first {
        // The right half of a wide character belongs to the left one.
        let run = rest.prefix { $0.columns == 0 || key($0) == key(first) }
        let x = rest.startIndex - grid.row(y).startIndex
        let text = String(run.filter { $0.columns > 0 }.map(\.character))
        runs.append(Run(x: x, y: y, style: first.style, text: text, columns: run.count))
        rest = rest[run.endIndex...]
      }
      return runs
    }
  }

  // MARK: - Elements

  private func look(_ style: Style) -> (ink: String, ground: String, attributes: Attributes) {
    let entry = palette[style]
    func color(_ number: Int) -> String { String(format: "#%06x", number) }
    let (ink, ground) = (color(entry.foreground), color(entry.background))
    return entry.attributes.contains(.reverse) ? (ground, ink, entry.attributes) : (ink, ground, entry.attributes)
  }

  private func rectangle(_ run: Run) -> String {
    let place = "x=\"\(left(run.x))\" y=\"\(number(Double(run.y) * Self.cellHeight))\""
    let size = "width=\"\(left(run.columns))\" height=\"\(number(Self.cellHeight))\""
    return "<rect \(place) \(size) fill=\"\(look(run.style).ground)\"/>"
  }

  /// The text of a run without the blanks around it; nil for blanks alone.
  private func text(_ run: Run) -> String? {
    let blanks = run.text.prefix { $0 == " " }.count
    let text = run.text.trimmingCharacters(in: CharacterSet(charactersIn: " "))
    guard !text.isEmpty else { return nil }
    let columns = run.columns - (run.text.count - text.count)
    let look = look(run.style)
    var element = "<text x=\"\(left(run.x + blanks))\" y=\"\(number(Double(run.y) * Self.cellHeight + Self.baseline))\""
    element += " textLength=\"\(left(columns))\" fill=\"\(look.ink)\""
    if !text.allSatisfy(\.isASCII) { element += " lengthAdjust=\"spacingAndGlyphs\"" }
    if look.attributes.contains(.bold) { element += " font-weight=\"bold\"" }
    if look.attributes.contains(.underline) { element += " text-decoration=\"underline\"" }
    if look.attributes.contains(.dim) { element += " fill-opacity=\"0.6\"" }
    let escaped = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
    return element + ">\(escaped)</text>"
  }

  private func left(_ column: Int) -> String { number(Double(column) * Self.cellWidth) }

  /// The shortest form with at most one decimal place.
  private func number(_ value: Double) -> String {
    let tenths = Int((value * 10).rounded())
    return tenths % 10 == 0 ? String(tenths / 10) : "\(tenths / 10).\(tenths % 10)"
  }
}
