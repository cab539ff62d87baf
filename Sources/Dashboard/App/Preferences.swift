import CloudSync
package import TerminalUI

/// The user's settings of the dashboard, from the configuration file.
package struct Preferences: Hashable, Sendable {
  /// The theme to begin with.
  package var theme: Theme
  /// Whether the mouse is reported; it then selects text with Shift.
  package var hasMouse: Bool
  /// The view to begin with.
  package var startView: StartView
  /// The keys of the commands.
  package var keys: KeyMap
  /// Milliseconds after which a full sync no longer counts while no process syncs.
  package var freshFor = StoreStatus.standardFreshness

  /// Creates settings; those left out are the defaults.
  package init(
    theme: Theme,
    hasMouse: Bool = true,
    startView: StartView = .overview,
    keys: KeyMap = .standard
  ) {
    (self.theme, self.hasMouse, self.startView, self.keys) = (theme, hasMouse, startView, keys)
  }

  /// The view that the dashboard begins with.
  package enum StartView: String, Hashable, Sendable, CaseIterable {
    case overview, sync, account, queue, records, conflicts, events, zones, undo

    /// The commands that open it from the overview; the conflicts are opened by `App.open` itself.
    var commands: [CommandID] {
      switch self {
      case .overview, .conflicts: []
      case .sync: [.view1, .view1]
      case .account: [.view2, .view2]
      case .queue: [.view3]
      case .records: [.view4, .view4]
      case .events: [.view6]
      case .zones: [.view7]
      case .undo: [.view8]
      }
    }
  }
}
