/// The places where keys work. A screen has one or more scopes, and a command works on screens that share one with it.
struct KeyScope: OptionSet, Hashable, Sendable {
  let rawValue: Int

  /// Every screen but prompts.
  static let everywhere = KeyScope(rawValue: 1)
  /// The panes of the overview.
  static let panes = KeyScope(rawValue: 1 << 1)
  /// Screens with a cursor or that can be scrolled.
  static let moving = KeyScope(rawValue: 1 << 2)
  /// Lists with marks and a filter.
  static let list = KeyScope(rawValue: 1 << 3)
  static let queue = KeyScope(rawValue: 1 << 4)
  /// One operation.
  static let operation = KeyScope(rawValue: 1 << 5)
  static let conflicts = KeyScope(rawValue: 1 << 6)
  static let zones = KeyScope(rawValue: 1 << 7)
  /// Screens from which syncing is controlled.
  static let syncing = KeyScope(rawValue: 1 << 8)
  /// Tables of fields.
  static let fields = KeyScope(rawValue: 1 << 9)
  /// Screens on which Enter opens something.
  static let opening = KeyScope(rawValue: 1 << 10)
  /// A question that is answered with y or n.
  static let question = KeyScope(rawValue: 1 << 11)
  /// Screens that Esc closes, and the overview, whose filter Esc clears.
  static let closing = KeyScope(rawValue: 1 << 12)
  /// Screens from which something can be copied.
  static let copying = KeyScope(rawValue: 1 << 13)
  static let records = KeyScope(rawValue: 1 << 16)
  static let events = KeyScope(rawValue: 1 << 17)
  /// The list of what can be undone.
  static let undoing = KeyScope(rawValue: 1 << 18)
  /// The fields of a change that is edited.
  static let editing = KeyScope(rawValue: 1 << 19)
  /// The choice of columns.
  static let choosing = KeyScope(rawValue: 1 << 20)
  /// The list of pause rules.
  static let pauses = KeyScope(rawValue: 1 << 21)
  /// The strip of a day, whose cursor pages move by hours.
  static let day = KeyScope(rawValue: 1 << 22)
  /// The causes, whose changes are opened first.
  static let causes = KeyScope(rawValue: 1 << 23)
  /// The help, over the view that it is about.
  static let helping = KeyScope(rawValue: 1 << 15)
  /// The demo.
  static let demo = KeyScope(rawValue: 1 << 14)
}
