import CloudKitSchema
import Foundation

/// The stored state of an emulator: databases, schemas, users, subscriptions, push tokens and assets.
///
/// Endpoints only read it. Everything that a data file keeps changes by `commit`, except the bytes of assets: an upload
/// stores them at once, and `collectAssets` deletes them.
final class World {
  let configuration: EmulatorConfiguration
  let store: EmulatorStore
  let seal: AssetSeal
  private(set) var databases: [DatabaseKey: DatabaseState] = [:]
  /// The last requested database that has no commit yet, so that a request that writes uses the same object.
  private var uncommitted: DatabaseState?
  private(set) var schemas: [String: CKSchema] = [:]
  /// The names of all known users, by record name.
  private(set) var users: [String: String] = [:]
  /// The zones with shares.
  private(set) var sharedZones: Set<ZoneKey> = []
  private(set) var subscriptions: [DatabaseKey: [Subscription.Key: Subscription]] = [:]
  private(set) var pushTokens: [String: PushToken] = [:]
  /// The texts of the push tokens of users, oldest first, by their private database.
  private(set) var tokensByOwner: [DatabaseKey: [String]] = [:]
  var assets = AssetShelf()
  /// The number of upload URLs created since the start.
  var uploads = 0

  /// Creates an empty world, or a copy of the state in memory of another whose store has been copied.
  init(_ configuration: EmulatorConfiguration, _ store: EmulatorStore, copying other: World? = nil) {
    (self.configuration, self.store, seal) = (configuration, store, AssetSeal(configuration))
    if let other {
      databases = other.databases.mapValues { DatabaseState(copying: $0, store: store) }
      (schemas, users, assets, uploads) = (other.schemas, other.users, other.assets, other.uploads)
      (sharedZones, subscriptions) = (other.sharedZones, other.subscriptions)
      (pushTokens, tokensByOwner) = (other.pushTokens, other.tokensByOwner)
    }
    for name in configuration.admitted { users[WebAuthToken.recordName(of: name)] = name }
  }

  /// The number from which identifiers are made.
  var seed: UInt64 { configuration.seed ?? 0 }

  /// Returns a database. Every database exists for callers, but is stored only after its first commit.
  func database(_ key: DatabaseKey) -> DatabaseState {
    if let database = databases[key] { return database }
    if let uncommitted, uncommitted.key == key { return uncommitted }
    let database = DatabaseState(key: key, store: store, seed: seed)
    uncommitted = database
    return database
  }

  /// Returns a commit of changes that leave the database's counters unchanged.
  func commit(of changes: [Commit.Change], in key: DatabaseKey) -> Commit {
    let database = database(key)
    return Commit(database: key, counter: database.counter, sequence: database.sequence, changes: changes)
  }

  /// Writes a commit to the store and then makes it visible.
  ///
  /// - Throws: `INTERNAL_ERROR` if the file cannot be read or written. In that case nothing has changed.
  func commit(_ commit: Commit) throws(ServerError) {
    let released = assetsReleased(by: commit)
    // A decision based on a failed read must not be written.
    try requireIntactReads()
    do {
      try store.write(commit)
    } catch {
      throw .unwritable(error)
    }
    apply(commit)
    for id in released { assets.release(id) }
  }

  /// Throws if a read has failed since the last check, because it may have returned too little.
  func requireIntactReads() throws(ServerError) {
    guard let failure = store.takeFailure() else { return }
    throw .unreadable(failure)
  }

  private func assetsReleased(by commit: Commit) -> [String] {
    guard let database = databases[commit.database] else { return [] }
    var released: [String] = []
    for case .zoneDeleted(let name, _) in commit.changes { released += database.zones[name]?.records.assets() ?? [] }
    return released
  }

  /// Applies a commit to the state in memory. The store already has the records.
  func apply(_ commit: Commit) {
    let database = database(commit.database)
    databases[commit.database] = database
    if uncommitted === database { uncommitted = nil }
    database.apply(commit, store: store)
    for change in commit.changes {
      switch change {
      case .saved(let zone, let record, let old):
        assets.replace(old, with: record)
        if record.content.sharing != nil { noteShares(of: zone, in: database) }
      case .buried(let zone, _, let old):
        assets.replace(old, with: nil)
        noteShares(of: zone, in: database)
      case .zoneDeleted(let name, _): noteShares(of: name, in: database)
      case .zoneCreated, .zoneChanged: break
      case .schemaChanged(let schema): schemas[commit.database.schema] = schema
      case .userSeen(let name): users[WebAuthToken.recordName(of: name)] = name
      case .subscribed(let subscription): subscriptions[commit.database, default: [:]][subscription.key] = subscription
      case .unsubscribed(let key): subscriptions[commit.database]?[key] = nil
      case .tokenMade(let token):
        forget(token.text)
        pushTokens[token.text] = token
        tokensByOwner[token.owner, default: []].append(token.text)
      case .tokenDropped(let text): forget(text)
      }
    }
  }

  private func forget(_ token: String) {
    if let old = pushTokens.removeValue(forKey: token) { tokensByOwner[old.owner]?.removeAll { $0 == token } }
  }

  /// Adds a share that the store already has.
  func addShare(_ name: String, in zone: ZoneKey) {
    databases[zone.database]?.zones[zone.zone]?.shares.insert(name)
    sharedZones.insert(zone)
  }

  private func noteShares(of zone: String, in database: DatabaseState) {
    let key = ZoneKey(database: database.key, zone: zone)
    if database.zones[zone]?.shares.isEmpty ?? true {
      sharedZones.remove(key)
    } else {
      sharedZones.insert(key)
    }
  }

  /// Returns the user with the record name, if the emulator knows one.
  func user(recordName: String) -> EmulatorUser? { users[recordName].map(configuration.user) }

  /// Returns the permissions of a user in public databases.
  func guards(of user: String?) -> SchemaGuard {
    let roles = configuration.directory.isEmpty ? [] : user.flatMap { self.user(recordName: $0) }?.roles ?? []
    return SchemaGuard(user: user, custom: roles)
  }
}

extension EmulatorConfiguration {
  /// Returns the user with a name, of whom the directory may know more.
  func user(_ name: String) -> EmulatorUser { directory.first { $0.name == name } ?? EmulatorUser(name) }
}
