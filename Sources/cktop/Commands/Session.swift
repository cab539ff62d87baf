import CloudKit
import CloudSync
import Facts
import Foundation
import Synchronization

/// The settings of a command, and the store, client and engine made from them on demand.
///
/// All parts are assembled here; tests substitute their own.
struct Session: Sendable {
  let settings: Settings
  let configurationFile: ConfigurationFile?
  /// The store's path, known once the server has named the user, and its scope, known once the file was read.
  let found = FoundStore()

  /// Reads the settings of this process: its options, its environment, its configuration file.
  init(_ options: StoreOptions, theme: String? = nil) throws(CommandFailure) {
    let environment = ProcessInfo.processInfo.environment
    configurationFile = try ConfigurationFile.read(environment)
    var given = options.settings
    given[.theme] = theme
    settings = try Settings(options: given, environment: environment, file: configurationFile)
  }

  // MARK: - Store

  /// The path of the store, which may not exist yet. If no file is named, it is that of the signed-in user. Nil if no
  /// setting names a store, or if only the server can say who is signed in.
  var storePath: String? {
    if let path = found.path { return path }
    guard let store = settings.store, store.source == .standard, let signIn else { return settings.store?.value }
    return StorePath.path(ofSignIn: signIn, base: store.value)
  }

  /// The identifier of the sign-in; nil without a user.
  var signIn: String? {
    guard case .webAuth(_, let token)? = try? settings.credential() else { return nil }
    return KeptToken.origin(of: token)
  }

  /// Finds the store of a further user. Asks the server who is signed in if this machine does not know.
  ///
  /// - Parameter toSync: whether the server must name the user. Otherwise a change is accepted in a file that waits
  ///   until its user is known.
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
        // The next command need not ask.
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

  /// Moves the changes of a file that waited for its user into the user's store.
  private func join(_ waiting: String, to path: String, _ scope: SyncStore.Scope, _ signIn: String) throws {
    let store = try SyncStore(path: path, scope: scope)
    let other = try SyncStore(path: waiting, scope: scope)
    // Their names were accepted when they were enqueued.
    store.acceptsUnicodeNames = true
    store.enqueue(as: Sender(user: nil, credential: signIn))
    do {
      try store.join(other)
    } catch {
      guard error.kind == .invalid else { throw error }
      throw CommandFailure(error.message, .personNeeded)
    }
    SyncStore.removeFiles(ofStoreAt: waiting)
  }

  /// The container, environment and database. Settings that are not given are read from a store that is named.
  func scope() throws(CommandFailure) -> SyncStore.Scope {
    let known = settings.store?.source == .standard ? nil : knownScope
    let container: String
    if settings.container == nil, let known {
      container = known.container
    } else {
      // A store that may not be read could name it.
      if settings.container == nil { do { _ = try isMade() } catch { throw CommandFailure(error) } }
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

  /// The scope of the store that is named; nil if there is none yet. Opening a store checks it again.
  private var knownScope: SyncStore.Scope? {
    if let scope = found.scope { return scope }
    found.scope = storePath.flatMap(SyncStore.scope(ofStoreAt:))
    return found.scope
  }

  /// Opens the store read-only, for a verb that only reads.
  func storeToRead() throws -> SyncStore { try existingStore(.reading) }

  /// Opens the store read-only; nil if there is none. For verbs that can run without a store.
  func storeIfMade() throws -> SyncStore? {
    // Check the settings even without a store.
    _ = try scope()
    return try isMade() ? storeToRead() : nil
  }

  /// Throws if there is no store although a setting names its file, or although there was one.
  func requireStoreIfKnown() throws {
    guard let store = settings.store, let storePath else { return }
    try SyncStore.requireNeverMade(at: storePath)
    if store.source != .standard { _ = try storeToRead() }
  }

  /// Why no store can be created; nil if one can, as far as is known.
  var storageTrouble: StorageTrouble? { (storePath ?? settings.store?.value).flatMap(SyncStore.trouble) }

  /// Whether there is a store. Throws if this user may not see that.
  private func isMade() throws(StoreError) -> Bool {
    if let storePath { return try SyncStore.exists(at: storePath) }
    if let base = settings.store?.value { try StorePath.requireReadable(besides: base) }
    return false
  }

  /// Opens the store for a verb that changes queued operations. Refused in read-only mode.
  ///
  /// - Parameter dryRun: whether the verb only shows what it would do and needs only to read.
  func storeToCommand(dryRun: Bool = false) throws -> SyncStore {
    if !dryRun { try refuseIfReadOnly() }
    let store = try existingStore(dryRun ? .reading : .changing)
    if !dryRun, let sender = try sender() {
      try store.check(sender, toSend: false)
      store.enqueue(as: sender)
    }
    return store
  }

  /// Opens the store for a verb that adds to its queue. Refused in read-only mode, and to another user.
  func storeToAddTo(dryRun: Bool = false) async throws -> SyncStore {
    let store = try storeToCommand(dryRun: dryRun)
    if !dryRun, let sender = try sender() { try await requireOwner(sender, of: store) }
    return store
  }

  private func existingStore(_ access: StoreAccess) throws -> SyncStore {
    let scope = try scope()
    guard settings.store != nil else { throw Self.noStoreNamed }
    guard let storePath else {
      _ = try isMade()
      throw CommandFailure("this sign-in has no store on this machine yet; run cktop sync once", .storeUnusable)
    }
    let store = try SyncStore(path: storePath, scope: scope, access: access)
    store.acceptsUnicodeNames = settings.acceptsUnicodeNames.value
    return store
  }

  private static let noStoreNamed = CommandFailure.usage("no store is named; give --store or --container")

  /// Opens the store for a verb that syncs or enqueues; creates it if there is none. Refused in read-only mode.
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

  /// Opens a store. If there is none, creates it with the given policy.
  private func makeStore(_ path: String, _ scope: SyncStore.Scope) throws -> SyncStore {
    // Checked before the store is created, so that an invalid policy creates none.
    let policy = FileManager.default.fileExists(atPath: path) ? nil : try settings.policy()?.value
    let store = try SyncStore(path: path, scope: scope)
    store.acceptsUnicodeNames = settings.acceptsUnicodeNames.value
    if let policy { try store.setPolicy(policy, isFirst: true, actor: Operator.name) }
    return store
  }

  /// Refuses a sender who is not the store's user. Asks the server about a sign-in that the store does not know.
  ///
  /// - Throws: `StoreError` of kind `otherUser` if the store is another user's; `CommandFailure` if the server cannot
  ///   be reached to check.
  private func requireOwner(_ sender: Sender, of store: SyncStore) async throws {
    try store.check(sender, toSend: false)
    guard try store.isUnknown(sender) else { return }
    do {
      let user = try await client(store.scope).caller().userRecordName
      try store.check(Sender(user: user, credential: sender.credential), toSend: false)
      // The next command need not ask.
      try store.adopt(identity: user, signIn: sender.credential, nil)
    } catch let error as WebServicesError where error.code.status == .cloudUnreachable {
      throw CommandFailure(
        "the server cannot be reached to check that this new sign-in belongs to the user of \(store.path); "
          + "nothing was changed, try again later or name another store with --store",
        .cloudUnreachable
      )
    }
  }

  /// Prints a notice if a change goes to the public database only by default: no setting, credential or earlier sync of
  /// the store names a database, and everyone can read the public one.
  func tellGuess(of store: SyncStore) {
    let isOwned = SyncStore.owner(ofStoreAt: store.path) != nil && settings.store?.source != .standard
    guard settings.database.source == .standard, !isOwned, store.scope.database == .public,
      (try? settings.credential()) == SettingCredential.none
    else { return }
    OutputStream.error.line(
      "cktop: no database is given, so the public one is used; give --database private to use the private one"
    )
  }

  /// Refuses a name that no server takes before a store is made for it. A store that exists is asked: it may know a
  /// record or zone of that name.
  func refuseNames(record: String? = nil, zone: String? = nil) throws(CommandFailure) {
    if let storePath, FileManager.default.fileExists(atPath: storePath) { return }
    let rule = NameRule(isASCIIOnly: !settings.acceptsUnicodeNames.value)
    if let problem = record.flatMap({ rule.recordNameProblem($0) }) ?? zone.flatMap(rule.zoneNameProblem) {
      throw .usage("\(problem); choose another")
    }
  }

  /// Throws in read-only mode.
  func refuseIfReadOnly() throws(CommandFailure) {
    guard settings.isReadOnly.value else { return }
    let place = settings.isReadOnly.source.place(of: .readOnly)
    throw .usage("read-only mode (\(place)) allows no changes; turn it off to continue")
  }
}

/// Facts that a session finds out once.
final class FoundStore: Sendable {
  private let value = Mutex<(path: String?, scope: SyncStore.Scope?, usesKeptToken: Bool)>((nil, nil, false))

  var path: String? {
    get { value.withLock { $0.path } }
    set { value.withLock { $0.path = newValue } }
  }

  /// The scope that the file has.
  var scope: SyncStore.Scope? {
    get { value.withLock { $0.scope } }
    set { value.withLock { $0.scope = newValue } }
  }

  /// Whether the client sends the token that an earlier run saved beside the store, not the configured one.
  var usesKeptToken: Bool {
    get { value.withLock { $0.usesKeptToken } }
    set { value.withLock { $0.usesKeptToken = newValue } }
  }
}
