public import CloudKit
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

  /// Accepts the deletion of a zone with all its records. Queued changes of the zone end, and an undo can restore them.
  /// Changes that are accepted afterwards are for a new zone of the same name.
  ///
  /// - Returns: Whether it was accepted; false if it was queued already.
  /// - Throws: `StoreError` of kind `invalid` if the zone cannot be deleted now: outside the private database, a
  ///   default zone, or while its changes are being sent.
  @concurrent @discardableResult
  public func deleteZone(_ zoneID: CKRecordZone.ID) async throws(StoreError) -> Bool {
    try acceptDeletion(of: ZoneKey(zoneID))
  }

  package func acceptDeletion(of zone: ZoneKey) throws(StoreError) -> Bool {
    switch try enqueueZoneDeletion(zone) {
    case .enqueued: true
    case .unchanged: false
    case .refused(let reason): throw StoreError(.invalid, reason)
    }
  }

  /// Whether the records of a zone in the local copy are treated as deleted: its deletion is queued, or was carried
  /// out.
  package func hasZoneDelete(_ zone: ZoneKey) throws(StoreError) -> Bool { try deletedZones().contains(zone) }

  /// The zones whose records are treated as deleted.
  package func deletedZones() throws(StoreError) -> Set<ZoneKey> { try read { try $0.deletedZones() } }

  /// The number of queued record changes of a zone.
  package func queuedChanges(in zone: ZoneKey) throws(StoreError) -> Int {
    try read { try $0.changeCount(of: zone) }
  }

  /// The reason why no server takes a zone of this name; nil if one may, or is known to have it.
  package func nameProblem(of zone: ZoneKey) throws(StoreError) -> String? {
    let names = names
    return try read { try Self.nameProblem(of: zone, names, $0) }
  }

  /// - Parameter actor: the name of the operator who paused it before it was accepted; nil: it is ready to be sent.
  func enqueueZoneOperation(_ zone: ZoneKey, _ kind: OperationKind, pausedBy actor: String? = nil) throws(StoreError)
    -> Accepted
  {
    guard scope.database == .private else { return .refused("only the private database has zones of one's own") }
    guard !zone.isDefaultZone else { return .refused("\(zone.zone) can be neither made nor deleted") }
    if let problem = try nameProblem(of: zone) { return .refused(problem) }
    let start = now()
    return try write { ledger in
      let accepted = try enqueueZoneOperation(zone, kind, now: start, ledger)
      if let actor { try Self.pause([accepted], by: actor, now: start, ledger) }
      return accepted
    }
  }

  /// Accepts the operation. The changes that a zone delete supersedes are not sent from now on.
  private func enqueueZoneOperation(_ zone: ZoneKey, _ kind: OperationKind, now: Int64, _ ledger: Ledger) throws
    -> Accepted
  {
    try claimQueue(ledger)
    let queued = try ledger.zoneOperations(of: zone)
    let same = queued.first { $0.kind == kind }
    let others = queued.filter { $0.kind != kind }
    if kind == .zoneSave, same == nil, others.isEmpty, try ledger.zone(zone)?.state == .ready {
      return .unchanged
    }
    // Deleting the zone again also ends changes queued since the first zone delete.
    let endsChanges = try kind == .zoneDelete && ledger.changeCount(of: zone) > 0
    if try others.contains(where: { $0.state == .inFlight }) || (endsChanges && ledger.isSending(to: zone)) {
      return .refused("changes of zone \(zone.zone) are on their way; try again in a moment")
    }
    let cause = kind == .zoneDelete ? Cause.zoneDeleteEnqueued : .zoneKept
    try ledger.end(others.map(\.id), .superseded, cause, now: now)
    try ledger.insertZone(zone, state: .unconfirmed)
    let last = try ledger.lastOperation()
    try ledger.endSuperseding(in: zone)
    let accepted: Accepted
    if var same {
      let isHeld = same.state == .failed || same.state == .waiting
      if isHeld {
        same.apply(.edited(resolvesConflict: false, now: now))
        try ledger.update(same)
      }
      accepted = isHeld || endsChanges || !others.isEmpty ? .enqueued(same.id) : .unchanged
    } else {
      try ledger.changeActivity { $0.lastEnqueueAt = now }
      accepted = .enqueued(try ledger.insert(QueuedOperation(kind, RecordKey(zone, ""), now: now)))
    }
    if endsChanges { try ledger.begin(.supersede(zone, through: last), now: now) }
    return accepted
  }

  /// Ends a change of a zone whose delete was queued later. It can be restored.
  static func supersede(_ operation: QueuedOperation, now: Int64, _ ledger: Ledger) throws {
    if operation.errorCode != StoreError.unreadable {
      try ledger.add(DroppedChange(operation.changes, of: operation, .zoneDeleteEnqueued, at: now))
    }
    try ledger.end(operation, .superseded, .zoneDeleteEnqueued, now: now)
  }

  // MARK: - The end of a zone delete

  /// Acknowledges the creation or the deletion of a zone.
  static func acknowledgeZone(_ operation: QueuedOperation, now: Int64, _ ledger: Ledger) throws {
    let zone = operation.key.zoneKey
    if operation.kind == .zoneSave {
      try ledger.markCreatedHere(zone)
      return try ledger.end(operation, .acknowledged, .zoneDone, now: now)
    }
    try ledger.forgetFeed(zone, heldSince: nil)
    try ledger.end(operation, .acknowledged, .zoneDone, now: now)
    try ledger.begin(.empty(zone, isDeletedHere: true), limit: ZoneLoss.rows, now: now)
  }
}
