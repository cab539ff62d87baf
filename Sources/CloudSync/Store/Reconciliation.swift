import CloudKit
import Facts

/// Bringing a queued operation and the server's record together. Used wherever the server's version becomes known: a
/// page of a feed, a record read back, an acknowledgement.
struct Reconciliation {
  let policy: MergePolicy
  let now: Int64
  let ledger: Ledger

  /// Takes the server's record into the mirror and rebases the queued operation of that record on it, if any.
  ///
  /// A record already known by its tag changes nothing, nor does one that the mirror is past: queries lag behind what was
  /// written. One in flight is left to its answer.
  ///
  /// - Parameter isWhole: whether the server tells everything anew, perhaps from an older state that it went back to.
  func take(_ record: MirrorRecord, epoch: Int64, isWhole: Bool = false) throws {
    let known = try ledger.version(record.key)
    if known?.changeTag == record.changeTag { return try ledger.touch(record.key, epoch: epoch) }
    let queued = try ledger.operation(for: record.key)
    if let known, !isWhole, known.isLater(than: record) {
      let isFormer = known.formerTags.contains(record.changeTag)
      if isFormer || queued != nil { try ledger.touch(record.key, epoch: epoch) }
      if isFormer { return }
      if let queued { return try readBack(queued) }
    }
    if let queued, queued.state != .inFlight {
      try rebase(queued, onto: record, epoch: epoch)
    } else {
      try ledger.put(record, epoch: epoch)
    }
  }

  /// Has the server's record read before anything is decided; what is in flight or on the desk is left alone.
  private func readBack(_ operation: QueuedOperation) throws {
    guard operation.state != .inFlight, operation.state != .conflict else { return }
    var operation = operation
    operation.needsReadBack = true
    operation.isHeldByPerson ? operation.note(.serverChanged) : (operation.cause = .serverChanged)
    try ledger.update(operation)
  }

  /// The server says that the record is gone.
  func takeDeletion(of key: RecordKey) throws {
    let queued = try ledger.operation(for: key)
    if let queued, queued.state != .inFlight {
      try rebase(queued, onto: nil, epoch: 0)
    } else {
      try ledger.removeRecord(key)
    }
  }

  /// Decides what is left of an operation that is not in flight, now that the server is known to hold `server`.
  func rebase(_ operation: QueuedOperation, onto server: MirrorRecord?, epoch: Int64) throws {
    var operation = operation
    operation.needsReadBack = false
    // It waits for the deletion of its zone, with which goes whatever there is now. Should the zone stay, the tag tells.
    if try ledger.isDoomed(operation.key.zoneKey) {
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
      // A creation may still be on its way, and make what was to be deleted. Should it come all the same, it is known.
      try ledger.removeRecord(operation.key)
      operation.isUnanswered = false
      goOn(&operation, .deletesUnconfirmedSave)
      try ledger.update(operation)
    case (.delete, nil):
      try ledger.endDeletion(operation, now: now)
    case (.zoneSave, _), (.zoneDelete, _): preconditionFailure("A zone operation has no record to be rebased on.")
    }
  }

  /// A dead letter or what an operator paused is never ended, nor changed, by somebody else's edit: it is compared with the
  /// server's record once it goes on.
  private func keep(_ operation: inout QueuedOperation, beside server: MirrorRecord, epoch: Int64) throws {
    try ledger.put(server, epoch: epoch)
    if server.changeTag != operation.baseTag {
      operation.needsReadBack = true
      operation.note(.serverRecordChanged)
    }
    try ledger.update(operation)
  }

  // MARK: - Save

  private func rebaseSave(_ operation: inout QueuedOperation, onto server: MirrorRecord, epoch: Int64) throws {
    try ledger.put(server, epoch: epoch)
    if let type = operation.type, type != server.type {
      operation.fail(.otherType(server: server.type, local: type))
      return try ledger.update(operation)
    }
    // It was deleted unseen, and made anew: what is there goes.
    if operation.isRecreation, operation.baseTag == nil, operation.sentChanges.isEmpty {
      operation.base = server.fields
      operation.baseTag = server.changeTag
      for name in server.fields.keys where !operation.changes.names.contains(name) { operation.changes[name] = nil }
    }
    if operation.replaces(server) { return try rebaseReplacement(&operation, of: server) }
    if operation.mayHoldSameFiles(as: server) {
      operation.becomePending(.comparesFile, now: now)
      return try ledger.update(operation)
    }
    let rules = policy.rules[server.type]
    // What a request that was not answered has used up is no good for the next one.
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
    operation.base = Dictionary(
      uniqueKeysWithValues: merge.remaining.names.compactMap { name in
        // A conflicting field keeps the base that both sides started from; the desk shows it.
        let value = merge.conflicts.contains(name) ? base[name] : server.fields[name]
        return value.map { (name, $0) }
      }
    )
    operation.changes = merge.remaining
    operation.baseTag = server.changeTag
    let counters = uncertain.intersection(merge.conflicts).sorted()
    if merge.conflicts.isEmpty, !operation.conflictsEndlessly {
      operation.becomePending(.readyAgain(.merged), now: now)
    } else if !counters.isEmpty {
      operation.enterConflict(.counters(counters), now: now)
    } else {
      operation.enterConflict(.fields(merge.conflicts.sorted()), now: now)
    }
    try ledger.update(operation)
  }

  /// A record that was deleted here and made anew is one thing, which goes as a whole or not at all.
  private func rebaseReplacement(_ operation: inout QueuedOperation, of server: MirrorRecord) throws {
    operation.forgetSent()
    let all = operation.changes
    for name in server.fields.keys where !all.names.contains(name) { operation.changes[name] = nil }
    let policy = operation.conflictsEndlessly ? .manual : policy.policy
    let isLater = operation.editedAt >= server.modifiedAt ?? 0
    if policy == .server || (policy == .newest && !isLater) {
      try drop(all, of: operation, .serverSideKept(.recreatedHere))
      return try ledger.end(operation, .merged, .serverSideKept(.recreatedHere), now: now)
    }
    if policy == .manual {
      operation.enterConflict(.recreatedHere, now: now)
    } else {
      operation.base = server.fields
      operation.becomePending(.readyAgain(.merged), now: now)
    }
    operation.baseTag = server.changeTag
    try ledger.update(operation)
  }

  private func rebaseSaveOntoNothing(_ operation: inout QueuedOperation) throws {
    // A creation whose answer was lost may still come.
    if !operation.isUnanswered || operation.baseTag != nil { operation.forgetSent() }
    let known = try ledger.record(operation.key)
    try ledger.removeRecord(operation.key)
    // Deleted on both sides, and then made anew here.
    if operation.isRecreation {
      // It may have been sent itself, or what it replaces may still be made: that is to go all the same.
      let sent = operation.isUnanswered ? operation.sentChanges : []
      let cleared = operation.changes.only(operation.changes.cleared.intersection(sent.names))
      // What the record had of it already need not be sent so far; now it is missing.
      operation.recreate(from: known?.fields ?? [:])
      operation.startOver()
      operation.changes.apply(cleared)
      (operation.sentChanges, operation.isUnanswered) = (sent, !sent.isEmpty)
      goOn(&operation, .ready)
      return try ledger.update(operation)
    }
    // A creation that the server does not hold was not done: it goes (again).
    guard operation.baseTag != nil else {
      if operation.isUnanswered { operation.forgetGrants() }
      if operation.conflictsEndlessly, !operation.isHeldByPerson {
        operation.enterConflict(.existsUnseen, now: now)
      } else if operation.state != .conflict {
        goOn(&operation, .ready)
      }
      return try ledger.update(operation)
    }
    if operation.isHeldByPerson {
      operation.outlive(known?.fields ?? [:], now: now)
      return try ledger.update(operation)
    }
    let whole = FieldChanges(values: operation.changes.applied(to: known?.fields ?? [:]))
    switch operation.conflictsEndlessly ? .manual : policy.policy {
    case .server:
      try drop(whole, of: operation, .serverSideKept(.deletedOnServer))
      try ledger.end(operation, .merged, .serverSideKept(.deletedOnServer), now: now)
    case .client, .newest:
      // When a record was deleted is not known, so `newest` keeps what somebody wrote.
      operation.outlive(known?.fields ?? [:], now: now)
      try ledger.update(operation)
    case .manual:
      operation.stayInConflict(withoutServer: known?.fields ?? [:], now: now)
      try ledger.update(operation)
    }
  }

  private func goOn(_ operation: inout QueuedOperation, _ cause: Cause) {
    if !operation.isHeldByPerson { operation.becomePending(cause, now: now) }
  }

  // MARK: - Delete

  private func rebaseDelete(_ operation: inout QueuedOperation, onto server: MirrorRecord, epoch: Int64) throws {
    try ledger.put(server, epoch: epoch)
    if operation.type == nil { operation.type = server.type }
    // Also where the tag is new only because of a save of our own whose answer was lost.
    let isUnchanged =
      (operation.baseTag == nil && operation.sentChanges.isEmpty) || operation.baseTag == server.changeTag
      || operation.base == server.fields
      || operation.sentChanges.contains { $0.make(server.fields, of: operation.base) }
    if server.changeTag != operation.baseTag { operation.forgetSent() }
    let deleteWins: Bool
    switch operation.conflictsEndlessly ? .manual : policy.policy {
    case .server: deleteWins = isUnchanged
    case .client: deleteWins = true
    // At equal times the delete wins, on every device.
    case .newest: deleteWins = isUnchanged || operation.editedAt >= server.modifiedAt ?? 0
    case .manual: deleteWins = isUnchanged && !operation.conflictsEndlessly
    }
    if deleteWins {
      operation.base = server.fields
      operation.baseTag = server.changeTag
      operation.becomePending(.ready, now: now)
      try ledger.update(operation)
    } else if policy.policy == .manual || operation.conflictsEndlessly {
      operation.enterConflict(.deletedHere, now: now)
      try ledger.update(operation)
    } else {
      try drop(FieldChanges(), of: operation, .serverSideKept(.deletedHere))
      try ledger.end(operation, .merged, .serverSideKept(.deletedHere), now: now)
    }
  }

  // MARK: - What is lost by it

  /// Keeps what is not going to be sent, so that it can be seen and undone.
  private func drop(_ changes: FieldChanges, of operation: QueuedOperation, _ cause: Cause) throws {
    try EventLog.add(.dropped(record: operation.key.name, cause), of: operation, now: now, ledger)
    try ledger.add(DroppedChange(changes, of: operation, cause, at: now))
  }
}

extension QueuedOperation {
  /// Whether it is to stand in place of what others have written since it was deleted here.
  fileprivate func replaces(_ server: MirrorRecord) -> Bool {
    isRecreation && baseTag != nil && baseTag != server.changeTag && base != server.fields
      && changes.values != server.fields && !mayShow(in: server)
  }
}

extension QueuedOperation {
  /// Whether a file of this save may be the one that the server holds now. Files are the same where the server gives them the
  /// same checksum, which is not known before the upload: how it is computed is not published. Until then sizes may rule it out.
  ///
  /// The save then goes on with its old tag, so that the server refuses it, and both sides are compared once more.
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

extension QueuedOperation {
  /// Makes the operation a dead letter.
  mutating func fail(_ failure: FailureCause) {
    state = .failed
    cause = .failed(failure)
    errorCode = failure.code
    errorMessage = failure.message
    nextAttemptAt = nil
    conflictAt = nil
  }

  mutating func enterConflict(_ conflict: ConflictCause, now: Int64) {
    if state != .conflict { conflictAt = now }
    state = .conflict
    nextAttemptAt = nil
    cause = .conflict(conflict, rounds: conflictsEndlessly ? conflictRounds : nil)
  }

  /// A conflict that comes back more often than this is not going to settle by itself.
  static let conflictRoundLimit = 8

  /// Whatever the policy, a person has to look at it.
  var conflictsEndlessly: Bool { conflictRounds > Self.conflictRoundLimit }

  /// Paused, or a dead letter.
  var isHeldByPerson: Bool { state == .paused || state == .failed }

  /// Adds what became known to the cause, once.
  mutating func note(_ note: Cause.Note) {
    if !cause.notes.contains(note) { cause = .noted(cause, note) }
  }

  /// The outcome of every request sent so far is known.
  mutating func forgetSent() {
    sentChanges = []
    isUnanswered = false
  }

  /// A save was sent that the server is not known to have taken: it may still be carried out, as may those before it.
  mutating func remember(sent changes: FieldChanges) {
    guard sentChanges.last != changes else { return }
    // Older ones are forgotten.
    sentChanges = sentChanges.suffix(3) + [changes]
  }

  /// Begins anew to count how often it fails.
  mutating func forgetFailures() {
    attempts = 0
    errorCode = nil
    errorMessage = nil
  }

  /// Sendable again; where the server asked for a wait, after its end.
  mutating func becomePending(_ cause: Cause, now: Int64) {
    self.cause = cause
    conflictAt = nil
    if state == .waiting, isServersWait, let end = nextAttemptAt, end > now { return }
    state = .pending
    nextAttemptAt = nil
  }

  /// Backs off after a passing failure, its attempt counted already.
  ///
  /// - Parameter rounds: how often in a row it has, where not every time counts as an attempt.
  mutating func backOff(_ error: WebServicesError, rounds: Int? = nil, now: Int64, random: Double) {
    let rounds = rounds ?? attempts
    let own = Backoff.seconds(afterAttempt: rounds, random: random)
    let asked = error.retryAfter ?? 0
    state = .waiting
    isServersWait = asked > 0
    nextAttemptAt = now + Backoff.milliseconds(max(own, Backoff.seconds(asked: asked, attempt: rounds)))
    cause = .backOff(code: error.code.name, attempt: attempts, of: maxAttempts)
  }

  /// Whatever made a request fail that it was in, it was not this.
  mutating func clearOfSuspicion() {
    suspicion = nil
    lostRounds = 0
  }

  /// Becomes the creation of a record that the server does not hold.
  mutating func startOver() {
    changes = FieldChanges(values: changes.values, rules: changes.rules)
    base = [:]
    baseTag = nil
    forgetGrants()
    forgetSent()
    isRecreation = false
  }

  /// Turns an edit into the creation of the whole record, as it was with the edit applied.
  ///
  /// What the record was stays the base: should somebody else have made it anew, only what was edited here is ours.
  mutating func recreate(from fields: [String: FieldValue]) {
    // The files of assets went with the server's record, but for those that the edit brings.
    let fields = fields.filter { $0.value.assets?.isEmpty ?? true }
    changes = FieldChanges(values: changes.applied(to: fields), rules: changes.rules)
    base = fields.filter { changes.names.contains($0.key) }
    baseTag = nil
    forgetGrants()
  }

  /// The server has deleted the record, with these fields, and a person is to say whether the edit makes it anew, and how.
  mutating func stayInConflict(withoutServer fields: [String: FieldValue], now: Int64) {
    recreate(from: fields)
    base = fields
    enterConflict(.deletedOnServer, now: now)
  }

  /// The server has deleted the record, with these fields, and the edit stays: it makes the record anew, unless a person
  /// holds it as soon as that can be.
  mutating func outlive(_ fields: [String: FieldValue], now: Int64) {
    recreate(from: fields)
    if isHeldByPerson {
      note(.recordDeleted)
    } else {
      becomePending(.readyAgain(.recreates), now: now)
    }
  }
}
