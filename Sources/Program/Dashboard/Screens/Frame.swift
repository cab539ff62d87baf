import CloudSync
import TerminalUI

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

  /// Adds a thing that can be clicked.
  mutating func addTarget(_ target: Target, in area: Rect) { targets.append(Place(area: area, target: target)) }

  /// Adds the rows of a table.
  mutating func addRowTargets(of table: Table, in area: Rect, pane: Pane? = nil) {
    for row in table.rows.indices where row + 1 < area.height {
      addTarget(.row(table.offset + row, pane), in: area.row(row + 1))
    }
  }

  /// Forgets the targets below another screen.
  mutating func coverTargets() { targets = [] }

  func target(at position: Position) -> Target? { targets.last { $0.area.contains(position) }?.target }
}

extension Table {
  /// Draws the table, whose rows can be clicked.
  ///
  /// - Parameter pane: the pane of the overview that it is in.
  func draw(on frame: inout Frame, in area: Rect, pane: Pane? = nil) {
    draw(on: &frame.grid, in: area)
    frame.addRowTargets(of: self, in: area, pane: pane)
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
