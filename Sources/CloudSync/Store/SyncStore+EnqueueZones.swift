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
  /// - Throws: `StoreError` of kind `invalid` if the zone cannot be deleted now: outside the private database, a default
  ///   zone, or while its changes are being sent.
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

  /// Whether the deletion of a zone is queued. Its records in the local copy are then as good as gone.
  package func hasZoneDelete(_ zone: ZoneKey) throws(StoreError) -> Bool { try read { try $0.hasZoneDelete(zone) } }

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
    let accepted = try write { ledger in
      let accepted = try enqueueZoneOperation(zone, kind, now: start, ledger)
      if let actor { try Self.pause([accepted], by: actor, now: start, ledger) }
      return accepted
    }
    if kind == .zoneDelete { try finishSuperseding(zone) }
    return accepted
  }

  /// Ends the changes that a pending zone delete supersedes, in transactions of their own. Writes nothing if there are
  /// none.
  func finishSuperseding(_ zone: ZoneKey) throws(StoreError) {
    while try read({ try Self.superseded(in: zone, limit: 1, $0) }).isEmpty == false {
      let now = now()
      try write { try Self.endSuperseded(in: zone, now: now, $0) }
    }
  }

  /// Accepts the operation. Of the changes that a zone delete supersedes, it ends the first ones; the others, which are
  /// not sent from now on, end in transactions of their own, after a crash when the next sync begins.
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
    try ledger.supersede(zone, through: endsChanges ? ledger.lastOperation() : nil)
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
    if endsChanges { try Self.endSuperseded(in: zone, now: now, ledger) }
    return accepted
  }

  /// Ends the next changes that a pending zone delete supersedes.
  private static func endSuperseded(in zone: ZoneKey, now: Int64, _ ledger: Ledger) throws {
    let ids = try superseded(in: zone, limit: slice, ledger)
    for operation in try ledger.operations(ids) { try supersede(operation, now: now, ledger) }
  }

  /// The oldest changes that a pending zone delete supersedes.
  private static func superseded(in zone: ZoneKey, limit: Int, _ ledger: Ledger) throws -> [Int64] {
    guard let last = try ledger.zone(zone)?.supersededThrough, try ledger.hasZoneDelete(zone) else { return [] }
    return try ledger.changes(of: zone, through: last, limit: limit)
  }

  /// Ends a change of a zone whose delete was queued later. It can be restored.
  static func supersede(_ operation: QueuedOperation, now: Int64, _ ledger: Ledger) throws {
    if operation.errorCode != StoreError.unreadable {
      try ledger.add(DroppedChange(operation.changes, of: operation, .zoneDeleteEnqueued, at: now))
    }
    try ledger.end(operation, .superseded, .zoneDeleteEnqueued, now: now)
  }

  // MARK: - The end of a zone delete

  /// The changes behind a zone delete that `clear` has started over, in their generations.
  typealias Restarted = [Int64: Int64]

  /// Removes the records of a zone that the server has deleted, and starts the changes behind its zone delete over, in
  /// transactions of their own. What is left is done by the one that acknowledges the zone delete. After a crash it is
  /// verified, and all of this is repeated.
  func clear(_ zone: ZoneKey, _ lease: Lease) throws(StoreError) -> Restarted {
    let isSmall = try read { try $0.recordCount(of: zone) + $0.changeCount(of: zone) <= Self.slice }
    if isSmall { return [:] }
    // Without its token, the zone would be fetched in full.
    try write(lease) { ledger, now in try ledger.forgetFeed(zone, heldSince: nil) }
    var hasMore = true
    while hasMore {
      storage.letOthersWrite()
      hasMore = try write(lease) { ledger, now in
        let names = try ledger.names(of: zone, limit: Self.slice)
        for name in names { try ledger.removeRecord(RecordKey(zone, name)) }
        return names.count == Self.slice
      }
    }
    let ids = try read { try $0.changes(of: zone) }
    return try writeInSlices(ids, lease) { slice, ledger, now in
      var restarted: Restarted = [:]
      while let id = slice.next() {
        if let generation = try Self.startOver(id, now: now, ledger) { restarted[id] = generation }
      }
      return restarted
    }.reduce(into: [:]) { $0.merge($1) { $1 } }
  }

  /// Applies the deletion of its zone on the server to a change: one queued before the zone delete is superseded, a later
  /// one is meant for the new zone, which is empty.
  ///
  /// - Returns: the generation of a change that is still queued.
  private static func startOver(_ id: Int64, now: Int64, _ ledger: Ledger) throws -> Int64? {
    guard var operation = try ledger.operation(id) else { return nil }
    if try id <= ledger.zone(operation.key.zoneKey)?.supersededThrough ?? 0 {
      try supersede(operation, now: now, ledger)
      return nil
    }
    operation.apply(.startedOver)
    try ledger.update(operation)
    return operation.end == nil ? operation.generation : nil
  }

  /// Acknowledges the creation or the deletion of a zone.
  static func acknowledgeZone(
    _ operation: QueuedOperation,
    _ restarted: Restarted,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    let zone = operation.key.zoneKey
    if operation.kind == .zoneSave {
      try ledger.markCreatedHere(zone)
      return try ledger.end(operation, .acknowledged, .zoneDone, now: now)
    }
    // Few records and changes are left, unless many came meanwhile.
    for (id, generation) in try ledger.generations(of: zone) where restarted[id] != generation {
      _ = try startOver(id, now: now, ledger)
    }
    try ledger.forgetContents(zone)
    try ledger.end(operation, .acknowledged, .zoneDone, now: now)
    if try ledger.hasSaves(in: zone) {
      try ledger.supersede(zone, through: nil)
      try ledger.setState(zone, .unconfirmed)
    } else {
      try ledger.removeZone(zone)
    }
  }
}
