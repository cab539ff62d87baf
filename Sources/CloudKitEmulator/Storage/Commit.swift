import CloudKitSchema

/// All changes of one request in one database. Written to the store at once, then applied to the core.
struct Commit {
  enum Change {
    /// A new version of a record, and the version that it replaces.
    case saved(zone: String, StoredRecord, over: StoredRecord?)
    /// The tombstone of a record, and the record's last version.
    case buried(zone: String, Tombstone, over: StoredRecord?)
    case zoneCreated(ZoneRow)
    case zoneChanged(ZoneRow)
    case zoneDeleted(name: String, sequence: Int64)
    case schemaChanged(CKSchema)
    case userSeen(name: String)
    case subscribed(Subscription)
    case unsubscribed(Subscription.Key)
    case tokenMade(PushToken)
    case tokenDropped(String)
  }

  /// The state of a zone, without its records.
  struct ZoneRow {
    var name: String
    var identity: UInt64
    var sequence: Int64
    var changed: Int64
  }

  var database: DatabaseKey
  var counter: Int64
  var sequence: Int64
  var changes: [Change] = []
}

extension EmulatorCore {
  /// Writes a commit to the store and then makes it visible.
  ///
  /// - Throws: `INTERNAL_ERROR` if the file cannot be read or written. In that case nothing has changed.
  func commit(_ commit: Commit) throws(ServerError) {
    guard !commit.changes.isEmpty else { return }
    let (events, audience) = (recordEvents(of: commit), audience(of: commit))
    let released = assetsReleased(by: commit)
    // A decision based on a failed read must not be written.
    try requireIntactReads()
    do {
      try store.write(commit)
    } catch {
      throw ServerError(.internalError, "The data file could not be written", detail: "\(error)")
    }
    apply(commit)
    for id in released { assets.release(id) }
    notify(of: commit, events, audience: audience)
  }

  /// Commits changes that leave the database's counters unchanged.
  func commit(_ changes: [Commit.Change], to key: DatabaseKey) throws(ServerError) {
    let database = database(key)
    try commit(Commit(database: key, counter: database.counter, sequence: database.sequence, changes: changes))
  }

  /// Throws if a read has failed since the last check, because it may have returned too little.
  func requireIntactReads() throws(ServerError) {
    guard let failure = store.takeFailure() else { return }
    throw ServerError(.internalError, "The data file could not be read", detail: "\(failure)")
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
    if asked === database { asked = nil }
    database.counter = commit.counter
    database.sequence = commit.sequence
    for change in commit.changes {
      switch change {
      case .saved(let zone, let record, let old):
        assets.replace(old, with: record)
        if record.content.sharing != nil { addShare(record.name, in: Place.Key(database: database.key, zone: zone)) }
      case .buried(let zone, let tombstone, let old):
        assets.replace(old, with: nil)
        database.zones[zone]?.shares.remove(tombstone.name)
        dropUnshared(Place.Key(database: database.key, zone: zone))
      case .zoneCreated(let row):
        database.deletedZones[row.name] = nil
        database.add(row, records: store.records(in: Place.Key(database: database.key, zone: row.name)))
      case .zoneChanged(let row):
        database.zones[row.name]?.identity = row.identity
        database.zones[row.name]?.sequence = row.sequence
        database.zones[row.name]?.changed = row.changed
      case .zoneDeleted(let name, let sequence):
        database.zones[name] = nil
        database.deletedZones[name] = sequence
        dropUnshared(Place.Key(database: database.key, zone: name))
      case .schemaChanged(let schema): schemas[commit.database.schema] = schema
      case .userSeen(let name): users[WebAuthToken.recordName(of: name)] = name
      case .subscribed(let subscription): subscriptions[commit.database, default: [:]][subscription.key] = subscription
      case .unsubscribed(let key): subscriptions[commit.database]?[key] = nil
      case .tokenMade(let token): apply(token)
      case .tokenDropped(let token): dropToken(token)
      }
    }
  }

  func addShare(_ name: String, in zone: Place.Key) {
    databases[zone.database]?.zones[zone.zone]?.shares.insert(name)
    sharedZones.insert(zone)
  }

  private func dropUnshared(_ key: Place.Key) {
    guard databases[key.database]?.zones[key.zone]?.shares.isEmpty ?? true else { return }
    sharedZones.remove(key)
  }
}
