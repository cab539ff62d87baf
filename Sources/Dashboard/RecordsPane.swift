import CloudService
import CloudSync
import Facts
import TerminalUI

/// The local copy with pending edits applied.
struct RecordsPane: Sendable {
  let model: DashboardModel
  let state: ViewState

  func draw(on grid: inout Grid, in area: Rect) {
    let list = state.lists[.records] ?? ViewState.List()
    let visible = Table.visibleRows(in: area)
    let window = model.snapshot.records
    let isWide = area.width >= 100
    var columns = [
      Table.Column("Name", .flex(2), priority: 2), Table.Column("Type", .flex(1)),
      Table.Column("Fields", .flex(4), priority: 1),
    ]
    if isWide {
      columns.insert(Table.Column("Zone", .flex(1)), at: 2)
      columns.append(Table.Column("Modified", .fixed(19), .trailing))
    }
    // A wide list has a column for zones.
    let names = RecordNames(isWide ? [] : window.rows.map(\.record.key))
    let shown = list.offset..<list.offset + visible
    let isLoading = window.state(of: list.filter, rows: shown) == .loading
    // A row that has not been read yet is not missing.
    let loading = Table.Row(columns.map { $0.title == "Name" ? StyledText("loading…", .dim) : "" })
    let indices = shown.clamped(to: 0..<(window.text == list.filter ? window.total : 0))
    let rows = indices.map { index in window[index].map { row($0, names, isWide: isWide) } ?? loading }
    Table(
      columns: columns,
      rows: rows,
      offset: list.offset,
      total: window.total,
      selection: list.cursor,
      isFocused: state.focus == .records,
      emptyText: isLoading ? "loading…" : list.filter.isEmpty ? "No records yet" : "No record matches"
    ).draw(on: &grid, in: area)
  }

  private func row(_ row: RecordRow, _ names: RecordNames, isWide: Bool) -> Table.Row {
    let record = row.record
    let mark = row.operationState.map { StyledText($0.mark, $0.role) } ?? ""
    var cells: [StyledText] = [
      StyledText(names.text(record.key), row.operation == nil ? .text : .strong), StyledText(record.type, .dim),
      StyledText(record.fields.text, .text),
    ]
    if isWide {
      cells.insert(StyledText(record.key.zone, .dim), at: 2)
      let modified = record.modifiedAt.map { model.format.time($0, now: model.now) } ?? "not sent yet"
      cells.append(StyledText(modified, .dim))
    }
    return Table.Row(cells, mark: mark)
  }
}
