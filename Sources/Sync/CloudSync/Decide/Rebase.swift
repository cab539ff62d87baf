import CloudKit
import Facts

/// The decision about a queued operation that is not in flight, given the server's record.
///
/// The server's record, or its absence, goes to the mirror in any case.
struct Rebase: Hashable {
  private(set) var operation: QueuedOperation
  /// The changes that will not be sent, and what they overwrite on the server, so that both can be shown and undone.
  private(set) var dropped: [DroppedChange] = []
  private let server: MirrorRecord?
  private let facts: RecordFacts
  private let policy: MergePolicy
  private let now: Int64

  /// - Parameters:
  ///   - server: the server's record; nil if it does not exist.
  ///   - facts: with the mirror's record if it is a save and the server does not have the record.
  init(
    _ operation: QueuedOperation,
    onto server: MirrorRecord?,
    _ facts: RecordFacts = RecordFacts(),
    policy: MergePolicy,
    now: Int64
  ) {
    (self.operation, self.server, self.facts, self.policy, self.now) = (operation, server, facts, policy, now)
    self.operation.apply(.compared)
    if let server, operation.baseTag == MirrorRecord.unreadable + server.changeTag { takeBase(from: server) }
    // The zone delete will delete the record. If the zone stays, the change tag reveals the difference.
    if facts.hasZoneDelete { return }
    switch (operation.kind, server) {
    case (.save, let server?) where operation.isHeldByPerson, (.delete, let server?) where operation.isHeldByPerson:
      keep(beside: server)
    case (.save, let server?): rebaseSave(onto: server)
    case (.save, nil): rebaseSaveOntoNothing(known: facts.record)
    case (.delete, let server?): rebaseDelete(onto: server)
    case (.delete, nil) where operation.isUnconfirmed && operation.baseTag == nil && !operation.sentChanges.isEmpty:
      // The create request may still be carried out after this. The record is then known.
      self.operation.apply(.createNotFound)
      goOn(.deletesUnconfirmedSave)
    case (.delete, nil): self.operation.apply(.startedOver)
    case (.zoneSave, _), (.zoneDelete, _): preconditionFailure("A zone operation has no record to be rebased on.")
    }
  }

  /// The writes that carry out the decision: first the server's record.
  var writes: [StoreWrite] {
    [server.map { .put($0, epoch: facts.epoch) } ?? .remove(operation.key)]
      + dropped.map { .drop($0, of: operation) } + [.update(operation)]
  }

  /// Takes the base from the server's record: it is the version on which the change was made, which could not be read.
  private mutating func takeBase(from server: MirrorRecord) {
    if operation.isRecreation { return operation.baseTag = nil }
    let fields = server.fields.merging(operation.base) { $1 }
    operation.base = operation.kind == .save ? fields.filter { operation.changes.names.contains($0.key) } : fields
    operation.baseTag = server.changeTag
  }

  /// Keeps a dead letter or a paused operation unchanged when another client edits the record. It is compared with the
  /// server's record once it is retried or resumed.
  private mutating func keep(beside server: MirrorRecord) {
    if server.changeTag != operation.baseTag {
      operation.apply(.stale)
      operation.note(.serverRecordChanged)
    }
  }

  // MARK: - Save

  private mutating func rebaseSave(onto server: MirrorRecord) {
    if let type = operation.type, type != server.type {
      return operation.apply(.failed(.otherType(server: server.type, local: type)))
    }
    if operation.changes.isInsert, operation.baseTag == nil, !operation.mayHaveMade(server) { return rejectInsert() }
    // The record was recreated without the old one ever being fetched: clear the fields that it still has on the
    // server.
    if operation.isRecreation, operation.baseTag == nil, operation.sentChanges.isEmpty {
      operation.base = server.fields
      operation.baseTag = server.changeTag
      for name in server.fields.keys where !operation.changes.names.contains(name) { operation.changes[name] = nil }
    }
    if operation.replaces(server) { return rebaseReplacement(of: server) }
    if operation.mayHoldSameFiles(as: server) { return operation.apply(.ready(.comparesFile, now: now)) }
    let rules = policy.rules[server.type]
    // The unconfirmed request may have used up the upload receipts.
    if operation.isUnconfirmed { operation.dropReceipts() }
    let base = operation.base(resolvingInDoubt: server, rules)
    let merge = Merge(
      operation.changes,
      base: base,
      isBaseKnown: operation.baseTag != nil,
      contested: operation.fieldsStillOnTheirWay,
      server: server.fields,
      policy: operation.conflictsEndlessly ? .manual : policy.policy,
      rules: rules,
      editedAt: operation.editedAt,
      serverModifiedAt: server.modifiedAt ?? 0
    )
    if !merge.dropped.isEmpty {
      drop(operation.changes.only(merge.dropped), .serverKept(fields: merge.dropped.sorted()))
    }
    guard !merge.remaining.isEmpty else {
      let ending: Ending = merge.dropped.isEmpty ? .acknowledged : .merged
      return end(ending, merge.dropped.isEmpty ? .onServer() : .serverKept())
    }
    send(merge, base: base, onto: server)
  }

  /// Sends what is left of a merge, or leaves it to a person.
  private mutating func send(_ merge: Merge, base: [String: FieldValue], onto server: MirrorRecord) {
    // A conflicting field keeps the common base, which is shown with the conflict.
    func bases(keeping contested: Set<String>) -> [String: FieldValue] {
      merge.remaining.names.reduce(into: [:]) { $0[$1] = contested.contains($1) ? base[$1] : server.fields[$1] }
    }
    operation.changes = merge.remaining
    let fields = merge.overwritten.sorted()
    overwrite(
      Overwritten(merge.overwritten, of: server.fields, by: merge.remaining),
      of: server,
      base: bases(keeping: merge.conflicts.union(fields)),
      .fields(fields),
      .localKept(fields: fields)
    )
    operation.base = bases(keeping: merge.conflicts)
    operation.baseTag = server.changeTag
    if merge.conflicts.isEmpty, !operation.conflictsEndlessly {
      operation.apply(.ready(.readyAgain(.merged), now: now))
    } else {
      operation.apply(.conflicted(.fields(merge.conflicts.sorted()), now: now))
    }
  }

  /// Rejects an insert of a record that the server has already.
  private mutating func rejectInsert() {
    guard operation.changes.yields else {
      let message = "the server has a record of this name already"
      return operation.apply(.failed(.rejected(code: "EXISTS", message: message)))
    }
    // Without the conditions of an insert, so that an undo can change the server's record.
    drop(operation.changes.only(operation.changes.names), .serverKept())
    end(.merged, .serverKept())
  }

  /// Rebases a record that was deleted and recreated locally: it replaces the server's record as a whole or not at all.
  private mutating func rebaseReplacement(of server: MirrorRecord) {
    operation.apply(.confirmed())
    let all = operation.changes
    for name in server.fields.keys where !all.names.contains(name) { operation.changes[name] = nil }
    let policy = operation.conflictsEndlessly ? .manual : policy.policy
    let times = EditTimes(local: operation.editedAt, server: server.modifiedAt)
    if policy == .server || (policy == .newest && times.newest(all.values, server.fields) == .server) {
      drop(all, .serverSideKept(.recreatedHere))
      return end(.merged, .serverSideKept(.recreatedHere))
    }
    if policy == .manual {
      operation.apply(.conflicted(.recreatedHere, now: now))
    } else {
      overwrite(
        Overwritten(operation.changes.names, of: server.fields, by: operation.changes),
        of: server,
        base: operation.base,
        .recreatedHere,
        .localSideKept(.recreatedHere)
      )
      operation.base = server.fields
      operation.apply(.ready(.readyAgain(.merged), now: now))
    }
    operation.baseTag = server.changeTag
  }

  private mutating func rebaseSaveOntoNothing(known: MirrorRecord?) {
    // A create whose reply was lost may still be carried out.
    if !operation.isUnconfirmed || operation.baseTag != nil { operation.apply(.confirmed()) }
    // Deleted on both sides, then recreated locally.
    if operation.isRecreation {
      // The recreation, or the create that it replaces, may still be carried out; clear its fields in that case.
      let sent = operation.isUnconfirmed ? operation.sentChanges : []
      let cleared = operation.changes.only(operation.changes.cleared.intersection(sent.names))
      // Fields that were unchanged did not have to be sent; now they are missing on the server.
      operation.apply(.recreated(from: known?.fields ?? [:]))
      operation.apply(.startedOver)
      operation.changes.apply(cleared)
      operation.apply(.confirmed(except: sent))
      return goOn(.ready)
    }
    // A record that the server does not hold was not created: send the create (again).
    guard operation.baseTag != nil else {
      if operation.isUnconfirmed { operation.dropReceipts() }
      if operation.conflictsEndlessly, !operation.isHeldByPerson {
        operation.apply(.conflicted(.existsUnseen, now: now))
      } else if operation.state != .conflict {
        goOn(.ready)
      }
      return
    }
    // Without a local copy, the fields that it changed are all that is known.
    let fields = known?.fields ?? operation.base
    if operation.isHeldByPerson { return operation.apply(.outlived(fields, now: now)) }
    let whole = FieldChanges(values: operation.changes.applied(to: fields))
    switch operation.conflictsEndlessly ? .manual : policy.policy {
    case .server:
      drop(whole, .serverSideKept(.deletedOnServer))
      end(.merged, .serverSideKept(.deletedOnServer))
    case .client, .newest:
      // The time of the server's deletion is unknown, so `newest` keeps the edit.
      operation.apply(.outlived(fields, now: now))
      overwrite(
        .deletion(by: operation.changes.values),
        of: nil,
        base: fields,
        .deletedOnServer,
        .localSideKept(.deletedOnServer)
      )
    case .manual:
      operation.apply(.orphaned(fields, now: now))
    }
  }

  private mutating func goOn(_ cause: Cause) {
    if !operation.isHeldByPerson { operation.apply(.ready(cause, now: now)) }
  }

  // MARK: - Delete

  private mutating func rebaseDelete(onto server: MirrorRecord) {
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
    case .newest:
      let times = EditTimes(local: operation.editedAt, server: server.modifiedAt)
      deleteWins = isUnchanged || times.newestOfLocalDeletion == .local
    case .manual: deleteWins = isUnchanged && !operation.conflictsEndlessly
    }
    if deleteWins {
      overwrite(
        isUnchanged ? nil : .record(server.fields),
        of: server,
        base: operation.base,
        .deletedHere,
        .localSideKept(.deletedHere)
      )
      operation.base = server.fields
      operation.baseTag = server.changeTag
      operation.apply(.ready(.ready, now: now))
    } else if policy.policy == .manual || operation.conflictsEndlessly {
      operation.apply(.conflicted(.deletedHere, now: now))
    } else {
      drop(FieldChanges(), .serverSideKept(.deletedHere))
      end(.merged, .serverSideKept(.deletedHere))
    }
  }

  // MARK: - Parts of the decision

  private mutating func end(_ ending: Ending, _ cause: Cause) { operation.apply(.ended(ending, cause)) }

  /// Keeps a change that will not be sent.
  private mutating func drop(_ changes: FieldChanges, _ cause: Cause) {
    dropped.append(DroppedChange(changes, of: operation, cause, at: now))
  }

  /// Keeps the server's side that the policy overwrites, so that it can be restored. Undone before the operation is
  /// sent, it is a conflict for a person.
  private mutating func overwrite(
    _ overwritten: Overwritten?,
    of server: MirrorRecord?,
    base: [String: FieldValue],
    _ conflict: ConflictCause,
    _ cause: Cause
  ) {
    guard let overwritten else { return }
    var dropped = DroppedChange(nil, of: operation, cause, overwriting: overwritten, of: server, at: now)
    (dropped.conflict, dropped.base) = (.conflict(conflict), base)
    self.dropped.append(dropped)
  }
}
