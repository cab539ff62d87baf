import Foundation

extension Session {
  /// The theme named by the environment or the configuration file, for commands that need no other setting; nil if
  /// neither names one.
  static func theme(
    environment: [String: String] = ProcessInfo.processInfo.environment,
    home: String = NSHomeDirectory()
  ) throws(CommandFailure) -> String? {
    let home = environment["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? home
    let path = ConfigurationFile.path(environment: environment, home: home)
    return try SettingResolver(
      options: SettingOptions(),
      environment: environment,
      file: configuration(path, home: home),
      home: home
    ).text(.theme)?.value
  }
}
