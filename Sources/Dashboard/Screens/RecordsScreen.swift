import CloudService
import CloudSync
import TerminalUI

/// The records in full.
struct RecordsScreen: ListScreen {
  var list: RecordList

  init(_ list: RecordList = RecordList()) { self.list = list }

  var title: String? { "Records" }
  var scopes: KeyScope { [.everywhere, .moving, .list, .records, .syncing, .opening, .copying, .closing] }

  mutating func act(_ id: CommandID, _ world: World) -> [Step]? {
    if id == .open, layout(world).showsWholeDetail, let operation = list.selected(world)?.operation {
      return [.push(OperationScreen(operation))]
    }
    return list.act(id, world, visible: visible(world))
  }

  func availability(of id: CommandID, _ world: World) -> Availability { list.availability(of: id, world) }

  func note(_ world: World) -> StyledText {
    list.note(world) + StyledText("  \(list.listing.order.name)", .dim)
  }
}
