import ArgumentParser
import Facts

/// The options for the store and the server, which every verb has.
///
/// Their values are validated together with the other sources, so that one message names the source and the choices.
struct StoreOptions: ParsableArguments {
  @Option(help: SettingKey.store.help, completion: SettingKey.store.completion) var store: String?
  @Option(help: SettingKey.profile.help, completion: SettingKey.profile.completion) var profile: String?
  @Option(help: SettingKey.container.help) var container: String?
  @Option(help: SettingKey.environment.help, completion: SettingKey.environment.completion) var environment: String?
  @Option(help: SettingKey.database.help, completion: SettingKey.database.completion) var database: String?
  @Option(help: SettingKey.url.help) var url: String?
  @Option(help: SettingKey.policy.help, completion: SettingKey.policy.completion) var policy: String?
  @Flag(help: SettingKey.readOnly.help) var readOnly = false
  @Flag(name: .customLong("allow-http"), help: SettingKey.allowHTTP.help) var allowHTTP = false
  @Flag(help: SettingKey.unicodeNames.help) var unicodeNames = false

  /// The values given, for `Settings`.
  var settings: [SettingKey: String] {
    let texts: [SettingKey: String?] = [
      .store: store, .profile: profile, .container: container, .environment: environment, .database: database,
      .url: url, .policy: policy, .readOnly: readOnly ? "true" : nil, .allowHTTP: allowHTTP ? "true" : nil,
      .unicodeNames: unicodeNames ? "true" : nil,
    ]
    return texts.compactMapValues(\.self)
  }

  /// The options given, as words of a command line.
  var words: String {
    let given = settings
    return SettingKey.allCases.compactMap { key in
      given[key].map { key.row.kind == .flag ? "--\(key.rawValue)" : "--\(key.rawValue) \($0.asArgument)" }
    }
    .joined(separator: " ")
  }
}
