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
    operation.attempts += 1
    if known?.state == .deleted || wasOthers || operation.attempts >= operation.maxAttempts {
      operation.fail(.zoneDeleted(zone: zone.zone, code: error.code.name))
    } else {
      try ledger.setState(zone, .unconfirmed)
      operation.cause = .zoneMissing(zone: zone.zone, isDeleted: false)
      // The zone was created a moment ago and is missing again: wait before creating it once more.
      if operation.attempts > 1, !operation.isHeldByPerson {
        operation.backOff(error, now: reconciliation.now, random: 0.5)
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
    let isGuarded = try reconciliation.policy.deletionGuard != nil && !ledger.isDoomed(zone)
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

  /// Removes the zone from the mirror.
  static func accept(_ zone: ZoneKey, now: Int64, _ ledger: Ledger) throws {
    let isDoomed = try ledger.isDoomed(zone)
    for id in try ledger.dependentOperations(of: zone) {
      guard var operation = try ledger.operation(id) else { continue }
      switch operation.kind {
      case .delete where operation.state != .inFlight:
        try ledger.end(operation, .acknowledged, .onServer(isDeletion: true), now: now)
      // Saved after the local zone delete, so the old record does not matter.
      case .save where isDoomed:
        operation.startOver()
        try ledger.update(operation)
      case .save where operation.baseTag != nil:
        let known = try ledger.record(operation.key)
        operation.recreate(from: known?.fields ?? [:])
        try ledger.update(operation)
      case .save:
        operation.forgetGrants()
        try ledger.update(operation)
      case .delete, .zoneSave, .zoneDelete: continue
      }
    }
    try ledger.forgetContents(zone)
    try EventLog.add(.zoneDeleted(zone: zone.zone), now: now, ledger)
  }
}
