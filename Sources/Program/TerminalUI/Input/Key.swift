/// One thing that the user did at the keyboard.
package enum Key: Sendable, Hashable {
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
  case mouse(Mouse)
  case up, down, left, right, home, end, pageUp, pageDown
  /// Enter, on the letters or on the number pad.
  case enter
  case escape, tab, backTab, backspace, delete, insert
  /// Something that no command can be bound to.
  case unknown
}
