import CloudService
import CloudSync
import TerminalUI

/// The records in full.
struct RecordsScreen: ListScreen {
  var list: RecordList

  init(_ list: RecordList = RecordList()) { self.list = list }

  var title: String? { "Records" }
  var scopes: KeyScope { [.everywhere, .moving, .list, .records, .syncing, .opening, .copying, .closing] }

  /// Enter opens the record; where that is shown whole already, its operation.
  func subject(_ world: World) -> Subject {
    var subject = list.subject(world)
    if layout(world).showsWholeDetail, let operation = list.selected(world)?.operation {
      subject.open = .screen(OperationScreen(operation))
    }
    return subject
  }

  func close(_ app: inout App) { app.overview.records = list }

  func note(_ world: World) -> StyledText {
    list.note(world) + StyledText("  \(list.listing.order.name)", .dim)
  }
}
