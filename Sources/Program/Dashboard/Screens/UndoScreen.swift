import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// Everything that can be undone, newest first: discarded changes, and what conflicts, policies and undos dropped or
/// overwrote. What no person has seen yet is marked while the view is open, and counts as seen once it was shown.
struct UndoScreen: ListScreen {
  var list = DroppedList()
  /// The last dropped change that this view has marked as seen, and those that were on the screen.
  private var marked: Int64 = 0
  private var onScreen: Set<Int64> = []

  var title: String? { "Undo" }
  var scopes: KeyScope { [.everywhere, .moving, .list, .undoing, .syncing, .copying, .closing] }

  mutating func follow(_ world: World) {
    if list.listing.seenThrough == nil, let status = world.status {
      var listing = list.listing
      listing.seenThrough = status.dropped.seenThrough
      list.list(listing)
    }
    list.follow(world, visible: visible(world))
  }

  mutating func appeared(_ world: World) -> [Effect] {
    guard !world.isReadOnly, !list.isFiltered, world.status?.dropped.unseen ?? 0 > 0, let page = list.page(world)
    else { return [] }
    let first = list.state.offset
    onScreen.formUnion((first..<first + visible(world)).compactMap { page[$0]?.id })
    // The store counts all older ones as seen, too, so they must have been on the screen: rows from the oldest on, or
    // from the last one marked.
    let reachesMarked = page.window.offset + page.rows.count >= page.total || page.rows.last?.id ?? .max <= marked
    let unseen = page.rows.reversed().filter { !$0.change.isSeen }.map(\.id)
    guard reachesMarked, let last = unseen.prefix(while: onScreen.contains).last, last > marked else { return [] }
    marked = last
    return [.give(.markDroppedSeen(through: last))]
  }

  mutating func apply(_ receipt: Receipt) {
    switch receipt.command {
    case .undo, .undoAll: if receipt.failure == nil { list.state.marks = .some([:]) }
    default: break
    }
  }
}

extension UndoScreen {
  /// Why nothing can be undone; nil if something can.
  fileprivate func unrestorable(_ world: World) -> String? {
    guard let row = list.selected(world) else { return "No change is selected" }
    guard !row.change.isOpen, list.state.marks.isEmpty else { return nil }
    return "The record was edited since; this can no longer be undone"
  }

  fileprivate func restore(_ world: World) -> [Step] {
    guard let rows = list.targets(world) else {
      return [.failure("Too many marked rows; mark all that match the filter instead")]
    }
    var operations: [Int64] = []
    for row in rows where row.change.isOpen && !operations.contains(row.change.operation) {
      operations.append(row.change.operation)
    }
    return operations.isEmpty
      ? [.failure("The marked records were edited since; they can no longer be undone")]
      : [.effect(.give(.undo(operations)))]
  }
}

extension Command {
  static let undoing: [Command] = [
    Command(.restore, "u Enter", "undo", restoring, .undoing, [.change, .decides]).unless(UndoScreen.unrestorable)
      .ask { (undo: UndoScreen, world) in
        guard let page = undo.list.page(world), case .allBut(let others) = undo.list.state.marks else { return nil }
        return .undoAll(page.listing, except: Set(others.keys), count: undo.list.state.marks.count(of: page.total))
      }
      .run { (undo: inout UndoScreen, world) in undo.restore(world) }
  ]

  private static let restoring = "Undo the marked changes, else the selected one"
}

/// A dropped change beside the record as it is now.
struct DroppedInspector: Inspector {
  private let change: DroppedChange
  let world: World

  init(_ change: DroppedChange, _ world: World) { (self.change, self.world) = (change, world) }

  var missing: String { "" }

  var items: [InspectorItem]? {
    let record = world.data.record?[change.key] ?? nil
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
            name: FieldChanges.displayName(name),
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
