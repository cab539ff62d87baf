package import CloudKit

/// Which version of a record the mirror has.
package struct MirrorVersion: Hashable, Sendable {
  package var changeTag: String
  /// Milliseconds since 1970.
  package var modifiedAt: Int64?
  /// Tags that it had before, latest first: those that are long gone are forgotten.
  package var formerTags: [String]
}

/// What is known of a zone.
package enum ZoneState: String, Hashable, Sendable, CaseIterable {
  /// Named here, not yet seen on the server: made there before anything is sent to it.
  case unconfirmed
  case ready
  /// The server deleted it.
  case deleted
}

/// A zone with its change token. A token is stored in the transaction of the page that it stands for.
package struct KnownZone: Hashable, Sendable {
  package var key: ZoneKey
  package var state: ZoneState
  package var createdHere = false
  package var needsFetch = false
  package var token: String?
  package var tokenAt: Int64?
  package var lastFetchAt: Int64?
  /// Raised by each reading from the beginning; what such a reading did not see is gone on the server.
  package var epoch: Int64 = 0
  package var readingAll = false
  /// The number of the last request that went to the zone: the lower, the sooner it is its turn.
  package var served: Int64 = 0
  /// Since when deletions on the server, of records or of the zone itself, have been held back here.
  package var heldSince: Int64?
  /// Raised whenever what is on hold changes. The store's triggers do that; writing a zone leaves it as it is.
  package var heldNumber: Int64 = 0

  package init(_ key: ZoneKey, state: ZoneState) {
    self.key = key
    self.state = state
  }

  /// The version of the deletions on hold; nil where none are.
  var heldVersion: String? { heldSince.map { DecisionVersion.hold(key, since: $0, number: heldNumber) } }
}

/// One feed by modification time, for a zone and record type, where there is no change feed.
package struct Pull: Hashable, Sendable {
  package var zone: ZoneKey
  package var type: String
  /// The latest modification time that was read; nil before the first.
  package var watermark: Int64?
  package var lastFetchAt: Int64?
  package var sweptAt: Int64?

  /// Milliseconds read again before the watermark: queries lag behind writes (reference 7.1).
  package static let overlap: Int64 = 60_000

  package init(zone: ZoneKey, type: String) {
    self.zone = zone
    self.type = type
  }
}

/// The wait of a scope. It outlives its end until a request gets through: a scope that refuses again waits longer.
package struct ScopeWait: Hashable, Sendable {
  package var scope: WaitScope
  package var until: Int64
  package var seconds: Double
  package var code: String
  package var message: String
  /// Our own back-off, which an operator may end; else the server asked for it.
  package var isOwn: Bool
  /// When the trouble began; nil where an earlier version did not store it.
  package var since: Int64?
  /// Whether another request has got through since.
  package var isOver = false
}

/// Who drives, or drove last.
package struct LeaseHolder: Hashable, Sendable {
  /// Raised by whoever takes over.
  package var fence: Int64
  package var pid: Int64
  package var host: String
  /// Nil while the driver sleeps: its lock alone says that it lives.
  package var expiresAt: Int64?
  /// The program that syncs, and since when; nil where an earlier version did not store it.
  package var program: String?
  package var since: Int64?
}

/// What the driver says of itself.
package struct DriverActivity: Hashable, Sendable {
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
  /// The last pass read every feed to its end after the last change that had been accepted by then.
  package var reachedEnd = false
}

/// A pass that some process asked the driver for.
package struct RequestedPass: Hashable, Sendable {
  package var id: Int64
  package var types: [String]
  package var startedAt: Int64?
  package var finishedAt: Int64?
  package var summary: String?
}

/// A record of which an app has to be told.
package struct Delivery: Hashable, Sendable {
  /// Higher than that of everything noted before.
  package var number: Int64
  package var key: RecordKey
  /// Empty where it is not known.
  package var type: String
  /// What a record that is gone from the mirror held last: its references say what goes before it.
  package var lastFields: [String: FieldValue]?
}

/// An operator's command, with how many rows it changed.
package struct AuditedCommand: Hashable, Sendable {
  package var at: Int64
  package var actor: String
  package var verb: String
  package var selection: String
  package var count: Int
}

/// Which operations might be sent, as far as the store can tell; oldest first.
package struct CandidateQuery: Hashable, Sendable {
  /// All are sendable: pending, or waiting with their back-off over; in a zone that does not wait and, if of a record,
  /// that is not to be deleted, nor kept here while it is gone on the server; nor is its record.
  package enum Kind: Hashable, Sendable {
    /// On zones themselves.
    case zoneOperations
    /// Whose record has to be read back first.
    case readBacks
    /// Whose assets have to be brought to the server first.
    case uploads
    /// Of a zone, that wait for nothing, with every member of their group, which waits for nothing outside of it.
    case free(ZoneKey)
    /// Of a zone, that were in a request which was refused whole.
    case suspects(ZoneKey)
    /// Of a zone, that wait for one of these.
    case waitingFor(ZoneKey, [Int64])
    /// The members of these groups.
    case members([String])
    /// That may be part of a ring: they wait for something, and something waits for them or their group.
    case entangled
  }

  package var kind: Kind
  package var now: Int64
  /// Saves are not sendable now.
  package var savesAreHeld = false
  /// What is free comes in this order of record types, and only then by age.
  package var typeOrder = TypeOrder()
  package var limit = Int.max
}

/// Record types of which the earlier are saved before the later, and deleted after them, where no reference says so.
package struct TypeOrder: Hashable, Sendable {
  package let types: [String]

  package init(_ types: [String] = []) { self.types = types }

  /// The place of an operation: types that are not named are saved last and deleted first.
  func rank(_ kind: OperationKind, _ type: String?) -> Int {
    let place = type.flatMap(types.firstIndex) ?? types.count
    return kind == .delete ? types.count - place : place
  }
}

/// Which operations a list shows.
package struct QueueQuery: Hashable, Sendable {
  package var filter: QueueFilter?
  /// Keeps those with the text in name, type, zone, state, operation, reason or error.
  package var text = ""
  package var now: Int64
}

/// Which events a list shows.
package struct EventQuery: Hashable, Sendable {
  package var filter: QueueFilter?
  package var now: Int64
}

/// Which records a list shows, by zone, type and name.
package struct RecordQuery: Hashable, Sendable {
  package var zone: ZoneKey?
  package var type: String?
  /// Keeps those with the text in name, type or fields.
  package var text = ""
  /// As the server is known to hold them; else with pending edits laid over them.
  package var mirrorOnly = false
}

/// Operations of one state, summed up.
package struct QueueTotals: Hashable, Sendable {
  package var count = 0
  package var bytes = 0
  package var oldest: Int64?
}

/// The other records that decide when an operation can be sent. Of a save, what the new values refer to; of a delete, what
/// the record referred to on the server.
package struct RecordLinks: Hashable, Sendable {
  /// Parents and `VALIDATE` references: the server refuses a save before their targets exist, and a delete of the target before
  /// the referring record is gone. The operation waits.
  package var blocking: Set<RecordKey> = []
  /// All other references. The server takes them in any order; a request carries them in a good one.
  package var plain: Set<RecordKey> = []
  /// What the server's record refers to, or may, and a save stops referring to: until then the deletion of the target would
  /// delete this record too, or be refused because of it.
  package var released: Set<RecordKey> = []

  package init(blocking: Set<RecordKey> = [], plain: Set<RecordKey> = [], released: Set<RecordKey> = []) {
    self.blocking = blocking
    self.plain = plain
    self.released = released
  }
}

/// Records of one zone name and type, counted.
package struct RecordTotal: Hashable, Sendable {
  package var zone: String
  package var type: String
  package var count: Int
}

/// Rows with the whole number of rows there are, so that a screen can scroll without loading all.
package struct Window<Element: Sendable & Hashable>: Sendable, Hashable {
  package var total: Int
  package var offset: Int
  package var rows: [Element]

  package init(total: Int, offset: Int, rows: [Element]) {
    self.total = total
    self.offset = offset
    self.rows = rows
  }

  package static var empty: Window { Window(total: 0, offset: 0, rows: []) }
}
