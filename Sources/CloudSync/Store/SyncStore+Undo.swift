import CloudKit
import Facts

/// Undoing what a conflict or a discard dropped.
extension SyncStore {
  /// Accepts the dropped changes of an operation again, as made now. Those of a resolved conflict are a conflict again,
  /// for a person, and so are discarded ones if the server's record has changed since. Possible until the record is
  /// edited again.
  ///
  /// - Throws: `StoreError` if nothing was dropped, the record has been edited since, or it is being sent.
  package func undo(_ id: Int64, ifVersion version: String? = nil, actor: String) throws(StoreError) -> Accepted {
    let now = now()
    return try write { ledger in
      if let version, let latest = try ledger.latestOpenDropped(of: id), version != String(latest) {
        throw StoreError(.invalid, "more of \(id) was dropped since it was read; read it again")
      }
      let (accepted, zone) = try restoreDropped(of: id, now: now, ledger)
      try audit("undo", "\(id)", 1, actor, operation: id, zone: zone, now: now, ledger)
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
    let text = Selection.ids(ids).text
    let command = AuditedCommand(at: now(), actor: actor, verb: "undo", selection: text, count: 0)
    let about: Int64? = ids.count == 1 ? ids[0] : nil
    return try carryOut(command, on: Self.slices(of: ids), about: about, continues: continues) { ids, ledger, now in
      var result = CommandResult()
      for id in ids {
        do {
          var accepted = Accepted.unchanged
          try ledger.allOrNothing { accepted = try restoreDropped(of: id, now: now, ledger).0 }
          guard case .enqueued(let queued) = accepted else {
            result.skipped[id] = .inWords("the server's record has these values already")
            continue
          }
          result.changed.append(id)
          if try ledger.operation(queued)?.state == .conflict { result.reopened += 1 }
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

  /// Accepts what was dropped of an operation again.
  private func restoreDropped(of id: Int64, now: Int64, _ ledger: Ledger) throws -> (Accepted, zone: String) {
    try claimQueue(ledger, restores: true)
    let dropped = try ledger.dropped(of: id)
    guard !dropped.isEmpty else {
      throw StoreError(
        .invalid,
        "operation \(id) dropped nothing in the last 90 days; `cktop conflicts dropped` lists what can be undone"
      )
    }
    let open = dropped.filter(\.isOpen)
    guard let last = open.last else {
      throw StoreError(
        .invalid,
        "\(id) can no longer be undone: it was undone, or the record was edited since; edit the record to change it"
      )
    }
    if open.allSatisfy(\.isDecision) {
      guard let queued = try ledger.operation(for: last.key), queued.id == id else {
        throw StoreError(
          .invalid,
          "the resolution of \(id) can no longer be undone: it has been sent; edit the record to change it"
        )
      }
      try Self.reopenConflict(open, as: id, now: now, ledger)
      try ledger.closeDropped(of: last.key)
      return (.enqueued(id), last.key.zone)
    }
    var changes = FieldChanges()
    var assets: [QueuedAsset] = []
    let known = try Self.record(last.key, ledger)?.fields ?? [:]
    for dropped in open {
      changes.apply(dropped.joined(with: changes.applied(to: known)))
      assets.removeAll { dropped.changes.names.contains($0.field) }
      assets += dropped.assets
    }
    // Upload receipts expire.
    for index in assets.indices { assets[index].granted = nil }
    let kind: Change.Kind = last.kind == .delete ? .delete : .save(type: last.type ?? "", changes)
    try ledger.insertZone(last.key.zoneKey, state: .unconfirmed)
    let hasZoneDelete = try ledger.hasZoneDelete(last.key.zoneKey)
    var change = Change(last.key, kind)
    // A discarded insert must still be new.
    if last.kind == .save, open.contains(where: \.changes.isInsert) { change.presence = .absent }
    let accepted = try accept(
      change,
      assets,
      group: nil,
      hasZoneDelete: hasZoneDelete,
      now: now,
      ledger
    )
    if case .refused(let reason) = accepted { throw StoreError(.invalid, reason) }
    let decided = open.filter(\.hasBase)
    if case .enqueued(let operation) = accepted, !decided.isEmpty {
      try Self.reopenConflict(decided, as: operation, now: now, ledger)
    }
    try ledger.closeDropped(of: last.key)
    try ledger.changeActivity { $0.lastEnqueueAt = now }
    return (accepted, last.key.zone)
  }

  /// Makes an accepted operation a conflict, unless the server's values are those of the base. The app is not asked: it
  /// may have made the decision that was undone.
  ///
  /// - Parameter dropped: the changes that were discarded, or dropped in conflicts, oldest first.
  private static func reopenConflict(_ dropped: [DroppedChange], as id: Int64, now: Int64, _ ledger: Ledger) throws {
    guard var operation = try ledger.operation(id) else { return }
    let server = try ledger.record(operation.key)
    if operation.kind == .delete {
      // Nothing is left to ask about where the record is gone.
      guard server != nil else { return }
      let base = dropped.last?.base ?? [:]
      guard !base.isEmpty else { return }
      operation.base = base
    } else {
      var hasConflict = false
      for change in dropped {
        // With a conflict, the fields that were decided for this side are open again, too. Fields with a merge rule,
        // such as counters, are merged again instead.
        let known = change.conflict == nil ? [] : operation.changes.names
        let names = change.changes.names.union(known).subtracting(operation.changes.rules.keys)
        for name in names { operation.base[name] = change.base[name] }
        hasConflict = hasConflict || !names.isEmpty
      }
      guard hasConflict else { return }
    }
    let state = operation.state
    let cause = dropped.last { $0.conflict != nil }?.conflict
    operation.reopenConflict(cause ?? .conflict(operation.kind == .delete ? .deletedHere : .fields([])), now: now)
    let conflict = Conflict(operation, server: server)
    guard operation.kind == .delete ? operation.base != server?.fields : conflict.isContested else { return }
    if cause == nil, operation.kind == .save {
      operation.cause = .conflict(server == nil ? .deletedOnServer : .fields(conflict.fields.map(\.name)))
    }
    switch state {
    case .inFlight:
      throw StoreError(.invalid, "the rest of change \(id) is being sent; undo this when it has been sent")
    case .paused: throw StoreError(.invalid, "the rest of change \(id) is paused; resume it, and then undo this")
    default: break
    }
    operation.askedAbout = operation.version(serverTag: server?.changeTag)
    try ledger.update(operation)
  }
}
