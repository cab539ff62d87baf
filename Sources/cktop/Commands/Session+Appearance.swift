import Foundation

extension Session {
  /// The look of the dashboard for commands that need no other setting.
  ///
  /// - Parameter theme: the name of the option; else that of the environment or the configuration file.
  static func appearance(
    _ theme: String?,
    environment: [String: String] = ProcessInfo.processInfo.environment,
    home: String = NSHomeDirectory()
  ) throws -> Appearance {
    let home = environment["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? home
    let file = try configuration(ConfigurationFile.path(environment: environment, home: home), home: home)
    let resolver = try SettingResolver(options: SettingOptions(), environment: environment, file: file, home: home)
    return try Appearance(theme: theme ?? resolver.text(.theme)?.value, file, environment: environment)
  }
}
