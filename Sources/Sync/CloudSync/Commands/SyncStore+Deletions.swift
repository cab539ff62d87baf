import CloudKit
import Facts
import Foundation

/// Deletions on hold, and a person's decision about them.
extension SyncStore {
  /// The number of records decided about in one transaction, so that others can write in between.
  static let slice = 500

  /// The deletions on hold, by zone.
  package func heldDeletions() throws(StoreError) -> [HeldDeletions] { try read { try Self.heldDeletions($0) } }

  static func heldDeletions(_ ledger: Ledger) throws -> [HeldDeletions] {
    try ledger.zones().compactMap { try heldDeletions($0, ledger) }
  }

  /// The deletions on hold in a zone; nil if there are none.
  private static func heldDeletions(_ zone: KnownZone?, _ ledger: Ledger) throws -> HeldDeletions? {
    guard let zone, let since = zone.heldSince, let version = try ledger.heldVersion(of: zone),
      case let records = try ledger.goneCount(zone.key), records > 0
    else { return nil }
    return HeldDeletions(
      zone: zone.key,
      version: version,
      records: records,
      isWholeZone: zone.state == .deleted,
      since: Date(milliseconds: since)
    )
  }

  /// Counts the queued edits of records on hold in a zone, or all saves that fail with the zone if all of it is on
  /// hold, and the records on hold whose asset files were deleted on the server.
  package func heldContents(of held: HeldDeletions) throws(StoreError) -> (edits: Int, withFiles: Int) {
    let zone = held.zone
    return try read { ledger in
      let edits = try held.isWholeZone ? ledger.countFailing(withDeletionOf: zone) : ledger.goneCountWithEdits(zone)
      return (edits: edits, withFiles: try ledger.goneCountWithFiles(zone))
    }
  }

  /// The number of records on hold in a zone that ``restoreDeletions(in:ifVersion:actor:)`` recreates.
  package func countToRestore(in zone: ZoneKey) throws(StoreError) -> Int {
    try read { try $0.goneCountToRestore(zone) }
  }

  /// Applies the deletions on hold in a zone. The store's policy resolves queued edits of the records; if the whole
  /// zone is gone, all its saves become dead letters, and `retry` recreates the zone.
  ///
  /// Deletions that join the hold after this has started are not accepted with it.
  ///
  /// - Parameter version: the version that was decided on; a hold that has changed since is left alone. Nil: the
  ///   current one.
  /// - Throws: `StoreError` of kind `invalid` if no version is given and the zone has nothing on hold.
  package func acceptDeletions(
    in zone: ZoneKey,
    ifVersion version: String? = nil,
    actor: String
  ) throws(StoreError) -> DeletionOutcome {
    try decide(.acceptDeletions(zone: zone.title), zone, version, actor) { known, names, now, ledger in
      if known.state == .deleted {
        let records = try ledger.recordCount(of: zone)
        try ZoneLoss.accept(zone, now: now, ledger)
        // A person decides about its changes from now on.
        let cause = FailureCause(missing: zone, code: ServerErrorCode.zoneNotFound.name)
        try ledger.begin(.fail(zone, cause, during: .deleted, through: ledger.lastOperation()), now: now)
        return records
      }
      let policy = try ledger.settings().merging()
      let hold = DeletionHold(reconciliation: Reconciliation(policy: policy, now: now, ledger: ledger))
      try hold.carryOut(names, of: zone)
      return names.count
    }
  }

  /// Recreates the records that the server deleted in a zone, as last known here and with their queued edits; also the
  /// zone itself if needed. The asset files were deleted on the server.
  ///
  /// A record with a change in flight stays on hold until the reply. A conflict stays a conflict, with the server's
  /// last fields as its base.
  ///
  /// Deletions that join the hold after this has started are not restored with it.
  ///
  /// - Parameter version: the version that was decided on; a hold that has changed since is left alone. Nil: the
  ///   current one.
  /// - Throws: `StoreError` of kind `invalid` if no version is given and the zone has nothing on hold.
  package func restoreDeletions(in zone: ZoneKey, ifVersion version: String? = nil, actor: String) throws(StoreError)
    -> DeletionOutcome
  {
    try decide(.restoreDeletions(zone: zone.title), zone, version, actor) { known, names, now, ledger in
      try claimQueue(ledger)
      if known.state == .deleted, scope.database == .shared {
        throw StoreError(
          .invalid,
          "zone \(zone.title) belongs to another user and cannot be recreated here; `cktop zones accept` accepts the deletion"
        )
      }
      var restored = 0
      for name in names where try Self.restore(RecordKey(zone, name), now: now, ledger) { restored += 1 }
      try DeletionHold.release(zone, ledger)
      return restored
    }
  }

  /// - Returns: whether the record will be recreated.
  private static func restore(_ key: RecordKey, now: Int64, _ ledger: Ledger) throws -> Bool {
    guard let record = try ledger.record(key),
      let operation = QueuedOperation(restoring: record, try ledger.operation(for: key), now: now)
    else { return false }
    try ledger.removeRecord(key)
    if operation.id == 0 { _ = try ledger.insert(operation) } else { try ledger.update(operation) }
    return operation.end == nil
  }

  private func decide(
    _ command: Event.Command,
    _ zone: ZoneKey,
    _ version: String?,
    _ actor: String,
    _ body: (KnownZone, _ names: [String], _ now: Int64, Ledger) throws -> Int
  ) throws(StoreError) -> DeletionOutcome {
    // The records of a lost zone may not all be on hold yet.
    try finishChores(nil)
    var outcome = DeletionOutcome()
    var (expected, left) = (version, Int.max)
    while true {
      let isFirst = left == .max
      let step = try write { ledger -> (done: Int?, onHold: HeldDeletions?) in
        let now = ledger.now
        let known = try ledger.zone(zone)
        let onHold = try Self.heldDeletions(known, ledger)
        if let expected, onHold?.version != expected { return (nil, onHold) }
        guard let known, let onHold else {
          throw StoreError(
            .invalid,
            "zone \(zone.title) has no deletions on hold; `cktop zones list` shows which zones have"
          )
        }
        if isFirst { try ledger.forgetLosses(zone) }
        if isFirst { try audit(command, onHold.records, actor, zone: zone.zone, now: now, ledger) }
        let done = try body(known, ledger.namesGone(zone, limit: Self.slice), now, ledger)
        // A different version at the next slice means that someone else changed the hold.
        return (done, try Self.heldDeletions(ledger.zone(zone), ledger))
      }
      outcome.onHold = step.onHold
      guard let done = step.done else {
        outcome.hasMoved = true
        return outcome
      }
      outcome.records += done
      // Records in flight stay on hold: stop when no more can be decided.
      guard let rest = step.onHold, rest.records < left else { return outcome }
      storage.letOthersWrite()
      (expected, left) = (rest.version, rest.records)
    }
  }
}

extension QueuedOperation {
  /// The change that recreates a record deleted on the server: its queued edit, or a new one. A queued delete ends.
  ///
  /// Nil if a change is in flight: the record waits for the reply.
  init?(restoring record: MirrorRecord, _ queued: QueuedOperation?, now: Int64) {
    guard queued?.state != .inFlight else { return nil }
    self = queued ?? QueuedOperation(.save, record.key, type: record.type, now: now)
    apply(state == .conflict ? .orphaned(record.fields, now: now) : .outlived(record.fields, now: now))
    bytes = changes.requestBytes
  }
}
