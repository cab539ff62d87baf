import TerminalUI

extension Key {
  /// The key as keyboards name it; empty for what is no key.
  var name: String {
    switch self {
    case .character(" "): "Space"
    case .character(let character): String(character)
    case .ctrl(let character): "Ctrl-\(character.uppercased())"
    case .alt(let character): "Alt-\(character)"
    case .function(let number): "F\(number)"
    case .paste, .mouse, .unknown: ""
    default: Self.named.first { $0.key == self }?.name ?? ""
    }
  }

  /// The key of a name, as the configuration file writes it; nil if no key has it.
  init?(named name: String) {
    if name.count == 1, let character = name.first {
      self = .character(character)
    } else if let named = Self.named.first(where: { $0.name.lowercased() == name.lowercased() }) {
      self = named.key
    } else if name.lowercased() == "space" {
      self = .character(" ")
    } else if name.lowercased().hasPrefix("ctrl-"), name.count == 6, let letter = name.lowercased().last,
      letter.isLetter
    {
      self = .ctrl(letter)
    } else if name.lowercased().hasPrefix("alt-"), name.count == 5, let letter = name.last {
      self = .alt(letter)
    } else if name.uppercased().hasPrefix("F"), let number = Int(name.dropFirst()), (1...12).contains(number) {
      self = .function(number)
    } else {
      return nil
    }
  }

  private static let named: [(key: Key, name: String)] = [
    (.up, "Up"), (.down, "Down"), (.left, "Left"), (.right, "Right"), (.home, "Home"), (.end, "End"),
    (.pageUp, "PgUp"), (.pageDown, "PgDn"), (.enter, "Enter"), (.escape, "Esc"), (.tab, "Tab"),
    (.backTab, "Shift-Tab"), (.backspace, "Backspace"), (.delete, "Del"), (.insert, "Ins"),
  ]
}
