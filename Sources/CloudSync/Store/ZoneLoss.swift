import CloudKit
import Facts

/// Handles a zone that was deleted on the server.
///
/// Its records stay on hold until a person decides. When the deletion is accepted, queued edits are kept: each becomes
/// the creation of the whole record with the edit applied, so that an operator can recreate the zone with nothing
/// missing. Queued deletes end.
enum ZoneLoss {
  /// Handles an operation whose zone does not exist. A zone with records is put on hold. Otherwise a zone that we
  /// created or never saw is created (again), and for one that the server deleted the operation fails.
  static func meet(_ operation: inout QueuedOperation, _ error: WebServicesError, _ reconciliation: Reconciliation)
    throws
  {
    let ledger = reconciliation.ledger
    let zone = operation.key.zoneKey
    let known = try ledger.zone(zone)
    // The upload receipts belong to the old zone.
    operation.forgetGrants()
    let wasOthers = known?.state == .ready && known?.createdHere == false
    if known?.state == .ready {
      _ = try take(zone, reconciliation)
      // The edit may have become a creation of the whole record.
      if let whole = try ledger.operation(operation.id) {
        (operation.changes, operation.base, operation.baseTag) = (whole.changes, whole.base, whole.baseTag)
      }
    }
    if try ledger.zone(zone)?.heldSince != nil {
      operation.cause = .zoneMissing(zone: zone.zone, isDeleted: true)
      return
    }
    operation.apply(.attempted)
    if known?.state == .deleted || wasOthers || operation.attempts >= operation.maxAttempts {
      operation.apply(.failed(.zoneDeleted(zone: zone.zone, code: error.code.name)))
    } else {
      try ledger.setState(zone, .unconfirmed)
      operation.cause = .zoneMissing(zone: zone.zone, isDeleted: false)
      // The zone was created a moment ago and is missing again: wait before creating it once more.
      if operation.attempts > 1 {
        operation.apply(.backedOff(error, now: reconciliation.now, random: 0.5))
      }
    }
  }

  /// Applies the deletion of a zone on the server.
  ///
  /// - Returns: the number of records deleted with it; none if they are on hold.
  static func take(_ zone: ZoneKey, _ reconciliation: Reconciliation) throws -> Int {
    let (ledger, now) = (reconciliation.ledger, reconciliation.now)
    guard let known = try ledger.zone(zone) else { return 0 }
    let records = try ledger.recordCount(of: zone)
    // The zone has not been created yet, so the deleted one was an earlier one.
    if known.state == .unconfirmed, records == 0, known.heldSince == nil { return 0 }
    // A queued zone delete makes the deletion expected.
    let isGuarded = try reconciliation.policy.deletionGuard != nil && !ledger.hasZoneDelete(zone)
    guard isGuarded, records > 0 else {
      try accept(zone, now: now, ledger)
      return records
    }
    try ledger.touchRecords(of: zone, epoch: MirrorRecord.gone)
    try ledger.forgetFeed(zone, heldSince: known.heldSince ?? now)
    if known.state != .deleted {
      try EventLog.add(.zoneOnHold(zone: zone.zone, records: records), now: now, ledger)
    }
    return 0
  }

  /// Removes the zone from the mirror. Of a large zone, `forget` has removed most records before.
  static func accept(_ zone: ZoneKey, now: Int64, _ ledger: Ledger) throws {
    let hasZoneDelete = try ledger.hasZoneDelete(zone)
    for operation in try ledger.operations(ledger.dependentOperations(of: zone)) {
      try applyDeletion(to: operation, hasZoneDelete: hasZoneDelete, now: now, ledger)
    }
    try ledger.forgetContents(zone)
    try EventLog.add(.zoneDeleted(zone: zone.zone), now: now, ledger)
  }

  /// Removes some records of the zone from the mirror, and applies that to their changes.
  static func forget(_ names: [String], of zone: ZoneKey, now: Int64, _ ledger: Ledger) throws {
    let hasZoneDelete = try ledger.hasZoneDelete(zone)
    for name in names {
      let key = RecordKey(zone, name)
      if let operation = try ledger.operation(for: key), operation.kind == .delete || operation.baseTag != nil {
        try applyDeletion(to: operation, hasZoneDelete: hasZoneDelete, now: now, ledger)
      }
      try ledger.removeRecord(key)
    }
  }

  /// Applies the deletion of the zone to a change that depends on the server's record.
  private static func applyDeletion(to operation: QueuedOperation, hasZoneDelete: Bool, now: Int64, _ ledger: Ledger)
    throws
  {
    var operation = operation
    switch operation.kind {
    case .delete:
      guard operation.state != .inFlight else { return }
      return try ledger.end(operation, .acknowledged, .onServer(isDeletion: true), now: now)
    // Saved after the local zone delete, so the old record does not matter.
    case .save where hasZoneDelete: operation.apply(.startedOver)
    case .save:
      let known = try ledger.record(operation.key)
      operation.apply(.recreated(from: known?.fields ?? [:]))
    case .zoneSave, .zoneDelete: return
    }
    try ledger.update(operation)
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
          try ZoneLoss.forget(names, of: zone, now: now, ledger)
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
