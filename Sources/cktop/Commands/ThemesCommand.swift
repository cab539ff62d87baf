import ArgumentParser
import Foundation
import TerminalUI

/// `cktop themes`.
struct ThemesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "themes",
    abstract: "The colours of the dashboard.",
    discussion: """
      Themes are TOML files in $XDG_CONFIG_HOME/cktop/themes, over those compiled in. The configuration file's theme = \
      "NAME" chooses one.
      """,
    subcommands: [ThemesList.self, ThemesShow.self],
    defaultSubcommand: ThemesList.self
  )
}

/// `cktop themes list`.
struct ThemesList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "The names of all themes.")

  @Flag(help: "A JSON object a line.") var json = false

  func run() async throws {
    for name in Theme.names(directories: Appearance.directories(ProcessInfo.processInfo.environment)) {
      let object: JSONObject = ["name": .text(name), "builtIn": .bool(Theme.builtIn.contains { $0.name == name })]
      OutputStream.standard.line(json ? object.line : name.visible)
    }
  }
}

/// `cktop themes show`.
struct ThemesShow: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "What every role of a theme looks like, in full."
  )

  @Argument(help: "The theme's name.") var name: String
  @Flag(help: "A JSON object a role.") var json = false

  func run() async throws {
    let theme: Theme
    do {
      theme = try Theme.load(named: name, directories: Appearance.directories(ProcessInfo.processInfo.environment))
    } catch {
      throw CommandFailure.usage("\(error)")
    }
    var table = TextTable([.init(title: "ROLE"), .init(title: "FG"), .init(title: "BG"), .init(title: "ATTRIBUTES")])
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
  /// The colour as a theme file spells it.
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
  /// The attributes as a theme file spells them.
  fileprivate var names: [String] {
    let all: [(Attributes, String)] = [
      (.bold, "bold"), (.underline, "underline"), (.reverse, "reverse"), (.dim, "dim"),
    ]
    return all.filter { contains($0.0) }.map(\.1)
  }
}
