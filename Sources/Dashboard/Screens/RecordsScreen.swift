import CloudService
import CloudSync
import TerminalUI

/// The records in full, with the selected one beside or under them where there is room.
struct RecordsScreen: Screen {
  private(set) var records: RecordList

  init(_ records: RecordList = RecordList()) { self.records = records }

  var title: String? { "Records" }
  var scopes: KeyScope { [.everywhere, .moving, .list, .records, .syncing, .opening, .copying, .closing] }

  private func visible(_ world: World) -> Int { Table.visibleRows(in: Box.inside(SplitLayout(world.body).list)) }

  func wants(_ world: World) -> ViewScope {
    var scope = ViewScope()
    scope.records = records.part(visible: visible(world))
    if SplitLayout(world.body).inspector != nil { scope.record = records.selected(world)?.record.key }
    return scope
  }

  mutating func show(columns: [String]) { records.columns = columns }

  mutating func follow(_ world: World) { records.follow(world, visible: visible(world)) }

  mutating func select(_ row: Int, in pane: Pane?, _ world: World) -> Bool {
    records.select(row, world, visible: visible(world))
  }

  mutating func perform(_ id: CommandID, _ world: World) -> [Step] {
    if id == .back { return records.clear() ? [] : [.pop] }
    if id == .open, SplitLayout(world.body).inspector != nil, let operation = records.selected(world)?.operation {
      return [.push(OperationScreen(operation))]
    }
    return records.act(id, world, visible: visible(world)) ?? []
  }

  func availability(of id: CommandID, _ world: World) -> Availability { records.availability(of: id, world) }
  mutating func type(_ key: Key, _ world: World) -> [Step]? { records.type(key) }
  func prompt(_ world: World) -> Prompt? { records.prompt(world) }
  func isWaiting(_ world: World) -> Bool { records.isWaiting(world) }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    let layout = SplitLayout(area)
    let note = records.note(world) + StyledText("  \(records.listing.order.name)", .dim)
    Box(title: "Records", note: note, isFocused: true).draw(on: &frame.grid, in: layout.list)
    records.draw(on: &frame, in: Box.inside(layout.list), world, isFocused: true)
    guard let area = layout.inspector else { return }
    let row = records.selected(world)
    Box(title: StyledText(row?.record.key.name ?? "Record")).draw(on: &frame.grid, in: area)
    guard let row else { return }
    RecordInspector(row.record.key, world).draw(on: &frame.grid, in: Box.text(area), selection: nil, offset: 0)
  }
}
