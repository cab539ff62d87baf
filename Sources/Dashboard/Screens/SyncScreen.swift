import CloudService
import CloudSync
import Facts
import TerminalUI

/// Sync in full: what moves, the graphs of an hour and of a day, what waits until when, who syncs, the zones, and the
/// last syncs.
struct SyncScreen: Screen {
  private var offset = 0

  var title: String? { Pane.sync.title }
  var scopes: KeyScope { [.everywhere, .moving, .syncing, .copying, .closing] }

  func wants(_ world: World) -> ViewScope {
    var scope = ViewScope()
    scope.events = ListPart(Self.syncs, limit: 50)
    scope.throughput = true
    scope.zones = ListPart(ZoneListing(), limit: 100)
    return scope
  }

  /// The next minute, while a chart has something to move.
  func wake(_ world: World) -> Int64? {
    guard let last = world.data.throughput?.last, world.now - last.at < 86_400_000 else { return nil }
    return (world.now / 60_000 + 1) * 60_000
  }

  /// The events of the last syncs.
  private static let syncs: EventListing = {
    var listing = EventListing()
    if let filter = try? ListFilter.parse("kind = 'sync'", of: .events).get() { listing.filter = filter }
    return listing
  }()

  /// The graphs with their headings, and the text below them.
  private static func parts(_ area: Rect) -> (graphs: Rect, text: Rect) {
    let parts = area.rows([.fixed(area.height >= 24 ? 7 : area.height >= 12 ? 4 : 0), .flexible])
    return (parts[0], parts[1])
  }

  mutating func perform(_ id: CommandID, _ world: World) -> [Step] {
    switch id {
    case .back: return [.pop]
    case .copy: return [.effect(.copy(lines(world).map(\.plain).joined(separator: "\n")))]
    default:
      let area = Self.parts(Box.text(world.body)).text
      offset = TextView(lines(world)).scrolled(id, from: offset, in: area, world.glyphs)
      return []
    }
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    Box(title: StyledText(Pane.sync.title), isFocused: true).draw(on: &frame.grid, in: area)
    let parts = Self.parts(Box.text(area))
    drawGraphs(on: &frame.grid, in: parts.graphs, world)
    TextView(lines(world), offset: offset).draw(on: &frame.grid, in: parts.text)
  }

  private func drawGraphs(on grid: inout Grid, in area: Rect, _ world: World) {
    guard world.status != nil, area.height >= 3 else { return }
    var row = 0
    for (title, minutes) in [("LAST HOUR", 60), ("LAST 24 HOURS", 1440)] where row + 3 <= area.height {
      grid.put(StyledText(title, .header), in: area.row(row))
      ThroughputChart(world, "sent", \.sent, minutes: minutes).draw(on: &grid, in: area.row(row + 1))
      ThroughputChart(world, "fetched", \.fetched, minutes: minutes).draw(on: &grid, in: area.row(row + 2))
      row += 3
    }
  }

  private func lines(_ world: World) -> [StyledText] {
    guard let status = world.status else { return [StyledText("loading…", .dim)] }
    func line(_ name: String, _ text: String, _ role: StyleRole = .text) -> StyledText {
      [.init(name.padding(to: 18), .dim), .init(text, role)]
    }
    var lines = [
      line("State", world.sentence, world.verdict?.urgency.role ?? .text),
      line("Last full sync", status.lastSuccessAt.map { "\(world.time($0)) (\(world.ago($0)))" } ?? "never"),
      line("Last local change", status.lastEnqueueAt.map { world.time($0) } ?? "none yet"),
      line("Syncing process", status.driver?.text { world.time($0) } ?? "none yet"),
      line("Last 24 hours", status.lastDay.words),
      line("Conflict policy", status.settings.policy?.rawValue ?? "not set yet"),
    ]
    if let next = status.nextActionAt { lines.append(line("Next", "try again at \(world.time(next))")) }
    if let error = status.lastError {
      lines.append(line("Last error", "\(world.time(error.at))  \(Words.joined(error.message, error.code))"))
    }
    if let problem = status.deliveryProblem { lines.append(line("The app", problem.message, .error)) }
    lines += ["", StyledText("WAITS", .header)]
    if status.throttles.isEmpty, status.changeThrottledUntil == nil {
      lines.append(StyledText("Nothing waits for the server or the network.", .dim))
    }
    for wait in status.throttles.sorted(by: { $0.until < $1.until }) {
      let since = wait.since.map { ", since \(world.time($0))" } ?? ""
      let who =
        wait.isOwn ? "our own back-off; \(world.keys.name(of: .flush)) tries now" : "asked for by the server"
      lines.append(
        line(
          "until \(world.time(wait.until))",
          "\(WaitScope(name: wait.scope).asCause.text) (\(who)\(since)): \(Words.joined(wait.message, wait.error))",
          .warning
        )
      )
    }
    if let until = status.changeThrottledUntil {
      lines.append(line("until \(world.time(until))", "single changes that the server asked to wait", .warning))
    }
    lines += ["", StyledText("ZONES", .header)]
    let zones = world.data.zones
    if zones?.rows.isEmpty != false { lines.append(StyledText(zones == nil ? "loading…" : "No zones yet", .dim)) }
    for zone in zones?.rows ?? [] {
      let progress = world.progress(of: zone).map { ", \($0.plain)" } ?? ""
      let fetched = zone.lastFetchAt.map { "fetched \(world.time($0))" } ?? "never fetched"
      let waits = zone.unsent > 0 ? ", \(Format.number(zone.unsent)) unsent" : ""
      lines.append(
        line(
          zone.key.zone,
          "\(Words.count(zone.records, "record")), \(fetched)\(progress)\(waits)\(zone.isPaused ? ", paused" : "")"
        )
      )
    }
    if let zones, zones.total > zones.rows.count {
      let more = Words.count(zones.total - zones.rows.count, "more zone")
      lines.append(StyledText("\(more); \(world.keys.name(of: .view7)) shows all", .dim))
    }
    lines += ["", StyledText("LAST SYNCS", .header)]
    let syncs = world.data.events.flatMap { $0.listing == Self.syncs ? $0.rows : nil }
    if syncs?.isEmpty != false {
      lines.append(StyledText(syncs == nil ? "loading…" : "No sync has changed anything yet", .dim))
    }
    lines += (syncs ?? []).map { line(world.time($0.at), $0.message) }
    return lines
  }
}

extension World {
  /// How far the fetch of a zone is; nil if there is nothing to fetch.
  func progress(of zone: ZoneRow) -> StyledText? {
    guard let fetch = zone.fetch, zone.state == "ready" else { return nil }
    let what = fetch.isOfAll ? "all" : "changes"
    let soFar = fetch.fetched > 0 ? ", \(Format.number(fetch.fetched)) so far" : ""
    let isSyncing = status?.driver?.isLive == true || syncing != .off
    return isSyncing
      ? StyledText("fetching \(what)\(soFar)", .active) : StyledText("\(what) to fetch\(soFar)", .warning)
  }
}
