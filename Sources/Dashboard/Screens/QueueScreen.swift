import CloudService
import CloudSync
import TerminalUI

/// The queue in full, with the selected operation beside or under it where there is room.
struct QueueScreen: Screen {
  private(set) var queue: QueueList

  init(_ queue: QueueList = QueueList()) { self.queue = queue }

  var title: String? { "Queue" }
  var scopes: KeyScope { [.everywhere, .moving, .list, .queue, .syncing, .opening, .copying, .closing] }

  private func layout(_ world: World) -> SplitLayout { SplitLayout(world.body) }

  private func visible(_ world: World) -> Int { Table.visibleRows(in: Box.inside(layout(world).list)) }

  func wants(_ world: World) -> ViewScope {
    var scope = ViewScope()
    scope.queue = queue.part(visible: visible(world))
    if layout(world).inspector != nil { scope.operation = queue.selected(world)?.id }
    return scope
  }

  mutating func showOnly(_ states: Set<OperationState>) { queue.showOnly(states) }

  mutating func follow(_ world: World) { queue.follow(world, visible: visible(world)) }

  mutating func select(_ row: Int, in pane: Pane?, _ world: World) -> Bool {
    queue.select(row, world, visible: visible(world))
  }

  mutating func perform(_ id: CommandID, _ world: World) -> [Step] {
    if id == .open, layout(world).inspector != nil, let row = queue.selected(world), !row.key.name.isEmpty {
      return [.push(RecordScreen(row.key))]
    }
    if id == .back { return queue.clear() ? [] : [.pop] }
    return queue.act(id, world, visible: visible(world)) ?? []
  }

  func availability(of id: CommandID, _ world: World) -> Availability { queue.availability(of: id, world) }

  func label(of id: CommandID, _ world: World) -> String? {
    id == .open ? layout(world).inspector != nil ? "record" : "details" : nil
  }

  mutating func type(_ key: Key, _ world: World) -> [Step]? { queue.type(key) }
  func prompt(_ world: World) -> Prompt? { queue.prompt(world) }
  func isWaiting(_ world: World) -> Bool { queue.isWaiting(world) }
  mutating func take(_ receipt: Receipt) { queue.take(receipt) }
  func conflict(_ world: World) -> Int64? { queue.conflict(world) }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    let layout = SplitLayout(area)
    let width = max(0, layout.list.width - 18)
    let tabs = queue.tabs(world).text(width: width, frame.grid.glyphs)
    let title = queue.isFiltered || !queue.state.marks.isEmpty ? StyledText("Queue  ") + queue.note(world) : "Queue"
    let box = Box(title: title, note: tabs, isFocused: true)
    box.draw(on: &frame.grid, in: layout.list)
    queue.noteTabs(on: &frame, in: box.notePlace(in: layout.list, frame.grid.glyphs), width: width, world)
    queue.draw(on: &frame, in: Box.inside(layout.list), world, isFocused: true)
    guard let area = layout.inspector else { return }
    let row = queue.selected(world)
    Box(title: StyledText(row.map { "Operation \($0.id)" } ?? "Operation")).draw(on: &frame.grid, in: area)
    guard let row else { return }
    OperationInspector(row.id, world).draw(on: &frame.grid, in: Box.text(area), selection: nil, offset: 0)
  }
}

extension Box {
  /// The cells inside of a frame for text, with a blank at both sides.
  static func text(_ area: Rect) -> Rect { area.inset(horizontally: 2, vertically: 1) }
}

/// A list with what is selected beside it from 120 columns on, else under it from 30 rows on.
struct SplitLayout: Hashable, Sendable {
  let list: Rect
  let inspector: Rect?

  init(_ area: Rect) {
    if area.width >= 120 {
      let parts = area.columns([.flex(1), .flex(1)])
      (list, inspector) = (parts[0], parts[1])
    } else if area.height >= 28 {
      let parts = area.rows([.flex(1), .flex(1)])
      (list, inspector) = (parts[0], parts[1])
    } else {
      (list, inspector) = (area, nil)
    }
  }
}

extension World {
  /// The area between the top line and the footer, or the card above the footer.
  var body: Rect { Rect(x: 0, y: 1, width: size.width, height: size.height - 2 - cardLines.count) }

  /// Whether the card has the key for the next one beside it.
  var hasNextKey: Bool { size.width >= 80 }

  /// The lines of the card: one, or more where it is narrow.
  var cardLines: [StyledText] {
    guard let card else { return [] }
    return hasNextKey ? [card] : wrap(card, to: size.width - 2, glyphs)
  }
}
