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
  /// The effects of having been drawn, as the screen on top.
  mutating func appeared(_ world: World) -> [Effect]
  /// The list that it shows; nil if it shows none.
  var rows: (any ListActions)? { get set }
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
  mutating func apply(_ receipt: Receipt)
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
  mutating func appeared(_ world: World) -> [Effect] { [] }
  var rows: (any ListActions)? {
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
  mutating func apply(_ receipt: Receipt) {}
  func isWaiting(_ world: World) -> Bool { false }
  func wake(_ world: World) -> Int64? { nil }
}
