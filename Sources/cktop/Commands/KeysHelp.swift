import ArgumentParser
import Dashboard

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
        mouse = false            # no clicks and no wheel; text is selected without Shift (default: true)
        view = "queue"           # what is shown first (default: "overview")

        [dashboard.keys]
        retry = ["r", "F5"]
        theme = "T"

      \(table)
      """,
    shouldDisplay: false
  )

  private static var table: String {
    KeyMap.standard.lines.map { line in
      func filled(_ text: String, _ width: Int) -> String {
        text + String(repeating: " ", count: max(1, width - text.count))
      }
      return "  \(filled(line.name, 18))\(filled(line.keys, 14))\(line.help)"
    }
    .joined(separator: "\n")
  }

  func run() async throws { throw CleanExit.helpRequest(self) }
}
