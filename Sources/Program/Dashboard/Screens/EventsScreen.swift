import CloudService
import CloudSync
import Facts
import TerminalUI

/// The events of the log, newest first, as a list.
enum EventKind: ListKind {
  static var table: FilterTable? { .events }
  static var filterHint: String { "words, or kind = 'error' and age < 1h" }
  static func page(_ world: World) -> ListPage<EventListing, EventRow>? { world.data.events }
  static func isProblem(_ row: EventRow) -> Bool { EventLine.problems[row.kind] != nil }
  static var followsTop: Bool { true }

  /// The events that are read at most; a filter finds those before them.
  private static let limit = 500

  static func request(_ list: RowList<EventKind>, visible: Int, in scope: inout ViewScope) {
    scope.events = ListPart(list.listing, limit: limit)
  }

  static var hasDetail: Bool { true }
  static func requestDetail(of row: EventRow, in scope: inout ViewScope) { scope.operation = row.operation }
  static func detail(of row: EventRow, _ world: World) -> (title: String, inspector: any Inspector)? {
    ("Event", EventInspector(row, world))
  }

  static var noun: String { "event" }
  static func opening(_ event: EventRow, _ world: World) -> Offer {
    event.operation.map { .screen(OperationScreen($0)) } ?? .none("This event is not about one operation")
  }

  static func line(_ event: EventRow, _ world: World) -> String {
    [world.time(event.at), event.kind, event.message, event.actor ?? ""].joined(separator: "\t")
  }

  static func export(_ list: RowList<EventKind>, _ world: World) -> Export? {
    if case .some(let marked) = list.state.marks, !marked.isEmpty { return list.targets(world).map(Export.events) }
    return .allEvents(list.listing, except: list.state.marks.exceptions)
  }

  private static let problems =
    "kind in (\(EventLine.problems.keys.sorted().map { "'\($0)'" }.joined(separator: ", ")))"

  static func toggleProblems(_ list: inout RowList<EventKind>) {
    list.setFilter(list.filter.text == problems ? "" : problems)
  }

  static func columns(_ list: RowList<EventKind>, _ width: Int, _ world: World) -> [Table.Column] {
    [
      .time("TIME", width), Table.Column("KIND", .fixed(9)),
      Table.Column("EVENT", .flexible), Table.Column("BY", .fixed(14), isHidden: !width.isWide),
    ]
  }

  static func cells(_ event: EventRow, _ list: RowList<EventKind>, _ width: Int, _ world: World) -> Table.Row {
    let role = EventLine.role(event)
    return Table.Row([
      StyledText(world.listed(event.at, width), .dim), StyledText(event.kind, role),
      StyledText(event.sentence, role), StyledText(event.actor ?? "", .dim),
    ])
  }

  static func empty(_ list: RowList<EventKind>, _ world: World) -> String {
    list.isFiltered ? "No event matches; Esc shows all" : "Nothing has happened yet"
  }
}

/// The log of what happened, newest first. At the top it follows new events; further down the cursor stays with its
/// event.
struct EventsScreen: ListScreen {
  var list = RowList<EventKind>()

  var title: String? { "Events" }
  var scopes: KeyScope { [.everywhere, .moving, .list, .events, .syncing, .opening, .copying, .closing] }

  func note(_ world: World) -> StyledText {
    let follows = !world.isFrozen && list.state.cursor == 0 && list.page(world) != nil
    return list.note(world) + StyledText(follows ? "  following" : "", .dim)
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
    let text = if case .synced = event.event { "Synced: \(event.message)" } else { event.sentence }
    return [.init(world.moment(event.at).padding(to: 13), .dim), .init(" \(text)", role(event)), .init(by, .dim)]
  }

  /// The kinds of events that need a look, with their looks: `!` shows them, and `n` goes to them.
  static let problems: [String: StyleRole] = [
    "conflict": .conflict, "delivery": .error, "error": .error, "failed": .error,
  ]

  static func role(_ event: EventRow) -> StyleRole { problems[event.kind] ?? .text }
}
