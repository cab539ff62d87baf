import ArgumentParser
import CloudSync
import Dashboard
import Foundation
import TerminalUI

/// The look of the dashboard: the selected theme, all themes, and whether to use colours.
struct Appearance: Sendable {
  let theme: Theme
  let themes: [Theme]
  let isMonochrome: Bool

  /// Loads the theme by name, from the user's folder first.
  ///
  /// - Parameter name: the name from option, environment or configuration file; nil for the default theme.
  /// - Throws: a usage failure that lists the themes.
  init(theme name: String?, environment: [String: String] = ProcessInfo.processInfo.environment) throws {
    let directories = Self.directories(environment)
    do {
      theme = try Theme.load(named: name ?? "midnight", directories: directories)
      // A broken theme file of the user does not affect the other themes.
      themes = Theme.names(directories: directories).compactMap { try? Theme.load(named: $0, directories: directories) }
    } catch {
      throw CommandFailure.usage("\(error)")
    }
    isMonochrome = !(environment["NO_COLOR"] ?? "").isEmpty
  }

  /// The folders of the user's own themes.
  static func directories(_ environment: [String: String]) -> [URL] {
    let home = environment["HOME"].map { URL(fileURLWithPath: $0).appending(path: ".config") }
    let base = environment["XDG_CONFIG_HOME"].flatMap { $0.isEmpty ? nil : URL(fileURLWithPath: $0) } ?? home
    return base.map { [$0.appending(path: "cktop/themes")] } ?? []
  }

  /// Throws if there is no terminal, before anything is started.
  static func requireTerminal() throws {
    guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else {
      throw CommandFailure.usage("input or output is not a terminal; use a subcommand with --json instead")
    }
  }
}

extension Dashboard.Setting {
  init(
    scope: SyncStore.Scope,
    credential: String,
    url: String,
    storePath: String,
    appearance: Appearance,
    hasCredential: Bool = true,
    syncs: Bool = false,
    reader: @escaping @Sendable () throws -> StoreReader
  ) {
    self.init(
      scope: scope,
      credential: credential,
      url: url,
      storePath: storePath,
      theme: appearance.theme,
      themes: appearance.themes,
      isMonochrome: appearance.isMonochrome,
      hasCredential: hasCredential,
      syncs: syncs,
      message: { CommandFailure($0)?.message ?? "\($0)" },
      report: { OutputStream.error.line("cktop: \($0)".visible) },
      export: { try ExportFile.write($0, try reader()) }
    )
  }
}

extension Dashboard.End {
  /// Exits with the status for the way in which the dashboard ended.
  func leave() throws {
    switch self {
    case .quit: return
    case .unfinished: throw ExitCode(CommandStatus.itemsFailed.rawValue)
    case .signal(let signal): throw ExitCode(128 + signal)
    case .lineLost: throw ExitCode(CommandStatus.itemsFailed.rawValue)
    }
  }
}
