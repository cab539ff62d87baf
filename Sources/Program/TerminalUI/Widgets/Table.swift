/// Rows of columns with a header, a selected row and a scroll bar that shows where in the list one is.
///
/// A table may stand for a list far larger than itself: it holds the visible rows only, and says where they begin.
package struct Table: Widget {
  package struct Column: Sendable, Hashable {
    package var title: String
    package var width: Length
    package var alignment: Alignment
    /// The fewest cells that it is of use with.
    package var minimum: Int
    /// How much it matters. Where not all columns fit, those that matter least are left out.
    package var priority: Int
    package var isHidden: Bool
    /// Whether its texts begin alike, so that a cut must keep what tells them apart.
    package var keepsDifferences: Bool

    /// Makes a column.
    ///
    /// - Parameter minimum: The fewest cells; nil for the width of a fixed column, else for that of the title.
    package init(
      _ title: String,
      _ width: Length = .flexible,
      _ alignment: Alignment = .leading,
      minimum: Int? = nil,
      priority: Int = 0,
      isHidden: Bool = false,
      keepsDifferences: Bool = false
    ) {
      (self.title, self.width, self.alignment) = (title, width, alignment)
      (self.minimum, self.priority) = (minimum ?? width.fixed ?? cells(title), priority)
      (self.isHidden, self.keepsDifferences) = (isHidden, keepsDifferences)
    }
  }

  package struct Row: Sendable, Hashable {
    /// A sign of one cell before the texts, such as the state's.
    package var mark: StyledText
    package var cells: [StyledText]

    package init(_ cells: [StyledText], mark: StyledText = "") { (self.cells, self.mark) = (cells, mark) }
  }

  package var columns: [Column]
  /// The visible rows. More than fit are left out.
  package var rows: [Row]
  /// Where `rows` begin in the whole list.
  package var offset: Int
  package var total: Int
  /// The selected row, counted in the whole list.
  package var selection: Int?
  /// The marked rows, counted in the whole list.
  package var marked: Set<Int>
  /// Whether the keyboard moves the selection.
  package var isFocused: Bool
  /// The text shown instead of the header if there are no rows.
  package var emptyText: String

  /// Makes a table. Without `total`, `rows` are the whole list.
  package init(
    columns: [Column],
    rows: [Row],
    offset: Int = 0,
    total: Int? = nil,
    selection: Int? = nil,
    marked: Set<Int> = [],
    isFocused: Bool = false,
    emptyText: String = ""
  ) {
    (self.columns, self.rows, self.offset, self.total) = (columns, rows, offset, total ?? rows.count)
    (self.selection, self.marked, self.isFocused, self.emptyText) = (selection, marked, isFocused, emptyText)
  }

  /// How many rows of the list a table of this height shows below its header.
  package static func visibleRows(in area: Rect) -> Int { max(0, area.height - 1) }

  /// The offset nearest to `offset` from which `selection` is visible.
  package static func offset(showing selection: Int, from offset: Int, visible: Int, total: Int) -> Int {
    guard visible > 0 else { return max(0, selection) }
    let followed = min(max(offset, selection - visible + 1), selection)
    return max(0, min(followed, total - visible))
  }

  package func draw(on grid: inout Grid, in area: Rect) {
    guard !rows.isEmpty || emptyText.isEmpty else {
      return grid.put(StyledText(emptyText, .dim), in: area.row(max(0, area.height - 1) / 2), .centre)
    }
    let hasBar = total > Self.visibleRows(in: area) && area.width > 2
    let body = Rect(x: area.x, y: area.y, width: area.width - (hasBar ? 1 : 0), height: area.height)
    let places = places(in: body)
    grid.fill(area.row(0), Style(.header))
    for (column, place) in places {
      grid.put(StyledText(columns[column].title, .header), in: place.row(0), columns[column].alignment)
    }
    let visible = shortened(rows.prefix(Self.visibleRows(in: area)), places, grid.glyphs)
    for (index, row) in visible.enumerated() {
      draw(row, offset + index, on: &grid, body.row(index + 1), places.map { ($0, $1.row(index + 1)) })
    }
    let track = Rect(x: area.maxX - 1, y: area.y + 1, width: 1, height: area.height - 1)
    if hasBar { ScrollBar(offset: offset, total: total).draw(on: &grid, in: track) }
  }

  /// The rows with those texts shortened whose cut has to keep what tells them apart.
  private func shortened(_ rows: ArraySlice<Row>, _ places: [(column: Int, place: Rect)], _ glyphs: GlyphSet) -> [Row] {
    var rows = Array(rows)
    for (column, place) in places where columns[column].keepsDifferences {
      let texts = rows.map { column < $0.cells.count ? $0.cells[column].plain : "" }
      let others = Set(texts)
      for (row, text) in texts.enumerated() {
        let short = elide(text, to: place.width, besides: others, glyphs)
        guard short != text, let style = rows[row].cells[column].spans.first?.style else { continue }
        rows[row].cells[column] = [.init(short, style: style)]
      }
    }
    return rows
  }

  /// The cells before the first column: for the selection, for a mark, and a blank.
  private static let margin = 3

  private func draw(_ row: Row, _ index: Int, on grid: inout Grid, _ line: Rect, _ places: [(Int, Rect)]) {
    let selection = SelectedLine(isSelected: index == selection, isFocused: isFocused)
    selection.drawGround(on: &grid, in: line)
    let mark = marked.contains(index) ? StyledText("✓", .marked) : row.mark
    let margin = Rect(x: line.x + 1, y: line.y, width: 1, height: line.height).intersection(line)
    grid.put(selection.styled(mark), in: margin)
    for (column, place) in places where column < row.cells.count {
      grid.put(selection.styled(row.cells[column]), in: place, columns[column].alignment)
    }
  }

  /// The columns that fit, with their places.
  private func places(in area: Rect) -> [(column: Int, place: Rect)] {
    let margin = min(Self.margin, area.width)
    let room = Rect(x: area.x + margin, y: area.y, width: area.width - margin, height: area.height)
    let gap = 2
    var shown = columns.indices.filter { !columns[$0].isHidden }
    while shown.count > 1, shown.reduce(-gap, { $0 + columns[$1].minimum + gap }) > room.width {
      let least = shown.map { columns[$0].priority }.min()
      shown.remove(at: shown.lastIndex { columns[$0].priority == least } ?? 0)
    }
    let fitting = shown.map { columns[$0] }
    // The flexible columns share the cells that are left after every column has its minimum.
    let spare = room.width - fitting.reduce(-gap) { $0 + $1.minimum + gap }
    let shares = Length.deal(spare, to: fitting.map { $0.width.fixed == nil ? $0.width : .fixed(0) })
    let widths = zip(fitting, shares).map { Length.fixed($0.minimum + $1) }
    return Array(zip(shown, room.columns(widths, gap: gap))).map { (column: $0, place: $1) }
  }
}

/// The look of a line of a list whose selected row stands out.
struct SelectedLine {
  var isSelected: Bool
  var isFocused: Bool

  var role: StyleRole { isFocused ? .selection : .selectionUnfocused }

  /// Fills an area, and puts the mark of the selection in its first cell if the keyboard acts on the list.
  func drawGround(on grid: inout Grid, in line: Rect) {
    guard isSelected else { return }
    grid.fill(line, Style(role))
    guard isFocused, !line.isEmpty else { return }
    let mark = grid.glyphs == .ascii ? ">" : "▌"
    grid.put(mark, at: Position(x: line.x, y: line.y), Style(.borderFocused, on: role), in: line)
  }

  /// The text as it looks in the line. What needs attention keeps its look.
  func styled(_ text: StyledText) -> StyledText {
    // Faint text would be hard to read on the ground of the selection, and each change of colour takes 11 bytes.
    isSelected ? text.castingText(to: role, from: [.text, .dim, .pending]).on(role) : text
  }
}
