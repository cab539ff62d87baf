import ArgumentParser
import Foundation
import JSONText
import TerminalUI

/// `cktop themes`.
struct ThemesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "themes",
    abstract: "List and show the themes of the dashboard.",
    discussion: """
      Themes are TOML files in $XDG_CONFIG_HOME/cktop/themes, which replace built-in themes of the same name. Select a \
      theme with theme = "NAME" in the configuration file.
      """,
    subcommands: [ThemesList.self, ThemesShow.self],
    defaultSubcommand: ThemesList.self
  )
}

/// `cktop themes list`.
struct ThemesList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "List the names of all themes.")

  @Flag(help: "Print one JSON object per line.") var json = false

  func run() async throws {
    for name in OwnThemes().names {
      let object: JSONObject = ["name": .text(name), "builtIn": .bool(Theme.builtInNames.contains(name))]
      OutputStream.standard.line(json ? object.line : name.visible)
    }
  }
}

/// `cktop themes show`.
struct ThemesShow: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Show the colours and attributes of every role of a theme."
  )

  @Argument(help: "The theme's name.", completion: .themes) var name: String
  @Flag(help: "Print one JSON object per role.") var json = false

  func run() async throws {
    let theme: Theme
    do {
      theme = try OwnThemes().load(name)
    } catch {
      throw CommandFailure.usage("\(error)")
    }
    var table = TextTable(["ROLE", "FG", "BG", "ATTRIBUTES"])
    for role in StyleRole.allCases {
      let look = theme.look(of: role)
      let attributes = look.attributes?.names ?? []
      if json {
        let object: JSONObject = [
          "role": .text(role.rawValue), "fg": .optional(look.foreground?.text), "bg": .optional(look.background?.text),
          "attributes": .array(attributes.map(OutputJSON.text)),
        ]
        OutputStream.standard.line(object.line)
      } else {
        table.append([
          role.rawValue, look.foreground?.text ?? "", look.background?.text ?? "", attributes.joined(separator: " "),
        ])
      }
    }
    if !json { OutputStream.standard.lines(table.lines()) }
  }
}

extension Color {
  /// The colour as written in a theme file.
  fileprivate var text: String {
    switch self {
    case .standard: return "default"
    case .indexed(let index): return index < 16 ? Self.names[Int(index)] : String(index)
    case .rgb(let red, let green, let blue):
      return "#" + [red, green, blue].map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
  }
}

extension Attributes {
  /// The attributes as written in a theme file.
  fileprivate var names: [String] {
    let all: [(Attributes, String)] = [
      (.bold, "bold"), (.underline, "underline"), (.reverse, "reverse"), (.dim, "dim"),
    ]
    return all.filter { contains($0.0) }.map(\.1)
  }
}
