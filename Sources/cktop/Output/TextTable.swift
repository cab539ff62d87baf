/// A text table: columns aligned by their width on a terminal, control characters made visible.
struct TextTable {
  enum Alignment: Hashable {
    case left, right
  }

  struct Column: Hashable {
    var title: String
    var alignment: Alignment = .left
    /// Whether the column may shrink on a narrow terminal; the widest shrinks first.
    var mayShrink = false
  }

  private let columns: [Column]
  private var rows: [[String]] = []

  init(_ columns: [Column]) { self.columns = columns }

  /// Adds a row with one cell per column.
  mutating func append(_ cells: [String]) {
    precondition(cells.count == columns.count, "A row has a cell for every column.")
    rows.append(cells.map(\.visible))
  }

  /// The lines, titles first. `width` is the terminal's; nil if the output is not a terminal and nothing is cut.
  func lines(width: Int? = nil) -> [String] {
    let all = [columns.map(\.title)] + rows
    let widths = self.widths(all, limit: width)
    return all.map { cells in
      var line = ""
      for (index, cell) in cells.enumerated() {
        if index > 0 { line += "  " }
        let text = cell.cut(toColumns: widths[index])
        let padding = String(repeating: " ", count: widths[index] - text.columns)
        line += columns[index].alignment == .right ? padding + text : text + padding
      }
      return String(line.reversed().drop { $0 == " " }.reversed())
    }
  }

  private func widths(_ rows: [[String]], limit: Int?) -> [Int] {
    var widths = columns.indices.map { column in rows.map { $0[column].columns }.max() ?? 0 }
    guard let limit else { return widths }
    // A cell of fewer than six columns is unreadable.
    let least = 6
    var excess = widths.reduce(0, +) + 2 * max(0, widths.count - 1) - limit
    while excess > 0 {
      let shrinking = columns.indices.filter { columns[$0].mayShrink && widths[$0] > least }
      guard let widest = shrinking.max(by: { widths[$0] < widths[$1] }) else { break }
      widths[widest] -= 1
      excess -= 1
    }
    return widths
  }
}
