import CloudService
import CloudSync
import Facts
import TerminalUI

/// The log of what happened, newest first. At the top it follows new events; further down the cursor stays with its event.
struct EventsScreen: Screen {
  private var list = WholeList<EventRow>()
  private var filter = FilterInput()
  private var listing = EventListing()

  var title: String? { "Events" }
  var scopes: KeyScope { [.everywhere, .moving, .filtering, .events, .syncing, .opening, .copying, .closing] }

  /// The events that are read at most; a filter finds those before them.
  private static let limit = 500

  func wants(_ world: World) -> ViewScope {
    var scope = ViewScope()
    scope.events = ListPart(listing, limit: Self.limit)
    if SplitLayout(world.body).inspector != nil { scope.operation = selected(world)?.operation }
    return scope
  }

  private func page(_ world: World) -> ListPage<EventListing, EventRow>? {
    world.data.events.flatMap { $0.listing == listing ? $0 : nil }
  }

  private func rows(_ world: World) -> [EventRow] { page(world)?.rows ?? [] }
  private func selected(_ world: World) -> EventRow? { list.selected(in: rows(world)) }
  private func visible(_ world: World) -> Int { Table.visibleRows(in: Box.inside(SplitLayout(world.body).list)) }

  func isWaiting(_ world: World) -> Bool { page(world) == nil && world.readFailure == nil }

  mutating func follow(_ world: World) {
    guard page(world) != nil else { return }
    list.follow(rows(world), visible: visible(world), staysAtTop: true)
  }

  mutating func select(_ row: Int, in pane: Pane?, _ world: World) -> Bool {
    list.select(row, in: rows(world), visible: visible(world))
  }

  mutating func perform(_ id: CommandID, _ world: World) -> [Step] {
    if list.move(by: id, in: rows(world), visible: visible(world)) { return [] }
    switch id {
    case .filter: filter.begin()
    case .problems: setFilter(listing.filter == Self.problems ? "" : Self.problemsText)
    case .back where listing.filter != .none: setFilter("")
    case .back: return [.pop]
    case .open: return selected(world)?.operation.map { [.push(OperationScreen($0))] } ?? []
    case .copy: return selected(world).map { [.effect(.copy(Self.line($0, world)))] } ?? []
    default: break
    }
    return []
  }

  private static let problemsText = "kind in ('error', 'failed', 'conflict', 'delivery')"
  private static let problems = try? ListFilter.parse(problemsText, of: .events).get()

  private mutating func setFilter(_ text: String) {
    guard let filter = filter.set(text, of: .events), filter != listing.filter else { return }
    listing.filter = filter
    list = WholeList()
  }

  mutating func type(_ key: Key, _ world: World) -> [Step]? {
    switch filter.type(key) {
    case .ignored: return nil
    case .handled: break
    case .changed(let text): setFilter(text)
    }
    return []
  }

  func prompt(_ world: World) -> Prompt? {
    filter.prompt(StyledText(page(world).map { "\(Self.count($0)) matching" } ?? "searching…", .dim))
  }

  private static func count(_ page: ListPage<EventListing, EventRow>) -> String {
    Format.number(page.total) + (page.isCounted ? "" : "+")
  }

  func availability(of id: CommandID, _ world: World) -> Availability {
    switch id {
    case .open:
      guard let event = selected(world) else { return .no("No event is selected") }
      return event.operation == nil ? .no("This event is not about one operation") : .now
    case .copy: return selected(world) == nil ? .no("No event is selected") : .now
    default: return .now
    }
  }

  func label(of id: CommandID, _ world: World) -> String? { id == .open ? "operation" : nil }

  /// The event as a line to be copied.
  private static func line(_ event: EventRow, _ world: World) -> String {
    [world.time(event.at), event.kind, event.message, event.actor ?? ""].joined(separator: "\t")
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    let layout = SplitLayout(area)
    let page = page(world)
    let follows = list.cursor == 0 ? "following  " : ""
    let note = filter.note + StyledText(follows + (page.map(Self.count) ?? ""), .dim)
    Box(title: "Events", note: note, isFocused: true).draw(on: &frame.grid, in: layout.list)
    let inside = Box.inside(layout.list)
    let isWide = inside.width >= 100
    let columns = [
      Table.Column("TIME", .fixed(isWide ? 15 : 8)), Table.Column("KIND", .fixed(9)), Table.Column("EVENT", .flexible),
      Table.Column("BY", .fixed(14), minimum: isWide ? 14 : 400),
    ]
    let empty = listing.filter == .none ? "Nothing has happened yet" : "No event matches; Esc shows all"
    list.table(columns, page?.rows, world, visible: Table.visibleRows(in: inside), empty: empty) { event in
      let role = EventLine.role(event)
      return Table.Row([
        StyledText(isWide ? world.time(event.at) : world.short(event.at), .dim), StyledText(event.kind, role),
        StyledText(event.message.sentence, role), StyledText(event.actor ?? "", .dim),
      ])
    }.draw(on: &frame, in: inside)
    guard let area = layout.inspector else { return }
    Box(title: "Event").draw(on: &frame.grid, in: area)
    guard let event = selected(world) else { return }
    EventInspector(event, world).draw(on: &frame.grid, in: Box.text(area), selection: nil, offset: 0)
  }
}

/// One event with its whole text, and the operation that it is about.
struct EventInspector: Inspector {
  private let event: EventRow
  private let world: World

  init(_ event: EventRow, _ world: World) { (self.event, self.world) = (event, world) }

  var missing: String { "" }

  var items: [InspectorItem]? {
    let zone = event.zone.map { " in zone \($0)" } ?? ""
    let by = event.actor.map { " by \($0)" } ?? ""
    let about: [InspectorItem] = [
      .text(StyledText(event.message.sentence, EventLine.role(event))),
      .text(StyledText("\(event.kind.sentence)\(zone)\(by), \(world.time(event.at)) (\(world.ago(event.at)))", .dim)),
    ]
    guard let operation = event.operation else { return about }
    return about + [.text(""), .heading("OPERATION \(operation)")]
      + (OperationInspector(operation, world).items ?? [.text(StyledText("loading…", .dim))])
  }
}

/// A line of the event log.
enum EventLine {
  static func text(_ event: EventRow, _ world: World) -> StyledText {
    let by = event.actor.map { " (\($0))" } ?? ""
    let text = event.kind == "sync" ? "Synced: \(event.message)" : event.message.sentence
    return [.init(world.time(event.at), .dim), .init("  \(text)", role(event)), .init(by, .dim)]
  }

  static func role(_ event: EventRow) -> StyleRole {
    switch event.kind {
    case "error", "failed": .error
    case "conflict": .conflict
    default: .text
    }
  }
}
