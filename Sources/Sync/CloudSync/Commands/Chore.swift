import CloudKit
import Facts
import GRDB

/// Work on many rows that follows from a decision, done in transactions of at most `SyncStore.slice` rows, so that
/// other writers, such as an app that saves a record, wait for one of them only.
///
/// The decision stores its chore, and each transaction the place up to which it is done. After a crash the next sync
/// goes on from there.
enum Chore: Codable, Hashable {
  /// Ends the changes of a zone that its pending delete supersedes, up to an operation.
  case supersede(ZoneKey, through: Int64)
  /// Removes the records of a zone that the server deleted. Until it is done, `Ledger.hasZoneDelete` answers for the
  /// zone as for one with a pending delete.
  ///
  /// Changes become the creation of whole records; if a delete was queued here, they are meant for a new, empty zone.
  case empty(ZoneKey, isDeletedHere: Bool)
  /// Marks the records of a zone that the server deleted, which are on hold until a person decides.
  case hold(ZoneKey)
  /// Fails the changes of a zone up to an operation, while the zone is in a state.
  case fail(ZoneKey, FailureCause, during: ZoneState, through: Int64)
  /// Removes the records of another user, whose edits become the creation of whole records.
  case takeOver(by: String)
  /// Restarts the waits of operations that were set before the clock was moved back, at a time.
  case restartWaits(since: Int64)
  /// Removes old and excess history.
  case trimHistory

  /// How far a chore is done.
  struct Place: Codable, Hashable {
    /// The number of its parts that are done: operations and records are one each.
    var part = 0
    /// The last operation of the current part.
    var operation: Int64 = 0
    /// The last record of the current part.
    var record = ""
  }

  /// The zone that it empties; nil for another chore.
  var emptiedZone: ZoneKey? { if case .empty(let zone, _) = self { zone } else { nil } }

  /// Works on the next rows.
  ///
  /// - Parameter limit: the number of rows.
  /// - Returns: the place from which to go on; nil if it is done.
  func step(from place: Place, limit: Int, now: Int64, _ ledger: Ledger) throws -> Place? {
    var slice = ChoreSlice(place: place, left: limit, ledger: ledger)
    switch self {
    case .supersede(let zone, let last):
      guard try ledger.hasZoneDelete(zone) else { return nil }
      try slice.operations({ try ledger.changes(of: zone, after: $0, through: last, limit: $1) }) {
        try SyncStore.supersede($0, now: now, ledger)
      }
    case .empty(let zone, let isDeletedHere):
      try slice.operations({ try ledger.changes(of: zone, after: $0, limit: $1) }) { operation in
        var operation = operation
        isDeletedHere
          ? operation.apply(.startedOver) : operation.loseRecord(try ledger.record(operation.key), hasZoneDelete: false)
        try ledger.update(operation)
      }
      try slice.records({ try ledger.names(of: zone, after: $0, limit: $1).map { RecordKey(zone, $0) } }) {
        try ledger.removeRecord($0)
      }
      // The app gets the zone after its records.
      if slice.isDone { try ledger.noteGone(zone) }
      if slice.isDone, isDeletedHere { try ledger.concludeDelete(of: zone) }
    case .hold(let zone):
      guard let known = try ledger.zone(zone), known.state == .deleted, known.heldSince != nil else { return nil }
      try slice.records({ try ledger.names(of: zone, after: $0, limit: $1).map { RecordKey(zone, $0) } }) {
        try ledger.touch($0, epoch: MirrorRecord.gone)
      }
    case .fail(let zone, let cause, let state, let last):
      // A person may have retried one of them, which recreates the zone.
      guard try ledger.zone(zone)?.state == state else { return nil }
      try slice.operations({ try ledger.changes(of: zone, after: $0, through: last, limit: $1) }) { operation in
        // A conflict about a record that is gone with its zone cannot be decided; one in a zone to create can.
        guard operation.state.isOpen || (state == .deleted && operation.state == .conflict) else { return }
        var operation = operation
        operation.apply(.failed(cause))
        try ledger.update(operation)
      }
    case .takeOver(let user):
      func makeWhole(_ edit: QueuedOperation?) throws {
        guard var edit, edit.kind == .save else { return }
        edit.apply(.takenOver(from: try ledger.record(edit.key)?.fields ?? [:], by: user, now: now))
        try ledger.update(edit)
      }
      try slice.records({ _, limit in try ledger.recordKeys(limit: limit) }) { key in
        // In the same transaction, so that it is done once, with the record as its base.
        try makeWhole(ledger.operation(for: key))
        try ledger.removeRecord(key)
      }
      // Edits of records that are not in the local copy have other data of the other user.
      try slice.operations({ try ledger.all("SELECT id FROM operations WHERE id > ? ORDER BY id LIMIT ?", [$0, $1]) }) {
        try makeWhole($0)
      }
      if slice.isDone { try ledger.forgetServer() }
    case .restartWaits(let last):
      try slice.operations({ try ledger.operationIDs(in: .waiting, after: $0, limit: $1) }) { operation in
        try SyncStore.shortenWait(of: operation, since: last, now: now, ledger)
      }
    case .trimHistory: return try Retention.apply(now: now, ledger) ? place : nil
    }
    return slice.isDone ? nil : slice.place
  }
}

/// The rows that one step of a chore works on, in parts that follow one another.
private struct ChoreSlice {
  var place: Chore.Place
  /// The number of rows that may still be written.
  var left: Int
  let ledger: Ledger
  /// The number of parts so far.
  private var parts = 0

  init(place: Chore.Place, left: Int, ledger: Ledger) { (self.place, self.left, self.ledger) = (place, left, ledger) }

  /// Whether there are no more rows.
  var isDone: Bool { place.part == parts }

  /// - Parameter ids: reads the next operations after one, at most a number of them.
  mutating func operations(
    _ ids: (_ last: Int64, _ limit: Int) throws -> [Int64],
    _ body: (QueuedOperation) throws -> Void
  ) throws {
    try part { place, left, ledger in
      let ids = try ids(place.operation, left)
      for operation in try ledger.operations(ids) { try body(operation) }
      place.operation = ids.last ?? place.operation
      return ids.count
    }
  }

  /// - Parameter keys: reads the next records after one, at most a number of them.
  mutating func records(
    _ keys: (_ last: String, _ limit: Int) throws -> [RecordKey],
    _ body: (RecordKey) throws -> Void
  ) throws {
    try part { place, left, _ in
      let keys = try keys(place.record, left)
      for key in keys { try body(key) }
      place.record = keys.last?.name ?? place.record
      return keys.count
    }
  }

  private mutating func part(_ body: (inout Chore.Place, _ left: Int, Ledger) throws -> Int) throws {
    defer { parts += 1 }
    guard place.part == parts, left > 0 else { return }
    let count = try body(&place, left, ledger)
    if count < left { place.part += 1 }
    left -= count
  }
}

/// A row of the table `chores`.
struct StoredChore: Codable, FetchableRecord, MutablePersistableRecord {
  static let databaseTableName = "chores"
  var id: Int64?
  var chore: Chore
  var place: Chore.Place

  mutating func didInsert(_ inserted: InsertionSuccess) { id = inserted.rowID }
}

/// The table `chores`.
extension Ledger {
  /// The chores that are not done, oldest first. There are hardly ever any, and each save asks.
  func chores() throws -> [StoredChore] {
    try hasChores() ? StoredChore.order(Column("id")).fetchAll(database) : []
  }

  func hasChores() throws -> Bool { try one("SELECT EXISTS (SELECT 1 FROM chores)") ?? false }

  /// Works on the first rows of a chore in this transaction, and stores it if there are more.
  ///
  /// - Parameter limit: the number of rows that this transaction may write.
  func begin(_ chore: Chore, limit: Int = SyncStore.slice, now: Int64) throws {
    // Chores are done in the order of their decisions.
    let first = Chore.Place()
    guard let place = try hasChores() ? first : chore.step(from: first, limit: limit, now: now, self) else { return }
    var stored = StoredChore(chore: chore, place: place)
    try stored.insert(database)
    hasChore = true
  }

  /// Works on the next rows of the first chore.
  func continueChore(now: Int64) throws {
    guard var stored = try StoredChore.order(Column("id")).fetchOne(database) else { return }
    guard let place = try stored.chore.step(from: stored.place, limit: SyncStore.slice, now: now, self) else {
      try stored.delete(database)
      return
    }
    stored.place = place
    try stored.update(database)
  }

  /// The last of the changes of a zone that its pending delete supersedes and that have not ended.
  func superseded(in zone: ZoneKey) throws -> Int64? {
    try chores().compactMap { if case .supersede(zone, let last) = $0.chore { last } else { nil } }.max()
  }

  /// Keeps the changes of a zone whose delete is no longer queued.
  func endSuperseding(in zone: ZoneKey) throws {
    for stored in try chores() {
      if case .supersede(zone, _) = stored.chore { try stored.delete(database) }
    }
  }
}

extension SyncStore {
  /// Finishes the chores, also those that a crash interrupted, with a transaction for each slice. Writes nothing if
  /// there are none.
  ///
  /// - Parameter lease: the syncing process's; nil for a process that carries out a command.
  func finishChores(_ lease: Lease?) throws(StoreError) {
    while try read({ try $0.hasChores() }) {
      storage.letOthersWrite()
      if let lease {
        try write(lease) { ledger, now in try ledger.continueChore(now: now) }
      } else {
        try write { try $0.continueChore(now: $0.now) }
      }
    }
  }
}
