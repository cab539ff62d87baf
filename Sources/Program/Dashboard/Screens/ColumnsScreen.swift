import CloudSync
import TerminalUI

/// Chooses the fields that the list of records shows in columns, over that list. They stand in the order of the choice.
struct ColumnsScreen: CursorScreen {
  private(set) var chosen: [String]
  var list = ListState<String>()
  private let names: [String]

  init(chosen: [String], names: [String]) { (self.chosen, self.names) = (chosen, names) }

  var isOverlay: Bool { true }
  var scopes: KeyScope { [.everywhere, .moving, .choosing, .closing] }

  private func place(_ world: World) -> Rect {
    world.body.centred(Size(width: 48, height: max(6, names.count + 3)))
  }

  func visible(_ world: World) -> Int { Table.visibleRows(in: Box.inside(place(world))) }
  func ids(_ world: World) -> [String] { names }

  fileprivate mutating func toggle() -> [Step] {
    guard let name = list.selected else { return [] }
    return choose(chosen.contains(name) ? chosen.filter { $0 != name } : chosen + [name])
  }

  fileprivate mutating func choose(_ names: [String]) -> [Step] {
    chosen = names
    return [.columns(names)]
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
    let rows = names.dropFirst(list.offset).map { name in
      let number = chosen.firstIndex(of: name).map { String($0 + 1) } ?? ""
      return Table.Row([StyledText(number, .marked), StyledText(FieldChanges.displayName(name))])
    }
    list.table(columns, rows, of: names.count).draw(on: &frame, in: inside)
  }
}

extension Command {
  static let records: [Command] = [
    Command(.columns, "C", "columns", "Choose the fields that are shown in columns", .records)
      .unless { $0.top.rows?.fieldNames($1).isEmpty == false ? nil : "No record has a field" }
      .run { [.push(ColumnsScreen(chosen: $0.top.rows?.columns ?? [], names: $0.top.rows?.fieldNames($1) ?? []))] },
    Command("toggleColumn", "Space Enter", "choose", "Show the field in a column, or not", .choosing)
      .run { (columns: inout ColumnsScreen, _) in columns.toggle() },
    Command("clearColumns", "u", "reset columns", "Show all fields in one column again", .choosing)
      .run { (columns: inout ColumnsScreen, _) in columns.choose([]) },
  ]
}
