import CloudService
import CloudSync
import Facts
import TerminalUI

/// Failed and retrying changes by cause, the most frequent first, as a list.
enum CauseKind: ListKind {
  typealias Listing = Whole
  static func page(_ world: World) -> ListPage<Whole, QueueCause>? { Whole.page(world.data.causes) }
  static func request(_ list: RowList<CauseKind>, visible: Int, in scope: inout ViewScope) {
    scope.causes = QueueListing()
  }

  static var hasDetail: Bool { true }
  static func detail(of row: QueueCause, _ world: World) -> (title: String, inspector: any Inspector)? {
    (Words.count(row.count, "change"), CauseInspector(cause: row, world: world))
  }

  static var noun: String { "cause" }
  static func line(_ row: QueueCause, _ world: World) -> String { "\(row.count)\t\(row.filter)" }
  /// Why what is about changes does nothing on the causes.
  static let openFirst = "Open the cause first"
  static func noProblems(_ list: RowList<CauseKind>, _ world: World) -> String? { openFirst }
  static func opening(_ row: QueueCause, _ world: World) -> Offer {
    queue(of: row).map { .screen(QueueScreen($0), label: "show them") } ?? .none("The cause has no filter")
  }

  static func operations(_ list: RowList<CauseKind>, _ world: World) -> Operations? {
    guard let cause = list.selected(world), let queue = queue(of: cause) else { return nil }
    var operations = Operations(.listing(queue.listing, except: []))
    (operations.count, operations.recreated, operations.cause) = (cause.count, cause.recreated, queue)
    return operations
  }

  /// The changes of a cause as a list.
  static func queue(of cause: QueueCause) -> QueueList? {
    var queue = QueueList()
    queue.setFilter(cause.filter)
    return queue.filter.error == nil ? queue : nil
  }

  static func columns(_ list: RowList<CauseKind>, _ width: Int, _ world: World) -> [Table.Column] {
    [
      Table.Column("CHANGES", .fixed(7), .trailing, priority: 9), Table.Column("STATE", .fixed(8), priority: 8),
      Table.Column("CAUSE", .flexible, minimum: 24, priority: 9, keepsDifferences: true),
      Table.Column("RELEASES", .fixed(8), .trailing, priority: 7), Table.Column("SINCE", .fixed(12), priority: 6),
    ]
  }

  static func cells(_ cause: QueueCause, _ list: RowList<CauseKind>, _ width: Int, _ world: World) -> Table.Row {
    Table.Row(
      [
        StyledText(Format.number(cause.count)), StyledText(Words.state(cause.state.rawValue), cause.state.role),
        StyledText(cause.text(world)), StyledText(cause.released, cause.released == "0" ? .dim : .pending),
        StyledText(world.clock(cause.oldestAt), .dim),
      ],
      mark: StyledText(cause.state.mark, cause.state.role)
    )
  }

  static func empty(_ list: RowList<CauseKind>, _ world: World) -> String {
    "No change failed or waits to be retried"
  }
}

extension QueueCause {
  /// The number of changes that can be sent once these are.
  fileprivate var released: String { Format.number(releases) + (mayReleaseMore ? "+" : "") }

  fileprivate func text(_ world: World) -> String {
    code.map { Words.joined(message ?? "", $0) } ?? cause.brief(world.format, now: world.now)
  }
}

/// The causes: the first tab of the queue.
struct CausesScreen: ListScreen {
  var list = RowList<CauseKind>()

  var title: String? { "Causes" }
  var scopes: KeyScope { [.everywhere, .moving, .queue, .causes, .syncing, .opening, .copying, .closing] }

  func drawFrame(on frame: inout Frame, in area: Rect, _ world: World) {
    QueueTabs(world, nil, hasCauses: true).draw("Causes", on: &frame, in: area, world, nil)
  }
}

/// A cause in full.
struct CauseInspector: Inspector {
  let cause: QueueCause
  let world: World

  var missing: String { "" }

  var items: [InspectorItem]? {
    let (keys, count) = (world.keys, Words.count(cause.count, "change"))
    let zones = cause.recreated.isEmpty ? "" : ", and recreates \(Words.list(cause.recreated))"
    let released =
      switch cause.releases {
      case 0 where !cause.mayReleaseMore: ""
      case 1 where !cause.mayReleaseMore: " Once they are sent, 1 change that waits for them is free to go."
      default: " Once they are sent, \(cause.released) changes that wait for them are free to go."
      }
    let next = cause.nextAttemptAt.map { " The next attempt is at \(world.time($0))." } ?? ""
    let remedy = cause.cause.remedy.map { [InspectorItem.text(StyledText($0))] }
    return [
      .text([
        .init("\(cause.state.mark) \(Words.state(cause.state.rawValue).sentence)", cause.state.role),
        .init(": \(cause.text(world))"),
      ]),
      .text(""),
      .text(
        StyledText(
          "\(keys.name(of: .retry)) retries \(count)\(zones); \(keys.name(of: .open)) shows them.\(released)\(next)"
        )
      ),
      .text(StyledText("The oldest was queued \(world.time(cause.oldestAt)) (\(world.ago(cause.oldestAt))).", .dim)),
    ] + (remedy ?? [])
  }
}
