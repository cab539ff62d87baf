import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// The part of a list that is shown, and its order.
protocol FilteredListing: Hashable, Sendable {
  init()
  var filter: ListFilter { get set }
  /// All of the list, in the same order.
  var unfiltered: Self { get }
}

extension FilteredListing {
  var unfiltered: Self { Self() }

  /// All of the list, with a value kept.
  fileprivate func all<Value>(keeping value: WritableKeyPath<Self, Value>) -> Self {
    var all = Self()
    all[keyPath: value] = self[keyPath: value]
    return all
  }
}

extension QueueListing: FilteredListing { var unfiltered: Self { all(keeping: \.order) } }
extension RecordListing: FilteredListing { var unfiltered: Self { all(keeping: \.order) } }
extension DroppedListing: FilteredListing { var unfiltered: Self { all(keeping: \.seenThrough) } }
extension ZoneListing: FilteredListing {}
extension EventListing: FilteredListing {}

/// A kind of list: where its rows come from.
protocol ListKind: Sendable {
  associatedtype Listing: FilteredListing
  associatedtype Row: Identifiable & Hashable & Sendable where Row.ID: Sendable

  /// The list whose columns an expression may name; nil: words only.
  static var table: FilterTable? { get }
  /// Examples of what may be typed, for an empty filter.
  static var filterHint: String { get }
  static func page(_ world: World) -> ListPage<Listing, Row>?
  /// The version that a decision about the row applies to.
  static func version(of row: Row) -> String
  /// Whether a person should look at the row.
  static func isProblem(_ row: Row) -> Bool
  /// Adds the visible rows to the data that a screen needs.
  static func request(_ list: RowList<Self>, visible: Int, in scope: inout ViewScope)
  /// Whether a cursor at the top stays there when rows are added above it.
  static var followsTop: Bool { get }

  /// A row in a sentence: "change".
  static var noun: String { get }
  /// The operations that the marked rows, else the selected one, stand for.
  static func operations(_ list: RowList<Self>, _ world: World) -> Operations?
  /// Returns the effect of Enter on a row.
  static func opening(_ row: Row, _ world: World) -> Offer
  /// The row as a line to be copied.
  static func line(_ row: Row, _ world: World) -> String
  /// The operation whose details are copied in place of the line of a single row.
  static func ticket(of row: Row) -> Int64?
  /// The rows that an export writes: the marked ones, else all of the list; nil: a marked one is not in the list.
  static func export(_ list: RowList<Self>, _ world: World) -> Export?
  /// The listing in the next order, with the order's name.
  static func nextOrder(_ list: RowList<Self>) -> (listing: Listing, name: String)?
  /// The fields of the rows that were read, and of the chosen columns.
  static func fieldNames(_ list: RowList<Self>, _ world: World) -> [String]
  /// Why there are no problems to show; nil if there are.
  static func noProblems(_ list: RowList<Self>, _ world: World) -> String?
  /// Shows only rows that a person should look at, or all again.
  static func toggleProblems(_ list: inout RowList<Self>)
  /// Shows only operations in these states.
  static func show(_ states: Set<OperationState>, in list: inout RowList<Self>)

  /// The columns of a list of this width.
  static func columns(_ list: RowList<Self>, _ width: Int, _ world: World) -> [Table.Column]
  static func cells(_ row: Row, _ list: RowList<Self>, _ width: Int, _ world: World) -> Table.Row
  /// The text in place of an empty list.
  static func empty(_ list: RowList<Self>, _ world: World) -> String

  /// Whether the selected row is shown in detail where there is room.
  static var hasDetail: Bool { get }
  /// Adds the row's detail to the data that a screen needs.
  static func requestDetail(of row: Row, in scope: inout ViewScope)
  static func detail(of row: Row, _ world: World) -> (title: String, inspector: any Inspector)?
}

extension ListKind {
  static var table: FilterTable? { nil }
  static var filterHint: String { "words" }
  static func version(of row: Row) -> String { "" }
  static func operations(_ list: RowList<Self>, _ world: World) -> Operations? { nil }
  static func opening(_ row: Row, _ world: World) -> Offer { .none("This opens nothing") }
  static func line(_ row: Row, _ world: World) -> String { "" }
  static func ticket(of row: Row) -> Int64? { nil }
  static func export(_ list: RowList<Self>, _ world: World) -> Export? { nil }
  static func nextOrder(_ list: RowList<Self>) -> (listing: Listing, name: String)? { nil }
  static func fieldNames(_ list: RowList<Self>, _ world: World) -> [String] { [] }
  static func noProblems(_ list: RowList<Self>, _ world: World) -> String? { nil }
  static func toggleProblems(_ list: inout RowList<Self>) {}
  static func show(_ states: Set<OperationState>, in list: inout RowList<Self>) {}
  static func isProblem(_ row: Row) -> Bool { false }
  static var followsTop: Bool { false }
  static var hasDetail: Bool { false }
  static func requestDetail(of row: Row, in scope: inout ViewScope) {}
  static func detail(of row: Row, _ world: World) -> (title: String, inspector: any Inspector)? { nil }
}

extension ListKind where Listing == Whole {
  static func request(_ list: RowList<Self>, visible: Int, in scope: inout ViewScope) {}
}

/// The listing of a list that is always read whole.
struct Whole: FilteredListing {
  var filter = ListFilter.none

  static func page<Row>(_ rows: [Row]?) -> ListPage<Whole, Row>? {
    rows.map { ListPage(Whole(), Window(total: $0.count, offset: 0, rows: $0)) }
  }
}

/// A list with its position, marks and filter. It behaves alike in a pane and in full.
struct RowList<Kind: ListKind>: Sendable {
  typealias ID = Kind.Row.ID

  var state = ListState<ID>()
  private(set) var filter = FilterInput()
  var listing = Kind.Listing()
  /// The fields that the records' list shows in columns of their own.
  var columns: [String] = []
  /// Rows that a command was given for, in the version that was shown: a key that is held acts once on each.
  var acted: [ID: String] = [:]

  // MARK: - Rows

  /// The page read for the current listing; nil while it is being read.
  func page(_ world: World) -> ListPage<Kind.Listing, Kind.Row>? {
    Kind.page(world)?.page(of: listing)
  }

  func rows(_ world: World) -> ListState<ID>.ReadRows {
    guard let page = page(world) else { return ListState<ID>.ReadRows([]) }
    return ListState<ID>.ReadRows(
      total: page.total,
      offset: page.window.offset,
      ids: page.rows.map(\.id),
      versions: page.rows.map(Kind.version),
      isCounted: page.isCounted
    )
  }

  /// The selected row, if it has been read.
  func selected(_ world: World) -> Kind.Row? { page(world)?[state.cursor] }

  /// The part to read: whole pages around what is visible, so that moving within them reads nothing.
  func part(visible: Int) -> ListPart<Kind.Listing> {
    let page = max(50, visible * 2)
    return ListPart(listing, offset: max(0, state.offset / page - 1) * page, limit: page * 4)
  }

  /// Whether the rows are still being read.
  func isWaiting(_ world: World) -> Bool {
    world.readFailure == nil && (world.status?.hasStore ?? true) && page(world) == nil
  }

  mutating func follow(_ world: World, visible: Int, isFocused: Bool = true) {
    guard let page = page(world) else { return }
    state.follow(rows(world), visible: visible, isFocused: isFocused)
    guard !acted.isEmpty else { return }
    let shown = Dictionary(page.rows.map { ($0.id, Kind.version(of: $0)) }) { first, _ in first }
    acted = acted.filter { shown[$0.key] == $0.value }
  }

  /// Selects a row. Returns false if it is selected already.
  mutating func select(_ row: Int, _ world: World, visible: Int) -> Bool {
    state.select(row, rows(world), visible: visible)
  }

  // MARK: - Changes

  /// Clears the marks, else the filter. Returns whether there was anything to clear.
  mutating func clear() -> Bool {
    if !state.marks.isEmpty || state.anchor != nil {
      state.marks = .some([:])
      state.endRange()
      return true
    }
    guard isFiltered else { return false }
    filter = FilterInput()
    list(listing.unfiltered)
    return true
  }

  /// Whether the list shows only some rows.
  var isFiltered: Bool { listing != listing.unfiltered }

  /// The loaded rows that are marked, else the selected one; nil where a marked row is not loaded.
  func targets(_ world: World) -> [Kind.Row]? {
    guard let page = page(world) else { return nil }
    let marked = page.rows.filter { state.marks.contains($0.id) }
    guard !state.marks.isEmpty else { return selected(world).map { [$0] } ?? [] }
    return marked.count == state.marks.count(of: page.total) ? marked : nil
  }

  /// Follows the result of a command: what failed or was skipped may be tried again, and marks are used up.
  mutating func apply(_ receipt: Receipt, ids: (Receipt) -> [ID]) {
    for id in ids(receipt) { acted[id] = nil }
    if receipt.verb == .discard, receipt.failure == nil { state.marks = .some([:]) }
  }

  mutating func list(_ listing: Kind.Listing) {
    guard listing != self.listing else { return }
    self.listing = listing
    state.reset()
    acted = [:]
  }

  mutating func beginFilter() -> [Step] {
    filter.begin()
    return []
  }

  mutating func setFilter(_ text: String) {
    guard let filter = filter.set(text, of: Kind.table) else { return }
    var listing = listing
    listing.filter = filter
    list(listing)
  }

  mutating func type(_ key: Key) -> [Step]? {
    switch filter.type(key) {
    case .ignored: return nil
    case .handled: break
    case .changed(let text): setFilter(text)
    }
    return []
  }

  /// The filter while it is typed, with the count or the mistake.
  func prompt(_ world: World) -> Prompt? { filter.prompt(count(world)) }

  private func count(_ world: World) -> StyledText {
    guard !filter.text.isEmpty else { return StyledText(Kind.filterHint, .dim) }
    guard let page = page(world) else { return StyledText("searching…", .dim) }
    let count = Words.count(page.total, "match", "matches")
    return StyledText(page.isCounted ? count : "\(count) so far", .dim)
  }

  /// The number of rows, the marks and the filter, for a frame's note.
  func note(_ world: World) -> StyledText {
    var parts: [StyledText.Span] = []
    guard let page = page(world) else {
      // Before the first reading, the verdict says that the store is read.
      return filter.note + StyledText(isWaiting(world) && world.status != nil ? "loading…" : "", .dim)
    }
    let marked = state.marks.count(of: page.total)
    let isOpen = if case .allBut = state.marks { !page.isCounted } else { false }
    if marked > 0 { parts.append(.init("\(Format.number(marked))\(isOpen ? "+" : "") marked  ", .marked)) }
    parts.append(.init(Format.number(page.total) + (page.isCounted ? "" : "+"), .dim))
    return filter.note + StyledText(parts)
  }

  // MARK: - Drawing

  /// Draws the visible rows. A row that has not been read yet says so.
  ///
  /// - Parameter pane: the pane of the overview that the list is in.
  func draw(on frame: inout Frame, in area: Rect, _ world: World, isFocused: Bool = true, pane: Pane? = nil) {
    let page = page(world)
    let visible = state.offset..<state.offset + Table.visibleRows(in: area)
    let loading = Table.Row([StyledText("loading…", .dim)])
    let isSearching = isWaiting(world) || page?.isCounted == false
    let isUnread = page == nil && world.readFailure != nil
    Table(
      columns: Kind.columns(self, area.width, world),
      rows: visible.clamped(to: 0..<(page?.total ?? 0)).map { index in
        page?[index].map { Kind.cells($0, self, area.width, world) } ?? loading
      },
      offset: state.offset,
      total: page?.total ?? 0,
      selection: state.cursor,
      marked: state.marked(rows(world)),
      isFocused: isFocused,
      emptyText: isUnread
        ? "The store cannot be read"
        : isSearching ? (filter.text.isEmpty ? "loading…" : "searching…") : Kind.empty(self, world)
    ).draw(on: &frame, in: area, pane: pane)
  }
}

extension Int {
  /// Whether a list of so many columns has room for dates with times, and for what matters less.
  var isWide: Bool { self >= Breakpoint.datesWithTimes }
}

extension Table.Column {
  /// A column of times in a list of so many columns, as `World.listed` writes them.
  static func time(_ title: String, _ width: Int, priority: Int = 0) -> Table.Column {
    Table.Column(title, .fixed(width.isWide ? 12 : 8), priority: priority)
  }
}
