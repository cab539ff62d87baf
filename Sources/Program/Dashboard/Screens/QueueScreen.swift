import CloudService
import CloudSync
import TerminalUI

/// The queue in full.
struct QueueScreen: ListScreen {
  var list: QueueList

  init(_ list: QueueList = QueueList()) { self.list = list }

  var title: String? { "Queue" }
  var scopes: KeyScope { [.everywhere, .moving, .list, .queue, .syncing, .opening, .copying, .closing] }
  var queueList: QueueList? { list }

  /// Enter opens the operation; where that is shown whole already, its record.
  func subject(_ world: World) -> Subject {
    var subject = list.subject(world)
    if layout(world).showsWholeDetail, let key = subject.change?.key, !key.name.isEmpty {
      subject.open = .screen(RecordScreen(key), label: "record")
    }
    return subject
  }

  mutating func apply(_ receipt: Receipt) { list.apply(receipt) }
  func close(_ app: inout App) { app.overview.queue = list }

  func drawFrame(on frame: inout Frame, in area: Rect, _ world: World) {
    QueueTabs(world, list, hasCauses: true).draw("Queue", on: &frame, in: area, world, list)
  }
}
