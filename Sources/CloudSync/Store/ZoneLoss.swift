import CloudKit

/// A zone that is gone on the server: what the mirror had of it goes, and no queued edit may go with it.
///
/// Edits become the creation of the whole record as it was with the edit applied, so that nothing is missing when an
/// operator has the zone made anew; deletions have come true.
enum ZoneLoss {
  /// An operation met a zone that is not there. A zone that we made, or that was never seen, is made (again); one that the
  /// server deleted is an operator's matter.
  static func meet(_ operation: inout QueuedOperation, _ error: WebServicesError, now: Int64, _ ledger: any Ledger)
    throws
  {
    let zone = operation.key.zoneKey
    let known = try ledger.zone(zone)
    let wasOthers = known?.state == .ready && known?.createdHere == false
    if known?.state == .ready {
      try take(zone, now: now, ledger)
      // What was an edit is a whole record now.
      if let whole = try ledger.operation(operation.id) {
        (operation.changes, operation.base, operation.baseTag) = (whole.changes, whole.base, whole.baseTag)
      }
    }
    if known?.state == .deleted || wasOthers || operation.attempts >= operation.maxAttempts {
      operation.fail(error.code.name, "zone \(zone.zone) was deleted on the server; retry makes it anew")
    } else {
      try ledger.setState(zone, .unconfirmed)
      operation.reason = "waits for zone \(zone.zone)"
    }
  }

  static func take(_ zone: ZoneKey, now: Int64, _ ledger: any Ledger) throws {
    let queued = try ledger.operations(of: zone).filter { !$0.key.name.isEmpty }
    for var operation in queued {
      switch operation.kind {
      case .delete where operation.state != .inFlight:
        try ledger.end(operation, .acknowledged, "the server does not hold it", now: now)
      case .save where operation.baseTag != nil:
        let known = try ledger.record(operation.key)
        operation.recreate(from: known?.fields ?? [:])
        operation.base = [:]
        try ledger.update(operation)
      case .save, .delete, .zoneSave, .zoneDelete: continue
      }
    }
    try ledger.forgetContents(zone)
    try EventLog.add("zone", "zone \(zone.zone) was deleted on the server", now: now, ledger)
  }
}
