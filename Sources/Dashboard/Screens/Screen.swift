import CloudService
import CloudSync
import TerminalUI

/// A view with its own state. What it shows is read from the world each time that it is drawn.
///
/// A new view is a file with a type of this protocol, and a line in `ViewEntry.views`.
protocol Screen: Sendable {
  /// The view's name in the top line; nil for the overview and for screens drawn over another one.
  var title: String? { get }
  var scopes: KeyScope { get }
  /// Whether it lies over the screen below it, which stays visible.
  var isOverlay: Bool { get }
  /// The data that the screen needs.
  func wants(_ world: World) -> ViewScope
  /// Follows other data or another size.
  mutating func follow(_ world: World)
  /// The effects of having been shown, as the screen on top.
  mutating func shown(_ world: World) -> [Effect]
  /// The list that it shows; nil if it shows none.
  var rows: (any Rows)? { get set }
  /// The queue, if that is the list.
  var queueList: QueueList? { get }
  /// The number of rows that have room.
  func visible(_ world: World) -> Int
  /// Moves the cursor, or scrolls.
  mutating func move(_ id: CommandID, _ world: World) -> [Step]
  /// Goes one step back: clears marks or a filter, else closes the view.
  mutating func back(_ world: World) -> [Step]
  /// The thing that commands are about.
  func subject(_ world: World) -> Subject
  /// Keeps what is to last when it is closed, as the view right over the overview.
  func close(_ app: inout App)
  /// Takes a key while a text is typed; nil if none is.
  mutating func type(_ key: Key, _ world: World) -> [Step]?
  /// The text while it is typed.
  func prompt(_ world: World) -> Prompt?
  /// Whether there is nothing left to do in it, so that it closes.
  var isDone: Bool { get }
  /// Follows the result of a command.
  mutating func take(_ receipt: Receipt)
  /// Whether keys that act on a row have to wait, because its rows are still being read.
  func isWaiting(_ world: World) -> Bool
  /// The next moment at which what it shows changes by itself, in milliseconds since 1970; nil if nothing does.
  func wake(_ world: World) -> Int64?
  /// Whether leaving it would lose what was typed.
  var hasUnsavedEdits: Bool { get }
  /// Selects a row, as a click on it does. Returns false if it is selected already.
  ///
  /// - Parameter pane: the pane of the overview that has the row.
  mutating func select(_ row: Int, in pane: Pane?, _ world: World) -> Bool
  func draw(on frame: inout Frame, in area: Rect, _ world: World)
}

extension Screen {
  var hasUnsavedEdits: Bool { false }
  var isDone: Bool { false }
  mutating func select(_ row: Int, in pane: Pane?, _ world: World) -> Bool { true }
  var title: String? { nil }
  var isOverlay: Bool { false }
  func wants(_ world: World) -> ViewScope { ViewScope() }
  mutating func follow(_ world: World) {}
  mutating func shown(_ world: World) -> [Effect] { [] }
  var rows: (any Rows)? {
    get { nil }
    set {}
  }
  var queueList: QueueList? { nil }
  func visible(_ world: World) -> Int { 0 }
  mutating func move(_ id: CommandID, _ world: World) -> [Step] {
    let visible = visible(world)
    rows?.move(id, world, visible: visible)
    return []
  }
  mutating func back(_ world: World) -> [Step] { [.pop] }
  func subject(_ world: World) -> Subject { rows?.subject(world) ?? Subject() }
  func unselected(_ world: World) -> String? { subject(world).missing }
  func close(_ app: inout App) {}
  mutating func type(_ key: Key, _ world: World) -> [Step]? { nil }
  func prompt(_ world: World) -> Prompt? { nil }
  mutating func take(_ receipt: Receipt) {}
  func isWaiting(_ world: World) -> Bool { false }
  func wake(_ world: World) -> Int64? { nil }
}

/// The thing that the commands of a screen are about: a row, an operation, a conflict or a value.
struct Subject {
  /// Why nothing is selected, as a sentence without a full stop; nil if something is.
  var missing: String?
  /// The operations that the commands of the queue act on; nil if none is selected.
  var operations: Operations?
  /// The change that is selected, to be edited or, in conflict, resolved.
  var change: QueueRow?
  /// The effect of Enter.
  var open = Offer.none("Nothing is selected")
  /// The copy of what is marked or selected.
  var copy = Offer([])
  /// Returns the values of the selected field in full, or those of all fields; nil if there are none.
  var whole: () -> ValueScreen? = { nil }

  var conflict: Int64? { change.flatMap { $0.state == .conflict ? $0.id : nil } }
}

/// The effect of a key on a subject, with its label in the footer, or why it has none.
struct Offer {
  var label: String?
  var refusal: String?
  let steps: () -> [Step]

  init(label: String? = nil, refusal: String? = nil, _ steps: @autoclosure @escaping () -> [Step]) {
    (self.label, self.refusal, self.steps) = (label, refusal, steps)
  }

  static func screen(_ screen: any Screen, label: String? = nil) -> Offer { Offer(label: label, [.push(screen)]) }
  static func none(_ refusal: String) -> Offer { Offer(refusal: refusal, []) }
}

/// A drawn screen.
struct Frame: Hashable, Sendable {
  var grid: Grid
  /// The position of the cursor while a text is typed.
  var cursor: Position?
  /// The places of things that can be clicked; of several at one place the last one is meant.
  private(set) var targets: [Place] = []

  init(grid: Grid, cursor: Position?) { (self.grid, self.cursor) = (grid, cursor) }

  /// A thing to be clicked and its place.
  struct Place: Hashable, Sendable {
    var area: Rect
    var target: Target
  }

  /// Notes where something is that can be clicked.
  mutating func note(_ target: Target, in area: Rect) { targets.append(Place(area: area, target: target)) }

  /// Notes where the rows of a table are.
  mutating func noteRows(of table: Table, in area: Rect, pane: Pane? = nil) {
    for row in table.rows.indices where row + 1 < area.height {
      note(.row(table.offset + row, pane), in: area.row(row + 1))
    }
  }

  /// Forgets the targets below another screen.
  mutating func coverTargets() { targets = [] }

  func target(at position: Position) -> Target? { targets.last { $0.area.contains(position) }?.target }
}

extension Table {
  /// Draws the table, and notes where its rows are.
  ///
  /// - Parameter pane: the pane of the overview that it is in.
  func draw(on frame: inout Frame, in area: Rect, pane: Pane? = nil) {
    draw(on: &frame.grid, in: area)
    frame.noteRows(of: self, in: area, pane: pane)
  }
}

/// A thing on the screen that can be clicked.
enum Target: Hashable, Sendable {
  case pane(Pane)
  /// A row of a list, counted in the whole list, and the pane that has it.
  case row(Int, Pane?)
  /// A field of the conflict that is shown.
  case field(Int)
  /// A tab of the queue, by the states that it shows.
  case tab(Set<OperationState>)
  case command(CommandID)
  /// The view, where the wheel scrolls and a press does nothing.
  case body
}

/// The panes of the overview, in reading order.
enum Pane: Int, Hashable, Sendable, CaseIterable {
  case sync = 1
  case account, queue, records

  var title: String {
    switch self {
    case .sync: "Sync"
    case .account: "Account"
    case .queue: "Queue"
    case .records: "Records"
    }
  }

  func next(_ step: Int) -> Pane {
    let all = Pane.allCases
    return all[(rawValue - 1 + step + all.count) % all.count]
  }
}
