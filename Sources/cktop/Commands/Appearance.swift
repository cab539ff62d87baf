import ArgumentParser
import CloudSync
import Dashboard
import Foundation
import TerminalUI

/// The dashboard's looks and keys: the theme, the `[dashboard]` table, and whether to use colours.
struct Appearance: Sendable {
  let preferences: Preferences
  let isMonochrome: Bool
  /// Why the theme is not the configured one; nil if it is.
  private(set) var notice: String?

  private static let standardTheme = "midnight"

  /// Loads the theme by name, from the user's folder first.
  ///
  /// - Parameters:
  ///   - name: the name from option, environment or configuration file; nil for the default theme.
  ///   - file: the configuration file, if there is one.
  /// - Throws: a usage failure that names the place of a mistake.
  init(
    theme name: String?,
    _ file: ConfigurationFile?,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws {
    do {
      let theme = try Self.load(name, environment)
      try self.init(theme, file, environment)
    } catch let error as ThemeError {
      throw CommandFailure.usage("\(error)")
    }
  }

  /// Loads the theme of a dashboard that starts. A mistake in a theme does not stop it: the default theme takes its place.
  ///
  /// - Parameters:
  ///   - option: the name on the command line. If there is no such theme, it is a usage failure.
  ///   - configured: the name from environment or configuration file.
  init(
    startingWith option: String?,
    or configured: String?,
    _ file: ConfigurationFile?,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws {
    let directories = Self.directories(environment)
    if let option, !Theme.names(directories: directories).contains(option) {
      // The failure names the themes that exist.
      try self.init(theme: option, file, environment: environment)
      return
    }
    do {
      let theme = try Self.load(option ?? configured, environment)
      try self.init(theme, file, environment)
    } catch let error as ThemeError {
      try self.init(Theme.load(named: Self.standardTheme, directories: []), file, environment)
      notice = "Theme \(Self.standardTheme) instead: \(error)"
    }
  }

  private init(_ theme: Theme, _ file: ConfigurationFile?, _ environment: [String: String]) throws {
    let table = try file?.dashboard()
    preferences = Preferences(
      theme: theme,
      hasMouse: table?.hasMouse ?? true,
      startView: table?.view ?? .overview,
      keys: table?.keys ?? .standard
    )
    isMonochrome = !(environment["NO_COLOR"] ?? "").isEmpty
  }

  /// Reads the theme after the one of a name, and names those before it that cannot be read.
  static func nextTheme(after name: String) -> (theme: Theme?, unreadable: [String]) {
    let directories = directories(ProcessInfo.processInfo.environment)
    let names = Theme.names(directories: directories)
    let place = names.firstIndex(of: name).map { $0 + 1 } ?? 0
    var unreadable: [String] = []
    for next in names[place...] + names[..<place] {
      if let theme = try? Theme.load(named: next, directories: directories) { return (theme, unreadable) }
      unreadable.append(next)
    }
    return (nil, unreadable)
  }

  /// Loads a theme; without a name the one that was chosen last in the dashboard, else the default.
  private static func load(_ name: String?, _ environment: [String: String]) throws -> Theme {
    try Theme.load(named: name ?? remembered(environment) ?? standardTheme, directories: directories(environment))
  }

  /// The theme that was chosen last in the dashboard; nil if none was, or it is gone.
  private static func remembered(_ environment: [String: String]) -> String? {
    let name = try? String(contentsOf: memory(environment), encoding: .utf8)
    return name.flatMap { Theme.names(directories: directories(environment)).contains($0) ? $0 : nil }
  }

  /// Stores the name of the chosen theme for the next start. Without a place for it, the choice ends with the dashboard.
  static func remember(_ theme: String, environment: [String: String] = ProcessInfo.processInfo.environment) {
    let file = memory(environment)
    let folder = file.deletingLastPathComponent()
    try? FileManager.default.createDirectory(
      at: folder,
      withIntermediateDirectories: true,
      attributes: [.posixPermissions: 0o700]
    )
    try? Data(theme.utf8).write(to: file, options: .atomic)
  }

  /// The file that holds the name of the chosen theme.
  private static func memory(_ environment: [String: String]) -> URL {
    let home = environment["HOME"] ?? NSHomeDirectory()
    let state = ConfigurationFile.baseDirectory("XDG_STATE_HOME", ".local/state", environment, home)
    return URL(fileURLWithPath: state).appending(path: "cktop/theme")
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
    reload: @escaping @Sendable () throws -> Appearance,
    reader: @escaping @Sendable () throws -> StoreReader
  ) {
    self.init(
      scope: scope,
      credential: credential,
      url: url,
      storePath: storePath,
      preferences: appearance.preferences,
      notice: appearance.notice,
      isMonochrome: appearance.isMonochrome,
      hasCredential: hasCredential,
      syncs: syncs,
      message: { CommandFailure($0)?.message ?? "\($0)" },
      report: { OutputStream.error.line("cktop: \($0)".visible) },
      reload: { try reload().preferences },
      nextTheme: { Appearance.nextTheme(after: $0) },
      remember: { Appearance.remember($0) },
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
