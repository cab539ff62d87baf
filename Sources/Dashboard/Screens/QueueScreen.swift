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

  /// The operation; where that is shown whole already, its record.
  func opening(_ world: World) -> Opening {
    guard layout(world).showsWholeDetail, let row = list.selected(world), !row.key.name.isEmpty else {
      return list.opening(world)
    }
    return .screen(RecordScreen(row.key), label: "record")
  }

  mutating func take(_ receipt: Receipt) { list.take(receipt) }
  func conflict(_ world: World) -> Int64? { list.conflict(world) }
  func close(_ app: inout App) { app.overview.queue = list }

  func drawFrame(on frame: inout Frame, in area: Rect, _ world: World) {
    QueueTabs(world, list, hasCauses: true).draw("Queue", on: &frame, in: area, world, list)
  }
}
