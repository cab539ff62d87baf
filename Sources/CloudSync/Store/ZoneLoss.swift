import CloudKit
import Facts

/// The decision about a zone that was deleted on the server.
///
/// Its records stay on hold until a person decides. When the deletion is accepted, queued edits are kept: each becomes
/// the creation of the whole record with the edit applied, so that an operator can recreate the zone with nothing
/// missing. Queued deletes end.
enum ZoneLoss: Hashable {
  /// The zone is unknown, or has not been created yet, so that the deleted one was an earlier one.
  case ignored
  case onHold(records: Int, since: Int64?, isKnown: Bool)
  case accepted(records: Int)

  /// - Parameter hasZoneDelete: whether a delete of the zone is queued, so that its deletion is expected.
  init(of zone: KnownZone?, records: Int, hasZoneDelete: Bool, isGuarded: Bool) {
    guard let zone, zone.state != .unconfirmed || records > 0 || zone.heldSince != nil else {
      self = .ignored
      return
    }
    self =
      isGuarded && !hasZoneDelete && records > 0
      ? .onHold(records: records, since: zone.heldSince, isKnown: zone.state == .deleted) : .accepted(records: records)
  }

  /// The number of records deleted with the zone; none if they are on hold.
  var deleted: Int { if case .accepted(let records) = self { records } else { 0 } }

  func write(_ zone: ZoneKey, now: Int64, _ ledger: Ledger) throws {
    switch self {
    case .ignored: break
    case .accepted: try Self.accept(zone, now: now, ledger)
    case .onHold(let records, let since, let isKnown):
      try ledger.touchRecords(of: zone, epoch: MirrorRecord.gone)
      try ledger.forgetFeed(zone, heldSince: since ?? now)
      if !isKnown { try EventLog.add(.zoneOnHold(zone: zone.zone, records: records), now: now, ledger) }
    }
  }

  /// Applies the deletion of a zone on the server.
  ///
  /// - Returns: the number of records deleted with it; none if they are on hold.
  static func take(_ zone: ZoneKey, _ reconciliation: Reconciliation) throws -> Int {
    let ledger = reconciliation.ledger
    let loss = ZoneLoss(
      of: try ledger.zone(zone),
      records: try ledger.recordCount(of: zone),
      hasZoneDelete: try ledger.hasZoneDelete(zone),
      isGuarded: reconciliation.policy.deletionGuard != nil
    )
    try loss.write(zone, now: reconciliation.now, ledger)
    return loss.deleted
  }

  /// Removes the zone from the mirror. Of a large zone, `forget` has removed most records before.
  static func accept(_ zone: ZoneKey, now: Int64, _ ledger: Ledger) throws {
    try lose(ledger.operations(ledger.dependentOperations(of: zone)), of: zone, ledger)
    try ledger.forgetContents(zone)
    try EventLog.add(.zoneDeleted(zone: zone.zone), now: now, ledger)
  }

  /// Removes some records of the zone from the mirror, and applies that to their changes.
  static func forget(_ names: [String], of zone: ZoneKey, _ ledger: Ledger) throws {
    let keys = names.map { RecordKey(zone, $0) }
    try lose(keys.compactMap { try ledger.operation(for: $0) }, of: zone, ledger)
    for key in keys { try ledger.removeRecord(key) }
  }

  private static func lose(_ operations: [QueuedOperation], of zone: ZoneKey, _ ledger: Ledger) throws {
    let hasZoneDelete = try ledger.hasZoneDelete(zone)
    for var operation in operations {
      let known = operation.kind == .save ? try ledger.record(operation.key) : nil
      operation.loseRecord(known, hasZoneDelete: hasZoneDelete)
      try ledger.update(operation)
    }
  }
}

/// The facts of the store about an operation's record and its zone.
struct RecordFacts: Hashable {
  /// The record in the mirror.
  var record: MirrorRecord?
  /// Whether the mirror has the record, even in an unreadable row.
  var isKnown = false
  /// Whether the server deleted it, and that has not been applied.
  var isGone = false
  var epoch: Int64 = 0
  var zone: KnownZone?
  /// The number of the zone's records in the mirror.
  var records = 0
  /// Whether a delete of the zone is queued.
  var hasZoneDelete = false
  /// Whether deletions may be put on hold.
  var isGuarded = false
}

extension RecordFacts {
  /// - Parameter zoneIsMissing: whether to read what decides about a missing zone; else about a missing record.
  init(of operation: QueuedOperation, zoneIsMissing: Bool, _ policy: MergePolicy, _ ledger: Ledger) throws {
    self.init()
    let (key, zone) = (operation.key, operation.key.zoneKey)
    record = operation.kind == .save ? try ledger.record(key) : nil
    isKnown = try record != nil || ledger.changeTag(key) != nil
    isGone = try ledger.isGone(key)
    self.zone = try ledger.zone(zone)
    epoch = self.zone?.epoch ?? 0
    records = try zoneIsMissing && self.zone?.state == .ready ? ledger.recordCount(of: zone) : 0
    hasZoneDelete = try ledger.hasZoneDelete(zone)
    isGuarded = policy.deletionGuard != nil
  }
}

extension QueuedOperation {
  /// Applies the deletion of its zone to a change that depends on the server's record: a delete ends.
  mutating func loseRecord(_ known: MirrorRecord?, hasZoneDelete: Bool) {
    guard kind == .delete || baseTag != nil else { return }
    // Saved after the local zone delete, so the old record does not matter.
    apply(hasZoneDelete ? .startedOver : .recreated(from: known?.fields ?? [:]))
  }

  /// Handles an operation whose zone does not exist. A zone with records is put on hold. Otherwise a zone that we
  /// created or never saw is created (again). For one that the server deleted, or that only its owner can create, the
  /// operation fails. A delete ends.
  ///
  /// - Returns: what is to be written before the operation.
  mutating func meetMissingZone(_ error: WebServicesError, _ facts: RecordFacts, now: Int64) -> [StoreWrite] {
    let (zone, known) = (key.zoneKey, facts.zone)
    var writes: [StoreWrite] = []
    if kind == .delete {
      apply(.startedOver)
      return [.remove(key)]
    }
    var isOnHold = known?.heldSince != nil
    // The upload receipts belong to the old zone.
    dropReceipts()
    if known?.state == .ready {
      let loss = ZoneLoss(
        of: known,
        records: facts.records,
        hasZoneDelete: facts.hasZoneDelete,
        isGuarded: facts.isGuarded
      )
      writes.append(.lose(zone, loss))
      if case .onHold = loss { isOnHold = true } else { isOnHold = false }
      if !isOnHold { loseRecord(facts.record, hasZoneDelete: facts.hasZoneDelete) }
    }
    if isOnHold {
      cause = .zoneMissing(zone: zone.zone, isDeleted: true)
      return writes
    }
    apply(.attempted)
    let wasOthers = known?.state == .ready && known?.createdHere == false
    if known?.state == .deleted || wasOthers || attempts >= maxAttempts || !zone.canBeCreated {
      apply(.failed(FailureCause(missing: zone, code: error.code.name)))
    } else {
      writes.append(.setState(zone, .unconfirmed))
      cause = .zoneMissing(zone: zone.zone, isDeleted: false)
      // The zone was created a moment ago and is missing again: wait before creating it once more.
      if attempts > 1 { apply(.backedOff(error, now: now, random: 0.5)) }
    }
    return writes
  }
}

extension FailureCause {
  /// The failure of a change to a zone that the server does not have.
  init(missing zone: ZoneKey, code: String) {
    self = zone.canBeCreated ? .zoneDeleted(zone: zone.zone, code: code) : .zoneUnavailable(zone: zone.zone, code: code)
  }
}

extension SyncStore {
  /// Does most of what `ZoneLoss.take` does in a large zone, in transactions of its own: marks the records, or removes
  /// them if they are not to be put on hold. After a crash, the server reports the loss of the zone again.
  ///
  /// - Returns: the number of records removed.
  func prepareLoss(of zone: ZoneKey, policy: MergePolicy, _ lease: Lease) throws(StoreError) -> Int {
    let records = try read { try $0.recordCount(of: zone) }
    guard records > Self.slice else { return 0 }
    let isGuarded = try read { try policy.deletionGuard != nil && !$0.hasZoneDelete(zone) }
    var (last, done) = ("", 0)
    // The rest is left for the transaction that decides about the zone.
    while records - done > Self.slice {
      storage.letOthersWrite()
      let names = try write(lease) { ledger, now in
        let names = try ledger.names(of: zone, after: last, limit: Self.slice)
        if isGuarded {
          for name in names { try ledger.touch(RecordKey(zone, name), epoch: MirrorRecord.gone) }
        } else {
          try ZoneLoss.forget(names, of: zone, ledger)
          try ledger.count(fetched: names.count, now: now)
        }
        return names
      }
      guard let name = names.last else { break }
      (last, done) = (name, done + names.count)
    }
    return isGuarded ? 0 : done
  }
}
