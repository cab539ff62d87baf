import CloudService
import CloudSync
import Facts
import TerminalUI

/// Every pause rule, with who set it and when. A rule holds for later changes, too.
struct PausesScreen: Screen {
  private var list = WholeList<Pause>()

  var title: String? { "Pauses" }
  var scopes: KeyScope { [.everywhere, .moving, .pauses, .closing] }

  private func visible(_ world: World) -> Int { Table.visibleRows(in: Box.inside(world.body)) }

  private func pauses(_ world: World) -> [Pause] { world.status?.pauses ?? [] }

  mutating func follow(_ world: World) { list.follow(pauses(world), visible: visible(world)) }

  mutating func select(_ row: Int, in pane: Pane?, _ world: World) -> Bool {
    list.select(row, in: pauses(world), visible: visible(world))
  }

  mutating func perform(_ id: CommandID, _ world: World) -> [Step] {
    if list.move(by: id, in: pauses(world), visible: visible(world)) { return [] }
    switch id {
    case .back: return [.pop]
    case .liftPause: return list.selected(in: pauses(world)).map { [.effect(.give(.resume([$0.rule])))] } ?? []
    default: return []
    }
  }

  func availability(of id: CommandID, _ world: World) -> Availability {
    id == .liftPause && list.selected(in: pauses(world)) == nil ? .no("No pause is selected") : .now
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    let single = world.status?.queue.paused ?? 0
    let note = single > 0 ? "\(Words.count(single, "change")) paused one by one, see the queue" : ""
    Box(title: "Pauses", note: StyledText(note, .dim), isFocused: true).draw(on: &frame.grid, in: area)
    let inside = Box.inside(area)
    let columns = [
      Table.Column("PAUSED", .flex(3), minimum: 12, priority: 9), Table.Column("SINCE", .fixed(12), priority: 8),
      Table.Column("BY", .flex(2), minimum: 8, priority: 7), Table.Column("UNSENT", .fixed(9), .trailing, priority: 6),
    ]
    let rows = world.status == nil ? nil : pauses(world)
    list.table(columns, rows, world, visible: Table.visibleRows(in: inside), empty: "No pause rule is set") { pause in
      let held = world.unsent(under: pause.rule)
      return Table.Row([
        StyledText(pause.rule.text, .strong), StyledText(world.moment(pause.at), .dim),
        StyledText(pause.actor ?? "unknown", .dim),
        StyledText(Format.number(held), held > 0 ? .pending : .dim),
      ])
    }.draw(on: &frame, in: inside)
  }
}
