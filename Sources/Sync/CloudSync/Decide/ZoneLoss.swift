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
      try ledger.forgetFeed(zone, heldSince: since ?? now)
      if !isKnown { try EventLog.add(.zoneOnHold(zone: zone.title, records: records), in: zone, now: now, ledger) }
      try ledger.begin(.hold(zone), limit: Self.rows, now: now)
    }
  }

  /// Applies the deletion of a zone on the server.
  ///
  /// - Returns: the number of records deleted with it; none if they are on hold.
  static func take(_ zone: ZoneKey, _ reconciliation: Reconciliation) throws -> Int {
    let ledger = reconciliation.ledger
    // Its deletion was decided about.
    if try ledger.chores().contains(where: { $0.chore.emptiedZone == zone }) { return 0 }
    let loss = ZoneLoss(
      of: try ledger.zone(zone),
      records: try ledger.recordCount(of: zone),
      hasZoneDelete: try ledger.isDeleteQueued(zone),
      isGuarded: reconciliation.policy.deletionGuard != nil
    )
    try loss.write(zone, now: reconciliation.now, ledger)
    return loss.deleted
  }

  /// Removes the zone from the mirror.
  static func accept(_ zone: ZoneKey, now: Int64, _ ledger: Ledger) throws {
    let isDeletedHere = try ledger.isDeleteQueued(zone)
    try ledger.forgetFeed(zone, heldSince: nil)
    try EventLog.add(.zoneDeleted(zone: zone.title), in: zone, now: now, ledger)
    try ledger.begin(.empty(zone, isDeletedHere: isDeletedHere), limit: rows, now: now)
  }

  /// The number of the zone's rows that are written at once: the transaction may also apply a whole reply.
  static let rows = SyncStore.slice - Planner.requestLimit
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
      cause = .zoneMissing(zone: zone.title, isDeleted: true)
      return writes
    }
    apply(.attempted)
    let wasOthers = known?.state == .ready && known?.createdHere == false
    if known?.state == .deleted || wasOthers || attempts >= maxAttempts || !zone.canBeCreated {
      apply(.failed(FailureCause(missing: zone, code: error.code.name)))
    } else {
      writes.append(.setState(zone, .unconfirmed))
      cause = .zoneMissing(zone: zone.title, isDeleted: false)
      // The zone was created a moment ago and is missing again: wait before creating it once more.
      if attempts > 1 { apply(.backedOff(error, now: now, random: 0.5)) }
    }
    return writes
  }
}

extension FailureCause {
  /// The failure of a change to a zone that the server does not have.
  init(missing zone: ZoneKey, code: String) {
    let title = zone.title
    self = zone.canBeCreated ? .zoneDeleted(zone: title, code: code) : .zoneUnavailable(zone: title, code: code)
  }
}
