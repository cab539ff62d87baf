import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// The zones as a list.
enum ZoneKind: ListKind {
  static var filterHint: String { "words, such as a name, paused, unsent or failed" }
  static func page(_ world: World) -> ListPage<ZoneListing, ZoneRow>? { world.data.zones }
  static func isProblem(_ row: ZoneRow) -> Bool { row.held != nil || !row.troubles.isEmpty }
  static func request(_ list: RowList<ZoneKind>, visible: Int, in scope: inout ViewScope) {
    // They are read whole, so that all marked ones can be acted on.
    scope.zones = ListPart(list.listing, limit: .max)
  }

  static var noun: String { "zone" }
  static func line(_ zone: ZoneRow, _ world: World) -> String {
    [zone.key.zone, zone.key.owner, (zone.troubles + [zone.existence]).joined(separator: ", "), String(zone.unsent)]
      .joined(separator: "\t")
  }

  /// The unsent changes of a zone; without any, its records.
  static func opening(_ zone: ZoneRow, _ world: World) -> Offer {
    let filter = "zone = \(zone.key.zone.quoted("''"))"
    if zone.unsent > 0 {
      var queue = QueueList()
      queue.setFilter(zone.key.owner.isEmpty ? filter : "\(filter) and owner = \(zone.key.owner.quoted("''"))")
      return .screen(QueueScreen(queue), label: "changes")
    }
    var records = RecordList()
    records.setFilter(filter)
    return .screen(RecordsScreen(records), label: "records")
  }

  static func columns(_ list: RowList<ZoneKind>, _ width: Int, _ world: World) -> [Table.Column] {
    // A state that says what to do, or how far a fetch is, must not be cut.
    let hasSentence =
      width >= Breakpoint.sentenceInColumn
      && list.page(world)?.rows.contains { $0.held != nil || $0.fetch != nil } ?? false
    return [
      Table.Column("ZONE", .flex(3), minimum: 10, priority: 9),
      Table.Column("STATE", .flex(5), minimum: hasSentence ? 40 : 12, priority: 8),
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
    if zone.isDeletePending { return StyledText("◆ \(zone.existence)", .warning) }
    if let fetch = world.progress(of: zone) { return fetch }
    return zone.state == "ready" ? StyledText("● \(zone.existence)", .ok) : StyledText(zone.existence, .dim)
  }
}

/// The zones, those that need a look first, with the deletions on hold that a person decides about.
struct ZonesScreen: ListScreen {
  var list = RowList<ZoneKind>()

  var title: String? { "Zones" }
  var scopes: KeyScope { [.everywhere, .moving, .list, .zones, .opening, .copying, .closing] }

  /// The marked zones, else the selected one, that are on the server and have no deletions on hold.
  fileprivate func repairable(_ world: World) -> [ZoneRow] {
    (list.targets(world) ?? []).filter { $0.state == "ready" && $0.held == nil }
  }

  fileprivate func unrepairable(_ world: World) -> String? {
    withoutTarget(world) ?? (repairable(world).isEmpty ? "Nothing of this zone can be fetched now" : nil)
  }

  /// Why there is nothing to decide about; nil if there are deletions on hold.
  fileprivate func undecidable(_ world: World) -> String? {
    guard let zone = list.selected(world) else { return "No zone is selected" }
    guard list.state.marks.isEmpty else { return "Decide about one zone at a time; Esc clears the marks" }
    return zone.held == nil ? "Zone \(zone.key.title) has no deletions on hold" : nil
  }

  /// Why no zone is selected; nil if one is.
  fileprivate func withoutTarget(_ world: World) -> String? {
    list.targets(world)?.isEmpty == false ? nil : "No zone is selected"
  }

  fileprivate func isPaused(_ world: World) -> Bool { list.targets(world)?.allSatisfy(\.isPaused) ?? false }

  fileprivate func label(_ verb: String, _ world: World) -> String? {
    guard let zones = list.targets(world), !zones.isEmpty else { return nil }
    return list.state.marks.isEmpty ? "\(verb) zone" : "\(verb) \(Words.count(zones.count, "zone"))"
  }
}

extension Command {
  static let zones: [Command] = [
    Command(.acceptDeletions, "X", "accept", accepting, .zones, .change).unless(ZonesScreen.undecidable)
      .ask { (zones: ZonesScreen, world) in zones.list.selected(world)?.held.map { .acceptDeletions($0) } },
    Command(.restoreDeletions, "U", "restore", "Restore what the server deleted in the zone (asks)", .zones, .change)
      .unless(ZonesScreen.undecidable)
      .ask { (zones: ZonesScreen, world) in zones.list.selected(world)?.held.map { .restoreDeletions($0) } },
    Command("pauseZone", "p", "pause zone", pausing, .zones, .change).unless(ZonesScreen.withoutTarget)
      .label { (zones: ZonesScreen, world) in zones.label(zones.isPaused(world) ? "resume" : "pause", world) }
      .run { (zones: inout ZonesScreen, world) in
        let rules = (zones.list.targets(world) ?? []).map { PauseRule.zone($0.key) }
        defer { zones.list.unmark() }
        return [.effect(.give(zones.isPaused(world) ? .resume(rules) : .pause(rules)))]
      },
    Command("repairZone", "R", "repair zone", repairing, .zones, .change).unless(ZonesScreen.unrepairable)
      .label { (zones: ZonesScreen, world) in zones.label("repair", world) }
      .ask { (zones: ZonesScreen, world) in
        let zones = zones.repairable(world)
        return .fetchAgain(zones.map(\.key), records: zones.reduce(0) { $0 + $1.records })
      },
  ]

  private static let accepting = "Accept the deletions on hold: delete local copies (asks)"
  private static let pausing = "Pause or resume sending to the marked zones, else the selected one"
  private static let repairing = "Fetch the marked zones again from the start, else the selected one (asks)"
}
