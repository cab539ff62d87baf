import CloudService
import CloudSync
import Facts
import TerminalUI

/// The events of the log, newest first, as a list.
enum EventKind: ListKind {
  static var emptyListing: EventListing { EventListing() }
  static var filter: any WritableKeyPath<EventListing, ListFilter> & Sendable { \.filter }
  static var table: FilterTable? { .events }
  static var filterHint: String { "words, or kind = 'error' and age < 1h" }
  static func unfiltered(_ listing: EventListing) -> EventListing { EventListing() }
  static func page(_ data: ViewData) -> ListPage<EventListing, EventRow>? { data.events }
  static func version(of row: EventRow) -> String { "" }
}

/// The log of what happened, newest first. At the top it follows new events; further down the cursor stays with its
/// event.
struct EventsScreen: Screen {
  private var list = RowList<EventKind>()

  var title: String? { "Events" }
  var scopes: KeyScope { [.everywhere, .moving, .list, .events, .syncing, .opening, .copying, .closing] }

  /// The events that are read at most; a filter finds those before them.
  private static let limit = 500

  func wants(_ world: World) -> ViewScope {
    var scope = ViewScope()
    scope.events = ListPart(list.listing, limit: Self.limit)
    if SplitLayout(world.body).inspector != nil { scope.operation = list.selected(world)?.operation }
    return scope
  }

  private func visible(_ world: World) -> Int { Table.visibleRows(in: Box.inside(SplitLayout(world.body).list)) }

  func isWaiting(_ world: World) -> Bool { list.isWaiting(world) }
  mutating func type(_ key: Key, _ world: World) -> [Step]? { list.type(key) }
  func prompt(_ world: World) -> Prompt? { list.prompt(world) }

  mutating func follow(_ world: World) { list.follow(world, visible: visible(world), isFocused: false) }

  mutating func select(_ row: Int, in pane: Pane?, _ world: World) -> Bool {
    list.select(row, world, visible: visible(world))
  }

  mutating func perform(_ id: CommandID, _ world: World) -> [Step] {
    switch id {
    case .problems: list.setFilter(list.filter.text == Self.problems ? "" : Self.problems)
    case .back: return list.clear() ? [] : [.pop]
    case .open: return list.selected(world)?.operation.map { [.push(OperationScreen($0))] } ?? []
    case .copy: return list.copy(world) { Self.line($0, world) }
    case .export:
      if case .some(let marked) = list.state.marks, !marked.isEmpty {
        return list.chosen(world).map { [.effect(.export(.events($0)))] }
          ?? [
            .failure(
              "A marked event is no longer in the list; filter it and mark all with \(world.keys.name(of: .markAll))"
            )
          ]
      }
      return [.effect(.export(.allEvents(list.listing, except: list.state.marks.exceptions)))]
    default: return list.perform(id, world, visible: visible(world)) ?? []
    }
    return []
  }

  private static let problems = "kind in ('error', 'failed', 'conflict', 'delivery')"

  func availability(of id: CommandID, _ world: World) -> Availability {
    switch id {
    case .open:
      guard let event = list.selected(world) else { return .no("No event is selected") }
      return event.operation == nil ? .no("This event is not about one operation") : .now
    case .copy, .mark: return list.selected(world) == nil ? .no("No event is selected") : .now
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
    let follows = list.state.cursor == 0 && list.page(world) != nil
    let note = list.note(world) + StyledText(follows ? "  following" : "", .dim)
    Box(title: "Events", note: note, isFocused: true).draw(on: &frame.grid, in: layout.list)
    let inside = Box.inside(layout.list)
    let isWide = inside.width >= 100
    let columns = [
      Table.Column("TIME", .fixed(isWide ? 12 : 8)), Table.Column("KIND", .fixed(9)), Table.Column("EVENT", .flexible),
      Table.Column("BY", .fixed(14), minimum: isWide ? 14 : 400),
    ]
    let empty = list.listing.filter == .none ? "Nothing has happened yet" : "No event matches; Esc shows all"
    list.table(columns, world, isFocused: true, empty: empty, visible: Table.visibleRows(in: inside)) { event in
      let role = EventLine.role(event)
      return Table.Row([
        StyledText(isWide ? world.moment(event.at) : world.short(event.at), .dim), StyledText(event.kind, role),
        StyledText(event.sentence, role), StyledText(event.actor ?? "", .dim),
      ])
    }.draw(on: &frame, in: inside)
    guard let area = layout.inspector else { return }
    Box(title: "Event").draw(on: &frame.grid, in: area)
    guard let event = list.selected(world) else { return }
    EventInspector(event, world).draw(on: &frame.grid, in: Box.text(area), selection: nil, offset: 0)
  }
}

/// One event with its whole text, and the operation that it is about.
struct EventInspector: Inspector {
  private let event: EventRow
  let world: World

  init(_ event: EventRow, _ world: World) { (self.event, self.world) = (event, world) }

  var missing: String { "" }

  var items: [InspectorItem]? {
    let zone = event.zone.map { " in zone \($0)" } ?? ""
    let by = event.actor.map { " by \($0)" } ?? ""
    let about: [InspectorItem] = [
      .text(StyledText(event.sentence, EventLine.role(event))),
      .text(StyledText("\(event.kind.sentence)\(zone)\(by), \(world.time(event.at)) (\(world.ago(event.at)))", .dim)),
    ]
    guard let operation = event.operation else { return about }
    return about + [.text(""), .heading("OPERATION \(operation)")]
      + (OperationInspector(operation, world).items ?? [.text(StyledText(world.loading, .dim))])
  }
}

/// A line of the event log.
enum EventLine {
  static func text(_ event: EventRow, _ world: World) -> StyledText {
    let by = event.actor.map { " (\($0))" } ?? ""
    let text = event.kind == "sync" ? "Synced: \(event.message)" : event.sentence
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
