import CloudKit
import CloudSync
import Facts
import Foundation

/// The two environments of a container.
enum EnvironmentName: String, CaseIterable, Hashable, Sendable {
  case development, production
}

/// The settings for the store and the server, from option, environment, configuration file or default, in that order.
struct Settings: Equatable, Sendable {
  /// The settings in effect. All are checked except the policy, which most verbs ignore, and the theme.
  private var values: [SettingKey: Sourced<String>] = [:]
  private let variables: [String: String]
  /// The configuration file; nil if there is none.
  let file: ConfigurationFile?

  /// Resolves every setting.
  init(
    options: [SettingKey: String],
    environment variables: [String: String],
    file: ConfigurationFile?
  ) throws(CommandFailure) {
    (self.variables, self.file) = (variables, file)
    let resolver = try SettingResolver(options: options, environment: variables, file: file)
    for key in SettingKey.allCases {
      values[key] = key.row.standard.map { Sourced($0, .standard) }
      guard let found = try resolver.text(key) else { continue }
      values[key] = key == .policy ? found : try SettingResolver.checked(key, found)
    }
    values[.database] = values[.database] ?? Sourced(standardDatabase.rawValue, .standard)
    if values[.store] == nil, let path = standardStore(of: database.value) {
      values[.store] = Sourced(path, .standard)
    }
  }

  /// The path of the standard store of a database; nil if no container is named.
  private func standardStore(of database: DatabaseName) -> String? {
    guard let container else { return nil }
    let scope = SyncStore.Scope(
      container: container.value,
      environment: environment.value.rawValue,
      database: database
    )
    return StorePath.standard(scope, variables)
  }

  /// The default database. A server-to-server key can access only the public one; a user's token is for the private one.
  /// If neither is set, as where a token has been forgotten, it is the private one if only that has a store here.
  private var standardDatabase: DatabaseName {
    if keyID != nil || keyFile != nil { return .public }
    if webAuthToken != nil { return .private }
    guard values[.store] == nil else { return .public }
    func hasStore(_ database: DatabaseName) -> Bool {
      standardStore(of: database).map(FileManager.default.fileExists(atPath:)) ?? false
    }
    return hasStore(.private) && !hasStore(.public) ? .private : .public
  }

  private func value<Value>(_ key: SettingKey, _ parse: (String) -> Value?) -> Sourced<Value> {
    guard let found = values[key], let value = parse(found.value) else {
      preconditionFailure("\(key.rawValue) is checked when it is resolved.")
    }
    return Sourced(value, found.source)
  }

  var profile: Sourced<String>? { values[.profile] }
  /// Nil if none is named.
  var container: Sourced<String>? { values[.container] }
  var environment: Sourced<EnvironmentName> { value(.environment, EnvironmentName.init) }
  var database: Sourced<DatabaseName> { value(.database, DatabaseName.init) }
  var url: Sourced<URL> { value(.url) { URL(string: $0) } }
  /// Nil if neither a store nor a container is named.
  var store: Sourced<String>? { values[.store] }
  var isReadOnly: Sourced<Bool> { value(.readOnly, Bool.init) }
  /// Whether credentials may go to another machine over `http`.
  var allowsHTTP: Bool { value(.allowHTTP, Bool.init).value }
  /// Whether new records and zones may have names beyond ASCII.
  var acceptsUnicodeNames: Bool { value(.unicodeNames, Bool.init).value }
  /// Read when it is asked for, because most verbs have no screen.
  var theme: Sourced<String> {
    OwnThemes(variables).theme(values[.theme].flatMap { $0.source == .standard ? nil : $0 })
  }
  /// Milliseconds after which a full sync no longer counts while no process syncs.
  var freshFor: Int64 { value(.staleAfter, FilterLexer.age).value }
  var keyID: Sourced<String>? { values[.keyID] }
  var keyFile: Sourced<String>? { values[.keyFile] }
  var apiToken: Sourced<String>? { values[.apiToken] }
  var webAuthToken: Sourced<String>? { values[.webAuthToken] }

  /// The given conflict policy; nil: the stored one applies.
  func policy() throws(CommandFailure) -> Sourced<ConflictPolicy>? {
    guard let found = values[.policy] else { return nil }
    let policy = try SettingResolver.checked(.policy, found)
    return ConflictPolicy(rawValue: policy.value).map { Sourced($0, policy.source) }
  }

  /// Whether a store is configured.
  var isConfigured: Bool { store != nil }

  /// The container; throws a usage failure if none is configured.
  func requiredContainer() throws(CommandFailure) -> String {
    guard let container else {
      throw .usage(
        "no container is configured; give --container, set CLOUDKIT_CONTAINER, or try cktop demo"
      )
    }
    return container.value
  }

  /// The settings in effect and their sources, with secrets masked.
  var report: [SettingLine] {
    SettingKey.allCases.map { key in
      guard let found = key == .theme ? theme : values[key] else {
        return SettingLine(setting: key.rawValue, value: nil, source: "not set")
      }
      // The same length for all, because a length reveals something about a secret.
      let value = key.row.kind == .secret ? "********" : found.value
      return SettingLine(setting: key.rawValue, value: value, source: found.source.place(of: key))
    }
  }
}

/// One line of `config check`.
struct SettingLine: Hashable, Sendable {
  var setting: String
  /// Nil if not set; masked if it is a secret.
  var value: String?
  var source: String
}
