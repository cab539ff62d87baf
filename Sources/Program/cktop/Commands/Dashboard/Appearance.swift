import ArgumentParser
import CloudSync
import Dashboard
import Facts
import Foundation
import TerminalUI

/// The dashboard's looks and keys: the theme, the `[dashboard]` table, and whether to use colours.
struct Appearance: Sendable {
  let theme: Theme
  private(set) var preferences: Preferences
  let isMonochrome: Bool
  /// Why the theme is not the configured one; nil if it is.
  let notice: String?

  /// Loads the look from the settings of a store and its configuration file.
  ///
  /// - Parameters:
  ///   - file: the configuration file, if there is one.
  ///   - starts: whether a dashboard starts. Then the default theme takes the place of one with a mistake, except of
  ///     one on the command line that does not exist.
  /// - Throws: a usage failure that names the place of a mistake.
  init(
    _ settings: Settings,
    _ file: ConfigurationFile?,
    starts: Bool = false,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws {
    try self.init(settings.theme, file, starts: starts, environment: environment)
    preferences.freshFor = settings.freshFor
  }

  /// Loads the theme by name, from the user's folder first.
  private init(
    _ name: Sourced<String>,
    _ file: ConfigurationFile?,
    starts: Bool,
    environment: [String: String]
  ) throws {
    preferences = try file?.dashboard().preferences ?? Preferences()
    isMonochrome = environment.isMonochrome
    let themes = OwnThemes(environment)
    do {
      (theme, notice) = (try themes.load(name.value), nil)
    } catch {
      guard starts, name.source != .option || themes.names.contains(name.value),
        let standard = SettingKey.theme.row.standard
      else { throw CommandFailure.usage("\(error)") }
      theme = try Theme.load(named: standard, directories: [])
      notice = "\(error); the built-in theme \(standard) is used".sentence
    }
  }

  /// Loads the look for commands that need no setting but the theme.
  ///
  /// - Parameter option: the theme of the command line.
  init(
    theme option: String?,
    starts: Bool = false,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws {
    let file = try ConfigurationFile.read(environment)
    let options = option.map { [SettingKey.theme: $0] } ?? [:]
    let setting = try SettingResolver(options: options, environment: environment, file: file).text(.theme)
    try self.init(OwnThemes(environment).theme(setting), file, starts: starts, environment: environment)
  }

  /// Throws if there is no terminal, before anything is started.
  static func requireTerminal() throws {
    guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1 else {
      throw CommandFailure.usage("input or output is not a terminal; use a subcommand with --json instead")
    }
  }
}

extension [String: String] {
  /// Whether the user asked for no colours, by `NO_COLOR`.
  var isMonochrome: Bool { !(self["NO_COLOR"] ?? "").isEmpty }
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
    reload: @escaping @Sendable () throws -> Appearance,
    reader: @escaping @Sendable () throws -> StoreReader
  ) {
    self.init(
      scope: scope,
      credential: credential,
      url: url,
      storePath: storePath,
      theme: appearance.theme,
      preferences: appearance.preferences,
      notice: appearance.notice,
      isMonochrome: appearance.isMonochrome,
      hasCredential: hasCredential,
      syncs: syncs,
      message: { CommandFailure($0)?.message ?? "\($0)" },
      report: { OutputFile.error.line("cktop: \($0)".visible) },
      reload: {
        let appearance = try reload()
        return (appearance.theme, appearance.preferences)
      },
      nextTheme: { OwnThemes().next(after: $0) },
      remember: { OwnThemes().remember($0) },
      export: { try ExportFile.write($0, try reader(), $1) }
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
