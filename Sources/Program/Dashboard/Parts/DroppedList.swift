import CloudService
import CloudSync
import Facts
import TerminalUI

/// The dropped changes that can be undone, newest first, as a list.
enum DroppedKind: ListKind {
  static func page(_ world: World) -> ListPage<DroppedListing, DroppedRow>? { world.data.dropped }
  static func isProblem(_ row: DroppedRow) -> Bool { !row.change.isSeen }
  static func request(_ list: DroppedList, visible: Int, in scope: inout ViewScope) {
    scope.dropped = list.part(visible: visible)
  }

  static var hasDetail: Bool { true }
  static func requestDetail(of row: DroppedRow, in scope: inout ViewScope) { scope.record = row.change.key }
  static func detail(of row: DroppedRow, _ world: World) -> (title: String, inspector: any Inspector)? {
    (row.change.title, DroppedInspector(row.change, world))
  }

  static var noun: String { "change" }
  static func line(_ row: DroppedRow, _ world: World) -> String {
    [row.change.title, row.change.key.zone, world.why(row.change.cause), row.change.shownFields(world.format)]
      .joined(separator: "\t")
  }

  static func columns(_ list: DroppedList, _ width: Int, _ world: World) -> [Table.Column] {
    [
      .time("DROPPED", width, priority: 5),
      Table.Column("OP", .fixed(6), priority: 4),
      Table.Column("RECORD", .flex(3), minimum: 12, priority: 9),
      Table.Column("ZONE", .flex(1), minimum: 8, priority: 1),
      Table.Column("WHY", .flex(4), minimum: 12, priority: 6),
      Table.Column("FIELDS", .flex(5), minimum: 12, priority: 3),
    ]
  }

  static func cells(_ row: DroppedRow, _ list: DroppedList, _ width: Int, _ world: World) -> Table.Row {
    let change = row.change
    return Table.Row(
      [
        StyledText(world.listed(change.at, width), .dim),
        StyledText(change.kind.verb, .dim),
        StyledText(change.title), StyledText(change.key.zone, .dim),
        StyledText(change.cause.brief(world.format, now: world.now)),
        StyledText(change.shownFields(world.format), .dim),
      ],
      mark: change.isSeen ? "" : StyledText("▲", .warning)
    )
  }

  static func empty(_ list: DroppedList, _ world: World) -> String {
    list.isFiltered ? "No change matches; Esc shows all" : "Nothing was dropped that could be undone"
  }
}

typealias DroppedList = RowList<DroppedKind>

extension DroppedChange {
  /// The dropped values, the fields that it cleared, and the values of the server that were overwritten.
  func shownFields(_ format: Format) -> String {
    guard let overwritten else { return dropsChange ? changes.shownText(format) : Words.resolvedForThisSide }
    let server = "server's \(overwritten.values?.shownText(format) ?? "deletion")"
    return [changes.shownText(format), server].filter { !$0.isEmpty }.joined(separator: "  ")
  }

  /// The type and the name of its record.
  var title: String { key.title(type: type) }
}

extension FieldChanges {
  /// The values, and the fields that are cleared.
  fileprivate func shownText(_ format: Format) -> String {
    let cleared = cleared.sorted().map { "\(FieldChanges.displayName($0)) cleared" }
    return ([values.shownText(format)] + cleared).filter { !$0.isEmpty }.joined(separator: "  ")
  }
}
