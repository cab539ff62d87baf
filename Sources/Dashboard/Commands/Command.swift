import TerminalUI

/// The commands of the dashboard.
enum CommandID: String, Hashable, Sendable, CaseIterable {
  // Everywhere
  case reload, freeze
  case view1, view2, view3, view4, view5, view6, view7, view8, view9, view0
  case nextPane, previousPane, back, quit, quitAtOnce
  case palette, help, theme, redraw, suspend
  // Syncing
  case syncOnce, keepSyncing, flush, pauseAll, conflicts
  // A day
  case earlierMinute, laterMinute, earlierHour, laterHour
  // Questions
  case yes, no
  // Moving
  case down, up, pageDown, pageUp, halfDown, halfUp, top, bottom
  // Lists
  case filter, problems, order, nextTab, previousTab, copy, export, undo, zoom, open
  case mark, markRange, markAll, invertMarks, nextMatch, previousMatch
  // Queue
  case retry, retryAll, pauseThese, discard, edit, causes
  // Conflicts
  case nextField, previousField, nextConflict, previousConflict
  case fieldLocal, fieldServer, fieldBase, allLocal, allServer, allBase, allNewest, allAlike,
    resolve
  // Columns of records
  case columns, toggleColumn, clearColumns
  // Editing a change
  case editField, newField, resetField, saveEdit
  // Undo
  case restore
  // Zones
  case pauseZone, repairZone, acceptDeletions, restoreDeletions
  // Pauses
  case liftPause
  // Fields
  case wholeValue
  // The demo's
  case demo, nextCard
}

extension CommandID {
  /// The view that the command opens, if that is always the same one.
  var view: (any Screen)? {
    switch self {
    case .view6: EventsScreen()
    case .view7: ZonesScreen()
    case .view8: UndoScreen()
    case .view9: PausesScreen()
    case .view0: MessagesScreen()
    default: nil
    }
  }

  /// Whether the command opens another view in place of the present one.
  var opensView: Bool {
    view != nil || [.view1, .view2, .view3, .view4, .view5, .conflicts].contains(self)
  }
}

/// A command as the footer, the help, the palette and the keyboard know it.
struct Command: Hashable, Sendable {
  var id: CommandID
  var keys: [Key]
  /// The label in the footer and the palette; empty for moving in a list, which neither shows.
  var title: String
  /// The effect of the command, in one sentence without a full stop.
  var help: String
  var scopes: KeyScope
  /// Whether it changes something and is refused in read-only mode.
  var isChange = false
  var footer: Footer

  /// The position of a command in the footer.
  enum Footer: Hashable, Sendable {
    /// Before all others.
    case first
    case usual
    /// Not on the overview, where the keys for the whole store matter more.
    case inFull
    case never
  }

  init(
    _ id: CommandID,
    _ keys: [Key],
    _ title: String,
    _ help: String,
    _ scopes: KeyScope,
    footer: Footer? = nil
  ) {
    (self.id, self.keys, self.title, self.help, self.scopes) = (id, keys, title, help, scopes)
    self.footer = footer ?? (scopes.contains(.everywhere) ? .never : .usual)
  }

  /// A command that changes something.
  static func change(
    _ id: CommandID,
    _ keys: [Key],
    _ title: String,
    _ help: String,
    _ scopes: KeyScope,
    footer: Footer? = nil
  ) -> Command {
    var command = Command(id, keys, title, help, scopes, footer: footer)
    command.isChange = true
    return command
  }

  /// The names of its keys: "PgDn", "Ctrl-D".
  var keyNames: String { keys.map(\.name).joined(separator: " ") }

  static func of(_ id: CommandID) -> Command {
    guard let command = byID[id] else { preconditionFailure("Every command is in the registry.") }
    return command
  }

  private static let byID = Dictionary(uniqueKeysWithValues: registry.map { ($0.id, $0) })
}

/// Whether a command would do something now.
enum Availability: Hashable, Sendable {
  case now
  /// Not now, with the reason as a sentence without a full stop.
  case no(String)

  var isNow: Bool { self == .now }
}
