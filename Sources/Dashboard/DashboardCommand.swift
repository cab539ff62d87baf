import TerminalUI

/// The commands of the dashboard. The key map, the footer and the help are all made from `table`.
enum DashboardCommand: Hashable, Sendable, CaseIterable {
  case nextPane, previousPane, pane1, pane2, pane3, pane4
  case down, up, pageDown, pageUp, top, bottom
  case open, back, filter, conflicts, help
  case retry, retryAll, flush, syncNow, keepSyncing, discard, pause, pauseOne
  case fieldLocal, fieldServer, fieldBase, allLocal, allServer, apply, nextConflict, previousConflict
  case yes, theme, redraw, suspend, quit, quitAtOnce

  /// The view that has the keyboard.
  enum Context: Hashable, Sendable {
    case panes, detail, help, desk, question
  }

  struct Entry: Sendable {
    var command: DashboardCommand
    var keys: [Key]
    /// The name of the keys in the footer and the help.
    var name: String
    /// The label in the footer; empty: not shown there.
    var label: String
    var help: String
    var contexts: Set<Context>
    /// Whether the command changes something and is refused in read-only mode.
    var isChange = false
  }

  /// In the order in which the footer shows them.
  static let table: [Entry] = [
    Entry(.open, [.enter], "Enter", "detail", "Show the details of the selected row", [.panes]),
    Entry(
      .retry,
      [typed("r")],
      "r",
      "retry",
      "Retry the selected operation now and reset its attempts",
      [.panes, .detail],
      isChange: true
    ),
    Entry(
      .retryAll,
      [typed("R")],
      "R",
      "retry all",
      "Retry the failed and retrying changes in the filter (asks first)",
      [.panes],
      isChange: true
    ),
    Entry(
      .flush,
      [typed("f")],
      "f",
      "flush",
      "Retry now everything that is waiting to retry",
      [.panes],
      isChange: true
    ),
    Entry(
      .syncNow,
      [typed("s")],
      "s",
      "sync",
      "Sync once: send everything, then fetch all changes",
      [.panes],
      isChange: true
    ),
    Entry(
      .keepSyncing,
      [typed("S")],
      "S",
      "",
      "Keep syncing here until S again or quit",
      [.panes],
      isChange: true
    ),
    Entry(.conflicts, [typed("c")], "c", "conflicts", "Show the conflicts", [.panes]),
    Entry(.pause, [typed("p")], "p", "pause", "Pause or resume all syncing", [.panes], isChange: true),
    Entry(
      .pauseOne,
      [typed("P")],
      "P",
      "",
      "Pause or resume the selected operation",
      [.panes, .detail],
      isChange: true
    ),
    Entry(
      .discard,
      [typed("d")],
      "d",
      "discard",
      "Discard the selected operation (asks first)",
      [.panes, .detail],
      isChange: true
    ),
    Entry(.filter, [typed("/")], "/", "filter", "Show only rows that contain a text; Esc clears the filter", [.panes]),
    Entry(.nextPane, [.tab], "Tab", "next pane", "Go to the next pane", [.panes]),
    Entry(.previousPane, [.backTab], "Shift-Tab", "", "Go to the previous pane", [.panes]),
    Entry(.pane1, [typed("1")], "1", "", "Go to Records", [.panes]),
    Entry(.pane2, [typed("2")], "2", "", "Go to Queue", [.panes]),
    Entry(.pane3, [typed("3")], "3", "", "Go to Sync", [.panes]),
    Entry(.pane4, [typed("4")], "4", "", "Go to Account", [.panes]),
    Entry(
      .fieldLocal,
      [typed("l"), .left],
      "l",
      "local",
      "Take the local value of the field",
      [.desk],
      isChange: true
    ),
    Entry(
      .fieldServer,
      [typed("s"), .right],
      "s",
      "server",
      "Take the server's value of the field",
      [.desk],
      isChange: true
    ),
    Entry(.fieldBase, [typed("b")], "b", "base", "Take the base value of the field", [.desk], isChange: true),
    Entry(.allLocal, [typed("L")], "L", "all local", "Take the local value of every field", [.desk], isChange: true),
    Entry(
      .allServer,
      [typed("S")],
      "S",
      "all server",
      "Take the server's value of every field",
      [.desk],
      isChange: true
    ),
    Entry(.apply, [.enter], "Enter", "resolve", "Resolve the conflict with the chosen sides", [.desk], isChange: true),
    Entry(.nextConflict, [typed("n")], "n", "next", "Go to the next conflict", [.desk]),
    Entry(.previousConflict, [typed("N")], "N", "", "Go to the previous conflict", [.desk]),
    Entry(.yes, [typed("y")], "y", "yes", "Confirm", [.question], isChange: true),
    Entry(.down, [.down, typed("j")], "j", "", "Move down", [.panes, .detail, .help, .desk]),
    Entry(.up, [.up, typed("k")], "k", "", "Move up", [.panes, .detail, .help, .desk]),
    Entry(.pageDown, [.pageDown, typed(" ")], "PgDn", "", "Move a page down", [.panes, .detail, .help, .desk]),
    Entry(.pageUp, [.pageUp], "PgUp", "", "Move a page up", [.panes, .detail, .help, .desk]),
    Entry(.top, [.home, typed("g")], "g", "", "Move to the top", [.panes, .detail, .help]),
    Entry(.bottom, [.end, typed("G")], "G", "", "Move to the bottom", [.panes, .detail, .help]),
    Entry(.back, [.escape], "Esc", "back", "Go back; clear the filter", [.panes, .detail, .help, .desk, .question]),
    Entry(.theme, [typed("t")], "t", "", "Switch to the next theme", [.panes]),
    Entry(.redraw, [.ctrl("l")], "Ctrl-L", "", "Redraw the screen", [.panes, .detail, .help, .desk]),
    Entry(.suspend, [.ctrl("z")], "Ctrl-Z", "", "Suspend; fg resumes", [.panes, .detail, .help, .desk]),
    Entry(.help, [typed("?")], "?", "help", "Show all keys", [.panes, .detail, .desk]),
    Entry(.quit, [typed("q")], "q", "quit", "Quit; in a view, go back", [.panes, .detail, .help, .desk]),
    Entry(.quitAtOnce, [.ctrl("c")], "Ctrl-C", "", "Quit immediately", [.panes, .detail, .help, .desk, .question]),
  ]

  private static func typed(_ character: Character) -> Key { .character(character) }

  static func entry(_ command: DashboardCommand) -> Entry? { table.first { $0.command == command } }

  /// The command of a key in a context; nil if the key has none.
  static func command(for key: Key, in context: Context) -> DashboardCommand? {
    table.first { $0.contexts.contains(context) && $0.keys.contains(key) }?.command
  }
}

extension DashboardCommand.Entry {
  init(
    _ command: DashboardCommand,
    _ keys: [Key],
    _ name: String,
    _ label: String,
    _ help: String,
    _ contexts: Set<DashboardCommand.Context>,
    isChange: Bool = false
  ) {
    self.command = command
    self.keys = keys
    self.name = name
    self.label = label
    self.help = help
    self.contexts = contexts
    self.isChange = isChange
  }
}
