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
  static func page(_ world: World) -> ListPage<QueueListing, QueueRow>? { world.data.queue }
  static func version(of row: QueueRow) -> String { row.version }
  static func isProblem(_ row: QueueRow) -> Bool { row.state.isProblem }
  static func request(_ list: QueueList, visible: Int, in scope: inout ViewScope) {
    scope.queue = list.part(visible: visible)
  }

  static var hasDetail: Bool { true }
  static func requestDetail(of row: QueueRow, in scope: inout ViewScope) { scope.operation = row.id }
  static func detail(of row: QueueRow, _ world: World) -> (title: String, inspector: any Inspector)? {
    // Until the row's own detail is read, the last one stays, with its own title.
    let id = world.data.operation?.id ?? row.id
    return ("Operation \(id)", OperationInspector(id, world))
  }

  static func columns(_ list: QueueList, _ width: Int, _ world: World) -> [Table.Column] {
    let time: Length = .fixed(width.isWide ? 12 : 6)
    let rows = list.page(world)?.rows ?? []
    // In a narrow list the reason needs the room more than what most rows have alike.
    let hasNext = width.isWide || rows.contains { $0.nextAttemptAt ?? 0 > world.now }
    let digits = String(rows.map(\.id).max() ?? 0).count
    let hasIDs = world.preferences.showsIDs && width >= 56
    return [
      Table.Column("ID", .fixed(max(2, digits)), .trailing, priority: 4, isHidden: !hasIDs),
      Table.Column("STATE", .fixed(8), priority: 5), Table.Column("OP", .fixed(6), priority: 1, isHidden: width < 90),
      Table.Column("RECORD", .flex(3), minimum: 14, priority: 9),
      Table.Column("ZONE", .flex(1), minimum: 8, isHidden: !width.isWide),
      Table.Column("WHY", .flex(6), minimum: max(12, min(24, width / 3)), priority: 8),
      Table.Column("SINCE", time, priority: 3), Table.Column("NEXT", time, priority: 2, isHidden: !hasNext),
    ]
  }

  static func cells(_ row: QueueRow, _ list: QueueList, _ width: Int, _ world: World) -> Table.Row {
    let (role, since) = (row.state.role, row.since ?? row.enqueuedAt)
    return Table.Row(
      [
        StyledText(String(row.id), .dim), StyledText(Words.state(row.state.rawValue), role), StyledText(row.kind.verb),
        StyledText(row.title), StyledText(row.key.zone, .dim),
        StyledText(row.cause.brief(world.format, now: world.now), .dim),
        StyledText(width.isWide ? world.clock(since) : world.shortest(since), .dim),
        StyledText(next(row, world, width), .dim),
      ],
      mark: StyledText(row.state.mark, role)
    )
  }

  /// When a row goes next; empty if something without an end holds it.
  private static func next(_ row: QueueRow, _ world: World, _ width: Int) -> String {
    if let at = row.nextAttemptAt, at > world.now { return width.isWide ? world.moment(at) : world.shortest(at) }
    let isDue = row.nextAttemptAt != nil || (row.state == .pending && row.cause == .ready)
    return isDue && world.status?.isSyncing == true ? "now" : ""
  }

  static func empty(_ list: QueueList, _ world: World) -> String {
    if world.status?.hasStore == false { return "No store yet" }
    if list.listing.states == OperationState.problems { return "Nothing failed, and nothing is in conflict" }
    return list.isFiltered ? "No change matches; Esc shows all" : "Nothing waits to be sent"
  }
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
  var showsProblems: Bool { listing.states == OperationState.problems }

  // MARK: - Commands

  /// Runs a command on the queue; nil if it is no such command.
  mutating func act(_ id: CommandID, _ world: World, visible: Int) -> [Step]? {
    switch id {
    case .retry: return retry(world, visible: visible)
    case .discard: return discard(world)
    case .pauseThese: return pause(world)
    case .retryAll: return [.push(Question(.retryAll(listing, filter: filter.text)))]
    case .problems:
      showOnly(showsProblems ? [] : OperationState.problems)
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
      guard case .perform(.retry, .ids(let ids), _, _) = receipt.command else { return [] }
      return receipt.failure != nil ? ids : Array(receipt.result.skipped.keys)
    }
    // Marks that a question was about.
    if receipt.failure == nil, case .perform(_, let selection, _, _) = receipt.command, selection == self.selection {
      state.marks = .some([:])
    }
  }

  /// The selected conflict.
  func conflict(_ world: World) -> Int64? { selected(world).flatMap { $0.state == .conflict ? $0.id : nil } }

  private mutating func turn(_ step: Int, _ world: World) {
    let states = QueueTabs(world, self).states
    let index = states.firstIndex(of: listing.states) ?? 0
    showOnly(states[(index + step + states.count) % states.count])
  }

  func isLastTab(_ world: World) -> Bool { QueueTabs(world, self).states.last == listing.states }

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
  /// The states that need a person.
  static let problems: Set<OperationState> = [.failed, .conflict]
  var isProblem: Bool { Self.problems.contains(self) }

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
