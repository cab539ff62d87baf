/// Everything one request changes in one database: written to the file as one transaction, then applied to memory.
struct Commit {
  enum Change {
    case saved(zone: String, StoredRecord)
    case buried(zone: String, Tombstone)
    case zoneCreated(ZoneRow)
    case zoneChanged(ZoneRow)
    case zoneDeleted(name: String, sequence: Int64)
    case learnt(type: String, fields: [String: Schema.Field])
    case userSeen(name: String)
    case subscribed(Subscription)
    case unsubscribed(Subscription.Key)
    case tokenMade(PushToken)
    case tokenDropped(String)
  }

  /// A zone without its records.
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
  /// Makes a commit durable and then visible. Nothing is visible that is not in the file.
  ///
  /// - Throws: `INTERNAL_ERROR` where the file cannot be written; then nothing has changed.
  func commit(_ commit: Commit) throws(ServerError) {
    guard !commit.changes.isEmpty else { return }
    if let file {
      do {
        try file.write(commit)
      } catch {
        throw ServerError(.internalError, "The data file could not be written: \(error)")
      }
    }
    let (events, audience) = (recordEvents(of: commit), audience(of: commit))
    apply(commit)
    notify(of: commit, events, audience: audience)
  }

  /// Commits changes that leave the counters of the database alone.
  func commit(_ changes: [Commit.Change], to key: DatabaseKey) throws(ServerError) {
    let database = database(key)
    try commit(Commit(database: key, counter: database.counter, sequence: database.sequence, changes: changes))
  }

  func apply(_ commit: Commit) {
    let database = database(commit.database)
    database.counter = commit.counter
    database.sequence = commit.sequence
    for change in commit.changes {
      switch change {
      case .saved(let zone, let record):
        assets.replace(database.zones[zone]?.records[record.name], with: record)
        database.zones[zone]?.save(record)
        if record.content.sharing != nil { sharedZones.insert(Place.Key(database: database.key, zone: zone)) }
      case .buried(let zone, let tombstone):
        assets.replace(database.zones[zone]?.records[tombstone.name], with: nil)
        database.zones[zone]?.bury(tombstone)
        dropUnshared(Place.Key(database: database.key, zone: zone))
      case .zoneCreated(let row):
        database.deletedZones[row.name] = nil
        database.zones[row.name] = ZoneState(
          name: row.name,
          owner: database.owner,
          identity: row.identity,
          sequence: row.sequence,
          changed: row.changed
        )
      case .zoneChanged(let row): database.zones[row.name]?.changed = row.changed
      case .zoneDeleted(let name, let sequence):
        for record in database.zones[name]?.records.values ?? [:].values { assets.replace(record, with: nil) }
        database.zones[name] = nil
        database.deletedZones[name] = sequence
        dropUnshared(Place.Key(database: database.key, zone: name))
      case .learnt(let type, let fields):
        schemas[commit.database.schema, default: Schema()].learn(type: type, fields: fields)
      case .userSeen(let name): users[WebAuthToken.recordName(of: name)] = name
      case .subscribed(let subscription): subscriptions[commit.database, default: [:]][subscription.key] = subscription
      case .unsubscribed(let key): subscriptions[commit.database]?[key] = nil
      case .tokenMade(let token): apply(token)
      case .tokenDropped(let token): dropToken(token)
      }
    }
  }

  private func dropUnshared(_ key: Place.Key) {
    guard databases[key.database]?.zones[key.zone]?.shares.isEmpty ?? true else { return }
    sharedZones.remove(key)
  }
}
