import Foundation

extension Session {
  /// The look of the dashboard for commands that need no other setting.
  ///
  /// - Parameters:
  ///   - theme: the name of the option; else that of the environment or the configuration file.
  ///   - starts: whether a dashboard starts, which a mistake in a theme does not stop.
  static func appearance(
    _ theme: String?,
    starts: Bool = false,
    environment: [String: String] = ProcessInfo.processInfo.environment,
    home: String = NSHomeDirectory()
  ) throws -> Appearance {
    let home = environment["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? home
    let file = try configuration(ConfigurationFile.path(environment: environment, home: home), home: home)
    let resolver = try SettingResolver(options: SettingOptions(), environment: environment, file: file, home: home)
    let configured = try resolver.text(.theme)?.value
    return starts
      ? try Appearance(startingWith: theme, or: configured, file, environment: environment)
      : try Appearance(theme: theme ?? configured, file, environment: environment)
  }
}
