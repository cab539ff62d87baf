import CloudService
import CloudSync
import Facts
import TerminalUI

/// Operations, oldest first: unsent changes, the cause, and the next attempt.
struct QueuePane: Sendable {
  let model: DashboardModel
  let state: ViewState

  func draw(on grid: inout Grid, in area: Rect) {
    let list = state.lists[.queue] ?? ViewState.List()
    let visible = Table.visibleRows(in: area)
    let window = model.snapshot.queue
    let isWide = area.width >= 100
    var columns = [
      Table.Column("State", .fixed(8), priority: 2), Table.Column("Op", .fixed(6)),
      Table.Column("Record", .flex(3), priority: 3), Table.Column("Why", .flex(4), priority: 1),
    ]
    if isWide {
      columns.insert(Table.Column("ID", .fixed(7), .trailing), at: 0)
      columns.insert(Table.Column("Type", .flex(2)), at: 4)
      columns.append(Table.Column("Try", .fixed(5), .trailing))
      columns.append(Table.Column("Next", .fixed(8), .trailing))
    }
    let names = RecordNames(window.rows.map(\.key))
    let shown = list.offset..<list.offset + visible
    let isLoading = window.state(of: list.filter, rows: shown) == .loading
    // A row that has not been read yet is not missing.
    let loading = Table.Row(columns.map { $0.title == "Record" ? StyledText("loading…", .dim) : "" })
    let indices = shown.clamped(to: 0..<(window.text == list.filter ? window.total : 0))
    let rows = indices.map { index in window[index].map { row($0, names, isWide: isWide) } ?? loading }
    Table(
      columns: columns,
      rows: rows,
      offset: list.offset,
      total: window.total,
      selection: list.cursor,
      isFocused: state.focus == .queue,
      emptyText: isLoading ? "loading…" : emptyText(list)
    ).draw(on: &grid, in: area)
  }

  private func emptyText(_ list: ViewState.List) -> String {
    if !model.snapshot.hasStore { return model.firstStep }
    return list.filter.isEmpty ? "No unsent changes" : "No operation matches"
  }

  private func row(_ operation: QueueRow, _ names: RecordNames, isWide: Bool) -> Table.Row {
    let role = operation.state.role
    let name = names.text(operation.key)
    var cells: [StyledText] = [
      StyledText(Words.state(operation.state.rawValue), role),
      StyledText(operation.kind.verb, .text), StyledText(name, .text), StyledText(why(operation), .dim),
    ]
    if isWide {
      cells.insert(StyledText(String(operation.id), .dim), at: 0)
      cells.insert(StyledText(operation.type ?? "", .dim), at: 4)
      cells.append(StyledText("\(operation.attempts)/\(operation.maxAttempts)", .dim))
      let next = operation.nextAttemptAt.map { model.format.time($0, now: model.now) } ?? ""
      cells.append(StyledText(next, .dim))
    }
    return Table.Row(cells, mark: StyledText(operation.state.mark, role))
  }

  private func why(_ operation: QueueRow) -> String {
    operation.cause.brief(model.format, now: model.now)
  }
}
