import Foundation
import TerminalUI
import Testing

/// Many frames as one text that a reviewer can read: of each the lines outside of its panes, then the lines of its panes.
///
/// A pane that an earlier frame shows with the same lines is not repeated. Text whose colour names a state is marked with
/// that state: `{error 1 failed}`. Blank lines are left out. All other styles are in the snapshots of whole frames.
struct FrameTable {
  private static let states: Set<StyleRole> = [.ok, .info, .pending, .active, .warning, .error, .conflict]

  private(set) var text = ""
  /// The first frame that shows a title with these lines.
  private var origins: [[String]: String] = [:]

  mutating func add(_ name: String, _ grid: Grid) {
    let panes = Self.panes(of: grid)
    let outside = (0..<grid.size.height).filter { y in !panes.contains { ($0.y..<$0.maxY).contains(y) } }
    text += "== \(name)\n" + Self.lines(outside.map { grid.row($0) })

    for pane in panes {
      let rows = (pane.y..<pane.maxY).map { grid.row($0).dropFirst(pane.x + 1).prefix(pane.width - 2) }
      let title = Self.line(rows[0]).split(separator: "─").map { $0.trimmingCharacters(in: .whitespaces) }
      let lines = Self.lines(rows[1..<rows.count - 1])
      let key = [title.joined(separator: " ─ "), lines]
      text += "-- \(key[0]), rows \(pane.y + 1) to \(pane.maxY)"
      if !lines.isEmpty, let origin = origins[key] {
        text += ": as in \(origin)\n"
      } else {
        origins[key] = origins[key] ?? name
        text += "\n" + lines
      }
    }
  }

  /// The rectangles of a grid's boxes, frames included, row by row.
  private static func panes(of grid: Grid) -> [Rect] {
    let columns = 0..<grid.size.width
    let rows = 0..<grid.size.height
    func shows(_ character: Character, _ x: Int, _ y: Int) -> Bool {
      grid[Position(x: x, y: y)]?.character == character
    }
    return rows.flatMap { y in
      columns.filter { shows("╭", $0, y) }.compactMap { x in
        guard let right = columns.first(where: { $0 > x && shows("╮", $0, y) }),
          let bottom = rows.first(where: { $0 > y && shows("╰", x, $0) })
        else { return nil }
        return Rect(x: x, y: y, width: right - x + 1, height: bottom - y + 1)
      }
    }
  }

  /// The lines of rows that are not blank, each with its end.
  private static func lines(_ rows: some Sequence<ArraySlice<Cell>>) -> String {
    rows.map(line).filter { !$0.isEmpty }.map { $0 + "\n" }.joined()
  }

  /// The text of cells without blanks at its end, with states marked.
  private static func line(_ cells: ArraySlice<Cell>) -> String {
    var line = ""
    var state: StyleRole?
    for cell in cells.reversed().drop(while: \.isBlank).reversed() where cell.columns > 0 {
      let next = states.contains(cell.style.role) ? cell.style.role : nil
      if next != state {
        line += (state == nil ? "" : "}") + (next.map { "{\($0.rawValue) " } ?? "")
        state = next
      }
      line.append(cell.character)
    }
    return line + (state == nil ? "" : "}")
  }
}

/// Compares a table of frames with the file of that name in `Screens`; with `RECORD_SNAPSHOTS=1` writes the file instead.
func expectTable(_ table: FrameTable, _ name: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
  try expectFile("Tests/Program/DashboardTests/Screens/\(name).txt", table.text, sourceLocation: sourceLocation)
}
