import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// The queue as a list.
enum QueueKind: ListKind {
  static var emptyListing: QueueListing { QueueListing() }
  static var filter: any WritableKeyPath<QueueListing, ListFilter> & Sendable { \.filter }
  static var table: FilterTable? { .queue }
  static var filterHint: String { "words, or state = 'failed' and age > 1h" }
  static func unfiltered(_ listing: QueueListing) -> QueueListing {
    var all = QueueListing()
    all.order = listing.order
    return all
  }
  static func page(_ data: ViewData) -> ListPage<QueueListing, QueueRow>? { data.queue }
  static func version(of row: QueueRow) -> String { row.version }
}

typealias QueueList = RowList<QueueKind>

extension QueueRow {
  /// Whether `P` pauses or resumes the operation.
  var pauseVerb: QueueVerb { state == .paused ? .resume : .pause }

  /// Whether a command applies to the operation.
  func availability(of id: CommandID) -> Availability {
    let verb: (QueueVerb, name: String)? =
      switch id {
      case .retry: (.retry, "Not retried")
      case .discard: (.discard, "Not discarded")
      case .pauseThese: (pauseVerb, "Not paused")
      default: nil
      }
    if id == .edit {
      guard kind == .save else { return .no("Only a save has fields to edit") }
      if let obstacle = QueueVerb.retry.obstacle(to: state, errorCode: errorCode), obstacle == .damaged {
        return .no("Not edited: \(obstacle.text)")
      }
      return state == .failed
        ? .now : .no("Only a failed change can be edited; \(Obstacle.inState(state.rawValue).text)")
    }
    guard let verb, let obstacle = verb.0.obstacle(to: state, errorCode: errorCode) else { return .now }
    return .no("\(verb.name): \(obstacle.text)")
  }
}

extension RowList where Kind == QueueKind {
  private static let problemStates: Set<OperationState> = [.failed, .conflict]

  // MARK: - Commands

  /// Runs a command on the queue; nil if it is no such command.
  mutating func act(_ id: CommandID, _ world: World, visible: Int) -> [Step]? {
    switch id {
    case .retry: return retry(world, visible: visible)
    case .discard: return discard(world)
    case .pauseThese: return pause(world)
    case .retryAll: return [.push(Question(.retryAll(listing, filter: filter.text)))]
    case .problems:
      showOnly(listing.states == Self.problemStates ? [] : Self.problemStates)
      return []
    case .order:
      let orders = QueueListing.Order.allCases
      var next = listing
      next.order = orders[((orders.firstIndex(of: listing.order) ?? 0) + 1) % orders.count]
      list(next)
      return [.notice("Order: \(next.order.name)")]
    case .nextTab, .previousTab:
      turn(id == .nextTab ? 1 : -1, world)
      return []
    case .edit: return selected(world).map { [.push(EditScreen($0.id))] } ?? []
    case .causes: return [.push(CausesScreen())]
    case .open: return selected(world).map { [.push(OperationScreen($0.id))] } ?? []
    case .copy:
      if let rows = chosen(world), rows.count == 1 { return [.effect(.copyTicket(rows[0].id))] }
      return copy(world) { row in
        [
          String(row.id), row.kind.verb, row.title, row.key.zone, Words.state(row.state.rawValue), world.why(row.cause),
        ].joined(separator: "\t")
      }
    case .export: return [.effect(.export(exported))]
    default: return perform(id, world, visible: visible)
    }
  }

  mutating func showOnly(_ states: Set<OperationState>) {
    var next = listing
    next.states = states
    list(next)
  }

  /// The marked operations; nil if none is marked.
  private var selection: Selection? {
    switch state.marks {
    case .some(let marked): marked.isEmpty ? nil : .ids(marked.keys.sorted())
    case .allBut(let others): .listing(listing, except: Set(others.keys))
    }
  }

  /// The operations that an export writes: the marked ones, else all that the list shows.
  private var exported: Export {
    switch state.marks {
    case .some(let marked): marked.isEmpty ? .allOperations(listing, except: []) : .operations(marked.keys.sorted())
    case .allBut(let others): .allOperations(listing, except: Set(others.keys))
    }
  }

  private var versions: [Int64: String] {
    if case .some(let marked) = state.marks { marked } else { [:] }
  }

  private mutating func retry(_ world: World, visible: Int) -> [Step] {
    if let selection {
      // Of marked rows that are not loaded, the list says what a retry of all does.
      let recreated = chosen(world).map { Self.recreated($0) } ?? page(world)?.recreated ?? []
      guard recreated.isEmpty else {
        let count = state.marks.count(of: page(world)?.total ?? 0)
        return [.push(Question(.retry(selection, count: count, recreated: recreated)))]
      }
      state.marks = .some([:])
      return [.effect(.give(.perform(.retry, selection)))]
    }
    guard let row = selected(world) else { return [] }
    guard !row.recreatesZone else {
      return [.push(Question(.retry(.ids([row.id]), count: 1, recreated: Self.recreated([row]))))]
    }
    guard acted[row.id] != row.version else { return [] }
    acted[row.id] = row.version
    state.move(to: state.cursor + 1, rows(world), visible: visible)
    return [.effect(.give(.perform(.retry, .ids([row.id]))))]
  }

  private static func recreated(_ rows: [QueueRow]) -> [String] {
    Set(rows.filter(\.recreatesZone).map(\.key.zone)).sorted()
  }

  private mutating func discard(_ world: World) -> [Step] {
    if let selection {
      guard let page = page(world), page.isCounted else { return [.failure("Still counting; try again in a moment")] }
      let count = state.marks.count(of: page.total)
      return [.push(Question(.discard(selection, versions: versions, count: count, isMarked: true)))]
    }
    guard let row = selected(world) else { return [] }
    return [.push(Question(.discardOne(row)))]
  }

  private mutating func pause(_ world: World) -> [Step] {
    guard let selection else {
      guard let row = selected(world) else { return [] }
      return [.effect(.give(.perform(row.pauseVerb, .ids([row.id]))))]
    }
    let shown = page(world)?.rows.filter { state.marks.contains($0.id) } ?? []
    let verb: QueueVerb = !shown.isEmpty && shown.allSatisfy { $0.state == .paused } ? .resume : .pause
    state.marks = .some([:])
    return [.effect(.give(.perform(verb, selection)))]
  }

  /// Follows the result of a command.
  mutating func take(_ receipt: Receipt) {
    take(receipt) { receipt in
      guard case .perform(.retry, .ids(let ids), _) = receipt.command else { return [] }
      return receipt.failure != nil ? ids : Array(receipt.skipped.keys)
    }
    // Marks that a question was about.
    if receipt.failure == nil, case .perform(_, let selection, _) = receipt.command, selection == self.selection {
      state.marks = .some([:])
    }
  }

  /// The selected conflict.
  func conflict(_ world: World) -> Int64? { selected(world).flatMap { $0.state == .conflict ? $0.id : nil } }

  /// The states that a tab can show now, with their number; nil: all.
  static func tabs(_ world: World, selected: Set<OperationState>) -> [(state: OperationState?, count: Int)] {
    guard let queue = world.status?.queue else { return [] }
    let counts: [(OperationState, Int)] = [
      (.pending, queue.pending), (.inFlight, queue.inFlight), (.waiting, queue.waiting), (.failed, queue.failed),
      (.conflict, queue.conflicts), (.paused, queue.paused),
    ]
    return [(nil, queue.total)] + counts.filter { $0.1 > 0 || selected == [$0.0] }.map { ($0.0, $0.1) }
  }

  private mutating func turn(_ step: Int, _ world: World) {
    let states = Self.tabs(world, selected: listing.states).map(\.state)
    let now = listing.states.count == 1 ? listing.states.first : nil
    let index = states.firstIndex(of: now) ?? 0
    showOnly(states[(index + step + states.count) % states.count].map { [$0] } ?? [])
  }

  func availability(of id: CommandID, _ world: World) -> Availability {
    let isMarked = state.marks.count(of: page(world)?.total ?? 0) > 0
    let row = selected(world)
    switch id {
    case .retry where !isMarked, .discard where !isMarked, .pauseThese where !isMarked, .edit:
      return row.map { $0.availability(of: id) } ?? .no("No change is selected")
    case .retryAll:
      let count = page(world).map(\.retryable) ?? world.status?.queue.retryable ?? 0
      return count == 0 ? .no("No change here failed or waits to be retried") : .now
    case .causes:
      return (world.status?.queue.retryable ?? 0) > 0 ? .now : .no("No change failed or waits to be retried")
    case .problems:
      let queue = world.status?.queue
      let isEmpty = (queue?.failed ?? 0) + (queue?.conflicts ?? 0) == 0
      return isEmpty && listing.states.isEmpty ? .no("No change failed, and none is in conflict") : .now
    case .open, .copy, .mark: return row == nil ? .no("No change is selected") : .now
    default: return .now
    }
  }

  // MARK: - Drawing

  func draw(on frame: inout Frame, in area: Rect, _ world: World, isFocused: Bool, pane: Pane? = nil) {
    let isWide = area.width >= 100
    let columns: [Table.Column] = [
      Table.Column("STATE", .fixed(8), priority: 5), Table.Column("OP", .fixed(6), priority: 3),
      Table.Column("RECORD", .flex(3), minimum: 14, priority: 9),
      Table.Column("ZONE", .flex(1), minimum: isWide ? 8 : 400),
      Table.Column("WHY", .flex(6), minimum: 16, priority: 8),
      Table.Column("SINCE", .fixed(isWide ? 12 : 6), priority: 2),
      Table.Column(
        "NEXT",
        .fixed(isWide ? 12 : 8),
        minimum: isWide ? 12 : area.width >= 90 || hasNext(world) ? 8 : 400,
        priority: 1
      ),
    ]
    table(columns, world, isFocused: isFocused, empty: emptyText(world), visible: Table.visibleRows(in: area)) { row in
      let role = row.state.role
      return Table.Row(
        [
          StyledText(Words.state(row.state.rawValue), role), StyledText(row.kind.verb), StyledText(row.title),
          StyledText(row.key.zone, .dim), StyledText(row.cause.brief(world.format, now: world.now), .dim),
          StyledText(isWide ? world.clock(row.enqueuedAt) : world.shortest(row.enqueuedAt), .dim),
          StyledText(next(row, world, isWide: isWide), .dim),
        ],
        mark: StyledText(row.state.mark, role)
      )
    }.draw(on: &frame, in: area, pane: pane)
  }

  /// When a row goes next; empty if something without an end holds it.
  private func next(_ row: QueueRow, _ world: World, isWide: Bool) -> String {
    if let at = row.nextAttemptAt, at > world.now { return isWide ? world.moment(at) : world.short(at) }
    let isDue = row.nextAttemptAt != nil || (row.state == .pending && row.cause == .ready)
    return isDue && world.status?.isSyncing == true ? "now" : ""
  }

  /// Whether a row of the page waits for a time, which the reason has no room for in a narrow list.
  private func hasNext(_ world: World) -> Bool {
    page(world)?.rows.contains { $0.nextAttemptAt ?? 0 > world.now } ?? false
  }

  private func emptyText(_ world: World) -> String {
    if world.status?.hasStore == false { return "No store yet" }
    if listing.states == Self.problemStates { return "Nothing failed, and nothing is in conflict" }
    return isFiltered ? "No change matches; Esc shows all" : "Nothing waits to be sent"
  }

  /// The tabs from left to right, each with the states that it shows.
  private func parts(_ world: World) -> [(states: Set<OperationState>, item: Tabs.Item)] {
    let all = Self.tabs(world, selected: listing.states).map { tab -> (Set<OperationState>, Tabs.Item) in
      let states = Set([tab.state].compactMap { $0 })
      let name = tab.state.map { Words.state($0.rawValue) } ?? "all"
      let role = tab.state?.role ?? .text
      return (states, Tabs.Item(name, count: tab.count, role: role, isSelected: listing.states == states))
    }
    guard listing.states == Self.problemStates else { return all }
    return [(listing.states, Tabs.Item("problems", count: page(world)?.total, role: .error, isSelected: true))] + all
  }

  /// The states with their numbers, as tabs.
  func tabs(_ world: World) -> Tabs { Tabs(parts(world).map(\.item)) }

  /// Notes where the tabs are.
  ///
  /// - Parameters:
  ///   - area: where the line of the tabs is drawn.
  ///   - width: the width for which the tabs were chosen.
  func noteTabs(on frame: inout Frame, in area: Rect, width: Int, _ world: World) {
    let parts = parts(world)
    for (item, cells) in Tabs(parts.map(\.item)).places(width: width, frame.grid.glyphs) where !area.isEmpty {
      let place = Rect(x: area.x + cells.lowerBound, y: area.y, width: cells.count, height: 1)
      frame.note(.tab(parts[item].states), in: place)
    }
  }
}

extension QueueListing.Order {
  var name: String {
    switch self {
    case .worst: "worst first"
    case .oldest: "oldest first"
    case .newest: "newest first"
    }
  }
}

extension QueueRow {
  /// `Task/t1041`, or `zone notes`.
  var title: String {
    if key.name.isEmpty { return "zone \(key.zone)" }
    return type.map { "\($0)/\(key.name)" } ?? key.name
  }
}

extension OperationState {
  var role: StyleRole {
    switch self {
    case .pending: .pending
    case .inFlight: .active
    case .waiting: .warning
    case .failed: .error
    case .paused: .dim
    case .conflict: .conflict
    }
  }

  /// A mark that shows the state without colour.
  var mark: String {
    switch self {
    case .pending: "·"
    case .inFlight: ">"
    case .waiting: "~"
    case .failed: "!"
    case .paused: "="
    case .conflict: "?"
    }
  }
}
