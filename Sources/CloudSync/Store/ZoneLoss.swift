import CloudKit
import Facts

/// A zone that is gone on the server, with what the mirror has of it.
///
/// What was there is held back until somebody decides. Once it goes, no queued edit may go with it: edits become the
/// creation of the whole record as it was with the edit applied, so that nothing is missing when an operator has the zone
/// made anew; deletions have come true.
enum ZoneLoss {
  /// An operation met a zone that is not there. One that had records is held back; else a zone that we made, or that was
  /// never seen, is made (again), and one that the server deleted is an operator's matter.
  static func meet(_ operation: inout QueuedOperation, _ error: WebServicesError, _ reconciliation: Reconciliation)
    throws
  {
    let ledger = reconciliation.ledger
    let zone = operation.key.zoneKey
    let known = try ledger.zone(zone)
    // Receipts are of the zone that was.
    operation.forgetGrants()
    let wasOthers = known?.state == .ready && known?.createdHere == false
    if known?.state == .ready {
      _ = try take(zone, reconciliation)
      // What was an edit is a whole record now.
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
      // Made a moment ago, and not there: it is not made again at once.
      if operation.attempts > 1, !operation.isHeldByPerson {
        operation.backOff(error, now: reconciliation.now, random: 0.5)
      }
    }
  }

  /// The server says that the zone is gone.
  ///
  /// - Returns: how many records went with it; none where they are held back.
  static func take(_ zone: ZoneKey, _ reconciliation: Reconciliation) throws -> Int {
    let (ledger, now) = (reconciliation.ledger, reconciliation.now)
    guard let known = try ledger.zone(zone) else { return 0 }
    let records = try ledger.recordCount(of: zone)
    // One that is still to be made is another than the one that was there once.
    if known.state == .unconfirmed, records == 0, known.heldSince == nil { return 0 }
    // A deletion that is queued here is what was wanted.
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

  /// Lets go what the mirror has of the zone.
  static func accept(_ zone: ZoneKey, now: Int64, _ ledger: Ledger) throws {
    let isDoomed = try ledger.isDoomed(zone)
    for id in try ledger.dependentOperations(of: zone) {
      guard var operation = try ledger.operation(id) else { continue }
      switch operation.kind {
      case .delete where operation.state != .inFlight:
        try ledger.end(operation, .acknowledged, .onServer(isDeletion: true), now: now)
      // Accepted after the zone's deletion here: nothing of what was there is meant.
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
