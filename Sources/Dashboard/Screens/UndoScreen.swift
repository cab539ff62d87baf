import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// Everything that can be undone, newest first: discarded changes, and what conflicts, policies and undos dropped or
/// overwrote. What no person has seen yet is marked while the view is open, and counts as seen once it was shown.
struct UndoScreen: Screen {
  private var dropped = DroppedList()
  /// The last dropped change that this view has marked as seen, and those that were on the screen.
  private var marked: Int64 = 0
  private var onScreen: Set<Int64> = []

  var title: String? { "Undo" }
  var scopes: KeyScope { [.everywhere, .moving, .list, .undoing, .syncing, .copying, .closing] }

  private func visible(_ world: World) -> Int { Table.visibleRows(in: Box.inside(SplitLayout(world.body).list)) }

  func wants(_ world: World) -> ViewScope {
    var scope = ViewScope()
    scope.dropped = dropped.part(visible: visible(world))
    if SplitLayout(world.body).inspector != nil { scope.record = dropped.selected(world)?.change.key }
    return scope
  }

  mutating func follow(_ world: World) {
    if dropped.listing.seenThrough == nil, let status = world.status {
      var listing = dropped.listing
      listing.seenThrough = status.dropped.seenThrough
      dropped.list(listing)
    }
    dropped.follow(world, visible: visible(world))
  }

  mutating func shown(_ world: World) -> [Effect] {
    guard !world.isReadOnly, !dropped.isFiltered, world.status?.dropped.unseen ?? 0 > 0, let page = dropped.page(world)
    else { return [] }
    let first = dropped.state.offset
    onScreen.formUnion((first..<first + visible(world)).compactMap { page[$0]?.id })
    // The store counts all older ones as seen, too, so they must have been on the screen: rows from the oldest on, or from
    // the last one marked.
    let reachesMarked = page.window.offset + page.rows.count >= page.total || page.rows.last?.id ?? .max <= marked
    let unseen = page.rows.reversed().filter { !$0.change.isSeen }.map(\.id)
    guard reachesMarked, let last = unseen.prefix(while: onScreen.contains).last, last > marked else { return [] }
    marked = last
    return [.give(.markDroppedSeen(through: last))]
  }

  func isWaiting(_ world: World) -> Bool { dropped.isWaiting(world) }
  mutating func type(_ key: Key, _ world: World) -> [Step]? { dropped.type(key) }
  func prompt(_ world: World) -> Prompt? { dropped.prompt(world) }

  mutating func select(_ row: Int, in pane: Pane?, _ world: World) -> Bool {
    dropped.select(row, world, visible: visible(world))
  }

  mutating func perform(_ id: CommandID, _ world: World) -> [Step] {
    switch id {
    case .back: return dropped.clear() ? [] : [.pop]
    case .restore: return dropped.restore(world)
    case .copy:
      return dropped.copy(world) { row in
        [row.change.title, row.change.key.zone, world.why(row.change.cause), row.change.shownFields(world.format)]
          .joined(separator: "\t")
      }
    default: return dropped.perform(id, world, visible: visible(world)) ?? []
    }
  }

  func availability(of id: CommandID, _ world: World) -> Availability {
    switch id {
    case .restore, .copy, .mark:
      switch dropped.selected(world) {
      case nil: .no("Nothing is selected")
      case let row? where id == .restore && !row.change.isOpen && dropped.state.marks.isEmpty:
        .no("The record was edited since; this can no longer be undone")
      default: .now
      }
    default: .now
    }
  }

  mutating func take(_ receipt: Receipt) {
    switch receipt.command {
    case .undo, .undoAll: if receipt.failure == nil { dropped.state.marks = .some([:]) }
    default: break
    }
  }

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    let layout = SplitLayout(area)
    Box(title: "Undo", note: dropped.note(world), isFocused: true).draw(on: &frame.grid, in: layout.list)
    dropped.draw(on: &frame, in: Box.inside(layout.list), world)
    guard let area = layout.inspector else { return }
    let row = dropped.selected(world)
    Box(title: StyledText(row?.change.title ?? "Change")).draw(on: &frame.grid, in: area)
    guard let row else { return }
    DroppedInspector(row.change, world).draw(on: &frame.grid, in: Box.text(area), selection: nil, offset: 0)
  }
}

/// A dropped change beside the record as it is now.
struct DroppedInspector: Inspector {
  private let change: DroppedChange
  let world: World

  init(_ change: DroppedChange, _ world: World) { (self.change, self.world) = (change, world) }

  var missing: String { "" }

  var items: [InspectorItem]? {
    let record = world.data.record.flatMap { $0.id == change.key ? $0.value : nil }
    let now = (record?.row?.record ?? record?.server)?.fields ?? [:]
    var items: [InspectorItem] = [
      .text(StyledText(change.kind.phrase(change.type, change.key).sentence, .strong)),
      .text(StyledText("Dropped \(world.time(change.at)) (\(world.ago(change.at))): \(world.why(change.cause))", .dim)),
      .text(StyledText(effect(record))),
    ]
    items += values(change.changes, now, "DROPPED VALUES, AND THE VALUES NOW")
    if let overwritten = change.overwritten {
      items += values(overwritten.values ?? FieldChanges(), now, "VALUES OF THE SERVER, AND THE VALUES NOW")
      if overwritten.values == nil { items.append(.text("The server had deleted the record.")) }
    }
    return items
  }

  private func values(_ changes: FieldChanges, _ now: [String: FieldValue], _ heading: String) -> [InspectorItem] {
    guard !changes.isEmpty else { return [] }
    var items: [InspectorItem] = [.text(""), .heading(heading)]
    for name in changes.names.sorted() {
      let (former, value) = (changes[name], now[name])
      items.append(
        .field(
          InspectorField(
            name: FieldChanges.shown(name),
            value: former,
            type: former?.wireType ?? "",
            isUnsent: false,
            format: world.format
          )
        )
      )
      guard former != value else { continue }
      items.append(.text([.init("    now  ", .dim), .init(value?.text(world.format) ?? "–", .server)]))
    }
    return items
  }

  private func effect(_ record: RecordDetail?) -> String {
    let key = world.keys.name(of: .restore)
    guard change.isOpen else { return "The record was edited since: this can no longer be undone." }
    if change.isWhole {
      return change.overwritten == nil
        ? "\(key) queues the change again as it was."
        : "\(key) queues the change again in place of the deletion; if the deletion was sent, recreates the record."
    }
    switch (change.conflict != nil, change.overwritten) {
    case (true, nil) where !change.dropsChange: return "\(key) opens the conflict again, until the resolution is sent."
    case (true, nil): return "\(key) opens the conflict again, unless the server has its old values back."
    case (true, .some): return "\(key) opens the conflict again; once it is sent, \(key) restores the server's side."
    case (false, .some): return "\(key) takes the undo back."
    case (false, nil):
      return change.kind == .delete
        ? "\(key) deletes the record on the server." : "\(key) sends these values; the edit keeps its time."
    }
  }
}
