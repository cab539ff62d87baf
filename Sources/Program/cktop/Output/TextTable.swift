/// A text table: columns aligned by their width on a terminal, control characters made visible.
struct TextTable {
  /// A column: its title, or one of those below.
  struct Column: Hashable, ExpressibleByStringLiteral {
    let title: String
    let isNumeric: Bool
    let mayShrink: Bool

    init(stringLiteral title: String) { self.init(title) }

    /// A column with its cells at the right.
    static func numbers(_ title: String) -> Column { Column(title, isNumeric: true) }
    /// A column that may shrink on a narrow terminal; the widest shrinks first.
    static func shrinking(_ title: String) -> Column { Column(title, mayShrink: true) }

    private init(_ title: String, isNumeric: Bool = false, mayShrink: Bool = false) {
      (self.title, self.isNumeric, self.mayShrink) = (title, isNumeric, mayShrink)
    }
  }

  private let columns: [Column]
  private var rows: [[String]] = []
  /// The widths of the columns in the lines so far; nil before the first.
  private var widths: [Int]?

  init(_ columns: [Column]) { self.columns = columns }

  /// Adds a row with one cell per column.
  mutating func append(_ cells: [String]) {
    precondition(cells.count == columns.count, "A row has a cell for every column.")
    rows.append(cells.map(\.visible))
  }

  /// The lines of the rows added since the last call, so that a long table is written page by page. The first call
  /// begins with the titles and fixes the widths of the columns that may shrink.
  ///
  /// - Parameter width: the terminal's; nil if the output is not a terminal and nothing is cut.
  mutating func lines(width: Int? = nil) -> [String] {
    let page = (widths == nil ? [columns.map(\.title)] : []) + rows
    rows = []
    let widths = self.widths(of: page, limit: width)
    self.widths = widths
    return page.map { cells in
      var line = ""
      for (index, cell) in cells.enumerated() {
        if index > 0 { line += "  " }
        let text = width == nil ? cell : cell.cut(toColumns: widths[index])
        let padding = String(repeating: " ", count: max(0, widths[index] - text.columns))
        line += columns[index].isNumeric ? padding + text : text + padding
      }
      return String(line.reversed().drop { $0 == " " }.reversed())
    }
  }

  private func widths(of page: [[String]], limit: Int?) -> [Int] {
    let earlier = self.widths
    var widths = columns.indices.map { column in
      if let width = earlier?[column], columns[column].mayShrink { return width }
      return page.reduce(earlier?[column] ?? 0) { max($0, $1[column].columns) }
    }
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
