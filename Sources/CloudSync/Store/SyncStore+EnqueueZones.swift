import CloudKit
import Facts

/// Accepting changes of zones themselves.
extension SyncStore {
  /// Accepts the creation of a zone. Unchanged if it exists or is queued already.
  package func enqueueZone(_ zone: ZoneKey) throws(StoreError) -> Accepted {
    try enqueueZoneOperation(zone, .zoneSave)
  }

  /// Accepts the deletion of a zone with all its records. Queued changes of the zone end as superseded and can be
  /// restored as dropped changes.
  package func enqueueZoneDeletion(_ zone: ZoneKey) throws(StoreError) -> Accepted {
    try enqueueZoneOperation(zone, .zoneDelete)
  }

  /// The number of queued record changes of a zone.
  package func queuedChanges(in zone: ZoneKey) throws(StoreError) -> Int {
    try read { try $0.changeCount(of: zone) }
  }

  private func enqueueZoneOperation(_ zone: ZoneKey, _ kind: OperationKind) throws(StoreError) -> Accepted {
    guard scope.database == .private else { return .refused("only the private database has zones of one's own") }
    guard !zone.isDefaultZone else { return .refused("\(zone.zone) can be neither made nor deleted") }
    if let problem = NameRule.zoneNameProblem(zone.zone) { return .refused(problem) }
    let now = now()
    return try write { ledger in
      try claimQueue(ledger)
      let queued = try ledger.operations(of: zone)
      let same = queued.first { $0.kind == kind }
      let isThere = try ledger.zone(zone)?.state == .ready && !queued.contains { $0.kind == .zoneDelete }
      if kind == .zoneSave, same == nil, isThere { return .unchanged }
      // Deleting the zone again also ends changes queued since the first zone delete.
      let ended = queued.filter { $0.id != same?.id && (kind == .zoneDelete || $0.kind == .zoneDelete) }
      if ended.contains(where: { $0.state == .inFlight }) {
        return .refused("changes of zone \(zone.zone) are on their way; try again in a moment")
      }
      for operation in ended {
        let cause = kind == .zoneDelete ? Cause.zoneDeleteEnqueued : .zoneKept
        if kind == .zoneDelete, !operation.key.name.isEmpty, operation.errorCode != StoreError.unreadable {
          try ledger.add(DroppedChange(operation.changes, of: operation, cause, at: now))
        }
        try ledger.end(operation, .superseded, cause, now: now)
      }
      if var same {
        let isHeld = same.state == .failed || same.state == .waiting
        guard isHeld || !ended.isEmpty else { return .unchanged }
        if isHeld { try edited(&same, group: nil, now: now, ledger) }
        return .enqueued(same.id)
      }
      try ledger.insertZone(zone, state: .unconfirmed)
      try ledger.changeActivity { $0.lastEnqueueAt = now }
      return .enqueued(try ledger.insert(QueuedOperation(zone, kind, now: now)))
    }
  }
}
