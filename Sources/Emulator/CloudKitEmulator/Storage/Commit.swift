import CloudKitSchema

/// All changes of one request in one database. Written to the store at once, then applied to the world.
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
    /// Differs between a zone and a later zone of the same name, so that old tokens are rejected. [E]
    var identity: UInt64
    /// A counter of record changes in the zone. Sync tokens and the order of the change feed are made from it.
    var sequence: Int64
    /// The database's zone change counter when the zone last changed.
    var changed: Int64
  }

  var database: DatabaseKey
  var counter: Int64
  var sequence: Int64
  var changes: [Change] = []
}
