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
    let lowercased = name.lowercased()
    if name.count == 1, let character = name.first {
      self = .character(character)
    } else if let named = Self.named.first(where: { $0.name.lowercased() == lowercased }) {
      self = named.key
    } else if lowercased == "space" {
      self = .character(" ")
    } else if lowercased.hasPrefix("ctrl-"), name.count == 6, let letter = lowercased.last,
      Self.controls.contains(letter)
    {
      self = .ctrl(letter)
    } else if lowercased.hasPrefix("alt-"), name.count == 5, let letter = name.last, letter.isASCII,
      !Self.beginnings.contains(letter)
    {
      self = .alt(letter)
    } else if lowercased.hasPrefix("f"), let number = Int(name.dropFirst()), (1...12).contains(number) {
      self = .function(number)
    } else {
      return nil
    }
  }

  /// The letters that a terminal sends with Control as a key of their own: the others are Backspace, Tab and Enter.
  private static let controls = Set("abcdefghijklmnopqrstuvwxyz").subtracting("hijm")
  /// The characters after Escape with which a terminal begins a longer sequence.
  private static let beginnings = Set("OPX[]^_\\")

  private static let named: [(key: Key, name: String)] = [
    (.up, "Up"), (.down, "Down"), (.left, "Left"), (.right, "Right"), (.home, "Home"), (.end, "End"),
    (.pageUp, "PgUp"), (.pageDown, "PgDn"), (.enter, "Enter"), (.escape, "Esc"), (.tab, "Tab"),
    (.backTab, "Shift-Tab"), (.backspace, "Backspace"), (.delete, "Del"), (.insert, "Ins"),
  ]
}
