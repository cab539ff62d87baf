import CloudService
import CloudSync
import Facts
import TerminalUI

/// Failed and retrying changes by cause, the most frequent first.
struct CausesScreen: Screen {
  private var list = WholeList<QueueCause>()

  var title: String? { "Causes" }
  var scopes: KeyScope { [.everywhere, .moving, .queue, .syncing, .opening, .copying, .closing] }

  func wants(_ world: World) -> ViewScope {
    var scope = ViewScope()
    scope.causes = QueueListing()
    return scope
  }

  private func visible(_ world: World) -> Int { Table.visibleRows(in: Box.inside(world.body)) }

  private func selected(_ world: World) -> QueueCause? { list.selected(in: world.data.causes ?? []) }

  mutating func follow(_ world: World) { list.follow(world.data.causes ?? [], visible: visible(world)) }

  mutating func select(_ row: Int, in pane: Pane?, _ world: World) -> Bool {
    list.select(row, in: world.data.causes ?? [], visible: visible(world))
  }

  mutating func perform(_ id: CommandID, _ world: World) -> [Step] {
    if list.move(by: id, in: world.data.causes ?? [], visible: visible(world)) { return [] }
    if id == .back || id == .causes { return [.pop] }
    guard let cause = selected(world), let queue = Self.queue(of: cause) else { return [] }
    switch id {
    case .open: return [.push(QueueScreen(queue))]
    case .retry:
      let filter = queue.filter.text
      return [
        .push(Question(.retryAll(queue.listing, filter: filter, count: cause.count, recreated: cause.recreated)))
      ]
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
    return queue.filter.error == nil ? queue : nil
  }

  func availability(of id: CommandID, _ world: World) -> Availability {
    switch id {
    case .pauseThese, .edit, .problems, .nextTab, .previousTab: .no("Open the cause with Enter first")
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
    let empty = "No change failed or waits to be retried"
    list.table(columns, world.data.causes, world, visible: Table.visibleRows(in: inside), empty: empty) { cause in
      Table.Row([
        StyledText(Format.number(cause.count)), StyledText(Words.state(cause.state.rawValue), cause.state.role),
        StyledText(
          cause.code.map { Words.joined(cause.message ?? "", $0) } ?? cause.cause.brief(world.format, now: world.now)
        ),
        StyledText(world.clock(cause.oldestAt), .dim),
      ])
    }.draw(on: &frame, in: inside)
  }
}
