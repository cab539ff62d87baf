import CloudKit
import CloudSync
import Foundation

/// What a verb works with: the settings, and from them the store, the client and the engine, each made when asked for.
///
/// This is the one place where the parts are put together; tests put theirs in.
struct Session: Sendable {
  let settings: Settings
  let configurationFile: ConfigurationFile?

  /// Reads the settings of this process: its options, its environment, its configuration file.
  init(_ options: StoreOptions) throws(CommandFailure) {
    let environment = ProcessInfo.processInfo.environment
    let home = environment["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? NSHomeDirectory()
    let path = ConfigurationFile.path(environment: environment, home: home)
    configurationFile = try Self.configuration(path, home: home)
    settings = try Settings(
      options: options.settings,
      environment: environment,
      file: configurationFile,
      home: home
    )
  }

  private static func configuration(_ path: String, home: String) throws(CommandFailure) -> ConfigurationFile? {
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    guard let data = FileManager.default.contents(atPath: path), let text = String(data: data, encoding: .utf8) else {
      throw .usage("\(path) cannot be read as text; correct the file or its rights")
    }
    return try ConfigurationFile(text, path: path, home: home)
  }

  // MARK: - Store

  /// Where the store is or would be.
  var storePath: String? { settings.store?.value }

  /// Container, environment and database. What nothing names is taken from a store that is named.
  func scope() throws(CommandFailure) -> SyncStore.Scope {
    let known = settings.store?.source == .standard ? nil : storePath.flatMap(SyncStore.scope(ofStoreAt:))
    let container: String
    if settings.container == nil, let known {
      container = known.container
    } else {
      container = try settings.requiredContainer()
    }
    let environment = settings.environment
    let database = settings.database
    return SyncStore.Scope(
      container: container,
      environment: environment.source == .standard
        ? known?.environment ?? environment.value.rawValue : environment.value.rawValue,
      database: database.source == .standard ? known?.database ?? database.value : database.value
    )
  }

  /// The store for a verb that only looks: nil where there is none yet, and none is made.
  func storeToRead() throws -> SyncStore? {
    let scope = try scope()
    guard let storePath, FileManager.default.fileExists(atPath: storePath) else { return nil }
    return try SyncStore(path: storePath, scope: scope)
  }

  /// The store for a verb that changes something, made where there is none. Refused in read-only mode.
  func storeToChange() throws -> SyncStore {
    try refuseIfReadOnly()
    let scope = try scope()
    guard let storePath else { throw CommandFailure.usage("no store is named; give --store or --container") }
    return try SyncStore(path: storePath, scope: scope)
  }

  /// Refuses a changing verb in read-only mode.
  func refuseIfReadOnly() throws(CommandFailure) {
    guard settings.isReadOnly.value else { return }
    let place = settings.isReadOnly.source.place(of: .readOnly)
    throw .usage("read-only mode (\(place)) accepts no verb that changes anything; leave it out to go on")
  }

  // MARK: - Cloud

  /// The kind of credential there is, by its name in the output; nil: none.
  func credentialName() throws(CommandFailure) -> String? {
    switch try settings.credential() {
    case .serverToServer: "serverToServer"
    case .webAuth: "webAuth"
    case .apiToken: "apiToken"
    case .none: nil
    }
  }

  /// Who we are as far as the credential tells; nil where the server has to say.
  func identity() throws(CommandFailure) -> String? {
    switch try settings.credential() {
    case .serverToServer(let keyID, _): "key:\(keyID)"
    case .apiToken: SyncStore.nobody
    case .webAuth, .none: nil
    }
  }

  /// A client of the configured server, with the credential and the token that was kept for it.
  func client(_ scope: SyncStore.Scope) throws -> WebServicesClient {
    var kept: KeptToken?
    let credential: CKCredential
    switch try settings.credential() {
    case .serverToServer(let keyID, let file):
      guard scope.database == .public else {
        throw CommandFailure.usage(
          "a server-to-server key reaches the public database alone; leave --database out, or configure "
            + "CLOUDKIT_API_TOKEN and CLOUDKIT_WEB_AUTH_TOKEN"
        )
      }
      credential = .serverToServerKey(try .load(keyID: keyID, file: file))
    case .apiToken(let token):
      credential = .apiToken(token)
    case .webAuth(let apiToken, let webAuthToken):
      let file = storePath.map { KeptToken(storePath: $0, configured: webAuthToken) }
      credential = .webAuth(apiToken: apiToken, webAuthToken: file?.read() ?? KeptToken.repaired(webAuthToken))
      kept = file
    case .none:
      throw CommandFailure(
        "no credential is configured; set CLOUDKIT_KEY_ID and CLOUDKIT_KEY_FILE, or CLOUDKIT_API_TOKEN",
        .personNeeded
      )
    }
    return WebServicesClient(
      WebServicesClient.Configuration(
        container: scope.container,
        environment: scope.environment,
        credential: credential,
        tokenRotated: { [kept] token in kept?.keep(token) }
      ),
      transport: CKHTTPTransport(baseURL: settings.url.value)
    )
  }

  /// An engine for an open store.
  func engine(_ store: SyncStore) throws -> SyncEngine {
    SyncEngine(
      store: store,
      SyncEngine.Configuration(
        client: try client(store.scope),
        policy: settings.policy.value,
        identity: try identity()
      )
    )
  }
}
