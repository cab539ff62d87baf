/// A press of the mouse, or a turn of its wheel.
package struct Mouse: Sendable, Hashable {
  package enum Action: Sendable, Hashable {
    case press
    /// The wheel was turned away from the user.
    case wheelUp
    /// The wheel was turned towards the user.
    case wheelDown
  }

  package var action: Action
  /// The place, counted from the top left corner.
  package var position: Position

  package init(_ action: Action, at position: Position) { (self.action, self.position) = (action, position) }

  /// Reads the numbers of an SGR report, as xterm's control sequences describe it: `0;12;4`. Nil for other buttons.
  init?(report: ArraySlice<UInt8>) {
    let numbers = String(decoding: report, as: UTF8.self).split(separator: ";").map { Int($0) }
    guard numbers.count == 3, let button = numbers[0], let x = numbers[1], let y = numbers[2], x > 0, y > 0 else {
      return nil
    }
    switch button {
    case 0: action = .press
    case 64: action = .wheelUp
    case 65: action = .wheelDown
    default: return nil
    }
    position = Position(x: x - 1, y: y - 1)
  }
}
