import CloudKit
import CloudSync
import Foundation

/// The two environments of a container.
enum EnvironmentName: String, CaseIterable, Hashable, Sendable {
  case development, production
}

/// The values of the options; no value for one that is not given.
struct SettingOptions: Hashable, Sendable {
  var values: [SettingKey: String] = [:]
}

/// The settings for the store and the server, from option, environment, configuration file or default, in that order.
struct Settings: Equatable, Sendable {
  let profile: Sourced<String>?
  /// Nil if none is named.
  let container: Sourced<String>?
  let environment: Sourced<EnvironmentName>
  let database: Sourced<DatabaseName>
  let url: Sourced<URL>
  /// Nil if neither a store nor a container is named.
  let store: Sourced<String>?
  /// The conflict policy as given, not validated: most verbs ignore it.
  let policyName: Sourced<String>?
  let isReadOnly: Sourced<Bool>
  /// Whether credentials may go to another machine over `http`.
  let allowsHTTP: Sourced<Bool>
  /// Whether new records and zones may have names beyond ASCII.
  let acceptsUnicodeNames: Sourced<Bool>
  /// Nil: the default theme.
  let theme: Sourced<String>?
  /// Milliseconds after which a full sync no longer counts while no process syncs.
  let staleAfter: Sourced<Int64>
  var freshFor: Int64 { staleAfter.value }
  let keyID: Sourced<String>?
  let keyFile: Sourced<String>?
  let apiToken: Sourced<String>?
  let webAuthToken: Sourced<String>?

  static let appleURL: URL = {
    guard let url = URL(string: "https://api.apple-cloudkit.com") else { preconditionFailure("Apple's URL is valid.") }
    return url
  }()

  /// Resolves every setting. `file` is nil if there is no configuration file.
  init(
    options: SettingOptions,
    environment variables: [String: String],
    file: ConfigurationFile?,
    home: String
  ) throws(CommandFailure) {
    let resolver = try SettingResolver(options: options, environment: variables, file: file, home: home)
    profile = resolver.profile
    container = try resolver.container()
    environment = try resolver.oneOf(.environment) ?? Sourced(.development, .standard)
    url = try resolver.url() ?? Sourced(Self.appleURL, .standard)
    policyName = try resolver.text(.policy)
    isReadOnly = try resolver.flag(.readOnly) ?? Sourced(false, .standard)
    allowsHTTP = try resolver.flag(.allowHTTP) ?? Sourced(false, .standard)
    acceptsUnicodeNames = try resolver.flag(.unicodeNames) ?? Sourced(false, .standard)
    theme = try resolver.text(.theme)
    staleAfter = try resolver.age(.staleAfter) ?? Sourced(StoreStatus.standardFreshness, .standard)
    keyID = try resolver.text(.keyID)
    keyFile = try resolver.text(.keyFile)
    apiToken = try resolver.text(.apiToken)
    webAuthToken = try resolver.text(.webAuthToken)
    // A server-to-server key can access only the public database; a user's token is for the private one.
    let hasKey = keyID != nil || keyFile != nil
    let standard: DatabaseName = !hasKey && webAuthToken != nil ? .private : .public
    database = try resolver.oneOf(.database) ?? Sourced(standard, .standard)
    if let named = try resolver.text(.store) {
      store = named
    } else if let container {
      let name = Self.fileName(container.value, environment.value, database.value)
      store = Sourced("\(resolver.stateDirectory)/cktop/\(name)", .standard)
    } else {
      store = nil
    }
  }

  /// The given conflict policy; nil: the stored one applies.
  func policy() throws(CommandFailure) -> Sourced<ConflictPolicy>? {
    try policyName.map { name throws(CommandFailure) in try SettingResolver.oneOf(.policy, name) }
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

  /// The default name of the store's file.
  static func fileName(_ container: String, _ environment: EnvironmentName, _ database: DatabaseName) -> String {
    StorePath.name(
      SyncStore.Scope(container: container, environment: environment.rawValue, database: database)
    )
  }
}
