import CloudService
import CloudSync
import Facts
import TerminalUI

extension App {
  /// Whether a command would do something now.
  func availability(of id: CommandID, _ world: World) -> Availability {
    if world.isReadOnly, Command.of(id).isChange { return .no("Not allowed in read-only mode") }
    guard let status = world.status else {
      return [.flush, .view5, .conflicts].contains(id)
        ? .no("The store has not been read yet") : top.availability(of: id, world)
    }
    switch id {
    case .undo: return undoable.isEmpty ? .no("Nothing here can be undone") : .now
    case .flush:
      if status.queue.waiting > 0 || status.throttles.contains(where: \.isOwn) { return .now }
      let ends = status.throttles.map(\.until) + [status.changeThrottledUntil].compactMap(\.self)
      guard let end = ends.max() else { return .no("Nothing waits to retry") }
      return .no("The server asked to wait until \(world.time(end)); retry now does not end that")
    case .syncOnce where world.syncing == .once: return .no("A sync is already running")
    case .pauseAll: return status.hasStore ? .now : .no("There is no store yet")
    case .view5, .conflicts: return status.queue.conflicts > 0 ? .now : .no("There are no conflicts")
    default: return top.availability(of: id, world)
    }
  }
}

extension World {
  /// The number of changes that a pause of these would hold: those that are sent by themselves otherwise.
  func unsent(under rule: PauseRule) -> Int {
    (status?.queue.parts ?? []).filter { part in
      [.pending, .inFlight, .waiting].contains(part.state) && rule.holds(part.zone, type: part.type)
    }.reduce(0) { $0 + $1.count }
  }

  /// The number of changes that nobody sends when this dashboard ends, because it is the one that syncs.
  var unsentAfterQuitting: Int {
    // The demo's store ends with it.
    guard syncing != .off, faults.isEmpty else { return 0 }
    let isSyncedElsewhere = status?.driver.map { $0.isLive && $0.pid != pid } ?? false
    return isSyncedElsewhere ? 0 : unsent(under: .everything)
  }

  static let smallest = Size(width: 40, height: 12)

  /// Whether there is room for more than the verdict.
  var isUsable: Bool { size.width >= Self.smallest.width && size.height >= Self.smallest.height }
}
