import CloudKit
import CloudSync
import Foundation

/// Apple's two environments, as the command line spells them.
enum EnvironmentName: String, CaseIterable, Hashable, Sendable {
  case development, production
}

/// What the options say; nil where one is not given.
struct SettingOptions: Hashable, Sendable {
  var values: [SettingKey: String] = [:]
}

/// Which store and which cloud: option, then environment, then configuration file, then default.
struct Settings: Equatable, Sendable {
  let profile: Sourced<String>?
  /// Nil where nothing names one.
  let container: Sourced<String>?
  let environment: Sourced<EnvironmentName>
  let database: Sourced<DatabaseName>
  let url: Sourced<URL>
  /// Nil where neither a store nor a container is named.
  let store: Sourced<String>?
  /// The conflict policy as it is spelled. Most verbs ignore it, whatever it is.
  let policyName: Sourced<String>?
  let isReadOnly: Sourced<Bool>
  /// Nil: the standard theme.
  let theme: Sourced<String>?
  let keyID: Sourced<String>?
  let keyFile: Sourced<String>?
  let apiToken: Sourced<String>?
  let webAuthToken: Sourced<String>?

  static let appleURL: URL = {
    guard let url = URL(string: "https://api.apple-cloudkit.com") else { preconditionFailure("Apple's URL is one.") }
    return url
  }()

  /// Resolves every setting; the configuration file is nil where there is none.
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
    theme = try resolver.text(.theme)
    keyID = try resolver.text(.keyID)
    keyFile = try resolver.text(.keyFile)
    apiToken = try resolver.text(.apiToken)
    webAuthToken = try resolver.text(.webAuthToken)
    // A server-to-server key reaches the public database alone, a user's token is there for the private one.
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

  /// The conflict policy that is named; nil: the one that the store keeps.
  func policy() throws(CommandFailure) -> Sourced<ConflictPolicy>? {
    try policyName.map { name throws(CommandFailure) in try SettingResolver.oneOf(.policy, name) }
  }

  /// Whether anything says which store is meant.
  var isConfigured: Bool { store != nil }

  /// The container, or the one line for people who have not configured any.
  func requiredContainer() throws(CommandFailure) -> String {
    guard let container else {
      throw .usage(
        "no container is configured; give --container, set CLOUDKIT_CONTAINER, or look around with cktop demo"
      )
    }
    return container.value
  }

  /// The name of the file where the store lies unless it is named.
  static func fileName(_ container: String, _ environment: EnvironmentName, _ database: DatabaseName) -> String {
    StorePath.name(
      SyncStore.Scope(container: container, environment: environment.rawValue, database: database)
    )
  }
}
