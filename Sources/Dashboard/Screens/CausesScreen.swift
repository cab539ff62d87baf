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

  static func columns(_ list: RowList<CauseKind>, _ width: Int, _ world: World) -> [Table.Column] {
    [
      Table.Column("CHANGES", .fixed(7), .trailing, priority: 9), Table.Column("STATE", .fixed(8), priority: 8),
      Table.Column("CAUSE", .flexible, minimum: 12, priority: 9),
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
  var scopes: KeyScope { [.everywhere, .moving, .queue, .syncing, .opening, .copying, .closing] }

  mutating func act(_ id: CommandID, _ world: World) -> [Step]? {
    switch id {
    case .causes: return [.pop]
    case .nextTab: return [.tab([])]
    case .previousTab: return [.tab(QueueTabs(world, QueueList(), hasCauses: true).states.last ?? [])]
    default: break
    }
    guard let cause = list.selected(world), let queue = Self.queue(of: cause) else { return nil }
    switch id {
    case .open: return [.push(QueueScreen(queue))]
    case .retry:
      let filter = queue.filter.text
      return [
        .push(Question(.retryAll(queue.listing, filter: filter, count: cause.count, recreated: cause.recreated)))
      ]
    case .discard:
      return [
        .push(
          Question(.discard(.listing(queue.listing, except: []), versions: [:], count: cause.count, isMarked: false))
        )
      ]
    case .copy: return [.effect(.copy("\(cause.count)\t\(cause.filter)"))]
    default: return nil
    }
  }

  /// The changes of a cause as a list.
  private static func queue(of cause: QueueCause) -> QueueList? {
    var queue = QueueList()
    queue.setFilter(cause.filter)
    return queue.filter.error == nil ? queue : nil
  }

  func availability(of id: CommandID, _ world: World) -> Availability {
    switch id {
    case .pauseThese, .edit, .problems, .export, .order, .undo: .no("Open the cause with Enter first")
    case .retryAll: .no("\(world.keys.name(of: .retry)) retries the changes of this cause")
    case .open, .retry, .discard, .copy: list.selected(world) == nil ? .no("No cause is selected") : .now
    default: .now
    }
  }

  func label(of id: CommandID, _ world: World) -> String? {
    let number = list.selected(world).map { " \(Format.number($0.count))" } ?? ""
    switch id {
    case .retry: return "retry\(number)"
    case .discard: return "discard\(number)"
    case .open: return "show them"
    case .causes: return "close"
    default: return nil
    }
  }

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
    ]
  }
}
