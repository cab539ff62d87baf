package import CloudKit
package import Facts
package import GRDB

/// A row of a table with one column for each stored property, of the same name.
///
/// Write it by `save`: GRDB's `upsert` returns a row ID, and tables WITHOUT ROWID have none.
package protocol StoredRow: Codable, FetchableRecord, PersistableRecord, Sendable {}

/// The version of a record in the mirror.
package struct MirrorVersion: Hashable, Sendable {
  package var changeTag: String
  /// Milliseconds since 1970.
  package var modifiedAt: Int64?
  /// Earlier tags of the record, latest first; only some are kept.
  package var formerTags: [String]
}

package enum ZoneState: String, Hashable, Sendable, CaseIterable, Codable {
  /// Not yet seen on the server: it is created before anything is sent to it.
  case unconfirmed
  case ready
  /// The server deleted it.
  case deleted
}

/// A zone with its change token. A token is stored in the transaction that applies its page.
///
/// The column `heldNumber` belongs to the store's triggers, so it is no property: writing a zone must not set it.
package struct KnownZone: Hashable, StoredRow {
  package static let databaseTableName = "zones"

  private var zone: String
  private var owner: String
  package var state: ZoneState
  package var createdHere = false
  package var needsFetch = false
  package var token: String?
  package var tokenAt: Int64?
  package var lastFetchAt: Int64?
  /// Incremented by each full fetch; records not seen in the current epoch were deleted on the server.
  package var epoch: Int64 = 0
  package var fetchingAll = false
  /// The changes that the unfinished fetch has read; 0 if none is unfinished.
  package var fetched = 0
  /// The number of the last request for the zone: the lowest is next.
  package var served: Int64 = 0
  /// The start of the hold on deletions of records or of the zone itself.
  package var heldSince: Int64?
  private var lossesSince: Int64?
  private var lossesOf: Int?
  private var losses: Int?

  package init(_ key: ZoneKey, state: ZoneState) {
    (zone, owner, self.state) = (key.zone, key.owner, state)
  }

  package var key: ZoneKey { ZoneKey(zone: zone, owner: owner) }

  /// The deletions that were applied within an hour.
  package var recentLosses: RecentLosses? {
    get { lossesSince.map { RecentLosses(since: $0, records: lossesOf ?? 0, deleted: losses ?? 0) } }
    set { (lossesSince, lossesOf, losses) = (newValue?.since, newValue?.records, newValue?.deleted) }
  }

  /// Whether the server deleted it and no person has to decide about that any more. Retrying a change of it or putting
  /// a record into it creates it again.
  var isGone: Bool { state == .deleted && heldSince == nil && key.canBeCreated }
}

/// The deletions that were applied in a zone since a time.
package struct RecentLosses: Hashable, Sendable {
  package var since: Int64
  /// The zone's record count at that time.
  package var records: Int
  package var deleted = 0
}

/// A polled query for a zone and record type without a change feed.
package struct PolledQuery: Hashable, StoredRow {
  package static let databaseTableName = "polledQueries"

  private var zone: String
  private var owner: String
  package var type: String
  /// The latest modification time seen; nil before the first.
  package var watermark: Int64?
  package var lastFetchAt: Int64?
  package var scannedAt: Int64?

  /// Milliseconds fetched again before the watermark, because queries lag behind writes (reference 7.1).
  package static let overlap: Int64 = 60_000

  package init(zone: ZoneKey, type: String) {
    (self.zone, owner, self.type) = (zone.zone, zone.owner, type)
  }

  package var zoneKey: ZoneKey { ZoneKey(zone: zone, owner: owner) }
}

/// The wait of a scope. It is kept after its end until a request succeeds, so that a scope that fails again waits
/// longer.
package struct ScopeWait: Hashable, Sendable {
  package var scope: WaitScope
  package var until: Int64
  package var seconds = 0.0
  package var code: String
  package var message: String
  /// Whether this is our own back-off, which an operator may end, and not a wait the server asked for.
  package var isOwn: Bool
  /// When the trouble began.
  package var since: Int64
  /// Whether another request has got through since.
  package var isOver = false
  /// The credential that was refused; nil for a wait of another scope.
  package var credential: CredentialDigest?
}

extension ScopeWait: StoredRow {
  package static let databaseTableName = "throttles"
}

// Stored as text; without this, GRDB would store the cases and properties as JSON.
extension WaitScope: DatabaseValueConvertible {
  package var databaseValue: DatabaseValue { name.databaseValue }

  package static func fromDatabaseValue(_ value: DatabaseValue) -> WaitScope? {
    String.fromDatabaseValue(value).map(WaitScope.init(name:))
  }
}

extension CredentialDigest: DatabaseValueConvertible {
  package var databaseValue: DatabaseValue { text.databaseValue }

  package static func fromDatabaseValue(_ value: DatabaseValue) -> CredentialDigest? {
    String.fromDatabaseValue(value).map(CredentialDigest.init(stored:))
  }
}

/// The process that holds, or last held, the lease.
package struct LeaseHolder: Hashable, StoredRow {
  package static let databaseTableName = "lease"

  /// The fencing token, incremented with each change of the holder.
  package var fencingToken: Int64
  package var pid: Int64
  package var host: String
  /// Nil while the engine sleeps: then the lock alone shows that it is alive.
  package var expiresAt: Int64?
  /// The program that syncs, and since when.
  package var program: String?
  package var since: Int64?
  /// The milliseconds by which its system clock was ahead of the time since the machine started, when it last extended
  /// the lease; nil where the time is simulated.
  package var clockOffset: Int64?
}

/// The activity that the engine publishes.
package struct EngineActivity: Hashable, StoredRow {
  package static let databaseTableName = "activity"

  /// The key of the only row.
  var one = 1
  package var state = "idle"
  package var phase: String?
  package var done = 0
  package var total = 0
  package var perSecond: Double?
  package var lastSuccessAt: Int64?
  package var lastEnqueueAt: Int64?
  package var errorCode: String?
  package var errorMessage: String?
  package var errorAt: Int64?
  package var errorStands = false
  /// Whether the last sync fetched all changes to the end after the last change accepted by then.
  package var reachedEnd = false
}

/// A sync that another process requested from the engine.
package struct SyncRequest: Hashable, StoredRow {
  package static let databaseTableName = "syncRequests"

  package var id: Int64
  /// The names of the types, separated by commas.
  package var types: String
  package var requestedAt: Int64
  package var isWithoutApp = false
  package var startedAt: Int64?
  package var finishedAt: Int64?
  package var summary: String?
}

/// A changed record to deliver to the app.
package struct Delivery: Hashable, Sendable {
  /// Increases with each delivery.
  package var number: Int64
  package var key: RecordKey
  /// Empty if unknown.
  package var type: String
  /// The last fields of a deleted record: its references determine the order of deliveries.
  package var lastFields: [String: FieldValue]?
}

/// An operator's command, with the number of rows it changed.
package struct AuditedCommand: Hashable, Sendable {
  package var at: Int64
  package var actor: String
  package var command: Event.Command
  package var count: Int
  /// The one operation that it changed; nil if it changed several, or none one by one.
  private(set) var only: Int64?

  package init(at: Int64, actor: String, command: Event.Command, count: Int) {
    (self.at, self.actor, self.command, self.count) = (at, actor, command, count)
  }

  /// Names and counts what it has changed so far.
  mutating func note(_ changed: [Int64], _ more: [Int64] = []) {
    count = changed.count + more.count
    // No copy of all: there may be a million, in slices.
    let first = Array(changed.prefix(Event.Subject.limit) + more.prefix(Event.Subject.limit))
    command = command.naming(first, of: count)
    only = count == 1 ? first[0] : nil
  }

  /// Whether it changed nothing, so that neither the audit table nor the log has it.
  var isEmpty: Bool { command.isEmpty(count: count) }

  var event: Event { .command(command, count: count) }
}
