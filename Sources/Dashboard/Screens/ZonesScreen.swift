import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// The zones as a list.
enum ZoneKind: ListKind {
  static var emptyListing: ZoneListing { ZoneListing() }
  static var filter: any WritableKeyPath<ZoneListing, ListFilter> & Sendable { \.filter }
  static var filterHint: String { "words, such as a name, paused, unsent or failed" }
  static func page(_ world: World) -> ListPage<ZoneListing, ZoneRow>? { world.data.zones }
  static func isProblem(_ row: ZoneRow) -> Bool { row.held != nil || !row.troubles.isEmpty }
  static func request(_ list: RowList<ZoneKind>, visible: Int, in scope: inout ViewScope) {
    // They are read whole, so that all marked ones can be acted on.
    scope.zones = ListPart(list.listing, limit: .max)
  }

  static func columns(_ list: RowList<ZoneKind>, _ width: Int, _ world: World) -> [Table.Column] {
    // A state that says what to do, or how far a fetch is, must not be cut.
    let hasSentence = list.page(world)?.rows.contains { $0.held != nil || $0.fetch != nil } ?? false
    return [
      Table.Column("ZONE", .flex(3), minimum: 10, priority: 9),
      Table.Column("STATE", .flex(5), minimum: hasSentence && width >= 70 ? 40 : 12, priority: 8),
      Table.Column("RECORDS", .fixed(9), .trailing, priority: 5),
      Table.Column("UNSENT", .fixed(9), .trailing, priority: 6),
      Table.Column("LAST FETCH", .fixed(12), priority: 4),
      Table.Column("TOKEN SAVED", .fixed(12), isHidden: !width.isWide),
    ]
  }

  static func cells(_ zone: ZoneRow, _ list: RowList<ZoneKind>, _ width: Int, _ world: World) -> Table.Row {
    let name = zone.key.owner.isEmpty ? zone.key.zone : "\(zone.key.zone) of \(world.user(zone.key.owner))"
    return Table.Row([
      StyledText(name, .strong), state(zone, world), StyledText(Format.number(zone.records)),
      StyledText(Format.number(zone.unsent), zone.unsent > 0 ? .pending : .dim),
      StyledText(zone.lastFetchAt.map { world.moment($0) } ?? "never", .dim),
      StyledText(zone.tokenAt.map { world.moment($0) } ?? "none", .dim),
    ])
  }

  static func empty(_ list: RowList<ZoneKind>, _ world: World) -> String {
    list.isFiltered ? "No zone matches; Esc shows all" : "No zones yet"
  }

  private static func state(_ zone: ZoneRow, _ world: World) -> StyledText {
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

/// The zones, those that need a look first, with the deletions on hold that a person decides about.
struct ZonesScreen: ListScreen {
  var list = RowList<ZoneKind>()

  var title: String? { "Zones" }
  var scopes: KeyScope { [.everywhere, .moving, .list, .zones, .opening, .copying, .closing] }

  mutating func act(_ id: CommandID, _ world: World) -> [Step]? {
    switch id {
    case .open: return list.selected(world).map { [.push(Self.contents(of: $0))] } ?? []
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
    default: return nil
    }
  }

  /// The unsent changes of a zone; without any, its records.
  private static func contents(of zone: ZoneRow) -> any Screen {
    let filter = "zone = '\(zone.key.zone.replacing("'", with: "''"))'"
    if zone.unsent > 0 {
      var queue = QueueList()
      queue.setFilter(filter)
      return QueueScreen(queue)
    }
    var records = RecordList()
    records.setFilter(filter)
    return RecordsScreen(records)
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
    case .copy, .mark, .open: return list.selected(world) == nil ? .no("No zone is selected") : .now
    default: return .now
    }
  }

  func label(of id: CommandID, _ world: World) -> String? {
    guard let zones = list.chosen(world), !zones.isEmpty else { return nil }
    let verb: String
    switch id {
    case .open: return list.selected(world).map { $0.unsent > 0 ? "changes" : "records" }
    case .pauseZone: verb = zones.allSatisfy(\.isPaused) ? "resume" : "pause"
    case .repairZone: verb = "repair"
    default: return nil
    }
    return list.state.marks.isEmpty ? "\(verb) zone" : "\(verb) \(Words.count(zones.count, "zone"))"
  }
}
