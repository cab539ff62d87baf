/// A press of the mouse, or a turn of its wheel.
public struct Mouse: Sendable, Hashable {
  /// The kinds of use.
  public enum Action: Sendable, Hashable {
    /// The left button was pressed.
    case press
    /// The wheel was turned away from the user.
    case wheelUp
    /// The wheel was turned towards the user.
    case wheelDown
  }

  /// The kind of use.
  public var action: Action
  /// The place, counted from the top left corner.
  public var position: Position

  /// Makes an action at a position.
  public init(_ action: Action, at position: Position) {
    self.action = action
    self.position = position
  }

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
