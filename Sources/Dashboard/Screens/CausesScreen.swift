import CloudService
import CloudSync
import Facts
import TerminalUI

/// Failed and retrying changes by cause, the most frequent first.
struct CausesScreen: Screen {
  private var list = ListState<Int>()

  var title: String? { "Causes" }
  var scopes: KeyScope { [.everywhere, .moving, .queue, .syncing, .opening, .copying, .closing] }

  func wants(_ world: World) -> ViewScope {
    var scope = ViewScope()
    scope.causes = QueueListing()
    return scope
  }

  private func rows(_ world: World) -> ListState<Int>.Rows {
    let count = world.data.causes?.count ?? 0
    return ListState<Int>.Rows(
      total: count,
      offset: 0,
      ids: Array(0..<count),
      versions: Array(repeating: "", count: count)
    )
  }

  private func visible(_ world: World) -> Int { Table.visibleRows(in: Box.inside(world.body)) }

  private func selected(_ world: World) -> QueueCause? {
    let causes = world.data.causes ?? []
    return causes.indices.contains(list.cursor) ? causes[list.cursor] : nil
  }

  mutating func follow(_ world: World) { list.follow(rows(world), visible: visible(world)) }

  mutating func perform(_ id: CommandID, _ world: World) -> [Step] {
    let (rows, visible) = (rows(world), visible(world))
    if let row = ListState<Int>.target(of: id, from: list.cursor, visible: visible, total: rows.total) {
      list.move(to: row, rows, visible: visible)
      return []
    }
    if id == .back || id == .causes { return [.pop] }
    guard let cause = selected(world), let queue = Self.queue(of: cause) else { return [] }
    switch id {
    case .open: return [.push(QueueScreen(queue))]
    case .retry:
      return [.push(Question(.retryAll(queue.listing, filter: queue.state.filterText, count: cause.count)))]
    case .discard:
      return [
        .push(
          Question(.discard(.listing(queue.listing, except: []), versions: [:], count: cause.count, isMarked: false))
        )
      ]
    case .copy: return [.effect(.copy("\(cause.count)\t\(cause.filter)"))]
    default: return []
    }
  }

  /// The changes of a cause as a list.
  private static func queue(of cause: QueueCause) -> QueueList? {
    var queue = QueueList()
    queue.setFilter(cause.filter)
    return queue.state.filterError == nil ? queue : nil
  }

  func availability(of id: CommandID, _ world: World) -> Availability {
    switch id {
    case .pauseThese, .problems, .nextTab, .previousTab: .no("Open the cause with Enter first")
    case .retryAll: .no("r retries the changes of this cause")
    case .open, .retry, .discard, .copy: selected(world) == nil ? .no("No cause is selected") : .now
    default: .now
    }
  }

  func label(of id: CommandID, _ world: World) -> String? {
    switch id {
    case .retry: "retry these"
    case .discard: "discard these"
    case .open: "show them"
    case .causes: "ungroup"
    default: nil
    }
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    Box(title: "Causes", isFocused: true).draw(on: &frame.grid, in: area)
    let inside = Box.inside(area)
    let columns = [
      Table.Column("COUNT", .fixed(9), .trailing), Table.Column("STATE", .fixed(8)), Table.Column("CAUSE", .flexible),
      Table.Column("SINCE", .fixed(12)),
    ]
    let causes = world.data.causes ?? []
    let rows = causes.dropFirst(list.offset).prefix(Table.visibleRows(in: inside)).map { cause in
      Table.Row([
        StyledText(Format.number(cause.count)), StyledText(Words.state(cause.state.rawValue), cause.state.role),
        StyledText(
          cause.code.map { Words.joined(cause.message ?? "", $0) } ?? cause.cause.brief(world.format, now: world.now)
        ),
        StyledText(world.clock(cause.oldestAt), .dim),
      ])
    }
    Table(
      columns: columns,
      rows: Array(rows),
      offset: list.offset,
      total: causes.count,
      selection: list.cursor,
      isFocused: true,
      emptyText: world.data.causes == nil ? "loading…" : "No change failed or waits to be retried"
    ).draw(on: &frame.grid, in: inside)
  }
}
