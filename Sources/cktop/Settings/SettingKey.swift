/// The settings, by their names in the configuration file.
enum SettingKey: String, CaseIterable, Hashable, Sendable {
  case profile, container, environment, database, url, store, policy
  case readOnly = "read-only"
  case allowHTTP = "allow-http"
  case unicodeNames = "unicode-names"
  case theme
  case staleAfter = "stale-after"
  case keyID = "key-id"
  case keyFile = "key-file"
  case apiToken = "api-token"
  case webAuthToken = "web-auth-token"

  /// The option for the setting, if it has one. Credentials have none, because other users can read a command line.
  var option: String? {
    switch self {
    case .profile, .container, .environment, .database, .url, .store, .policy, .readOnly, .allowHTTP, .unicodeNames,
      .theme:
      "--" + rawValue
    case .staleAfter, .keyID, .keyFile, .apiToken, .webAuthToken: nil
    }
  }

  var variable: String? {
    switch self {
    case .profile: "CKTOP_PROFILE"
    case .container: "CLOUDKIT_CONTAINER"
    case .environment: "CLOUDKIT_ENVIRONMENT"
    case .database: "CLOUDKIT_DATABASE"
    case .url: "CLOUDKIT_URL"
    case .store: "CKTOP_STORE"
    case .policy: "CKTOP_POLICY"
    case .readOnly: "CKTOP_READ_ONLY"
    case .allowHTTP: "CKTOP_ALLOW_HTTP"
    case .unicodeNames: "CKTOP_UNICODE_NAMES"
    case .theme: "CKTOP_THEME"
    case .staleAfter: "CKTOP_STALE_AFTER"
    case .keyID: "CLOUDKIT_KEY_ID"
    case .keyFile: "CLOUDKIT_KEY_FILE"
    case .apiToken: "CLOUDKIT_API_TOKEN"
    case .webAuthToken: "CLOUDKIT_WEB_AUTH_TOKEN"
    }
  }

  /// Whether the setting must not be in a file, because people copy, share and commit files. A key file is only named.
  var isSecret: Bool { self == .apiToken || self == .webAuthToken }

  /// Whether it is on or off.
  var isFlag: Bool { self == .readOnly || self == .allowHTTP || self == .unicodeNames }

  var isPath: Bool { self == .store || self == .keyFile }
}

/// The source of a setting's value.
enum SettingSource: Hashable, Sendable {
  case option
  case environment
  case profile(String, file: String)
  case file(String)
  case standard

  /// The place to change the setting, as in `CLOUDKIT_URL` or `url in /etc/config.toml`.
  func place(of key: SettingKey) -> String {
    switch self {
    case .option: key.option ?? key.rawValue
    case .environment: key.variable ?? key.rawValue
    case .profile(let name, let file): "profiles.\(name).\(key.rawValue) in \(file)"
    case .file(let file): "\(key.rawValue) in \(file)"
    case .standard: "default"
    }
  }
}

/// A value with its source.
struct Sourced<Value> {
  var value: Value
  var source: SettingSource

  init(_ value: Value, _ source: SettingSource) {
    self.value = value
    self.source = source
  }
}

extension Sourced: Equatable where Value: Equatable {}
extension Sourced: Sendable where Value: Sendable {}
