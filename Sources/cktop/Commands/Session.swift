import CloudKit
import CloudSync
import Foundation
import Synchronization

/// What a verb works with: the settings, and from them the store, the client and the engine, each made when asked for.
///
/// This is the one place where the parts are put together; tests put theirs in.
struct Session: Sendable {
  let settings: Settings
  let configurationFile: ConfigurationFile?
  /// The store's file, once the server has said whose it is.
  private let found = FoundStore()

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

  static func configuration(_ path: String, home: String) throws(CommandFailure) -> ConfigurationFile? {
    guard FileManager.default.fileExists(atPath: path) else { return nil }
    guard let data = FileManager.default.contents(atPath: path), let text = String(data: data, encoding: .utf8) else {
      throw .usage("\(path) cannot be read as text; correct the file or its rights")
    }
    return try ConfigurationFile(text, path: path, home: home)
  }

  // MARK: - Store

  /// Where the store is or would be: of a file that nobody named, the one of whoever is signed in. Nil where nothing names
  /// one, and where only the server can say who is signed in.
  var storePath: String? {
    if let path = found.path { return path }
    guard let store = settings.store, store.source == .standard, let signIn else { return settings.store?.value }
    return StorePath.path(ofSignIn: signIn, base: store.value)
  }

  /// What tells one sign-in from another; nil without a user.
  private var signIn: String? {
    guard case .webAuth(_, let token)? = try? settings.credential() else { return nil }
    return KeptToken.origin(of: token)
  }

  /// Where the store is, asking the server who is signed in where this machine does not know.
  private func findStore(_ scope: SyncStore.Scope) async throws -> String? {
    guard storePath == nil, let base = settings.store?.value, let signIn else { return storePath }
    do {
      let user = try await client(scope).caller().userRecordName
      let path = StorePath.path(of: user, base: base)
      KeptToken.move(from: unknownUsersPath(base, signIn), to: path)
      found.path = path
      // So that the next command need not ask.
      try SyncStore(path: path, scope: scope).adopt(identity: user, signIn: signIn, nil)
      return path
    } catch let error as WebServicesError {
      let owner = SyncStore.owner(ofStoreAt: base) ?? "somebody else"
      throw CommandFailure(
        "whose the web-auth token is has to be asked, and the server did not say (\(error.code.name)); the store "
          + "\(base) belongs to \(owner), try again or choose another with --store",
        .personNeeded
      )
    }
  }

  /// Where the token of somebody is kept whose store is not known yet.
  private func unknownUsersPath(_ base: String, _ signIn: String) -> String { "\(base).\(signIn.prefix(12))" }

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

  /// The store for a verb that commands what is queued: nil where there is none, and none is made. Refused in read-only mode.
  ///
  /// - Parameter dryRun: it is only to be told what would be done, which is looking.
  func storeToCommand(dryRun: Bool = false) throws -> SyncStore? {
    if dryRun { return try storeToRead() }
    try refuseIfReadOnly()
    guard let store = try storeToRead() else { return nil }
    try claim(store)
    return store
  }

  /// The store for a verb that changes something, made where there is none. Refused in read-only mode.
  func storeToChange() async throws -> SyncStore {
    try refuseIfReadOnly()
    let scope = try scope()
    guard let storePath = try await findStore(scope) else {
      throw CommandFailure.usage("no store is named; give --store or --container")
    }
    let isNew = !FileManager.default.fileExists(atPath: storePath)
    let store = try SyncStore(path: storePath, scope: scope)
    try claim(store)
    if isNew, let policy = settings.policy?.value { try store.setPolicy(policy, isFirst: true, actor: "cli") }
    return store
  }

  /// Says which database a change goes to where neither a setting nor a credential nor an earlier sync of the store tells: it is
  /// the public one, which everybody reads, and nobody shall find that out afterwards.
  func tellGuess(of store: SyncStore) {
    let isOwned = SyncStore.owner(ofStoreAt: store.path) != nil && settings.store?.source != .standard
    guard settings.database.source == .standard, !isOwned, store.scope.database == .public,
      (try? settings.credential()) == SettingCredential.none
    else { return }
    OutputStream.error.line(
      "cktop: nothing says which database is meant, so it is the public one; --database private chooses the other"
    )
  }

  /// What was queued before anybody synced is sent as nobody but who queued it, unless a person names the store.
  func claim(_ store: SyncStore) throws {
    guard let signIn else { return }
    let others = try store.claim(signIn: signIn, isChosen: settings.store?.source != .standard)
    guard others > 0 else { return }
    throw CommandFailure(
      "\(store.path) holds \(others == 1 ? "a change" : "\(others) changes") queued with another sign-in that never reached "
        + "the server; --store \(store.path.asArgument) goes on with it as whoever is signed in now, --store OTHER leaves "
        + "it alone",
      .personNeeded
    )
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

  /// Where the newest web-auth token is kept; nil without a user.
  private var kept: KeptToken? {
    guard case .webAuth(_, let token)? = try? settings.credential() else { return nil }
    let path = storePath ?? settings.store.map { unknownUsersPath($0.value, KeptToken.origin(of: token)) }
    return path.map { KeptToken(storePath: $0, configured: token) }
  }

  /// A store that is somebody else's is no damaged store: a person has to say who we are, unless it is the server that has
  /// given us somebody else's token. That is not kept.
  func failure(ofStrangers error: StoreError) -> CommandFailure {
    if case .apiToken? = try? settings.credential() {
      let place = storePath ?? "this store"
      return CommandFailure(
        "nobody is signed in, and \(place) is a user's; put the user's token into CLOUDKIT_WEB_AUTH_TOKEN, cktop account "
          + "tells where to get one",
        .personNeeded
      )
    }
    guard found.usesKeptToken, kept?.forget() == true else { return CommandFailure(error.message, .personNeeded) }
    let next = "the token that was kept beside the store was theirs and is dropped, try again with your own"
    return CommandFailure("\(error.message); \(next)", .personNeeded)
  }

  /// A client of the configured server, with the credential and the token that was kept for it.
  func client(_ scope: SyncStore.Scope) throws -> WebServicesClient {
    let kept = kept
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
      let known = kept?.read()
      if known != nil { found.usesKeptToken = true }
      credential = .webAuth(apiToken: apiToken, webAuthToken: known ?? KeptToken.repaired(webAuthToken))
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
    let client = try client(store.scope)
    var configuration = SyncEngine.Configuration(
      client: client,
      // The first sync stores it; from then on the stored one holds.
      policy: try store.settings().policy == nil ? settings.policy?.value : nil,
      identity: try identity()
    )
    configuration.signIn = signIn
    // Who has no user has no subscriptions.
    if configuration.identity != SyncStore.nobody {
      configuration.pushes = CKContainer(sharing: client).notifications
    }
    return SyncEngine(store: store, configuration)
  }
}

/// What a session finds out once.
private final class FoundStore: Sendable {
  private let value = Mutex<(path: String?, usesKeptToken: Bool)>((nil, false))

  var path: String? {
    get { value.withLock { $0.path } }
    set { value.withLock { $0.path = newValue } }
  }

  /// Whether the token that was kept beside the store by an earlier run is sent, not the configured one.
  var usesKeptToken: Bool {
    get { value.withLock { $0.usesKeptToken } }
    set { value.withLock { $0.usesKeptToken = newValue } }
  }
}
