import CloudSync
import TerminalUI

/// Chooses the fields that the list of records shows in columns, over that list. They stand in the order of the choice.
struct ColumnsScreen: Screen {
  private(set) var chosen: [String]
  private var list = WholeList<Name>()
  private let names: [Name]

  private struct Name: Identifiable, Hashable, Sendable {
    var id: String
  }

  init(chosen: [String], names: [String]) {
    self.chosen = chosen
    self.names = names.map(Name.init)
  }

  var isOverlay: Bool { true }
  var scopes: KeyScope { [.everywhere, .moving, .choosing, .closing] }

  private func place(_ world: World) -> Rect {
    let body = world.body
    let (width, height) = (min(body.width, 48), min(body.height, max(6, names.count + 3)))
    return Rect(
      x: body.x + (body.width - width) / 2,
      y: body.y + (body.height - height) / 2,
      width: width,
      height: height
    )
  }

  private func visible(_ world: World) -> Int { Table.visibleRows(in: Box.inside(place(world))) }

  mutating func follow(_ world: World) { list.follow(names, visible: visible(world)) }

  mutating func select(_ row: Int, in pane: Pane?, _ world: World) -> Bool {
    list.select(row, in: names, visible: visible(world))
  }

  mutating func perform(_ id: CommandID, _ world: World) -> [Step] {
    if list.move(by: id, in: names, visible: visible(world)) { return [] }
    switch id {
    case .toggleColumn:
      guard let name = list.selected(in: names)?.id else { return [] }
      if chosen.contains(name) { chosen.removeAll { $0 == name } } else { chosen.append(name) }
      return [.columns(chosen)]
    case .clearColumns:
      chosen = []
      return [.columns(chosen)]
    case .back: return [.pop]
    default: return []
    }
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    let place = place(world)
    frame.grid.fill(place)
    Box(
      title: "Columns",
      note: StyledText(chosen.isEmpty ? "all fields in one column" : "\(chosen.count) chosen", .dim),
      isFocused: true
    )
    .draw(on: &frame.grid, in: place)
    let inside = Box.inside(place)
    let columns = [Table.Column("COLUMN", .fixed(6), .trailing), Table.Column("FIELD", .flexible)]
    list.table(columns, names, world, visible: Table.visibleRows(in: inside), empty: "") { name in
      let number = chosen.firstIndex(of: name.id).map { String($0 + 1) } ?? ""
      return Table.Row([StyledText(number, .marked), StyledText(FieldChanges.shown(name.id))])
    }.draw(on: &frame, in: inside)
  }
}
