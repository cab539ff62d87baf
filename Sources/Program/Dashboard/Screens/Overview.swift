import CloudService
import CloudSync
import Facts
import TerminalUI

/// The four panes, the verdict above them, and the latest events where there is room.
struct Overview: Screen {
  var focus = Pane.queue
  var queue = QueueList()
  var records = RecordList()

  var scopes: KeyScope {
    var scopes: KeyScope = [.everywhere, .panes, .syncing, .opening, .closing]
    switch focus {
    case .queue: scopes.formUnion([.moving, .list, .queue, .copying])
    case .records: scopes.formUnion([.moving, .list, .records, .copying])
    case .sync, .account: break
    }
    return scopes
  }

  private func layout(_ world: World) -> OverviewLayout {
    OverviewLayout(world.body, focus: focus, queued: queue.page(world)?.total)
  }

  func visible(_ world: World) -> Int { visible(focus, world) }

  private func visible(_ pane: Pane, _ world: World) -> Int {
    layout(world).panes[pane].map { Table.visibleRows(in: Box.inside($0)) } ?? 0
  }

  func wants(_ world: World) -> ViewScope {
    let layout = layout(world)
    var scope = ViewScope()
    if layout.panes[.queue] != nil { scope.queue = queue.part(visible: visible(.queue, world)) }
    if layout.panes[.records] != nil { scope.records = records.part(visible: visible(.records, world)) }
    scope.throughput = layout.panes[.sync] != nil
    scope.events = layout.events.map { ListPart(EventListing(), limit: Box.inside($0).height) }
    return scope
  }

  mutating func follow(_ world: World) {
    queue.follow(world, visible: visible(.queue, world), isFocused: focus == .queue)
    records.follow(world, visible: visible(.records, world), isFocused: focus == .records)
  }

  var rows: (any ListActions)? {
    get {
      switch focus {
      case .queue: queue
      case .records: records
      case .sync, .account: nil
      }
    }
    set {
      if let changed = newValue as? QueueList { queue = changed }
      if let changed = newValue as? RecordList { records = changed }
    }
  }

  var queueList: QueueList? { focus == .queue ? queue : nil }

  func subject(_ world: World) -> Subject { rows?.subject(world) ?? Subject(open: .screen(full(focus))) }

  mutating func back(_ world: World) -> [Step] {
    _ = focus == .records ? records.clear() : queue.clear()
    return []
  }

  mutating func select(_ row: Int, in pane: Pane?, _ world: World) -> Bool {
    switch pane {
    case .queue: queue.select(row, world, visible: visible(.queue, world))
    case .records: records.select(row, world, visible: visible(.records, world))
    default: true
    }
  }

  /// A pane in full, with the list as it is.
  func full(_ pane: Pane) -> any Screen {
    switch pane {
    case .sync: SyncScreen()
    case .account: AccountScreen()
    case .queue: QueueScreen(queue)
    case .records: RecordsScreen(records)
    }
  }

  mutating func type(_ key: Key, _ world: World) -> [Step]? { focus == .records ? records.type(key) : queue.type(key) }
  func prompt(_ world: World) -> Prompt? { focus == .records ? records.prompt(world) : queue.prompt(world) }
  mutating func apply(_ receipt: Receipt) { queue.apply(receipt) }

  func isWaiting(_ world: World) -> Bool {
    switch focus {
    case .queue: queue.isWaiting(world)
    case .records: records.isWaiting(world)
    case .sync, .account: false
    }
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    let layout = layout(world)
    // Which height the lists get is not known before the first reading, and a border that moves is drawn twice.
    let isLoading = world.status == nil && world.readFailure == nil
    VerdictLine(world: world).draw(on: &frame, in: layout.verdict)
    for pane in Pane.allCases {
      guard let place = layout.panes[pane] else { continue }
      if isLoading, pane == .queue || pane == .records {
        if pane == focus { frame.grid.put(StyledText("loading…", .dim), in: place.row(place.height / 2), .centre) }
        continue
      }
      let isFocused = pane == focus
      let title = StyledText("\(world.keys.name(of: pane.command)) \(pane.title)")
      frame.addTarget(.pane(pane), in: place)
      if pane == .queue {
        QueueTabs(world, queue).draw(title, on: &frame, in: place, world, queue, isFocused: isFocused)
      } else {
        let note = pane == .records ? records.note(world) : ""
        Box(title: title, note: note, isFocused: isFocused).draw(on: &frame.grid, in: place)
      }
      let inside = Box.inside(place)
      switch pane {
      case .sync: SyncPane(world).draw(on: &frame.grid, in: Box.text(place))
      case .account: AccountPane(world).draw(on: &frame.grid, in: Box.text(place))
      case .queue: queue.draw(on: &frame, in: inside, world, isFocused: isFocused, pane: .queue)
      case .records: records.draw(on: &frame, in: inside, world, isFocused: isFocused, pane: .records)
      }
    }
    guard let place = layout.events else { return }
    Box(title: StyledText("\(world.keys.name(of: .eventsView)) Events")).draw(on: &frame.grid, in: place)
    let inside = Box.text(place)
    for (line, event) in (world.data.events?.rows ?? []).prefix(inside.height).enumerated() {
      frame.grid.put(EventLine.text(event, world), in: inside.row(line))
    }
  }
}

/// The areas of the overview. Where there is no room for four panes, the focused one takes it all.
struct OverviewLayout: Hashable, Sendable {
  let verdict: Rect
  private(set) var panes: [Pane: Rect] = [:]
  private(set) var events: Rect?

  /// - Parameter queued: the rows of the queue; nil while they are not known. What the queue does not need, the records
  ///   get.
  init(_ area: Rect, focus: Pane, queued: Int?) {
    let parts = area.rows([.fixed(1), .flexible])
    verdict = parts[0]
    let body = parts[1]
    guard area.size.holds(Breakpoint.fourPanes) else {
      panes = [focus: body]
      return
    }
    let top = body.height >= Breakpoint.tallPanes ? 7 : 6
    let log = body.height >= Breakpoint.eventsBelowPanes ? max(5, body.height / 7) : 0
    let lists = body.height - top - log
    // At least three rows of the queue, at least two of the records; each with a frame and a header.
    let wanted = queued.map { $0 + 3 } ?? lists
    let queueHeight = min(max(6, min(wanted, lists * 3 / 5)), lists - 5)
    let bands = body.rows([.fixed(top), .fixed(queueHeight), .flexible, .fixed(log)])
    let halves = bands[0].columns([.flex(3), .flex(2)])
    panes = [.sync: halves[0], .account: halves[1], .queue: bands[1], .records: bands[2]]
    events = log > 0 ? bands[3] : nil
  }
}
