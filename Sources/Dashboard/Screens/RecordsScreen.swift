import CloudService
import CloudSync
import TerminalUI

/// The records in full.
struct RecordsScreen: ListScreen {
  var list: RecordList

  init(_ list: RecordList = RecordList()) { self.list = list }

  var title: String? { "Records" }
  var scopes: KeyScope { [.everywhere, .moving, .list, .records, .syncing, .opening, .copying, .closing] }

  /// The record; where that is shown whole already, its operation.
  func opening(_ world: World) -> Opening {
    guard layout(world).showsWholeDetail, let operation = list.selected(world)?.operation else {
      return list.opening(world)
    }
    return .screen(OperationScreen(operation))
  }

  func close(_ app: inout App) { app.overview.records = list }

  func note(_ world: World) -> StyledText {
    list.note(world) + StyledText("  \(list.listing.order.name)", .dim)
  }
}
