import CloudKit
import CloudService
import CloudSync
import Facts
import TerminalUI

/// The records of the local copy, with queued changes applied, as a list.
enum RecordKind: ListKind {
  static var table: FilterTable? { .records }
  static var filterHint: String { "words, or count >= 5 and changed > 2026-11-01 (UTC)" }
  static func page(_ world: World) -> ListPage<RecordListing, RecordRow>? { world.data.records }
  static func version(of row: RecordRow) -> String { row.changeTag ?? "" }
  static func isProblem(_ row: RecordRow) -> Bool { row.operationState?.isProblem ?? false }
  static func request(_ list: RecordList, visible: Int, in scope: inout ViewScope) {
    scope.records = list.part(visible: visible)
  }

  static var hasDetail: Bool { true }
  static func requestDetail(of row: RecordRow, in scope: inout ViewScope) { scope.record = row.record.key }
  static func detail(of row: RecordRow, _ world: World) -> (title: String, inspector: any Inspector)? {
    // Until the row's own detail is read, the last one stays, with its own title.
    let key = world.data.record?.id ?? row.record.key
    return (key.name, RecordInspector(key, world))
  }

  static var noun: String { "record" }
  static func opening(_ row: RecordRow, _ world: World) -> Offer { .screen(RecordScreen(row.record.key)) }
  static func line(_ row: RecordRow, _ world: World) -> String {
    [row.record.key.name, row.record.type, row.record.key.zone, row.record.fields.text(world.format)]
      .joined(separator: "\t")
  }

  static func export(_ list: RecordList, _ world: World) -> Export? {
    if case .some(let marked) = list.state.marks, !marked.isEmpty { return .records(marked.keys.sorted()) }
    return .allRecords(list.listing, except: list.state.marks.exceptions)
  }

  static func fieldNames(_ list: RecordList, _ world: World) -> [String] {
    let rows = list.page(world)?.rows ?? []
    return rows.reduce(into: Set(list.columns)) { $0.formUnion($1.record.fields.keys) }.sorted()
  }

  static func nextOrder(_ list: RecordList) -> (listing: RecordListing, name: String)? {
    let orders =
      [.newest, .name]
      + list.columns.flatMap { [.field($0, isDescending: false), RecordListing.Order.field($0, isDescending: true)] }
    var next = list.listing
    next.order = orders[((orders.firstIndex(of: next.order) ?? -1) + 1) % orders.count]
    return (next, next.order.name)
  }

  static func columns(_ list: RecordList, _ width: Int, _ world: World) -> [Table.Column] {
    [
      Table.Column("NAME", .flex(3), minimum: 12, priority: 9),
      Table.Column("TYPE", .flex(1), minimum: 8, priority: 3),
      Table.Column("ZONE", .flex(1), minimum: 8, priority: 2),
      .time("CHANGED", width, priority: 4),
      Table.Column("BY", .flex(1), minimum: 11, isHidden: !width.isWide),
    ] + list.fieldColumns
  }

  static func cells(_ row: RecordRow, _ list: RecordList, _ width: Int, _ world: World) -> Table.Row {
    let record = row.record
    let changed = row.operation != nil ? "unsent" : world.listed(record.modifiedAt, width)
    return Table.Row(
      [
        StyledText(record.key.name), StyledText(record.type, .dim), StyledText(record.key.zone, .dim),
        StyledText(changed, row.operation != nil ? .pending : .dim),
        StyledText(record.modifiedBy.map { world.user($0) } ?? "", .dim),
      ] + list.fieldCells(record, world.format),
      mark: row.operationState.map { StyledText($0.mark, $0.role) } ?? ""
    )
  }

  static func empty(_ list: RecordList, _ world: World) -> String {
    if world.status?.hasStore == false { return "No store yet" }
    return list.listing.filter == .none ? "No records" : "No record matches; Esc shows all"
  }
}

typealias RecordList = RowList<RecordKind>

extension RowList where Kind == RecordKind {
  /// The chosen fields; none: all fields in one column.
  fileprivate var fieldColumns: [Table.Column] {
    guard !columns.isEmpty else { return [Table.Column("FIELDS", .flex(7), minimum: 16, priority: 8)] }
    return columns.enumerated().map { place, name in
      let mark =
        switch listing.order {
        case .field(name, let isDescending): isDescending ? " ↓" : " ↑"
        default: ""
        }
      // Of columns that do not fit, the last chosen ones are left out first.
      return Table.Column(
        FieldChanges.displayName(name) + mark,
        .flex(3),
        minimum: 8,
        priority: place == 0 ? 8 : max(5, 7 - place)
      )
    }
  }

  fileprivate func fieldCells(_ record: MirrorRecord, _ format: Format) -> [StyledText] {
    guard !columns.isEmpty else { return [StyledText(record.fields.shownText(format))] }
    return columns.map { StyledText(record.fields[$0]?.text(format) ?? "", .text) }
  }
}

extension [String: FieldValue] {
  /// All fields in one line, by name, the parent last.
  func shownText(_ format: Format) -> String {
    guard let parent = self[FieldChanges.parent] else { return text(format) }
    return filter { $0.key != FieldChanges.parent }.text(format) + "  parent=\(parent.text(format))"
  }
}

extension RecordListing.Order {
  var name: String {
    switch self {
    case .newest: "newest change first"
    case .name: "by zone and name"
    case .field(let name, let isDescending):
      "by \(FieldChanges.displayName(name)), \(isDescending ? "descending" : "ascending")"
    }
  }
}
