import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// The zones, with the deletions on hold that a person decides about.
struct ZonesScreen: Screen {
  private var list = ListState<ZoneKey>()

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

  private func rows(_ world: World) -> ListState<ZoneKey>.Rows {
    let keys = zones(world).map(\.key)
    return ListState<ZoneKey>.Rows(total: keys.count, offset: 0, ids: keys, versions: keys.map { _ in "" })
  }

  private func visible(_ world: World) -> Int { Table.visibleRows(in: Box.inside(world.body)) }

  private func selected(_ world: World) -> ZoneRow? {
    let zones = zones(world)
    return zones.indices.contains(list.cursor) ? zones[list.cursor] : nil
  }

  mutating func follow(_ world: World) { list.follow(rows(world), visible: visible(world)) }

  mutating func perform(_ id: CommandID, _ world: World) -> [Step] {
    let (rows, visible) = (rows(world), visible(world))
    if let row = ListState<ZoneKey>.target(of: id, from: list.cursor, visible: visible, total: rows.total) {
      list.move(to: row, rows, visible: visible)
      return []
    }
    guard id != .back else { return [.pop] }
    guard let zone = selected(world) else { return [] }
    switch id {
    case .pauseZone: return [.effect(.give(.togglePauseOfZone(zone.key)))]
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
    let visible = Table.visibleRows(in: inside)
    var columns = [
      Table.Column("ZONE", .flex(3)), Table.Column("STATE", .flex(5)), Table.Column("RECORDS", .fixed(9), .trailing),
      Table.Column("UNSENT", .fixed(9), .trailing),
    ]
    let showsFetch = inside.width >= 70
    if showsFetch { columns.append(Table.Column("LAST FETCH", .fixed(15))) }
    let rows = zones.dropFirst(list.offset).prefix(visible).map { zone -> Table.Row in
      let unsent = (world.status?.queue.parts ?? []).filter { $0.zone == zone.key }.reduce(0) { $0 + $1.count }
      var cells: [StyledText] = [
        StyledText(
          zone.key.owner.isEmpty ? zone.key.zone : "\(zone.key.zone) of \(world.user(zone.key.owner))",
          .strong
        ), state(zone),
        StyledText(Format.number(zone.records)), StyledText(Format.number(unsent), unsent > 0 ? .pending : .dim),
      ]
      if showsFetch { cells.append(StyledText(zone.lastFetchAt.map { world.time($0) } ?? "never", .dim)) }
      return Table.Row(cells)
    }
    Table(
      columns: columns,
      rows: Array(rows),
      offset: list.offset,
      total: zones.count,
      selection: list.cursor,
      isFocused: true,
      emptyText: world.data.zones == nil ? "loading…" : "No zones yet"
    ).draw(on: &frame.grid, in: inside)
  }

  private func state(_ zone: ZoneRow) -> StyledText {
    if let held = zone.held {
      let what =
        held.isWholeZone ? "the server deleted the zone" : "the server deleted \(Words.count(held.records, "record"))"
      return StyledText("■ \(what); a accepts, r restores", .error)
    }
    if zone.isPaused { return StyledText("◆ paused", .warning) }
    switch zone.state {
    case "ready", "known": return StyledText("● ok", .ok)
    default: return StyledText(zone.state, .dim)
    }
  }
}
