import ArgumentParser
import Dashboard
import TerminalUI

/// `cktop help keys`: the help page for the dashboard's keys.
struct KeysHelp: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "keys",
    abstract: "The commands and keys of the dashboard, and how to change them.",
    usage: "cktop",
    discussion: """
      The configuration file can give a command other keys. A key may not have two meanings on one screen; questions, Esc, \
      Ctrl-C, Ctrl-L and Ctrl-Z keep theirs. Ctrl-R in the dashboard reads the file again.

        [dashboard]
      \(settings)

        [dashboard.keys]
        retry = ["r", "F5"]
        theme = "T"

      \(table)
      """,
    shouldDisplay: false
  )

  /// The settings of the `[dashboard]` table, each with its default.
  private static var settings: String {
    Preferences.settings.flatMap { setting in
      let value = setting.value(Preferences())
      return [
        "  # \(setting.help): \(setting.choices.joined(separator: ", "))",
        "  \(setting.name) = \(setting.isFlag ? value : "\"\(value)\"")",
      ]
    }
    .joined(separator: "\n")
  }

  private static var table: String {
    KeyMap.standard.lines.map { "  \($0.name.padding(to: 18))\($0.keys.padding(to: 14))\($0.help)" }
      .joined(separator: "\n")
  }

  func run() async throws { throw CleanExit.helpRequest(self) }
}
