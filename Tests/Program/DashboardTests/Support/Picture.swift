import Foundation
import TerminalUI

/// Grids as a terminal shows them, as an SVG image: one, or several one after another without end.
struct Picture {
  /// A grid, and for how long it is shown, in tenths of a second.
  struct Moment {
    var grid: Grid
    var tenths = 0
    /// What is done at its end, shown below the grid.
    var caption = ""
  }

  let moments: [Moment]
  let palette: Palette

  // A monospaced font of 14 pixels; rows that touch, so that frames have no gaps.
  private static let (cellWidth, cellHeight, baseline) = (8.4, 16.0, 12.5)

  init(_ grid: Grid, _ theme: Theme) { self.init([Moment(grid: grid)], theme) }

  init(_ moments: [Moment], _ theme: Theme) {
    self.moments = moments
    palette = Palette(theme, depth: .direct)
  }

  var svg: String {
    let size = moments[0].grid.size
    let rows = size.height + (moments.count > 1 ? 2 : 0)
    let (width, height) = (Double(size.width) * Self.cellWidth, Double(rows) * Self.cellHeight)
    let ground = look(.text).ground
    let head = """
      <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(number(width)) \(number(height))" \
      font-family="ui-monospace,Menlo,Consolas,DejaVu Sans Mono,monospace" font-size="14" xml:space="preserve">
      <rect width="100%" height="100%" fill="\(ground)"/>
      """
    let parts = (0..<size.height).flatMap { y in
      timed {
        Array(moments[$0].grid.row(y))
      } elements: {
        self.elements($0, y: y)
      }
    }
    let captions = timed {
      moments[$0].caption
    } elements: {
      self.caption($0, y: size.height + 1)
    }
    return ([head] + parts + captions + ["</svg>"]).joined(separator: "\n") + "\n"
  }

  // MARK: - Moments

  /// The elements of each value, shown only while the value holds.
  private func timed<Value: Equatable>(_ value: (Int) -> Value, elements: (Value) -> [String]) -> [String] {
    var parts: [String] = []
    var begin = 0
    while begin < moments.count {
      let shown = value(begin)
      let end = moments.indices[begin...].first { value($0) != shown } ?? moments.count
      let drawn = elements(shown)
      if !drawn.isEmpty { parts += between(begin, end, drawn) }
      begin = end
    }
    return parts
  }

  /// Elements that are shown from one moment to another; all the time if that is all.
  private func between(_ begin: Int, _ end: Int, _ elements: [String]) -> [String] {
    guard begin > 0 || end < moments.count else { return elements }
    let whole = moments.reduce(0) { $0 + $1.tenths }
    func time(_ index: Int) -> String {
      String(format: "%.4f", Double(moments[..<index].reduce(0) { $0 + $1.tenths }) / Double(whole))
    }
    var (values, times) = (begin == 0 ? ["visible"] : ["hidden", "visible"], begin == 0 ? ["0"] : ["0", time(begin)])
    if end < moments.count { (values, times) = (values + ["hidden"], times + [time(end)]) }
    let animation = """
      <animate attributeName="visibility" values="\(values.joined(separator: ";"))" \
      keyTimes="\(times.joined(separator: ";"))" calcMode="discrete" dur="\(number(Double(whole) / 10))s" \
      repeatCount="indefinite"/>
      """
    // A viewer that does not animate shows the first moment.
    return ["<g\(begin == 0 ? "" : " visibility=\"hidden\"")>"] + [animation] + elements + ["</g>"]
  }

  /// A line below the grid.
  private func caption(_ text: String, y: Int) -> [String] {
    var line = Grid(Size(width: moments[0].grid.size.width, height: 1))
    line.put(StyledText(text, .strong), in: Rect(x: 1, y: 0, width: line.size.width - 1, height: 1))
    return elements(Array(line.row(0)), y: y)
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

  /// The runs of cells of a row with equal keys.
  private func runs<Key: Equatable>(of row: [Cell], y: Int, by key: (Cell) -> Key) -> [Run] {
    var runs: [Run] = []
    var rest = row[...]
    while let first = rest.first {
      // The right half of a wide character belongs to the left one.
      let run = rest.prefix { $0.columns == 0 || key($0) == key(first) }
      let text = String(run.filter { $0.columns > 0 }.map(\.character))
      runs.append(Run(x: rest.startIndex, y: y, style: first.style, text: text, columns: run.count))
      rest = rest[run.endIndex...]
    }
    return runs
  }

  // MARK: - Elements

  private func elements(_ row: [Cell], y: Int) -> [String] {
    let grounds = runs(of: row, y: y) { self.look($0.style).ground }.filter {
      look($0.style).ground != look(.text).ground
    }
    let texts = runs(of: row, y: y) { Group(style: $0.style, isASCII: $0.character.isASCII) }
    return grounds.map(rectangle) + texts.compactMap(text)
  }

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
