import CloudService
import CloudSync
import Facts
import TerminalUI

extension World {
  /// The number of changes that a pause of these would hold: those that are sent by themselves otherwise.
  func unsent(under rule: PauseRule) -> Int {
    (status?.queue.parts ?? []).filter { part in
      [.pending, .inFlight, .waiting].contains(part.state) && rule.holds(part.zone, type: part.type)
    }.reduce(0) { $0 + $1.count }
  }

  /// The name of a zone in the queue: with its owner where changes to zones of several users with that name are queued.
  func queuedZone(_ zone: ZoneKey) -> String {
    guard !zone.owner.isEmpty else { return zone.zone }
    return ZoneTitles(Array(Set(status?.queue.parts.map(\.zone) ?? [])))[zone]
  }

  /// The number of changes that no process sends when this dashboard ends, because it is the one that syncs.
  var unsentAfterQuitting: Int {
    // The demo's store ends with it.
    guard syncing != .off, faults.isEmpty else { return 0 }
    return otherProcess == nil ? unsent(under: .everything) : 0
  }

  /// Whether there is room for more than the verdict.
  var isUsable: Bool { size.holds(Breakpoint.moreThanVerdict) }
}
