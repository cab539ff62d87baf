import CloudService
import CloudSync
import Facts
import TerminalUI

/// Sync in full: the last 24 hours as a strip, and below it how it is: what moves, what waits until when, who syncs,
/// the zones, and the last syncs. With the cursor on an earlier minute: how it was then.
struct SyncScreen: TextScreen {
  var offset = 0
  /// The minute that the cursor is on, in minutes since 1970; nil: it follows the clock.
  private var cursor: Int64?

  var title: String? { Pane.sync.title }
  var scopes: KeyScope { [.everywhere, .day, .syncing, .copying, .closing] }

  func wants(_ world: World) -> ViewScope {
    var scope = ViewScope()
    scope.events = cursor.map { ListPart(world.moment(ofMinute: $0).events) } ?? ListPart(Self.syncs, limit: 50)
    (scope.throughput, scope.verdicts) = (true, true)
    scope.zones = ListPart(ZoneListing(), limit: 100)
    return scope
  }

  /// The next minute, while the strip has something to move.
  func wake(_ world: World) -> Int64? {
    let isMoving = world.data.throughput?.last.map { world.now - $0.at < 86_400_000 } ?? false
    guard isMoving || world.data.verdicts?.isEmpty == false else { return nil }
    return (world.now / 60_000 + 1) * 60_000
  }

  mutating func follow(_ world: World) {
    cursor = cursor.map { max($0, Self.minutes(world).lowerBound) }
  }

  /// The minutes that the cursor can be on.
  private static func minutes(_ world: World) -> ClosedRange<Int64> {
    let now = world.now / 60_000
    return now - Int64(DayStrip.minutes(world)) + 1...now
  }

  fileprivate mutating func move(by minutes: Int64, _ world: World) -> [Step] {
    let shown = Self.minutes(world)
    let minute = max(shown.lowerBound, (cursor ?? shown.upperBound) + minutes)
    (cursor, offset) = (minute >= shown.upperBound ? nil : minute, 0)
    return []
  }

  /// The events of the last syncs.
  private static let syncs: EventListing = {
    var listing = EventListing()
    if let filter = try? ListFilter.parse("kind = 'sync'", of: .events).get() { listing.filter = filter }
    return listing
  }()

  /// The graphs of an hour where there is room for them and the strip is not of an hour, the strip, and the text below.
  private static func parts(_ area: Rect, _ world: World) -> (hour: Rect, strip: Rect, text: Rect) {
    let hour = area.height >= Breakpoint.hourAboveStrip && DayStrip.minutes(world) > 60 ? 4 : 0
    let strip = area.height >= Breakpoint.wholeStrip ? 6 : area.height >= Breakpoint.stripWithoutSums ? 3 : 0
    let parts = area.rows([.fixed(hour), .fixed(strip), .fixed(strip == 6 ? 1 : 0), .flexible])
    return (parts[0], parts[1], parts[3])
  }

  static func place(_ area: Rect, _ world: World) -> Rect { parts(Box.text(area), world).text }

  mutating func back(_ world: World) -> [Step] {
    guard cursor != nil else { return [.pop] }
    (cursor, offset) = (nil, 0)
    return []
  }

  fileprivate func isUnread(_ world: World) -> String? { world.status == nil ? Command.isUnread : nil }
  fileprivate func isNow(_ world: World) -> String? { cursor == nil ? "This is the present minute" : nil }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    drawText(on: &frame, in: area, world)
    guard world.status != nil else { return }
    let parts = Self.parts(Box.text(area), world)
    drawHour(on: &frame.grid, in: parts.hour, world)
    DayStrip(world: world, cursor: cursor).draw(on: &frame.grid, in: parts.strip)
  }

  private func drawHour(on grid: inout Grid, in area: Rect, _ world: World) {
    guard area.height >= 3 else { return }
    grid.put(StyledText("LAST HOUR", .header), in: area.row(0))
    ThroughputChart(world, "sent", \.sent, minutes: 60).draw(on: &grid, in: area.row(1))
    ThroughputChart(world, "fetched", \.fetched, minutes: 60).draw(on: &grid, in: area.row(2))
  }

  func lines(_ world: World) -> [StyledText] {
    guard let status = world.status else { return [StyledText("loading…", .dim)] }
    return cursor.map { lines(of: world.moment(ofMinute: $0), world) } ?? lines(status, world)
  }

  /// How it was in a minute, and its events.
  private func lines(of moment: Moment, _ world: World) -> [StyledText] {
    var lines = [StyledText("AT \(world.clock(moment.at)) (\(world.ago(moment.at)))", .header)]
    if moment.spans.isEmpty { lines.append(Fact("Verdict", "not known: no syncing process had noted one").line) }
    lines += moment.spans.map { span in
      Fact("Verdict", span.text(world.format, now: world.now), span.urgency?.role ?? .dim).line
    }
    lines += [Fact("In this minute", moment.counts.words).line, "", StyledText("EVENTS", .header)]
    let page = world.data.events?.page(of: moment.events)
    let events = page?.rows ?? []
    if events.isEmpty { lines.append(StyledText(page == nil ? "loading…" : "No event", .dim)) }
    if let page, page.total > events.count {
      let (last, all) = (Format.number(events.count), Format.number(page.total) + (page.isCounted ? "" : "+"))
      lines.append(StyledText("The last \(last) of \(all); \(world.keys.name(of: .eventsView)) shows all", .dim))
    }
    return lines + events.reversed().map { EventLine.text($0, world) }
  }

  private func lines(_ status: StoreStatus, _ world: World) -> [StyledText] {
    let state = Fact("State", world.sentence, world.verdict?.urgency.role ?? .text)
    var lines = ([state] + status.syncFacts(world.format, now: world.now)).map(\.line)
    lines += ["", StyledText("WAITS", .header)]
    let waits = status.waitFacts(world.format, now: world.now)
    if waits.isEmpty { lines.append(StyledText("Nothing waits for the server or the network.", .dim)) }
    lines += waits.map(\.line)
    lines += ["", StyledText("ZONES", .header)]
    let zones = world.data.zones
    if zones?.rows.isEmpty != false { lines.append(StyledText(zones == nil ? "loading…" : "No zones yet", .dim)) }
    for zone in zones?.rows ?? [] {
      let progress = world.progress(of: zone).map { ", \($0.plain)" } ?? ""
      let fetched = zone.lastFetchAt.map { "fetched \(world.time($0))" } ?? "never fetched"
      let waits = zone.unsent > 0 ? ", \(Format.number(zone.unsent)) unsent" : ""
      lines.append(
        Fact(
          zone.key.zone,
          "\(Words.count(zone.records, "record")), \(fetched)\(progress)\(waits)\(zone.isPaused ? ", paused" : "")"
        ).line
      )
    }
    if let zones, zones.total > zones.rows.count {
      let more = Words.count(zones.total - zones.rows.count, "more zone")
      lines.append(StyledText("\(more); \(world.keys.name(of: .zonesView)) shows all", .dim))
    }
    lines += ["", StyledText("LAST SYNCS", .header)]
    let syncs = world.data.events?.page(of: Self.syncs)?.rows
    if syncs?.isEmpty != false {
      lines.append(StyledText(syncs == nil ? "loading…" : "No sync has changed anything yet", .dim))
    }
    return lines + (syncs ?? []).map { Fact(world.time($0.at), $0.message).line }
  }
}

extension World {
  /// How far the fetch of a zone is; nil if there is nothing to fetch.
  func progress(of zone: ZoneRow) -> StyledText? {
    guard let fetch = zone.fetch, zone.state == "ready" else { return nil }
    let what = fetch.isOfAll ? "all" : "changes"
    let soFar = fetch.fetched > 0 ? ", \(Format.number(fetch.fetched)) so far" : ""
    return isSynced
      ? StyledText("fetching \(what)\(soFar)", .active) : StyledText("\(what) to fetch\(soFar)", .warning)
  }
}

extension Command {
  static let day: [Command] = [
    minutes("earlierMinute", "Left", "earlier", "Show how it was a minute earlier", -1).unless(SyncScreen.isUnread),
    minutes("laterMinute", "Right", "later", "Show how it was a minute later", 1).unless(SyncScreen.isNow),
    minutes("earlierHour", "PgUp", "hour earlier", "Show how it was an hour earlier", -60).unless(SyncScreen.isUnread),
    minutes("laterHour", "PgDn", "hour later", "Show how it was an hour later", 60).unless(SyncScreen.isNow),
  ]

  private static func minutes(_ id: CommandID, _ key: String, _ title: String, _ help: String, _ minutes: Int64)
    -> Command
  {
    Command(id, key, title, help, .day).run { (sync: inout SyncScreen, world) in sync.move(by: minutes, world) }
  }
}
