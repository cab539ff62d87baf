import CloudKit
import Facts

/// Conflicts: listing and resolving them, and undoing what was dropped.
extension SyncStore {
  static func conflict(_ id: Int64, _ ledger: Ledger) throws -> Conflict? {
    guard let operation = try ledger.operation(id), operation.state == .conflict else { return nil }
    return Conflict(operation, server: try ledger.record(operation.key))
  }

  // MARK: - Resolving

  /// Returns what `resolve` would do, without changing anything.
  package func preview(
    _ id: Int64,
    take: ConflictSide,
    fields: [String: ConflictSide] = [:],
    ifVersion version: String? = nil
  ) throws(StoreError) -> ConflictOutcome {
    try read { ledger in
      if let moved = try Self.moved(id, from: version, ledger) { return moved }
      let (_, conflict, resolution) = try Self.resolution(of: id, take, fields, ledger)
      return .resolved(resolution, of: conflict)
    }
  }

  /// Resolves a conflict. `fields` chooses the side for single fields; all others follow `take`.
  ///
  /// - Parameter version: the version that was decided on; a conflict that has changed since is left alone. Nil: the
  ///   current one.
  package func resolve(
    _ id: Int64,
    take: ConflictSide,
    fields: [String: ConflictSide] = [:],
    ifVersion version: String? = nil,
    actor: String
  ) throws(StoreError) -> ConflictOutcome {
    let now = now()
    return try write { ledger in
      if let moved = try Self.moved(id, from: version, ledger) { return moved }
      var (operation, conflict, resolution) = try Self.resolution(of: id, take, fields, ledger)
      try carryOut(&operation, resolution, take, fields, actor, now: now, ledger)
      return .resolved(resolution, of: conflict)
    }
  }

  /// The versions of the conflicts that a filter selects, oldest first.
  package func conflictVersions(matching filter: QueueFilter? = nil) throws(StoreError) -> [(
    id: Int64, version: String
  )] {
    let now = now()
    return try read { ledger in
      try ledger.operationIDs(matching: filter, in: .conflict, now: now).compactMap { id in
        try Self.conflict(id, ledger).map { (id, $0.version) }
      }
    }
  }

  /// Resolves several conflicts alike, in transactions of at most 500. A conflict that changed since its version was
  /// read is left alone.
  ///
  /// - Parameters:
  ///   - versions: the version that each was decided on; nil: as it is now.
  ///   - dryRun: reports what would be done and does nothing.
  package func resolve(
    _ conflicts: [(id: Int64, version: String?)],
    take: ConflictSide,
    fields: [String: ConflictSide] = [:],
    dryRun: Bool = false,
    actor: String
  ) throws(StoreError) -> ConflictsOutcome {
    let now = now()
    var outcome = ConflictsOutcome()
    var rest = conflicts[...]
    while !rest.isEmpty {
      let slice = rest.prefix(Self.slice)
      rest = rest.dropFirst(Self.slice)
      let body = { (ledger: Ledger) in
        var done = ConflictsOutcome()
        for (id, version) in slice {
          try self.resolve(id, version, take, fields, dryRun: dryRun, actor, now: now, into: &done, ledger)
        }
        return done
      }
      outcome.add(try dryRun ? read(body) : write(body))
      if !rest.isEmpty { storage.letOthersWrite() }
    }
    return outcome
  }

  private func resolve(
    _ id: Int64,
    _ version: String?,
    _ take: ConflictSide,
    _ fields: [String: ConflictSide],
    dryRun: Bool,
    _ actor: String,
    now: Int64,
    into outcome: inout ConflictsOutcome,
    _ ledger: Ledger
  ) throws {
    guard let conflict = try Self.conflict(id, ledger) else { return outcome.unknown.append(id) }
    guard version == nil || version == conflict.version else { return outcome.moved.append(conflict) }
    do {
      var (operation, _, resolution) = try Self.resolution(of: id, take, fields, ledger)
      if !dryRun { try carryOut(&operation, resolution, take, fields, actor, now: now, ledger) }
      outcome.resolved.append(id)
    } catch let error as StoreError where error.kind == .invalid {
      outcome.skipped[id] = error.message
    }
  }

  /// The outcome if the conflict has changed since the version that was decided on; nil if not.
  private static func moved(_ id: Int64, from version: String?, _ ledger: Ledger) throws -> ConflictOutcome? {
    guard let version, case let current = try conflict(id, ledger), current?.version != version else { return nil }
    return .moved(current)
  }

  private static func resolution(
    of id: Int64,
    _ take: ConflictSide,
    _ fields: [String: ConflictSide],
    _ ledger: Ledger
  ) throws -> (operation: QueuedOperation, conflict: Conflict, resolution: Resolution) {
    guard let operation = try ledger.operation(id), operation.state == .conflict else {
      throw StoreError(.invalid, "\(id) is not a conflict; `cktop conflicts list` shows them all")
    }
    let conflict = Conflict(operation, server: try ledger.record(operation.key))
    if let unknown = fields.keys.sorted().first(where: { name in !conflict.fields.contains { $0.name == name } }) {
      let names = conflict.fields.map(\.name).joined(separator: ", ")
      throw StoreError(.invalid, "field \(unknown) is not in conflict \(id); its fields are \(names)")
    }
    if conflict.tears(take, fields) {
      throw StoreError(
        .invalid,
        "conflict \(id) is a deletion, which is taken whole: choose local for all fields, to delete, or for none"
      )
    }
    if let file = conflict.fileNobodyHas(take, fields) {
      throw StoreError(
        .invalid,
        "the file that \(file) had before is no longer on this machine; take local or server for it"
      )
    }
    return (operation, conflict, conflict.resolution(take, fields))
  }

  /// Carries out a person's decision and logs it.
  private func carryOut(
    _ operation: inout QueuedOperation,
    _ resolution: Resolution,
    _ take: ConflictSide,
    _ fields: [String: ConflictSide],
    _ actor: String,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    let others = fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.rawValue)" }
    let choice = ([String(operation.id), take.rawValue] + others).joined(separator: " ")
    let (id, zone) = (operation.id, operation.key.zone)
    try audit("resolve", choice, 1, actor, operation: id, zone: zone, now: now, ledger)
    operation.conflictRounds = 0
    try Self.carryOut(&operation, resolution, by: .person, now: now, ledger)
  }

  private static func carryOut(
    _ operation: inout QueuedOperation,
    _ resolution: Resolution,
    by decider: Cause.Decider,
    now: Int64,
    _ ledger: Ledger
  ) throws {
    let server = try ledger.record(operation.key)
    if let dropped = resolution.dropped {
      try ledger.add(DroppedChange(dropped, of: operation, .resolved(by: decider), at: now))
    } else if operation.kind == .save, resolution.left != nil {
      try ledger.add(DroppedChange(FieldChanges(), of: operation, .resolved(by: decider), at: now))
    }
    guard let left = resolution.left else {
      return try ledger.end(operation, .merged, .resolved(by: decider), now: now)
    }
    operation.kind = resolution.kind
    // A create that the server does not show may still be carried out.
    if server != nil { operation.forgetSent() }
    operation.changes = left
    operation.base = server?.fields.filter { left.names.contains($0.key) || operation.kind == .delete } ?? [:]
    operation.baseTag = server?.changeTag
    operation.generation += 1
    operation.attempts = 0
    operation.becomePending(.readyAgain(.resolved(by: decider)), now: now)
    try ledger.update(operation)
  }

  // MARK: - Asking the app

  /// The app's decision.
  enum ConflictAnswer: Hashable, Sendable {
    case take(ConflictSide)
    /// The whole merged record, with the names of the fields that were set or cleared in it.
    case merged([String: FieldValue], touched: Set<String>)
    /// The app did not decide, so it stays a conflict.
    case none(ConflictCause.AppFailure)
  }

  /// Conflicts that the app has not been asked about in their current version, except those that recur without end.
  func conflictsToAsk() throws(StoreError) -> [OpenConflict] {
    try read { ledger in
      try ledger.operations(in: .conflict).compactMap { operation in
        let server = try ledger.record(operation.key)
        return Self.isForApp(operation, server) ? OpenConflict(operation, server) : nil
      }
    }
  }

  /// Applies the app's decision, unless the conflict has changed meanwhile: then the app is asked again.
  ///
  /// - Parameter decider: the one who decided, for the log.
  func take(_ answer: ConflictAnswer, to open: OpenConflict, by decider: Cause.Decider = .app, _ lease: Lease)
    throws(StoreError)
  {
    try write(lease) { ledger, now in
      guard var operation = try ledger.operation(open.id), operation.state == .conflict else { return }
      let server = try ledger.record(operation.key)
      let conflict = Conflict(operation, server: server)
      guard conflict.version == open.version else { return }
      let resolution: Resolution
      switch answer {
      case .take(let side): resolution = conflict.resolution(side)
      case .merged(let record, let touched):
        let fields = record.mapValues { $0.canonical(in: operation.key.zoneKey) }
        resolution = conflict.resolution(merged: fields, touched: touched)
      case .none(let failure):
        operation.askedAbout = open.version
        operation.cause = .conflict(.undecidedByApp(failure))
        return try ledger.update(operation)
      }
      try EventLog.add(.conflictResolved(record: operation.key.name, by: decider), of: operation, now: now, ledger)
      try Self.carryOut(&operation, resolution, by: decider, now: now, ledger)
    }
  }

  /// Whether the app is still to be asked about the current version of a conflict.
  static func isForApp(_ operation: QueuedOperation, _ server: MirrorRecord?) -> Bool {
    operation.askedAbout != operation.version(serverTag: server?.changeTag) && !operation.conflictsEndlessly
  }

  // MARK: - Dropped changes

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
          result.changed.append(id)
          if case .enqueued(let id) = accepted, try ledger.operation(id)?.state == .conflict { result.reopened += 1 }
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
    let open = try ledger.dropped(of: id).filter(\.isOpen)
    guard let last = open.last else {
      throw StoreError(
        .invalid,
        "nothing that was dropped of \(id) can be undone; `cktop conflicts dropped` lists what can"
      )
    }
    if open.allSatisfy(\.isDecision) {
      guard let queued = try ledger.operation(for: last.key), queued.id == id else {
        throw StoreError(.invalid, "the resolution of \(id) has been sent already; edit the record to change it")
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
