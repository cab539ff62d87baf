import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// The zones as a list.
enum ZoneKind: ListKind {
  static var emptyListing: ZoneListing { ZoneListing() }
  static var filter: any WritableKeyPath<ZoneListing, ListFilter> & Sendable { \.filter }
  static var table: FilterTable? { nil }
  static var filterHint: String { "words, such as a name, paused, unsent or failed" }
  static func unfiltered(_ listing: ZoneListing) -> ZoneListing { ZoneListing() }
  static func page(_ data: ViewData) -> ListPage<ZoneListing, ZoneRow>? { data.zones }
  static func version(of row: ZoneRow) -> String { "" }
}

/// The zones, those that need a look first, with the deletions on hold that a person decides about.
struct ZonesScreen: Screen {
  private var list = RowList<ZoneKind>()

  var title: String? { "Zones" }
  var scopes: KeyScope { [.everywhere, .moving, .list, .zones, .copying, .closing] }

  func wants(_ world: World) -> ViewScope {
    var scope = ViewScope()
    // They are read whole, so that all marked ones can be acted on.
    scope.zones = ListPart(list.listing, limit: .max)
    return scope
  }

  private func visible(_ world: World) -> Int { Table.visibleRows(in: Box.inside(world.body)) }

  func isWaiting(_ world: World) -> Bool { list.isWaiting(world) }
  mutating func type(_ key: Key, _ world: World) -> [Step]? { list.type(key) }
  func prompt(_ world: World) -> Prompt? { list.prompt(world) }

  mutating func follow(_ world: World) { list.follow(world, visible: visible(world)) }

  mutating func select(_ row: Int, in pane: Pane?, _ world: World) -> Bool {
    list.select(row, world, visible: visible(world))
  }

  mutating func perform(_ id: CommandID, _ world: World) -> [Step] {
    switch id {
    case .back: return list.clear() ? [] : [.pop]
    case .pauseZone:
      guard let zones = list.chosen(world), !zones.isEmpty else { return [] }
      list.state.marks = .some([:])
      let rules = zones.map { PauseRule.zone($0.key) }
      return [.effect(.give(zones.allSatisfy(\.isPaused) ? .resume(rules) : .pause(rules)))]
    case .acceptDeletions: return held(world).map { [.push(Question(.acceptDeletions($0)))] } ?? []
    case .restoreDeletions: return held(world).map { [.push(Question(.restoreDeletions($0)))] } ?? []
    case .repairZone:
      let zones = repairable(world)
      guard !zones.isEmpty else { return [] }
      return [.push(Question(.fetchAgain(zones.map(\.key), records: zones.reduce(0) { $0 + $1.records })))]
    case .copy:
      return list.copy(world) { zone in
        [
          zone.key.zone, zone.key.owner, (zone.troubles + [zone.existence]).joined(separator: ", "),
          String(zone.unsent),
        ]
        .joined(separator: "\t")
      }
    default: return list.perform(id, world, visible: visible(world)) ?? []
    }
  }

  /// The marked zones, else the selected one, that are on the server and have no deletions on hold.
  private func repairable(_ world: World) -> [ZoneRow] {
    (list.chosen(world) ?? []).filter { $0.state == "ready" && $0.held == nil }
  }

  private func held(_ world: World) -> HeldDeletions? { list.selected(world)?.held }

  func availability(of id: CommandID, _ world: World) -> Availability {
    switch id {
    case .acceptDeletions, .restoreDeletions:
      guard let zone = list.selected(world) else { return .no("No zone is selected") }
      guard list.state.marks.isEmpty else { return .no("Decide about one zone at a time; Esc clears the marks") }
      return zone.held == nil ? .no("Zone \(zone.key.zone) has no deletions on hold") : .now
    case .repairZone:
      guard list.chosen(world)?.isEmpty == false else { return .no("No zone is selected") }
      return repairable(world).isEmpty ? .no("Nothing of this zone can be fetched now") : .now
    case .pauseZone: return list.chosen(world)?.isEmpty == false ? .now : .no("No zone is selected")
    case .copy, .mark: return list.selected(world) == nil ? .no("No zone is selected") : .now
    default: return .now
    }
  }

  func label(of id: CommandID, _ world: World) -> String? {
    guard let zones = list.chosen(world), !zones.isEmpty else { return nil }
    let verb: String
    switch id {
    case .pauseZone: verb = zones.allSatisfy(\.isPaused) ? "resume" : "pause"
    case .repairZone: verb = "repair"
    default: return nil
    }
    return list.state.marks.isEmpty ? "\(verb) zone" : "\(verb) \(Words.count(zones.count, "zone"))"
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    Box(title: "Zones", note: list.note(world), isFocused: true).draw(on: &frame.grid, in: area)
    let inside = Box.inside(area)
    // A state that says what to do, or how far a fetch is, must not be cut.
    let hasSentence = list.page(world)?.rows.contains { $0.held != nil || $0.fetch != nil } ?? false
    let columns = [
      Table.Column("ZONE", .flex(3), minimum: 10, priority: 9),
      Table.Column("STATE", .flex(5), minimum: hasSentence && inside.width >= 70 ? 40 : 12, priority: 8),
      Table.Column("RECORDS", .fixed(9), .trailing, priority: 5),
      Table.Column("UNSENT", .fixed(9), .trailing, priority: 6),
      Table.Column("LAST FETCH", .fixed(12), priority: 4),
      Table.Column("TOKEN SAVED", .fixed(12), minimum: inside.width >= 100 ? 12 : 400),
    ]
    let empty = list.isFiltered ? "No zone matches; Esc shows all" : "No zones yet"
    let visible = Table.visibleRows(in: inside)
    list.table(columns, world, isFocused: true, empty: empty, visible: visible) { zone in
      let name = zone.key.owner.isEmpty ? zone.key.zone : "\(zone.key.zone) of \(world.user(zone.key.owner))"
      return Table.Row([
        StyledText(name, .strong), state(zone, world), StyledText(Format.number(zone.records)),
        StyledText(Format.number(zone.unsent), zone.unsent > 0 ? .pending : .dim),
        StyledText(zone.lastFetchAt.map { world.moment($0) } ?? "never", .dim),
        StyledText(zone.tokenAt.map { world.moment($0) } ?? "none", .dim),
      ])
    }.draw(on: &frame, in: inside)
  }

  private func state(_ zone: ZoneRow, _ world: World) -> StyledText {
    if let held = zone.held {
      let what = held.isWholeZone ? "deleted" : "\(Format.number(held.records)) deleted"
      let (accept, restore) = (world.keys.name(of: .acceptDeletions), world.keys.name(of: .restoreDeletions))
      return StyledText("■ \(what); \(accept) accepts, \(restore) restores", .error)
    }
    guard zone.troubles.isEmpty else {
      let isPausedOnly = zone.troubles == ["paused"]
      return StyledText(
        "\(isPausedOnly ? "◆" : "▲") \(zone.troubles.joined(separator: ", "))",
        isPausedOnly ? .warning : .error
      )
    }
    if let fetch = world.progress(of: zone) { return fetch }
    return zone.state == "ready" ? StyledText("● \(zone.existence)", .ok) : StyledText(zone.existence, .dim)
  }
}
