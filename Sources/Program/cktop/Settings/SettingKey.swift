import ArgumentParser
import CloudKit
import CloudSync
import Foundation

/// The settings, by their names in the configuration file. `row` is their only list: the options, the environment, the
/// configuration file and `config check` read it. A new setting is a case with its row, and a line in `StoreOptions` if
/// it has an option.
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

  /// The values that a setting accepts.
  enum Kind: Hashable, Sendable {
    case text, path, flag, containerID, url
    /// A length of time such as `90s`, `15m`, `24h` or `7d`.
    case age
    case choice([String])
    /// Must not be in a file, because people copy, share and commit files. A key file is only named.
    case secret

    static func choice<Name: CaseIterable & RawRepresentable<String>>(of _: Name.Type) -> Kind {
      .choice(Name.allCases.map(\.rawValue))
    }
  }

  /// One row of the table.
  struct Row: Hashable, Sendable {
    var variable: String
    var kind: Kind
    /// The value if no source has one; nil if there is none, or it depends on other settings.
    var standard: String?
    /// The name of the option's value in the help; nil if there is no option, or it is a flag. Credentials have no
    /// option, because other users can read a command line.
    var valueName: String?
    /// The help of the option.
    private(set) var help = ""

    init(_ variable: String, _ kind: Kind = .text, standard: String? = nil, option: String? = nil) {
      (self.variable, self.kind, self.standard, valueName) = (variable, kind, standard, option)
    }

    func help(_ text: String) -> Row {
      var row = self
      row.help = text
      return row
    }

    /// Creates the row of a setting that the libraries read, too.
    init(_ name: EnvironmentVariable, _ kind: Kind = .text, standard: String? = nil, option: String? = nil) {
      self.init(name.rawValue, kind, standard: standard, option: option)
    }
  }

  var row: Row {
    switch self {
    case .profile:
      Row("CKTOP_PROFILE", option: "name").help("The [profiles.NAME] table of the configuration file to use.")
    case .container:
      Row(.container, .containerID, option: "id")
        .help("The container ID, such as iCloud.org.example.App.")
    case .environment:
      Row(.environment, .choice(of: EnvironmentName.self), standard: "development", option: "environment")
        .help("The environment: development or production (default: development).")
    case .database:
      Row(.database, .choice(of: DatabaseName.self), option: "database").help(
        """
        The database: public, private or shared (default: public with a server-to-server key, private with a web auth \
        token; without either, private if only that has a store here, else public).
        """
      )
    case .url:
      Row(.url, .url, standard: CKHTTPTransport.appleURL.absoluteString, option: "url")
        .help("The server (default: Apple's); use the URL of cktop serve for the emulator.")
    case .store: Row("CKTOP_STORE", .path, option: "file").help("The file of the sync store.")
    case .policy:
      Row("CKTOP_POLICY", .choice(of: ConflictPolicy.self), option: "policy").help(
        """
        The side that wins if both changed a field: server, client, newest or manual. The first sync saves it in the store \
        (default: server).
        """
      )
    case .readOnly:
      Row("CKTOP_READ_ONLY", .flag, standard: "false").help("Refuse every verb that changes anything.")
    case .allowHTTP:
      Row("CKTOP_ALLOW_HTTP", .flag, standard: "false")
        .help("Send credentials to another machine over http, where they can be read on the way.")
    case .unicodeNames:
      Row("CKTOP_UNICODE_NAMES", .flag, standard: "false")
        .help("Accept record and zone names beyond ASCII, for a server that takes them.")
    case .theme:
      Row("CKTOP_THEME", standard: "midnight", option: "theme")
        .help("The theme; overrides CKTOP_THEME and the configuration file. See cktop themes.")
    case .staleAfter: Row("CKTOP_STALE_AFTER", .age, standard: "\(StoreStatus.standardFreshness / 1000)s")
    case .keyID: Row(.keyID)
    case .keyFile: Row(.keyFile, .path)
    case .apiToken: Row(.apiToken, .secret)
    case .webAuthToken: Row(.webAuthToken, .secret)
    }
  }

  /// The option for the setting, if it has one.
  var option: String? { row.valueName != nil || row.kind == .flag ? "--" + rawValue : nil }

  /// The help of the option.
  var help: ArgumentHelp {
    row.valueName.map { ArgumentHelp(row.help, valueName: $0) } ?? ArgumentHelp(row.help)
  }
}

/// The source of a setting's value.
enum SettingSource: Hashable, Sendable {
  case option
  case environment
  /// A profile in a file, with its line.
  case profile(String, file: String)
  /// A file, with its line.
  case file(String)
  /// A choice in the dashboard, which a file keeps.
  case remembered(String)
  case standard

  /// The place to change the setting, as in `CLOUDKIT_URL` or `url in /etc/config.toml`.
  func place(of key: SettingKey) -> String {
    switch self {
    case .option: key.option ?? key.rawValue
    case .environment: key.row.variable
    case .profile(let name, let file): "profiles.\(name).\(key.rawValue) in \(file)"
    case .file(let file): "\(key.rawValue) in \(file)"
    case .remembered(let file): "chosen in the dashboard, \(file)"
    case .standard: "default"
    }
  }
}

/// A value with its source.
struct Sourced<Value> {
  var value: Value
  var source: SettingSource

  init(_ value: Value, _ source: SettingSource) { (self.value, self.source) = (value, source) }
}

extension Sourced: Equatable where Value: Equatable {}
extension Sourced: Sendable where Value: Sendable {}
