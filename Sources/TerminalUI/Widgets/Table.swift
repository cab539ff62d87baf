/// Rows of columns with a header, a chosen row and a mark that shows where in the list one is.
///
/// A table may stand for a list far larger than itself: it holds the visible rows only, and says where they begin.
public struct Table: Widget {
  /// One column.
  public struct Column: Sendable, Hashable {
    /// The column's name, shown in the header.
    public var title: String
    /// The cells it takes.
    public var width: Length
    /// Where its texts stand.
    public var alignment: Alignment

    /// Makes a column.
    public init(_ title: String, _ width: Length = .flexible, _ alignment: Alignment = .leading) {
      self.title = title
      self.width = width
      self.alignment = alignment
    }
  }

  /// The columns, from left to right.
  public var columns: [Column]
  /// The visible rows, each with one text per column. More than fit are left out.
  public var rows: [[StyledText]]
  /// Where `rows` begin in the whole list.
  public var offset: Int
  /// How many rows the whole list has.
  public var total: Int
  /// The chosen row, counted in the whole list.
  public var selection: Int?
  /// Whether the keyboard moves the choice.
  public var isFocused: Bool
  /// What to say when there are no rows.
  public var emptyText: String

  /// Makes a table. Without `total`, `rows` are the whole list.
  public init(
    columns: [Column],
    rows: [[StyledText]],
    offset: Int = 0,
    total: Int? = nil,
    selection: Int? = nil,
    isFocused: Bool = false,
    emptyText: String = ""
  ) {
    self.columns = columns
    self.rows = rows
    self.offset = offset
    self.total = total ?? rows.count
    self.selection = selection
    self.isFocused = isFocused
    self.emptyText = emptyText
  }

  /// How many rows of the list a table of this height shows below its header.
  public static func visibleRows(in area: Rect) -> Int { max(0, area.height - 1) }

  /// The offset nearest to `offset` from which `selection` is visible.
  public static func offset(showing selection: Int, from offset: Int, visible: Int, total: Int) -> Int {
    guard visible > 0 else { return max(0, selection) }
    let followed = min(max(offset, selection - visible + 1), selection)
    return max(0, min(followed, total - visible))
  }

  /// Draws the table.
  public func draw(on grid: inout Grid, in area: Rect) {
    let hasBar = total > Self.visibleRows(in: area) && area.width > 2
    let body = Rect(x: area.x, y: area.y, width: area.width - (hasBar ? 1 : 0), height: area.height)
    let places = body.columns(columns.map(\.width), gap: 1)
    grid.fill(area.row(0), Style(.header))
    for (column, place) in zip(columns, places) {
      grid.put(StyledText(column.title, .header), in: place.row(0), column.alignment)
    }
    if rows.isEmpty, area.height > 1 { grid.put(StyledText(emptyText, .dim), in: body.row(1), .centre) }
    for (index, row) in rows.prefix(Self.visibleRows(in: area)).enumerated() {
      let line = body.row(index + 1)
      draw(row, isSelected: index + offset == selection, on: &grid, line, places.map { $0.row(index + 1) })
    }
    let track = Rect(x: area.maxX - 1, y: area.y + 1, width: 1, height: area.height - 1)
    if hasBar { ScrollBar(offset: offset, total: total).draw(on: &grid, in: track) }
  }

  private func draw(_ row: [StyledText], isSelected: Bool, on grid: inout Grid, _ line: Rect, _ places: [Rect]) {
    let role = isFocused ? StyleRole.selection : .selectionUnfocused
    if isSelected { grid.fill(line, Style(role)) }
    for (text, (column, place)) in zip(row, zip(columns, places)) {
      grid.put(isSelected ? text.recast(role) : text, in: place, column.alignment)
    }
  }
}
