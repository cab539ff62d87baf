import CloudKit
import Facts

/// Undoing what a conflict, a policy, a discard, a deletion or an undo dropped or overwrote.
extension SyncStore {
  /// Undoes what was dropped of an operation. Possible until the record is edited again.
  ///
  /// A discarded operation is queued again as it was, and so is a save whose record was deleted, until the deletion is
  /// sent; after that the record is recreated. Dropped changes are accepted again with the time of their edit, and the
  /// server's values that were overwritten are queued to be restored. What was decided in a conflict is a conflict
  /// again, for a person, and so is whatever the server has changed since.
  ///
  /// - Throws: `StoreError` if nothing was dropped, the record has been edited since, or it is being sent.
  package func undo(_ id: Int64, ifVersion version: String? = nil, actor: String) throws(StoreError) -> Accepted {
    let now = now()
    return try write { ledger in
      if let version, let latest = try ledger.latestOpenDropped(of: id), version != String(latest) {
        throw StoreError(.invalid, "more of \(id) was dropped since it was read; read it again")
      }
      let (accepted, zone) = try restoreDropped(of: id, actor: actor, now: now, ledger)
      try audit(.undo(.operations([id])), 1, actor, operation: id, zone: zone, now: now, ledger)
      return accepted
    }
  }

  /// Restores the dropped changes of several operations, in transactions of at most `slice` rows. Operations with
  /// nothing to restore are skipped with the reason.
  ///
  /// - Parameter continues: called between transactions with the number of operations done and of all; the command
  ///   stops if it returns false.
  package func undo(
    _ ids: [Int64],
    actor: String,
    continues: (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws(StoreError) -> CommandResult {
    let command = AuditedCommand(at: now(), actor: actor, command: .undo(Selection.ids(ids).asSubject), count: 0)
    return try carryOut(command, on: Self.slices(of: ids), continues: continues) { ids, ledger, now in
      var result = CommandResult()
      for id in ids {
        do {
          var accepted = Accepted.unchanged
          try ledger.allOrNothing { accepted = try restoreDropped(of: id, actor: actor, now: now, ledger).0 }
          guard case .enqueued(let queued) = accepted else {
            result.skipped[id] = .unchanged
            continue
          }
          result.changed.append(id)
          result.restored[id] = CommandResult.Restored(queued, try ledger.operation(queued)?.state)
        } catch let error as StoreError where error.kind == .invalid {
          result.skipped[id] = .inWords(error.message)
        }
      }
      return result
    }
  }

  /// The operations of the dropped changes in a list that can be undone, newest first.
  ///
  /// - Parameter others: dropped changes to leave out, by their numbers.
  package func undoable(_ listing: DroppedListing, except others: Set<Int64>) throws(StoreError) -> [Int64] {
    try read { try $0.openDroppedOperations(listing, except: others) }
  }

  /// Notes that a person has seen what was dropped, up to the last change that was shown: what is dropped meanwhile
  /// stays unseen.
  ///
  /// - Returns: how many operations had dropped changes that no person had seen before. If none, nothing is written.
  @discardableResult
  package func markDroppedSeen(through id: Int64, actor: String) throws(StoreError) -> Int {
    let known = try read { try $0.droppedTotals() }
    guard known.unseen > 0, id > known.seenThrough else { return 0 }
    let now = now()
    return try write { ledger in
      let seen = try ledger.markDroppedSeen(through: id)
      if seen > 0 { try audit(.seeDropped, seen, actor, now: now, ledger) }
      return seen
    }
  }

  /// Restores what was dropped of an operation.
  private func restoreDropped(of id: Int64, actor: String, now: Int64, _ ledger: Ledger) throws
    -> (Accepted, zone: String)
  {
    try claimQueue(ledger, restores: true)
    let all = try ledger.dropped(of: id)
    guard !all.isEmpty else {
      throw StoreError(
        .invalid,
        "operation \(id) dropped nothing in the last 90 days; `cktop conflicts dropped` lists what can be undone"
      )
    }
    let dropped = all.filter(\.isOpen)
    guard let last = dropped.last else {
      throw StoreError(
        .invalid,
        "\(id) can no longer be undone: it was undone, or the record was edited since; edit the record to change it"
      )
    }
    try ledger.insertZone(last.key.zoneKey, state: .unconfirmed)
    if try last.isWhole && requeue(last, now: now, ledger) { return (.enqueued(id), last.key.zone) }
    let queued = try ledger.operation(for: last.key)
    if let queued, queued.id == id, dropped.contains(where: \.isOfWholeRecord) {
      try withdraw(queued, actor: actor, now: now, ledger)
      return (.enqueued(id), last.key.zone)
    }
    let server = try ledger.record(last.key)
    let restoration = Restoration(
      dropped,
      of: queued?.id == id ? queued : nil,
      over: try ledger.local(last.key).fields
    )
    let accepted = try restoration.isEmpty ? .enqueued(id) : accept(restoration, last, now: now, ledger)
    if case .enqueued(let operation) = accepted {
      try Self.reopenConflict(operation, restoration, now: now, ledger)
    }
    try ledger.closeDropped(of: last.key)
    if case .enqueued(let operation) = accepted, !restoration.isEmpty, !dropped.allSatisfy(\.isWithdrawn) {
      try Self.keepReplaced(by: restoration, as: operation, queued, server, actor, now: now, ledger)
    }
    try ledger.changeActivity { $0.lastEnqueueAt = now }
    return (accepted, last.key.zone)
  }

  /// Accepts restored changes, with the time of their edit.
  private func accept(_ restoration: Restoration, _ last: DroppedChange, now: Int64, _ ledger: Ledger) throws
    -> Accepted
  {
    var assets = restoration.assets
    // Upload receipts expire.
    for index in assets.indices { assets[index].receipt = nil }
    let isNew = try ledger.operation(for: last.key) == nil
    let kind = restoration.changes.map { Change.Kind.save(type: last.type ?? "", $0) } ?? .delete
    var change = Change(last.key, kind)
    // A discarded insert must still be new.
    if restoration.isInsert, restoration.changes != nil { change.presence = .absent }
    change.editedAt = restoration.editedAt
    let accepted = try accept(change, assets, now: now, ledger)
    switch accepted {
    case .refused(let reason): throw StoreError(.invalid, reason)
    // The edit is as old as it was; in the queue the change is new.
    case .enqueued(let id) where isNew: try ledger.setEnqueued(id, at: now)
    case .enqueued, .unchanged: break
    }
    return accepted
  }

  /// Makes an accepted operation a conflict, if it is one. The app is not asked: it may have made the decision that was
  /// undone.
  private static func reopenConflict(_ id: Int64, _ restoration: Restoration, now: Int64, _ ledger: Ledger) throws {
    guard var operation = try ledger.operation(id) else { return }
    let (state, server) = (operation.state, try ledger.record(operation.key))
    guard restoration.reopen(&operation, beside: server, now: now) else { return }
    switch state {
    case .inFlight:
      throw StoreError(.invalid, "the rest of change \(id) is being sent; undo this when it has been sent")
    case .paused: throw StoreError(.invalid, "the rest of change \(id) is paused; resume it, and then undo this")
    default: break
    }
    operation.asked = .conflict(version: operation.version(serverTag: server?.changeTag))
    try ledger.update(operation)
  }

  /// Keeps what an undo replaces, here and on the server, so that it can be undone in turn. What is a conflict now
  /// replaces nothing before a person resolves it.
  private static func keepReplaced(
    by restoration: Restoration,
    as id: Int64,
    _ queued: QueuedOperation?,
    _ server: MirrorRecord?,
    _ actor: String,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    let operation = try ledger.operation(id)
    let conflict = operation.flatMap { $0.state == .conflict ? Conflict($0, server: server) : nil }
    let lost: FieldChanges
    var overwritten: Overwritten?
    if let changes = restoration.changes {
      let names = changes.names.subtracting(conflict?.fields.map(\.name) ?? [])
      let own = queued?.kind == .save ? queued?.changes ?? FieldChanges() : FieldChanges()
      lost = own.only(names.filter { own.names.contains($0) && !own[$0].isSame(as: changes[$0]) })
      if let server {
        overwritten = Overwritten(names.subtracting(own.names), of: server.fields, by: changes)
      } else if conflict == nil, own.isEmpty {
        overwritten = .deletion(by: changes.values)
      }
    } else {
      guard conflict == nil else { return }
      lost = queued?.changes ?? FieldChanges()
      overwritten = server.map { .record($0.fields) }
    }
    guard let source = lost.isEmpty ? operation : queued, overwritten != nil || !lost.isEmpty else { return }
    var replaced = DroppedChange(
      lost.isEmpty ? nil : lost,
      of: source,
      .undone(by: actor),
      overwriting: overwritten,
      of: server,
      at: now
    )
    (replaced.operation, replaced.conflict) = (id, nil)
    try ledger.add(replaced)
  }

  // MARK: - Whole operations

  /// Queues an operation again as it was when it was dropped as a whole: with its number, its state and its attempts.
  /// Later changes on the server are merged with it. A field that both sides changed is a conflict for a person.
  ///
  /// - Returns: whether it is queued; not if the record has another operation, if the server's record was deleted with
  ///   it, or if its zone is to be deleted.
  private func requeue(_ dropped: DroppedChange, now: Int64, _ ledger: Ledger) throws -> Bool {
    let id = dropped.operation
    guard let number = try ledger.latestOpenDropped(of: id), var operation = try ledger.discardedOperation(number),
      try !ledger.hasZoneDelete(operation.key.zoneKey)
    else { return false }
    var encrypted = EncryptedFields()
    let known = try encrypted.concerned(by: operation.changes, of: operation.type ?? "", ledger)
    if let problem = EncryptedFields.problem(of: operation.changes, known) { throw StoreError(.invalid, problem) }
    if let deletion = try ledger.operation(for: operation.key) {
      guard deletion.id == id, deletion.kind == .delete else { return false }
      guard deletion.state != .inFlight, !deletion.isUnconfirmed else { throw Self.isBeingSent(id) }
      try ledger.removeOperations([id])
    } else if dropped.overwritten != nil {
      return false
    }
    operation.dropReceipts()
    if operation.state == .inFlight {
      // It was sent, and the deletion came before the reply.
      operation.apply(.recovered)
      operation.cause = .basedOnOldVersion
    }
    // Its own back-off is over; a wait that the server asked for goes on.
    if operation.state == .waiting, !operation.isServersWait || operation.waitsUntil ?? 0 <= now {
      operation.apply(.ready(.ready, now: now))
    }
    _ = try ledger.insert(operation)
    try ledger.removeEnding(of: id)
    if let group = operation.group { try Self.check(group, ledger) }
    let server = try ledger.record(operation.key)
    if server?.changeTag != operation.baseTag, !operation.isUnconfirmed, try !ledger.isGone(operation.key) {
      let policy = MergePolicy(.manual, rules: try ledger.settings().merging().rules)
      try Reconciliation(policy: policy, now: now, ledger: ledger)
        .rebase(operation, onto: server, epoch: ledger.epoch(operation.key.zoneKey))
      if var rebased = try ledger.operation(id), rebased.state == .conflict {
        rebased.asked = .conflict(version: rebased.version(serverTag: server?.changeTag))
        try ledger.update(rebased)
      }
    }
    try ledger.closeDropped(number)
    try ledger.changeActivity { $0.lastEnqueueAt = now }
    return true
  }

  /// Takes a restored change back before it is sent.
  private func withdraw(_ operation: QueuedOperation, actor: String, now: Int64, _ ledger: Ledger) throws {
    guard operation.state != .inFlight else { throw Self.isBeingSent(operation.id) }
    try Self.apply(.discard, to: [operation], isFinal: false, actor, now: now, ledger)
  }
}

extension SyncStore {
  private static func isBeingSent(_ id: Int64) -> StoreError {
    StoreError(.invalid, "change \(id) is being sent; undo it when it has been sent")
  }
}

extension DroppedChange {
  /// Whether an undo made or deleted the whole record. Undone before that is sent, the operation is discarded.
  fileprivate var isOfWholeRecord: Bool {
    guard case .undone = cause, let overwritten else { return false }
    return overwritten.values == nil || overwritten.replacements == nil
  }
}
