/// One thing that the user did at the keyboard.
public enum Key: Sendable, Hashable {
  /// A character was typed.
  case character(Character)
  /// A letter was typed with Control held.
  case ctrl(Character)
  /// A letter was typed with Alt held, or right after Escape.
  case alt(Character)
  /// A function key, from 1.
  case function(Int)
  /// Text was pasted. It is data, never a command.
  case paste(String)
  /// The mouse was used.
  case mouse(Mouse)
  /// Arrow up.
  case up
  /// Arrow down.
  case down
  /// Arrow left.
  case left
  /// Arrow right.
  case right
  /// Home.
  case home
  /// End.
  case end
  /// Page up.
  case pageUp
  /// Page down.
  case pageDown
  /// Enter, on the letters or on the number pad.
  case enter
  /// Escape alone.
  case escape
  /// Tab.
  case tab
  /// Tab with Shift held.
  case backTab
  /// Backspace.
  case backspace
  /// Delete.
  case delete
  /// Insert.
  case insert
  /// Something that no command can be bound to.
  case unknown
}
