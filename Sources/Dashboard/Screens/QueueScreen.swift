import CloudService
import CloudSync
import TerminalUI

/// The queue in full.
struct QueueScreen: ListScreen {
  var list: QueueList

  init(_ list: QueueList = QueueList()) { self.list = list }

  var title: String? { "Queue" }
  var scopes: KeyScope { [.everywhere, .moving, .list, .queue, .syncing, .opening, .copying, .closing] }

  mutating func act(_ id: CommandID, _ world: World) -> [Step]? {
    switch id {
    case .open where opensRecord(world):
      return list.selected(world).map { [.push(RecordScreen($0.key))] }
    // The causes are the first tab.
    case .previousTab where list.listing.states.isEmpty, .nextTab where list.isLastTab(world):
      if list.availability(of: .causes, world).isNow { return [.push(CausesScreen())] }
    default: break
    }
    return list.act(id, world, visible: visible(world))
  }

  /// Whether the operation is shown whole, so that Enter goes on to its record.
  private func opensRecord(_ world: World) -> Bool {
    layout(world).showsWholeDetail && list.selected(world)?.key.name.isEmpty == false
  }

  func availability(of id: CommandID, _ world: World) -> Availability { list.availability(of: id, world) }

  func label(of id: CommandID, _ world: World) -> String? {
    id == .open && opensRecord(world) ? "record" : nil
  }

  mutating func take(_ receipt: Receipt) { list.take(receipt) }
  func conflict(_ world: World) -> Int64? { list.conflict(world) }

  func drawFrame(on frame: inout Frame, in area: Rect, _ world: World) {
    QueueTabs(world, list, hasCauses: true).draw("Queue", on: &frame, in: area, world, list)
  }
}
