import CloudService
import TerminalUI

/// A view with its own state. What it shows is read from the world each time that it is drawn.
///
/// A new view is a file with a type of this protocol, and the command that opens it.
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
  mutating func perform(_ id: CommandID, _ world: World) -> [Step]
  func availability(of id: CommandID, _ world: World) -> Availability
  /// The label of a command where it differs from the registry's.
  func label(of id: CommandID, _ world: World) -> String?
  /// Takes a key while a text is typed; nil if none is.
  mutating func type(_ key: Key, _ world: World) -> [Step]?
  /// The text while it is typed.
  func prompt(_ world: World) -> Prompt?
  /// Follows the result of a command.
  mutating func take(_ receipt: Receipt)
  /// The conflict that is selected, which `c` opens.
  func conflict(_ world: World) -> Int64?
  /// Whether keys that act on a row have to wait, because its rows are still being read.
  func isWaiting(_ world: World) -> Bool
  func draw(on frame: inout Frame, in area: Rect, _ world: World)
}

extension Screen {
  var title: String? { nil }
  var isOverlay: Bool { false }
  func wants(_ world: World) -> ViewScope { ViewScope() }
  mutating func follow(_ world: World) {}
  func availability(of id: CommandID, _ world: World) -> Availability { .now }
  func label(of id: CommandID, _ world: World) -> String? { nil }
  mutating func type(_ key: Key, _ world: World) -> [Step]? { nil }
  func prompt(_ world: World) -> Prompt? { nil }
  mutating func take(_ receipt: Receipt) {}
  func conflict(_ world: World) -> Int64? { nil }
  func isWaiting(_ world: World) -> Bool { false }
}

/// A drawn screen.
struct Frame: Hashable, Sendable {
  var grid: Grid
  /// The position of the cursor while a text is typed.
  var cursor: Position?
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
