import TerminalUI

/// The position in a list that is read whole. The cursor stays with its row when others come and go.
struct WholeList<Row: Identifiable & Sendable>: Sendable where Row.ID: Sendable {
  private var state = ListState<Row.ID>()

  private static func all(_ rows: [Row]) -> ListState<Row.ID>.Rows {
    let ids = rows.map(\.id)
    return ListState<Row.ID>.Rows(total: ids.count, offset: 0, ids: ids, versions: ids.map { _ in "" })
  }

  /// The index of the selected row.
  var cursor: Int { state.cursor }

  func selected(in rows: [Row]) -> Row? { rows.indices.contains(state.cursor) ? rows[state.cursor] : nil }

  /// Follows other rows or another size.
  mutating func follow(_ rows: [Row], visible: Int) { state.follow(Self.all(rows), visible: visible) }

  /// Moves in the list.
  mutating func move(by id: CommandID, in rows: [Row], visible: Int) -> [Step] {
    let target = ListState<Row.ID>.target(of: id, from: state.cursor, visible: visible, total: rows.count)
    if let target { state.move(to: target, Self.all(rows), visible: visible) }
    return []
  }

  /// Selects a row. Returns false if it is selected already.
  mutating func select(_ row: Int, in rows: [Row], visible: Int) -> Bool {
    guard row != state.cursor else { return false }
    state.move(to: row, Self.all(rows), visible: visible)
    return true
  }

  /// Returns the visible rows as a table has them.
  ///
  /// - Parameters:
  ///   - rows: nil while they are read.
  ///   - empty: the text in place of an empty list.
  func table(
    _ columns: [Table.Column],
    _ rows: [Row]?,
    _ world: World,
    visible: Int,
    empty: String,
    row: (Row) -> Table.Row
  ) -> Table {
    Table(
      columns: columns,
      rows: (rows ?? []).dropFirst(state.offset).prefix(max(0, visible)).map(row),
      offset: state.offset,
      total: rows?.count ?? 0,
      selection: state.cursor,
      isFocused: true,
      emptyText: rows != nil ? empty : world.loading
    )
  }
}
