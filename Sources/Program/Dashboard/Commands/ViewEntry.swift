/// A view that a key opens from everywhere.
struct ViewEntry: Sendable {
  /// The value of the setting `view` that begins with it.
  let name: String
  let command: Command
  /// The pane of the overview that shows a part of it.
  let pane: Pane?
  /// Makes the view.
  let screen: @Sendable (App) -> any Screen

  /// All views. Their commands, the setting `view` and the scopes of the screens come from here: a new view is its file
  /// and a line. The names of commands are those of configuration files.
  static let views = [
    ViewEntry(.sync), ViewEntry(.account), ViewEntry(.queue), ViewEntry(.records),
    ViewEntry("conflicts", .showConflicts("view5", "5", "Conflicts", "Open the conflicts", .everywhere)) {
      $0.conflicts
    },
    ViewEntry(.eventsView, "events", "6", "Events", "Open the log of events") { EventsScreen() },
    ViewEntry(.zonesView, "zones", "7", "Zones", "Open the zones") { ZonesScreen() },
    ViewEntry(.undoView, "undo", "8", "Undo view", "Open the list of what can be undone") { UndoScreen() },
    ViewEntry(.pausesView, "pauses", "9", "Pauses", "Open the list of what is paused, by whom and since when") {
      PausesScreen()
    },
    ViewEntry("view0", "messages", "0", "Messages", "Open what this run has said, with command lines") {
      MessagesScreen()
    },
  ]

  private init(
    _ name: String,
    _ command: Command,
    pane: Pane? = nil,
    screen: @escaping @Sendable (App) -> any Screen
  ) {
    (self.name, self.command, self.pane, self.screen) = (name, command, pane, screen)
  }

  /// - Parameters:
  ///   - id: the name of its command.
  ///   - name: the value of the setting `view`.
  private init(
    _ id: CommandID,
    _ name: String,
    _ key: String,
    _ title: String,
    _ help: String,
    screen: @escaping @Sendable () -> any Screen
  ) {
    let command = Command(id, key, title, help, .everywhere, .leaves).run { app, _ in app.show(screen()) }
    self.init(name, command) { _ in screen() }
  }

  /// The view of a pane in full.
  private init(_ pane: Pane) {
    let help = "\(pane.title): focus its pane, and once more open it in full"
    let command = Command(pane.command, "\(pane.rawValue)", pane.title, help, .everywhere, .leaves)
      .run { app, _ in app.show(pane) }
    self.init(pane.title.lowercased(), command, pane: pane) { $0.overview.full(pane) }
  }
}

extension CommandID {
  /// The views that texts name.
  static let accountView: Self = "view2", queueView: Self = "view3", eventsView: Self = "view6"
  static let zonesView: Self = "view7", undoView: Self = "view8", pausesView: Self = "view9"
}

extension Pane {
  /// The command that focuses the pane.
  var command: CommandID { CommandID("view\(rawValue)") }
}
