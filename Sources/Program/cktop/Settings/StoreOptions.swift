import ArgumentParser
import Facts

/// The options for the store and the server, which every verb has.
///
/// Their values are validated together with the other sources, so that one message names the source and the choices.
struct StoreOptions: ParsableArguments {
  @Option(.store) var store: String?
  @Option(.profile) var profile: String?
  @Option(.container) var container: String?
  @Option(.environment) var environment: String?
  @Option(.database) var database: String?
  @Option(.url) var url: String?
  @Option(.policy) var policy: String?
  @Flag(.readOnly) var readOnly = false
  @Flag(.allowHTTP) var allowHTTP = false
  @Flag(.unicodeNames) var unicodeNames = false

  /// The values given, for `Settings`: each property is the setting of its name.
  var settings: [SettingKey: String] {
    Mirror(reflecting: self).children.reduce(into: [:]) { settings, child in
      guard let key = SettingKey(property: child.label ?? "") else { return }
      if let option = child.value as? Option<String?> { settings[key] = option.wrappedValue }
      if let flag = child.value as? Flag<Bool>, flag.wrappedValue { settings[key] = "true" }
    }
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

extension SettingKey {
  /// The setting of a wrapped property, whose storage begins with an underscore.
  fileprivate init?(property label: String) {
    let key = Self.allCases.first { "_" + $0.rawValue.replacing("-", with: "") == label.lowercased() }
    guard let key else { return nil }
    self = key
  }
}

extension Option<String?> {
  /// The option of a setting.
  init(_ key: SettingKey) {
    self.init(name: .customLong(key.rawValue), help: key.help, completion: key.completion)
  }
}

extension Flag<Bool> {
  /// The flag of a setting.
  init(wrappedValue: Bool, _ key: SettingKey) {
    self.init(wrappedValue: wrappedValue, name: .customLong(key.rawValue), help: key.help)
  }
}
