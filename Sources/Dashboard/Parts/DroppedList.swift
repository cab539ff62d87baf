import CloudService
import CloudSync
import Facts
import TerminalUI

/// The dropped changes that can be undone, newest first, as a list.
enum DroppedKind: ListKind {
  static var emptyListing: DroppedListing { DroppedListing() }
  static var filter: any WritableKeyPath<DroppedListing, ListFilter> & Sendable { \.filter }
  static var table: FilterTable? { nil }
  static var filterHint: String { "words" }
  static func unfiltered(_ listing: DroppedListing) -> DroppedListing {
    var all = DroppedListing()
    all.seenThrough = listing.seenThrough
    return all
  }
  static func page(_ data: ViewData) -> ListPage<DroppedListing, DroppedRow>? { data.dropped }
  static func version(of row: DroppedRow) -> String { "" }
}

typealias DroppedList = RowList<DroppedKind>

extension RowList where Kind == DroppedKind {
  /// The steps that restore the marked changes, else the selected one.
  func restore(_ world: World) -> [Step] {
    guard let page = page(world) else { return [] }
    switch state.marks {
    case .allBut(let others):
      let count = state.marks.count(of: page.total)
      return [.push(Question(.undoAll(listing, except: Set(others.keys), count: count)))]
    case .some:
      guard let rows = chosen(world) else {
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

  func draw(on frame: inout Frame, in area: Rect, _ world: World) {
    let isWide = area.width >= 100
    let columns = [
      Table.Column("DROPPED", .fixed(isWide ? 12 : 8), priority: 5),
      Table.Column("OP", .fixed(6), priority: 4),
      Table.Column("RECORD", .flex(3), minimum: 12, priority: 9),
      Table.Column("ZONE", .flex(1), minimum: 8, priority: 1),
      Table.Column("WHY", .flex(4), minimum: 12, priority: 6),
      Table.Column("FIELDS", .flex(5), minimum: 12, priority: 3),
    ]
    let empty =
      listing.filter == .none ? "Nothing was dropped that could be undone" : "No change matches; Esc shows all"
    table(columns, world, isFocused: true, empty: empty, visible: Table.visibleRows(in: area)) { row in
      let change = row.change
      return Table.Row(
        [
          StyledText(isWide ? world.moment(change.at) : world.short(change.at), .dim),
          StyledText(change.kind.verb, .dim),
          StyledText(change.title), StyledText(change.key.zone, .dim),
          StyledText(change.cause.brief(world.format, now: world.now)),
          StyledText(change.shownFields(world.format), .dim),
        ],
        mark: change.isSeen ? "" : StyledText("▲", .warning)
      )
    }.draw(on: &frame, in: area)
  }
}

extension DroppedChange {
  /// The dropped values, the fields that it cleared, and the values of the server that were overwritten.
  func shownFields(_ format: Format) -> String {
    guard let overwritten else { return dropsChange ? changes.shownText(format) : Words.resolvedForThisSide }
    let server = "server's \(overwritten.values?.shownText(format) ?? "deletion")"
    return [changes.shownText(format), server].filter { !$0.isEmpty }.joined(separator: "  ")
  }

  /// The type and the name of its record.
  var title: String { type.map { "\($0)/\(key.name)" } ?? key.name }
}

extension FieldChanges {
  /// The values, and the fields that are cleared.
  fileprivate func shownText(_ format: Format) -> String {
    let cleared = cleared.sorted().map { "\(FieldChanges.shown($0)) cleared" }
    return ([values.shownText(format)] + cleared).filter { !$0.isEmpty }.joined(separator: "  ")
  }
}
