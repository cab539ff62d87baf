import CloudKit
import Facts

/// Reconciles a queued operation with the server's record, wherever the server's version comes from: a page of changes,
/// a re-fetched record, a save's reply.
struct Reconciliation {
  let policy: MergePolicy
  let now: Int64
  let ledger: Ledger

  /// Stores the server's record in the mirror and rebases the queued operation for it, if any.
  ///
  /// Ignores a record whose change tag is known, or that is older than the mirror: query results lag behind writes. An
  /// operation in flight waits for its reply.
  ///
  /// - Parameters:
  ///   - isWhole: whether the server sends everything again, perhaps after it was restored to an older state. A record
  ///     in a version that the mirror has replaces it if it differs.
  ///   - comparesContent: whether it does that otherwise, too.
  /// - Returns: whether the mirror did not have this version.
  @discardableResult
  func take(_ record: MirrorRecord, epoch: Int64, isWhole: Bool = false, comparesContent: Bool = false) throws -> Bool {
    let tag = try ledger.changeTag(record.key)
    if tag == record.changeTag,
      try !(isWhole || comparesContent) || ledger.record(record.key)?.isSame(as: record) ?? false
    {
      try ledger.touch(record.key, epoch: epoch)
      return false
    }
    let known = tag == nil ? nil : try ledger.version(record.key)
    let queued = try ledger.operation(for: record.key)
    if let known, !isWhole, tag != record.changeTag, known.isLater(than: record) {
      let isFormer = known.formerTags.contains(record.changeTag)
      if isFormer || queued != nil { try ledger.touch(record.key, epoch: epoch) }
      if isFormer { return true }
      if let queued {
        try readBack(queued)
        return true
      }
    }
    if let queued, queued.state != .inFlight {
      try rebase(queued, onto: record, epoch: epoch)
    } else {
      try ledger.put(record, epoch: epoch)
    }
    return true
  }

  /// Requests a re-fetch of the server's record before anything is decided. Leaves operations in flight and conflicts
  /// alone.
  private func readBack(_ operation: QueuedOperation) throws {
    guard operation.state != .inFlight, operation.state != .conflict else { return }
    var operation = operation
    operation.apply(.stale)
    operation.isHeldByPerson ? operation.note(.serverChanged) : (operation.cause = .serverChanged)
    try ledger.update(operation)
  }

  /// Applies the deletion of a record on the server.
  func takeDeletion(of key: RecordKey) throws {
    let queued = try ledger.operation(for: key)
    if let queued, queued.state != .inFlight {
      try rebase(queued, onto: nil, epoch: 0)
    } else {
      try ledger.removeRecord(key)
    }
  }

  /// Rebases an operation that is not in flight on the server's record.
  func rebase(_ operation: QueuedOperation, onto server: MirrorRecord?, epoch: Int64) throws {
    var operation = operation
    operation.apply(.compared)
    // A zone delete is pending, and will delete the record. If the zone stays, the change tag reveals the difference.
    if try ledger.hasZoneDelete(operation.key.zoneKey) {
      if let server { try ledger.put(server, epoch: epoch) } else { try ledger.removeRecord(operation.key) }
      return try ledger.update(operation)
    }
    switch (operation.kind, server) {
    case (.save, let server?) where operation.isHeldByPerson, (.delete, let server?) where operation.isHeldByPerson:
      try keep(&operation, beside: server, epoch: epoch)
    case (.save, let server?): try rebaseSave(&operation, onto: server, epoch: epoch)
    case (.save, nil): try rebaseSaveOntoNothing(&operation)
    case (.delete, let server?): try rebaseDelete(&operation, onto: server, epoch: epoch)
    case (.delete, nil) where operation.isUnanswered && operation.baseTag == nil && !operation.sentChanges.isEmpty:
      // The create request may still be carried out after this. The record is then known.
      try ledger.removeRecord(operation.key)
      operation.apply(.createNotFound)
      goOn(&operation, .deletesUnconfirmedSave)
      try ledger.update(operation)
    case (.delete, nil):
      try ledger.endDeletion(operation, now: now)
    case (.zoneSave, _), (.zoneDelete, _): preconditionFailure("A zone operation has no record to be rebased on.")
    }
  }

  /// Keeps a dead letter or a paused operation unchanged when another client edits the record. It is compared with the
  /// server's record once it is retried or resumed.
  private func keep(_ operation: inout QueuedOperation, beside server: MirrorRecord, epoch: Int64) throws {
    try ledger.put(server, epoch: epoch)
    if server.changeTag != operation.baseTag {
      operation.apply(.stale)
      operation.note(.serverRecordChanged)
    }
    try ledger.update(operation)
  }

  // MARK: - Save

  private func rebaseSave(_ operation: inout QueuedOperation, onto server: MirrorRecord, epoch: Int64) throws {
    try ledger.put(server, epoch: epoch)
    if let type = operation.type, type != server.type {
      operation.apply(.failed(.otherType(server: server.type, local: type)))
      return try ledger.update(operation)
    }
    if operation.changes.isInsert, operation.baseTag == nil, !operation.mayHaveMade(server) {
      if operation.changes.yields {
        // Without the conditions of an insert, so that an undo can change the server's record.
        try drop(operation.changes.only(operation.changes.names), of: operation, .serverKept())
        return try ledger.end(operation, .merged, .serverKept(), now: now)
      }
      operation.apply(.failed(.rejected(code: "EXISTS", message: "the server has a record of this name already")))
      return try ledger.update(operation)
    }
    // The record was recreated without the old one ever being fetched: clear the fields that it still has on the
    // server.
    if operation.isRecreation, operation.baseTag == nil, operation.sentChanges.isEmpty {
      operation.base = server.fields
      operation.baseTag = server.changeTag
      for name in server.fields.keys where !operation.changes.names.contains(name) { operation.changes[name] = nil }
    }
    if operation.replaces(server) { return try rebaseReplacement(&operation, of: server) }
    if operation.mayHoldSameFiles(as: server) {
      operation.apply(.ready(.comparesFile, now: now))
      return try ledger.update(operation)
    }
    let rules = policy.rules[server.type]
    // The unconfirmed request may have used up the upload receipts.
    if operation.isUnanswered { operation.forgetGrants() }
    let (base, uncertain) = operation.base(reckoningWithSentOn: server, rules)
    let merge = Merge(
      operation.changes,
      base: base,
      isBaseKnown: operation.baseTag != nil,
      uncertain: uncertain,
      contested: operation.fieldsStillOnTheirWay,
      server: server.fields,
      policy: operation.conflictsEndlessly ? .manual : policy.policy,
      rules: rules,
      editedAt: operation.editedAt,
      serverModifiedAt: server.modifiedAt ?? 0
    )
    if !merge.dropped.isEmpty {
      try drop(operation.changes.only(merge.dropped), of: operation, .serverKept(fields: merge.dropped.sorted()))
    }
    guard !merge.remaining.isEmpty else {
      let ending: Ending = merge.dropped.isEmpty ? .acknowledged : .merged
      return try ledger.end(operation, ending, merge.dropped.isEmpty ? .onServer() : .serverKept(), now: now)
    }
    // A conflicting field keeps the common base, which is shown with the conflict.
    func bases(keeping contested: Set<String>) -> [String: FieldValue] {
      merge.remaining.names.reduce(into: [:]) { $0[$1] = contested.contains($1) ? base[$1] : server.fields[$1] }
    }
    operation.changes = merge.remaining
    let fields = merge.overwritten.sorted()
    try overwrite(
      Overwritten(merge.overwritten, of: server.fields, by: merge.remaining),
      of: server,
      by: operation,
      base: bases(keeping: merge.conflicts.union(fields)),
      .fields(fields),
      .localKept(fields: fields)
    )
    operation.base = bases(keeping: merge.conflicts)
    operation.baseTag = server.changeTag
    let counters = uncertain.intersection(merge.conflicts).sorted()
    if merge.conflicts.isEmpty, !operation.conflictsEndlessly {
      operation.apply(.ready(.readyAgain(.merged), now: now))
    } else if !counters.isEmpty {
      operation.apply(.conflicted(.counters(counters), now: now))
    } else {
      operation.apply(.conflicted(.fields(merge.conflicts.sorted()), now: now))
    }
    try ledger.update(operation)
  }

  /// Rebases a record that was deleted and recreated locally: it replaces the server's record as a whole or not at all.
  private func rebaseReplacement(_ operation: inout QueuedOperation, of server: MirrorRecord) throws {
    operation.apply(.confirmed())
    let all = operation.changes
    for name in server.fields.keys where !all.names.contains(name) { operation.changes[name] = nil }
    let policy = operation.conflictsEndlessly ? .manual : policy.policy
    let isLater = operation.editedAt >= server.modifiedAt ?? 0
    if policy == .server || (policy == .newest && !isLater) {
      try drop(all, of: operation, .serverSideKept(.recreatedHere))
      return try ledger.end(operation, .merged, .serverSideKept(.recreatedHere), now: now)
    }
    if policy == .manual {
      operation.apply(.conflicted(.recreatedHere, now: now))
    } else {
      try overwrite(
        Overwritten(operation.changes.names, of: server.fields, by: operation.changes),
        of: server,
        by: operation,
        base: operation.base,
        .recreatedHere,
        .localSideKept(.recreatedHere)
      )
      operation.base = server.fields
      operation.apply(.ready(.readyAgain(.merged), now: now))
    }
    operation.baseTag = server.changeTag
    try ledger.update(operation)
  }

  private func rebaseSaveOntoNothing(_ operation: inout QueuedOperation) throws {
    // A create whose reply was lost may still be carried out.
    if !operation.isUnanswered || operation.baseTag != nil { operation.apply(.confirmed()) }
    let known = try ledger.record(operation.key)
    try ledger.removeRecord(operation.key)
    // Deleted on both sides, then recreated locally.
    if operation.isRecreation {
      // The recreation, or the create that it replaces, may still be carried out; clear its fields in that case.
      let sent = operation.isUnanswered ? operation.sentChanges : []
      let cleared = operation.changes.only(operation.changes.cleared.intersection(sent.names))
      // Fields that were unchanged did not have to be sent; now they are missing on the server.
      operation.apply(.recreated(from: known?.fields ?? [:]))
      operation.apply(.startedOver)
      operation.changes.apply(cleared)
      operation.apply(.confirmed(except: sent))
      goOn(&operation, .ready)
      return try ledger.update(operation)
    }
    // A record that the server does not hold was not created: send the create (again).
    guard operation.baseTag != nil else {
      if operation.isUnanswered { operation.forgetGrants() }
      if operation.conflictsEndlessly, !operation.isHeldByPerson {
        operation.apply(.conflicted(.existsUnseen, now: now))
      } else if operation.state != .conflict {
        goOn(&operation, .ready)
      }
      return try ledger.update(operation)
    }
    // Without a local copy, the fields that it changed are all that is known.
    let fields = known?.fields ?? operation.base
    if operation.isHeldByPerson {
      operation.apply(.outlived(fields, now: now))
      return try ledger.update(operation)
    }
    let whole = FieldChanges(values: operation.changes.applied(to: fields))
    switch operation.conflictsEndlessly ? .manual : policy.policy {
    case .server:
      try drop(whole, of: operation, .serverSideKept(.deletedOnServer))
      try ledger.end(operation, .merged, .serverSideKept(.deletedOnServer), now: now)
    case .client, .newest:
      // The time of the server's deletion is unknown, so `newest` keeps the edit.
      operation.apply(.outlived(fields, now: now))
      try overwrite(
        .deletion(by: operation.changes.values),
        of: nil,
        by: operation,
        base: fields,
        .deletedOnServer,
        .localSideKept(.deletedOnServer)
      )
      try ledger.update(operation)
    case .manual:
      operation.apply(.orphaned(fields, now: now))
      try ledger.update(operation)
    }
  }

  private func goOn(_ operation: inout QueuedOperation, _ cause: Cause) {
    if !operation.isHeldByPerson { operation.apply(.ready(cause, now: now)) }
  }

  // MARK: - Delete

  private func rebaseDelete(_ operation: inout QueuedOperation, onto server: MirrorRecord, epoch: Int64) throws {
    try ledger.put(server, epoch: epoch)
    if operation.type == nil { operation.type = server.type }
    // A new tag may also come from our own save whose reply was lost.
    let isUnchanged =
      (operation.baseTag == nil && operation.sentChanges.isEmpty) || operation.baseTag == server.changeTag
      || operation.base.isSame(as: server.fields)
      || operation.sentChanges.contains { $0.make(server.fields, of: operation.base) }
    if server.changeTag != operation.baseTag { operation.apply(.confirmed()) }
    let deleteWins: Bool
    switch operation.conflictsEndlessly ? .manual : policy.policy {
    case .server: deleteWins = isUnchanged
    case .client: deleteWins = true
    // At equal times the delete wins, on every device.
    case .newest: deleteWins = isUnchanged || operation.editedAt >= server.modifiedAt ?? 0
    case .manual: deleteWins = isUnchanged && !operation.conflictsEndlessly
    }
    if deleteWins {
      try overwrite(
        isUnchanged ? nil : .record(server.fields),
        of: server,
        by: operation,
        base: operation.base,
        .deletedHere,
        .localSideKept(.deletedHere)
      )
      operation.base = server.fields
      operation.baseTag = server.changeTag
      operation.apply(.ready(.ready, now: now))
      try ledger.update(operation)
    } else if policy.policy == .manual || operation.conflictsEndlessly {
      operation.apply(.conflicted(.deletedHere, now: now))
      try ledger.update(operation)
    } else {
      try drop(FieldChanges(), of: operation, .serverSideKept(.deletedHere))
      try ledger.end(operation, .merged, .serverSideKept(.deletedHere), now: now)
    }
  }

  // MARK: - Dropped changes

  /// Keeps a change that will not be sent, so that it can be shown and undone.
  private func drop(_ changes: FieldChanges, of operation: QueuedOperation, _ cause: Cause) throws {
    try EventLog.add(.dropped(record: operation.key.name, cause), of: operation, now: now, ledger)
    try ledger.add(DroppedChange(changes, of: operation, cause, at: now))
  }

  /// Keeps the server's side that the policy overwrites, so that it can be restored. Undone before the operation is sent,
  /// it is a conflict for a person.
  private func overwrite(
    _ overwritten: Overwritten?,
    of server: MirrorRecord?,
    by operation: QueuedOperation,
    base: [String: FieldValue],
    _ conflict: ConflictCause,
    _ cause: Cause
  ) throws {
    guard let overwritten else { return }
    var dropped = DroppedChange(nil, of: operation, cause, overwriting: overwritten, of: server, at: now)
    (dropped.conflict, dropped.base) = (.conflict(conflict), base)
    try ledger.add(dropped)
  }
}

extension QueuedOperation {
  /// Whether it replaces a record that others have edited since it was deleted locally.
  fileprivate func replaces(_ server: MirrorRecord) -> Bool {
    isRecreation && baseTag != nil && baseTag != server.changeTag && !base.isSame(as: server.fields)
      && !changes.values.isSame(as: server.fields) && !mayShow(in: server)
  }
}

extension QueuedOperation {
  /// Whether a file of this save may be the one that the server holds. Files are equal if the server gives them the
  /// same checksum, which is unknown before the upload because its algorithm is not published. Different sizes rule it
  /// out.
  ///
  /// The save is then sent with its old tag, so that the server rejects it and both sides are compared again.
  fileprivate func mayHoldSameFiles(as server: MirrorRecord) -> Bool {
    guard !isRecreation, !isUnanswered, sentChanges.isEmpty, !conflictsEndlessly else { return false }
    return changes.values.contains { name, value in
      guard let theirs = server.fields[name], theirs != base[name], let others = theirs.assets else { return false }
      let mine = value.assets ?? []
      return assets.contains { $0.field == name && $0.checksum == nil } && mine.count == others.count
        && zip(mine, others).allSatisfy { $0.size == nil || $1.size == nil || $0.size == $1.size }
    }
  }
}

extension MirrorVersion {
  fileprivate func isLater(than record: MirrorRecord) -> Bool {
    guard let mine = modifiedAt, let other = record.modifiedAt else { return false }
    return mine > other
  }
}
