/// The fields of a record as its sides have them: base, local and server.
///
/// What changed is for the caller to say, who knows the values. Their texts are compared only to highlight what differs
/// inside of them.
package struct FieldTable: Widget {
  /// One version of a record.
  package enum Side: Sendable, Hashable, CaseIterable {
    /// What both sides started from.
    case base
    /// What this machine has.
    case local
    /// What the server has.
    case server
  }

  /// The value of a field on one side.
  package struct Value: Sendable, Hashable {
    package var text: String
    /// Whether the side has no value.
    package var isMissing: Bool
    /// Whether the value is another than the base's.
    package var isChanged: Bool

    package init(_ text: String, isMissing: Bool = false, isChanged: Bool = false) {
      (self.text, self.isMissing, self.isChanged) = (text, isMissing, isChanged)
    }

    package static let missing = Value("", isMissing: true)
  }

  package struct Row: Sendable, Hashable {
    package var name: String
    /// What both sides started from.
    package var base: Value
    /// What this machine has.
    package var local: Value
    /// What the server has.
    package var server: Value
    /// The side whose value is chosen; it is shown in brackets.
    package var chosen: Side?

    package init(_ name: String, base: Value = .missing, local: Value, server: Value, chosen: Side? = nil) {
      (self.name, self.base, self.local, self.server, self.chosen) = (name, base, local, server, chosen)
    }

    package subscript(side: Side) -> Value {
      switch side {
      case .base: base
      case .local: local
      case .server: server
      }
    }
  }

  package var rows: [Row]
  package var offset: Int
  package var selection: Int?
  /// Whether the keyboard moves the selection.
  package var isFocused: Bool

  package init(_ rows: [Row], offset: Int = 0, selection: Int? = nil, isFocused: Bool = false) {
    (self.rows, self.offset, self.selection, self.isFocused) = (rows, offset, selection, isFocused)
  }

  /// Draws the visible rows below the titles, and a scroll bar if there are more.
  package func draw(on grid: inout Grid, in area: Rect) {
    let visible = max(0, area.height - 1)
    let hasBar = visible > 0 && rows.count > visible && area.width > 2
    let body = Rect(x: area.x, y: area.y, width: area.width - (hasBar ? 1 : 0), height: area.height)
    let (sides, places) = columns(in: body, grid.glyphs)
    grid.fill(area.row(0), Style(.header))
    for (title, place) in zip([Self.nameTitle] + sides.map(\.title), places) {
      grid.put(StyledText(title, .header), in: place.row(0))
    }
    let first = max(0, min(offset, rows.count - visible))
    for index in rows.indices.dropFirst(first).prefix(visible) {
      drawRow(index, on: &grid, in: body.row(index - first + 1))
    }
    let track = Rect(x: area.maxX - 1, y: area.y + 1, width: 1, height: visible)
    if hasBar { ScrollBar(offset: first, total: rows.count).draw(on: &grid, in: track) }
  }

  /// Draws one row alone, with the columns that it has among the others.
  package func drawRow(_ index: Int, on grid: inout Grid, in area: Rect) {
    guard rows.indices.contains(index) else { return }
    let (sides, places) = columns(in: area, grid.glyphs)
    let line = SelectedLine(isSelected: index == selection, isFocused: isFocused)
    line.drawGround(on: &grid, in: area.row(0))
    grid.put(line.styled(StyledText(rows[index].name)), in: places[0].row(0))
    for (side, place) in zip(sides, places.dropFirst()) {
      let text = FieldText(rows[index], side).fitted(to: place.width, grid.glyphs)
      grid.put(line.styled(text), in: place.row(0))
    }
  }

  private static let nameTitle = "FIELD"

  private func columns(in area: Rect, _ glyphs: GlyphSet) -> (sides: [Side], places: [Rect]) {
    // One cell at the left is for the mark of the selection.
    let margin = min(1, area.width)
    let room = Rect(x: area.x + margin, y: area.y, width: area.width - margin, height: area.height)
    let names = rows.map(\.name) + [Self.nameTitle]
    let name = min(room.width / 4, names.map { cells($0, in: glyphs) }.max() ?? 0)
    // The base is left out where the columns would get too narrow.
    let isWide = room.width - name >= 3 * (2 + 10)
    let sides: [Side] = isWide ? [.base, .local, .server] : [.local, .server]
    return (sides, room.columns([.fixed(name)] + sides.map { _ in .flexible }, gap: 2))
  }
}

extension FieldTable.Side {
  fileprivate var title: String {
    switch self {
    case .base: "BASE"
    case .local: "LOCAL"
    case .server: "SERVER"
    }
  }
}

/// The text of a value, with its brackets and what differs in it from the other side.
private struct FieldText {
  private let row: FieldTable.Row
  private let side: FieldTable.Side
  private let value: FieldTable.Value

  init(_ row: FieldTable.Row, _ side: FieldTable.Side) {
    (self.row, self.side) = (row, side)
    value = row[side]
  }

  func fitted(to width: Int, _ glyphs: GlyphSet) -> StyledText {
    let isChosen = row.chosen == side
    let text = cut(to: width - (isChosen ? 2 : 0), glyphs)
    return isChosen ? [.init("[", .strong)] + text + [.init("]", .strong)] : text
  }

  private var style: Style {
    guard value.isChanged, !value.isMissing else { return Style(side == .base && !value.isMissing ? .base : .dim) }
    return Style(side == .local ? .local : side == .server ? .server : .base)
  }

  /// The beginning of the value or, where the first difference would be cut off, a later part that shows it.
  private func cut(to width: Int, _ glyphs: GlyphSet) -> StyledText {
    guard !value.isMissing else { return StyledText([.init("–", style: style)]).clipped(to: width, glyphs) }
    let text = value.text.prefix(2000)
    let difference = difference.clamped(to: 0..<text.count)
    let start = text.index(text.startIndex, offsetBy: difference.lowerBound)
    let end = text.index(start, offsetBy: difference.count)
    let rest: StyledText = [
      .init(String(text[start..<end]), style: Style(.match, style.attributes)),
      .init(String(text[end...]), style: style),
    ]
    let whole = StyledText([.init(String(text[..<start]), style: style)] + rest.spans)
    // The first character of the difference and the ellipsis after it.
    let needed = cells(String(text[..<start]), in: glyphs) + 2
    guard !difference.isEmpty, needed > width, whole.cells(in: glyphs) > width else {
      return whole.clipped(to: width, glyphs)
    }
    var context = text[..<start].suffix(max(0, width - 1))
    while !context.isEmpty, 1 + cells(String(context), in: glyphs) + rest.cells(in: glyphs) > width {
      context = context.dropFirst()
    }
    let before = StyledText([.init(String(glyphs.ellipsis) + context, style: style)])
    return (before + rest).clipped(to: width, glyphs)
  }

  /// The characters that differ from the other side's. Empty where nothing or all differs: then there is no inside.
  private var difference: Range<Int> {
    let isComparable = side != .base && !row.local.isMissing && !row.server.isMissing
    guard isComparable, row.local.isChanged || row.server.isChanged else { return 0..<0 }
    let (local, server) = differing(row.local.text, row.server.text)
    let range = side == .local ? local : server
    let isInside = local.lowerBound > 0 || local.upperBound < row.local.text.prefix(2000).count
    return isInside ? range : 0..<0
  }
}
