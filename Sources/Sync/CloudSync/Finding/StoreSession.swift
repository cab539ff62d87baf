import CloudKit
package import Facts
import Foundation
import Synchronization

/// Finds the store that settings name, and opens it, with its client and its engine. Each is made when it is needed.
///
/// The standard store of a database has a file for each user of this machine: the session finds that of the user who is
/// signed in.
package struct StoreSession<Configuration: StoreSettings>: Sendable {
  package let settings: Configuration
  let found = FoundStore()

  package init(_ settings: Configuration) { self.settings = settings }

  /// The path of the store, which may not exist yet. If no file is named, it is that of the signed-in user. Nil if no
  /// setting names a store, or if only the server can say who is signed in.
  package var storePath: String? {
    if let path = found.path { return path }
    guard let base = settings.basePath, !settings.namesStore, let signIn else { return settings.basePath }
    return StorePath.path(ofSignIn: signIn, base: base)
  }

  /// The container, environment and database. Settings that are not given are read from a store that is named.
  package func scope() throws(CommandFailure) -> SyncStore.Scope {
    do {
      return try settings.scope(settings.namesStore ? knownScope : nil)
    } catch {
      // If the store cannot be read, that is the error: it might have named the container.
      do { _ = try isMade() } catch { throw error.failure }
      throw error
    }
  }

  /// The scope of the store that is named; nil if there is none yet. Opening a store checks it again.
  private var knownScope: SyncStore.Scope? {
    if let scope = found.scope { return scope }
    found.scope = storePath.flatMap(SyncStore.scope(ofStoreAt:))
    return found.scope
  }

  // MARK: - Reading

  /// Opens the store read-only.
  package func storeToRead() throws -> SyncStore { try existingStore(.reading) }

  /// Opens the store read-only; nil if there is none.
  package func storeIfMade() throws -> SyncStore? {
    // Check the settings even without a store.
    _ = try scope()
    return try isMade() ? storeToRead() : nil
  }

  /// Throws if there is no store although a setting names its file, or although there was one.
  package func requireStoreIfKnown() throws {
    guard let storePath else { return }
    try SyncStore.requireNeverMade(at: storePath)
    if settings.namesStore { _ = try storeToRead() }
  }

  /// The store to read, with secrets masked in everything that is read.
  package func reader() throws -> StoreReader { reader(try storeToRead()) }

  /// A store to read, with secrets masked, in which a full sync counts for as long as the settings say.
  package func reader(_ store: SyncStore) -> StoreReader {
    StoreReader(store, redaction, freshFor: settings.freshFor)
  }

  /// Masks the configured tokens, and the web auth token that is kept beside the store.
  package var redaction: Redaction {
    var secrets = settings.secrets
    if let path = storePath, let configured = settings.signInToken,
      let kept = KeptToken(storePath: path, configured: configured).read()
    {
      secrets.append(kept)
    }
    return Redaction(secrets)
  }

  /// The status while there is no store.
  package var missingStatus: StoreStatus {
    StoreStatus(neverSyncedAt: SyncStore.currentTime, missingAt: storePath)
  }

  /// Why no store can be created; nil if one can, as far as is known.
  package var storageTrouble: StorageTrouble? { (storePath ?? settings.basePath).flatMap(SyncStore.trouble) }

  /// Whether there is a store. Throws if this user may not see that.
  private func isMade() throws(StoreError) -> Bool {
    if let storePath { return try SyncStore.exists(at: storePath) }
    if let base = settings.basePath { try StorePath.requireReadable(besides: base) }
    return false
  }

  private func existingStore(_ access: StoreAccess) throws -> SyncStore {
    let scope = try scope()
    guard settings.basePath != nil else { throw CommandFailure.noStoreNamed }
    guard let storePath else {
      _ = try isMade()
      throw CommandFailure("this sign-in has no store on this machine yet; run cktop sync once", .storeUnusable)
    }
    let store = try SyncStore(path: storePath, scope: scope, access: access)
    store.acceptsUnicodeNames = settings.acceptsUnicodeNames
    return store
  }

  // MARK: - Changing

  /// Throws in read-only mode.
  package func refuseIfReadOnly() throws(CommandFailure) { try settings.refuseIfReadOnly() }

  /// Refuses a name that no server takes before a store is made for it. A store that exists is asked: it may know a
  /// record or zone of that name.
  package func refuseNames(record: String? = nil, zone: String? = nil) throws(CommandFailure) {
    if let storePath, FileManager.default.fileExists(atPath: storePath) { return }
    let rule = NameRule(isASCIIOnly: !settings.acceptsUnicodeNames)
    if let problem = record.flatMap({ rule.recordNameProblem($0) }) ?? zone.flatMap(rule.zoneNameProblem) {
      throw .usage("\(problem); choose another")
    }
  }

  /// Opens the store to change queued operations. Refused in read-only mode.
  ///
  /// - Parameter dryRun: whether changes are only shown, so that the store is only read.
  package func storeToCommand(dryRun: Bool = false) throws -> SyncStore {
    if !dryRun { try refuseIfReadOnly() }
    let store = try existingStore(dryRun ? .reading : .changing)
    if !dryRun, let sender = try sender() {
      try store.check(sender, toSend: false)
      store.enqueue(as: sender)
    }
    return store
  }

  /// Opens the store to add to its queue. Refused in read-only mode, and to another user.
  package func storeToAddTo(dryRun: Bool = false) async throws -> SyncStore {
    let store = try storeToCommand(dryRun: dryRun)
    if !dryRun, let sender = try sender() { try await requireOwner(sender, of: store) }
    return store
  }

  /// Opens the store to sync or to enqueue; creates it if there is none. Refused in read-only mode.
  package func storeToChange(toSync: Bool = false) async throws -> SyncStore {
    try refuseIfReadOnly()
    let scope = try scope()
    guard let base = settings.basePath else { throw CommandFailure.noStoreNamed }
    var path = base
    if let signIn, !settings.namesStore, StorePath.isShared(base: base, signIn) {
      path = try await findStore(scope, base: base, signIn, toSync: toSync)
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
    let policy = FileManager.default.fileExists(atPath: path) ? nil : try settings.namedPolicy()
    let store = try SyncStore(path: path, scope: scope)
    store.acceptsUnicodeNames = settings.acceptsUnicodeNames
    if let policy { try store.setPolicy(policy, isFirst: true, actor: Operator.name) }
    return store
  }
}

/// The stores of the further users of a database.
extension StoreSession {
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
}

extension CommandFailure {
  fileprivate static let noStoreNamed = CommandFailure.usage("no store is named; give --store or --container")
}

/// Facts that a session finds out once.
final class FoundStore: Sendable {
  private let value = Mutex<(path: String?, scope: SyncStore.Scope?, usesKeptToken: Bool)>((nil, nil, false))

  /// The path of the store, once the server has named the user.
  var path: String? {
    get { value.withLock { $0.path } }
    set { value.withLock { $0.path = newValue } }
  }

  /// The scope that the file has, once it was read.
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
