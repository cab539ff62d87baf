import CloudSync
import Foundation
import TerminalUI

/// The themes of a user: the folder of their own, and the one chosen last in the dashboard.
struct OwnThemes: Sendable {
  /// The folders of the user's own themes.
  let directories: [URL]
  /// The file that holds the name of the chosen theme.
  private let file: URL

  init(_ environment: [String: String] = ProcessInfo.processInfo.environment) {
    directories = [URL(fileURLWithPath: BaseDirectory.config.path(environment)).appending(path: "cktop/themes")]
    file = URL(fileURLWithPath: BaseDirectory.state.path(environment)).appending(path: "cktop/theme")
  }

  /// The names of all themes.
  var names: [String] { Theme.names(directories: directories) }

  /// The theme in effect: that of a setting, else the one chosen last in the dashboard, else the default.
  func theme(_ setting: Sourced<String>?) -> Sourced<String> {
    setting ?? remembered ?? Sourced(SettingKey.theme.row.standard ?? "", .standard)
  }

  /// The name of the theme that was chosen last in the dashboard; nil if none was, or it is gone.
  private var remembered: Sourced<String>? {
    guard let name = try? String(contentsOf: file, encoding: .utf8), names.contains(name) else { return nil }
    return Sourced(name, .remembered(file.path))
  }

  /// Stores the name of the chosen theme for the next start. Without a place for it, the choice ends with the
  /// dashboard.
  func remember(_ theme: String) {
    try? FileManager.default.createDirectory(
      at: file.deletingLastPathComponent(),
      withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700]
    )
    try? Data(theme.utf8).write(to: file, options: .atomic)
  }

  /// Loads a theme.
  func load(_ name: String) throws(ThemeError) -> Theme { try Theme.load(named: name, directories: directories) }

  /// Finds the text of a theme, and the file's name for messages.
  func file(_ name: String) throws(ThemeError) -> (text: String, source: String) {
    try Theme.file(named: name, directories: directories)
  }

  /// Loads the theme after the one of a name, and names those before it that cannot be read.
  func next(after name: String) -> (theme: Theme?, unreadable: [String]) {
    let names = names
    let place = names.firstIndex(of: name).map { $0 + 1 } ?? 0
    var unreadable: [String] = []
    for next in names[place...] + names[..<place] {
      if let theme = try? load(next) { return (theme, unreadable) }
      unreadable.append(next)
    }
    return (nil, unreadable)
  }
}
