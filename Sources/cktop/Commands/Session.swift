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

  /// Finds the store of a user beside the first user's, asking the server who is signed in where this machine does not know.
  ///
  /// - Parameter toSync: whether the server has to say who it is. A change is accepted all the same, in a file that waits
  ///   for its user.
  private func findStore(_ scope: SyncStore.Scope, base: String, _ signIn: String, toSync: Bool) async throws -> String
  {
    let waiting = StorePath.path(ofUnknown: signIn, base: base)
    let path: String
    if let known = storePath, known != waiting {
      path = known
    } else {
      do {
        let user = try await client(scope).caller().userRecordName
        path = StorePath.path(of: user, base: base)
        KeptToken.move(from: waiting, to: path)
        // So that the next command need not ask.
        try makeStore(path, scope).adopt(identity: user, signIn: signIn, nil)
        found.path = path
      } catch let error as WebServicesError where !toSync && error.code.status == .cloudUnreachable {
        return waiting
      }
    }
    guard FileManager.default.fileExists(atPath: waiting) else { return path }
    try join(waiting, to: path, scope, signIn)
    return path
  }

  /// Moves the changes of a file that waited for its user to the user's store.
  private func join(_ waiting: String, to path: String, _ scope: SyncStore.Scope, _ signIn: String) throws {
    let store = try SyncStore(path: path, scope: scope)
    let other = try SyncStore(path: waiting, scope: scope)
    store.enqueue(as: Sender(user: nil, credential: signIn))
    do {
      try store.join(other)
    } catch {
      guard error.kind == .invalid else { throw error }
      throw CommandFailure(error.message, .personNeeded)
    }
    SyncStore.removeFiles(ofStoreAt: waiting)
  }

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

  /// Opens the store read-only, for a verb that only looks.
  func storeToRead() throws -> SyncStore { try existingStore(.reading) }

  /// Opens the store read-only, for a verb that has something to show without one; nil where there is none.
  func storeIfMade() throws -> SyncStore? {
    // The settings are checked all the same.
    _ = try scope()
    guard let storePath, FileManager.default.fileExists(atPath: storePath) else { return nil }
    return try storeToRead()
  }

  /// Opens the store for a verb that commands what is queued. Refused in read-only mode.
  ///
  /// - Parameter dryRun: whether the verb only shows what it would do, which is looking.
  func storeToCommand(dryRun: Bool = false) throws -> SyncStore {
    if !dryRun { try refuseIfReadOnly() }
    let store = try existingStore(dryRun ? .reading : .changing)
    if !dryRun, let sender = try sender() {
      try store.check(sender, toSend: false)
      store.enqueue(as: sender)
    }
    return store
  }

  /// Opens the store for a verb that adds to what is queued in it. Refused in read-only mode, and to another user.
  func storeToAddTo(dryRun: Bool = false) async throws -> SyncStore {
    let store = try storeToCommand(dryRun: dryRun)
    if !dryRun, let sender = try sender() { try await requireOwner(sender, of: store) }
    return store
  }

  private func existingStore(_ access: StoreAccess) throws -> SyncStore {
    let scope = try scope()
    guard settings.store != nil else { throw Self.noStoreNamed }
    guard let storePath else {
      throw CommandFailure("this sign-in has no store on this machine yet; run cktop sync once", .storeUnusable)
    }
    return try SyncStore(path: storePath, scope: scope, access: access)
  }

  private static let noStoreNamed = CommandFailure.usage("no store is named; give --store or --container")

  /// Opens the store for a verb that syncs or enqueues, and makes it where there is none. Refused in read-only mode.
  func storeToChange(toSync: Bool = false) async throws -> SyncStore {
    try refuseIfReadOnly()
    let scope = try scope()
    guard let base = settings.store else { throw Self.noStoreNamed }
    var path = base.value
    if let signIn, base.source == .standard, StorePath.isShared(base: path, signIn) {
      path = try await findStore(scope, base: path, signIn, toSync: toSync)
    }
    let store = try makeStore(path, scope)
    if let sender = try sender() {
      if !toSync { try await requireOwner(sender, of: store) }
      store.enqueue(as: sender)
    }
    return store
  }

  /// Opens a store, and makes it with the policy that is named where there is none.
  private func makeStore(_ path: String, _ scope: SyncStore.Scope) throws -> SyncStore {
    // Before the store is made, so that a wrong policy leaves none without one.
    let policy = FileManager.default.fileExists(atPath: path) ? nil : try settings.policy()?.value
    let store = try SyncStore(path: path, scope: scope)
    if let policy { try store.setPolicy(policy, isFirst: true, actor: Operator.name) }
    return store
  }

  /// Refuses a sender who is not the store's user. The server is asked about a sign-in that the store does not know.
  ///
  /// - Throws: `StoreError` of kind `otherUser` where the store is another user's; `CommandFailure` where the server cannot be
  ///   reached to tell.
  private func requireOwner(_ sender: Sender, of store: SyncStore) async throws {
    try store.check(sender, toSend: false)
    guard try store.isUnknown(sender) else { return }
    do {
      let user = try await client(store.scope).caller().userRecordName
      try store.check(Sender(user: user, credential: sender.credential), toSend: false)
      // So that the next command need not ask.
      try store.adopt(identity: user, signIn: sender.credential, nil)
    } catch let error as WebServicesError where error.code.status == .cloudUnreachable {
      throw CommandFailure(
        "the store \(store.path) belongs to a user, and the server cannot be reached to check that this new sign-in is theirs; "
          + "nothing was changed, try again later or name another file with --store",
        .cloudUnreachable
      )
    }
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

  /// The user who enqueues, as far as the credential tells; nil without a user.
  private func sender() throws(CommandFailure) -> Sender? {
    switch try settings.credential() {
    case .serverToServer: Sender(user: try identity())
    case .webAuth: Sender(user: nil, credential: signIn)
    case .apiToken, .none: nil
    }
  }

  /// Where the newest web-auth token is kept; nil without a user.
  private var kept: KeptToken? {
    guard case .webAuth(_, let token)? = try? settings.credential() else { return nil }
    let path =
      storePath ?? settings.store.map { StorePath.path(ofUnknown: KeptToken.origin(of: token), base: $0.value) }
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
  ///
  /// - Parameters:
  ///   - takesOver: whether the store of another user becomes this user's, with the changes that are queued.
  ///   - replacesPolicy: whether the policy that is named replaces the stored one.
  func engine(_ store: SyncStore, takesOver: Bool = false, replacesPolicy: Bool = false) throws -> SyncEngine {
    let client = try client(store.scope)
    let isFirst = try store.settings().policy == nil
    let named = isFirst || replacesPolicy ? try settings.policy()?.value : nil
    var configuration = SyncEngine.Configuration(
      client: client,
      // The first sync stores it; from then on the stored one holds.
      policy: isFirst ? named : nil,
      identity: try identity()
    )
    configuration.signIn = signIn
    configuration.takesOver = takesOver
    configuration.replacingPolicy = replacesPolicy ? named : nil
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
