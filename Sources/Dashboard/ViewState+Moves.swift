import CloudService
import CloudSync
import TerminalUI

/// Moves the user's position on keys and new snapshots. Pure: from one state to the next.
extension ViewState {
  /// Closes the top overlay, or clears the focused list's filter.
  mutating func back() {
    switch overlay {
    case nil: setFilter("")
    case .help(_, let covered): overlay = covered
    case .detail, .desk, .filter, .question, .retryQuestion: overlay = nil
    }
  }

  mutating func setFilter(_ text: String) {
    guard focus.isList, lists[focus]?.filter != text else { return }
    lists[focus] = List(filter: text)
  }

  /// Keeps the cursor visible after a change of size or focus.
  mutating func fit(_ layout: DashboardLayout, _ snapshot: Snapshot) {
    for (pane, list) in lists {
      var list = list
      list.move(to: list.cursor, visible: layout.visibleRows(pane), total: Self.total(pane, snapshot))
      lists[pane] = list
    }
  }

  /// Applies a new snapshot: the cursor stays with its row if that moved, and never leaves the list.
  mutating func follow(_ snapshot: Snapshot, _ layout: DashboardLayout) {
    if let chosen = chosenOperation, let list = lists[.queue],
      let place = snapshot.queue.rows.firstIndex(where: { $0.id == chosen })
    {
      let moved = snapshot.queue.window.offset + place - list.cursor
      // If rows above are removed, the row keeps its place on the screen.
      lists[.queue]?.cursor += moved
      lists[.queue]?.offset = max(0, list.offset + moved)
    }
    if case .desk(var desk) = overlay {
      desk.follow(snapshot.conflicts.rows)
      overlay = .desk(desk)
    }
    fit(layout, snapshot)
    chosenOperation = snapshot.queue[lists[.queue]?.cursor ?? 0]?.id
  }

  static func total(_ pane: Pane, _ snapshot: Snapshot) -> Int {
    switch pane {
    case .records: snapshot.records.total
    case .queue: snapshot.queue.total
    case .sync: snapshot.events.count
    case .account: 0
    }
  }

  /// Moves within the top view.
  mutating func move(
    _ command: DashboardCommand,
    _ layout: DashboardLayout,
    _ snapshot: Snapshot,
    _ model: DashboardModel
  ) {
    switch overlay {
    case .help(let offset, let covered):
      let moved = Self.scrolled(offset, command, HelpView(model: model, offset: 0).lines, layout)
      overlay = .help(offset: moved, over: covered)
    case .detail(let title, let lines, let offset):
      overlay = .detail(title: title, lines: lines, offset: Self.scrolled(offset, command, lines, layout))
    case .desk(var desk):
      let count = snapshot.conflicts.rows.first { $0.id == desk.conflict }?.fields.count ?? 0
      desk.field = Self.moved(desk.field, command, page: layout.overlayRows, total: count)
      overlay = .desk(desk)
    case .filter, .question, .retryQuestion: break
    case nil: moveInPane(command, layout, snapshot)
    }
  }

  private mutating func moveInPane(_ command: DashboardCommand, _ layout: DashboardLayout, _ snapshot: Snapshot) {
    let total = Self.total(focus, snapshot)
    if focus == .sync {
      syncOffset = Self.moved(syncOffset, command, page: 5, total: total)
    } else if let list = lists[focus] {
      let visible = layout.visibleRows(focus)
      let row = Self.moved(list.cursor, command, page: max(1, visible - 1), total: total)
      lists[focus]?.move(to: row, visible: visible, total: total)
      if focus == .queue { chosenOperation = snapshot.queue[row]?.id }
    }
  }

  private static func scrolled(
    _ offset: Int,
    _ command: DashboardCommand,
    _ lines: [Line],
    _ layout: DashboardLayout
  ) -> Int {
    let count = DetailView.rows(lines, width: layout.overlayColumns, .unicode).count
    let moved = moved(offset, command, page: max(1, layout.overlayRows - 1), total: count)
    return min(moved, max(0, count - layout.overlayRows))
  }

  private static func moved(_ place: Int, _ command: DashboardCommand, page: Int, total: Int) -> Int {
    let moved =
      switch command {
      case .down: place + 1
      case .up: place - 1
      case .pageDown: place + page
      case .pageUp: place - page
      case .top: 0
      case .bottom: total - 1
      default: place
      }
    return max(0, min(moved, total - 1))
  }
}
