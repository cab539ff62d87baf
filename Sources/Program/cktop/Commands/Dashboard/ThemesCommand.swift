import ArgumentParser
import Facts
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

  @Flag(help: .json("Print one JSON object per line.", ListedTheme.shape)) var json = false

  func run() async throws {
    for name in OwnThemes().names {
      OutputFile.standard.line(json ? ListedTheme(name: name).json.line : name.visible)
    }
  }
}

/// A theme in the list of all themes.
struct ListedTheme: PrintedObject {
  let name: String

  static let jsonFields: JSONFields<Self> = [
    "name": .text(\.name), "builtIn": .bool { Theme.builtInNames.contains($0.name) },
  ]
}

/// `cktop themes show`.
struct ThemesShow: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "show",
    abstract: "Print the file of a theme, to start one of your own from."
  )

  @Argument(help: "The theme's name.", completion: .themes) var name: String
  @Flag(help: .json("Print one JSON object per role, with the colours that it inherits.", ThemeRole.shape))
  var json = false

  func run() async throws {
    do throws(ThemeError) {
      let file = try OwnThemes().file(name)
      let theme = try Theme.parse(file.text, source: file.source)
      let output = OutputFile.standard
      if json {
        return output.lines(StyleRole.allCases.map { ThemeRole(role: $0, look: theme.look(of: $0)).json.line })
      }
      let lines = file.text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
      output.write(output.isTerminal ? lines.map { String($0).visible }.joined(separator: "\n") : file.text)
    } catch {
      throw CommandFailure.usage("\(error)")
    }
  }
}

/// A role of a theme.
struct ThemeRole: PrintedObject {
  let role: StyleRole
  let look: Theme.Look

  static let jsonFields: JSONFields<Self> = [
    "role": .text(\.role.rawValue), "fg": .text(\.look.foreground?.text), "bg": .text(\.look.background?.text),
    "attributes": .texts { $0.look.attributes?.names ?? [] },
  ]
}

extension Color {
  /// The colour as written in a theme file.
  fileprivate var text: String {
    switch self {
    case .standard: "default"
    case .indexed(let index): index < 16 ? Self.names[Int(index)] : String(index)
    case .rgb(let red, let green, let blue): "#" + [red, green, blue].hexadecimal
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
