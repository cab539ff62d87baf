import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// The zones, with the deletions on hold that a person decides about.
struct ZonesScreen: Screen {
  private var list = WholeList<ZoneRow>()

  var title: String? { "Zones" }
  var scopes: KeyScope { [.everywhere, .moving, .zones, .closing] }

  func wants(_ world: World) -> ViewScope {
    var scope = ViewScope()
    scope.zones = true
    return scope
  }

  /// Zones with deletions on hold come first.
  private func zones(_ world: World) -> [ZoneRow] {
    let zones = world.data.zones ?? []
    return zones.filter { $0.held != nil } + zones.filter { $0.held == nil }
  }

  private func visible(_ world: World) -> Int { Table.visibleRows(in: Box.inside(world.body)) }

  private func selected(_ world: World) -> ZoneRow? { list.selected(in: zones(world)) }

  mutating func follow(_ world: World) { list.follow(zones(world), visible: visible(world)) }

  mutating func select(_ row: Int, in pane: Pane?, _ world: World) -> Bool {
    list.select(row, in: zones(world), visible: visible(world))
  }

  mutating func perform(_ id: CommandID, _ world: World) -> [Step] {
    if list.move(by: id, in: zones(world), visible: visible(world)) { return [] }
    guard id != .back else { return [.pop] }
    guard let zone = selected(world) else { return [] }
    switch id {
    case .pauseZone: return [.effect(.give(zone.isPaused ? .resume([.zone(zone.key)]) : .pause([.zone(zone.key)])))]
    case .acceptDeletions: return zone.held.map { [.push(Question(.acceptDeletions($0)))] } ?? []
    case .restoreDeletions: return zone.held.map { [.push(Question(.restoreDeletions($0)))] } ?? []
    default: return []
    }
  }

  func availability(of id: CommandID, _ world: World) -> Availability {
    switch id {
    case .acceptDeletions, .restoreDeletions:
      guard let zone = selected(world) else { return .no("No zone is selected") }
      return zone.held == nil ? .no("Zone \(zone.key.zone) has no deletions on hold") : .now
    case .pauseZone: return selected(world) == nil ? .no("No zone is selected") : .now
    default: return .now
    }
  }

  func label(of id: CommandID, _ world: World) -> String? {
    id == .pauseZone && selected(world)?.isPaused == true ? "resume zone" : nil
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    let zones = zones(world)
    Box(title: "Zones", note: StyledText(Format.number(zones.count), .dim), isFocused: true).draw(
      on: &frame.grid,
      in: area
    )
    let inside = Box.inside(area)
    // A state that says what to do, or how far a fetch is, must not be cut.
    let hasSentence = zones.contains { $0.held != nil || $0.fetch != nil }
    let columns = [
      Table.Column("ZONE", .flex(3), minimum: 10, priority: 9),
      Table.Column("STATE", .flex(5), minimum: hasSentence && inside.width >= 70 ? 40 : 12, priority: 8),
      Table.Column("RECORDS", .fixed(9), .trailing, priority: 5),
      Table.Column("UNSENT", .fixed(9), .trailing, priority: 6),
      Table.Column("LAST FETCH", .fixed(15), priority: 4),
      Table.Column("TOKEN FROM", .fixed(15), minimum: inside.width >= 100 ? 15 : 400),
    ]
    let rows = world.data.zones == nil ? nil : zones
    list.table(columns, rows, world, visible: Table.visibleRows(in: inside), empty: "No zones yet") { zone in
      let unsent = world.unsent(in: zone.key)
      let name = zone.key.owner.isEmpty ? zone.key.zone : "\(zone.key.zone) of \(world.user(zone.key.owner))"
      return Table.Row([
        StyledText(name, .strong), state(zone, world), StyledText(Format.number(zone.records)),
        StyledText(Format.number(unsent), unsent > 0 ? .pending : .dim),
        StyledText(zone.lastFetchAt.map { world.time($0) } ?? "never", .dim),
        StyledText(zone.tokenAt.map { world.time($0) } ?? "none", .dim),
      ])
    }.draw(on: &frame, in: inside)
  }

  private func state(_ zone: ZoneRow, _ world: World) -> StyledText {
    if let held = zone.held {
      let what = held.isWholeZone ? "deleted" : "\(Format.number(held.records)) deleted"
      let (accept, restore) = (world.keys.name(of: .acceptDeletions), world.keys.name(of: .restoreDeletions))
      return StyledText("■ \(what); \(accept) accepts, \(restore) restores", .error)
    }
    if zone.isPaused { return StyledText("◆ paused", .warning) }
    if let fetch = world.progress(of: zone) { return fetch }
    switch zone.state {
    case "ready": return StyledText("● ok", .ok)
    case "deleted": return StyledText("deleted on the server", .dim)
    default: return StyledText("not created on the server yet", .dim)
    }
  }
}
