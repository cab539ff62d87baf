import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// The queue as a list.
enum QueueKind: ListKind {
  static var table: FilterTable? { .queue }
  static var filterHint: String { "words, or state = 'failed' and age > 1h" }
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

  static var noun: String { "change" }
  static func operations(_ list: QueueList, _ world: World) -> Operations? { list.operations(world) }
  static func opening(_ row: QueueRow, _ world: World) -> Offer { .screen(OperationScreen(row.id)) }
  static func ticket(of row: QueueRow) -> Int64? { row.id }
  static func line(_ row: QueueRow, _ world: World) -> String {
    let zone = row.key.zoneKey.title
    return [String(row.id), row.kind.verb, row.title, zone, Words.state(row.state.rawValue), world.why(row.cause)]
      .joined(separator: "\t")
  }

  static func export(_ list: QueueList, _ world: World) -> Export? {
    if case .some(let marked) = list.state.marks, !marked.isEmpty { return .operations(marked.keys.sorted()) }
    return .allOperations(list.listing, except: list.state.marks.exceptions)
  }

  static func nextOrder(_ list: QueueList) -> (listing: QueueListing, name: String)? {
    let orders = QueueListing.Order.allCases
    var next = list.listing
    next.order = orders[((orders.firstIndex(of: next.order) ?? 0) + 1) % orders.count]
    return (next, next.order.name)
  }

  static func noProblems(_ list: QueueList, _ world: World) -> String? {
    let count = (world.status?.queue.failed ?? 0) + (world.status?.queue.conflicts ?? 0)
    return count == 0 && list.listing.states.isEmpty ? "No change failed, and none is in conflict" : nil
  }

  static func toggleProblems(_ list: inout QueueList) {
    list.showOnly(list.showsProblems ? [] : OperationState.problems)
  }
  static func show(_ states: Set<OperationState>, in list: inout QueueList) { list.showOnly(states) }

  static func columns(_ list: QueueList, _ width: Int, _ world: World) -> [Table.Column] {
    let time: Length = .fixed(width.isWide ? 12 : 6)
    let rows = list.page(world)?.rows ?? []
    // In a narrow list the reason needs the room more than what most rows have alike.
    let hasNext = width.isWide || rows.contains { $0.nextAttemptAt ?? 0 > world.now }
    let digits = String(rows.map(\.id).max() ?? 0).count
    let hasIDs = world.preferences.showsIDs && width >= Breakpoint.operationIDs
    return [
      Table.Column("ID", .fixed(max(2, digits)), .trailing, priority: 4, isHidden: !hasIDs),
      Table.Column("STATE", .fixed(8), priority: 5),
      Table.Column("OP", .fixed(6), priority: 1, isHidden: width < Breakpoint.operationVerbs),
      Table.Column("RECORD", .flex(3), minimum: 14, priority: 9),
      Table.Column("ZONE", .flex(1), minimum: 8, isHidden: !width.isWide),
      Table.Column(
        "WHY",
        .flex(6),
        minimum: max(12, min(24, width / 3)),
        priority: 8,
        keepsDifferences: true
      ),
      Table.Column("SINCE", time, priority: 3), Table.Column("NEXT", time, priority: 2, isHidden: !hasNext),
    ]
  }

  static func cells(_ row: QueueRow, _ list: QueueList, _ width: Int, _ world: World) -> Table.Row {
    let (role, since) = (row.state.role, row.since ?? row.enqueuedAt)
    return Table.Row(
      [
        StyledText(String(row.id), .dim), StyledText(Words.state(row.state.rawValue), role), StyledText(row.kind.verb),
        StyledText(row.title), StyledText(world.queuedZone(row.key.zoneKey), .dim),
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

extension RowList where Kind == QueueKind {
  var showsProblems: Bool { listing.states == OperationState.problems }

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

  private var versions: [Int64: String] {
    if case .some(let marked) = state.marks { marked } else { [:] }
  }

  /// The marked operations, else the selected one; nil if there is none.
  fileprivate func operations(_ world: World) -> Operations? {
    guard let selection else { return selected(world).map(Operations.init) }
    let page = page(world)
    let shown = page?.rows.filter { state.marks.contains($0.id) } ?? []
    var operations = Operations(selection)
    operations.versions = versions
    operations.count = page?.isCounted == true ? state.marks.count(of: page?.total ?? 0) : nil
    operations.isPaused = !shown.isEmpty && shown.allSatisfy { $0.state == .paused }
    // Of marked rows that are not loaded, the list says what a retry of all does.
    let recreated = targets(world).map { Set($0.filter(\.recreatesZone).map(\.key.zone)) }
    operations.recreated = recreated?.sorted() ?? page?.recreated ?? []
    return operations
  }

  /// Follows the result of a command.
  mutating func apply(_ receipt: Receipt) {
    apply(receipt) { receipt in
      guard case .perform(.retry, .ids(let ids), _, _) = receipt.command else { return [] }
      return receipt.failure != nil ? ids : Array(receipt.result.skipped.keys)
    }
    // Marks that a question was about.
    if receipt.failure == nil, case .perform(_, let selection, _, _) = receipt.command, selection == self.selection {
      state.marks = .some([:])
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
