import CloudKit

/// Bringing a queued operation and the server's record together. Used wherever the server's version becomes known: a
/// page of a feed, a record read back, an acknowledgement.
struct Reconciliation {
  let policy: ConflictPolicy
  let now: Int64
  let ledger: any Ledger

  /// Takes the server's record into the mirror and rebases the queued operation of that record on it, if any.
  ///
  /// A record already known by its tag changes nothing. One in flight is left to its answer.
  func take(_ record: MirrorRecord, epoch: Int64) throws {
    if try ledger.changeTag(record.key) == record.changeTag {
      try ledger.touch(record.key, epoch: epoch)
      return
    }
    let queued = try ledger.operation(for: record.key)
    if let queued, queued.state != .inFlight {
      try rebase(queued, onto: record, epoch: epoch)
    } else {
      try ledger.put(record, epoch: epoch)
    }
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
    switch (operation.kind, server) {
    case (.save, let server?): try rebaseSave(&operation, onto: server, epoch: epoch)
    case (.save, nil): try rebaseSaveOntoNothing(&operation)
    case (.delete, let server?): try rebaseDelete(&operation, onto: server, epoch: epoch)
    case (.delete, nil):
      try ledger.removeRecord(operation.key)
      try ledger.end(operation, .acknowledged, "the server does not hold it", now: now)
    case (.zoneSave, _), (.zoneDelete, _): preconditionFailure("A zone operation has no record to be rebased on.")
    }
  }

  // MARK: - Save

  private func rebaseSave(_ operation: inout QueuedOperation, onto server: MirrorRecord, epoch: Int64) throws {
    try ledger.put(server, epoch: epoch)
    if let type = operation.type, type != server.type {
      let message = "the server holds a \(server.type) of this name, not a \(type)"
      operation.fail("EXISTS", message)
      return try ledger.update(operation)
    }
    // What our own unanswered request wrote is as good as the base: nobody else touched it.
    var base = operation.base
    for name in operation.sentChanges?.names ?? [] where server.fields[name] == operation.sentChanges?[name] {
      base[name] = server.fields[name]
    }
    operation.sentChanges = nil
    let merge = Merge(
      operation.changes,
      base: base,
      server: server.fields,
      policy: policy,
      editedAt: operation.editedAt,
      serverModifiedAt: server.modifiedAt ?? 0
    )
    if !merge.dropped.isEmpty {
      try log(
        "merge",
        "\(operation.key.name): the server's value kept for \(merge.dropped.sorted().joined(separator: ", "))"
      )
    }
    guard !merge.remaining.isEmpty else {
      let ending: Ending = merge.dropped.isEmpty ? .acknowledged : .merged
      let detail = merge.dropped.isEmpty ? "the server holds it" : "the server's values were kept"
      return try ledger.end(operation, ending, detail, now: now)
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
    if merge.conflicts.isEmpty {
      operation.leaveConflict("merged with the server's record, ready to send", now: now)
    } else {
      operation.enterConflict(
        "both sides changed \(merge.conflicts.sorted().joined(separator: ", "))",
        now: now
      )
    }
    try ledger.update(operation)
  }

  private func rebaseSaveOntoNothing(_ operation: inout QueuedOperation) throws {
    operation.sentChanges = nil
    let known = try ledger.record(operation.key)
    try ledger.removeRecord(operation.key)
    // Deleted on both sides, and then made anew here.
    if operation.isRecreation {
      operation.startOver()
      operation.leaveConflict("ready to send", now: now)
      return try ledger.update(operation)
    }
    // A creation that the server does not hold was not done: it goes (again).
    guard operation.baseTag != nil else {
      if operation.state != .conflict { operation.leaveConflict("ready to send", now: now) }
      return try ledger.update(operation)
    }
    switch policy {
    case .server:
      try log("merge", "\(operation.key.name): deleted on the server, the local edit was dropped")
      try ledger.end(operation, .merged, "deleted on the server", now: now)
    case .client, .newest:
      // When a record was deleted is not known, so `newest` keeps what somebody wrote.
      operation.recreate(from: known?.fields ?? [:])
      operation.base = [:]
      operation.leaveConflict("deleted on the server, to be created again", now: now)
      try ledger.update(operation)
    case .manual:
      operation.recreate(from: known?.fields ?? [:])
      operation.base = known?.fields ?? [:]
      operation.enterConflict("edited here, deleted on the server", now: now)
      try ledger.update(operation)
    }
  }

  // MARK: - Delete

  private func rebaseDelete(_ operation: inout QueuedOperation, onto server: MirrorRecord, epoch: Int64) throws {
    try ledger.put(server, epoch: epoch)
    if operation.type == nil { operation.type = server.type }
    // Also where the tag is new only because of a save of our own whose answer was lost.
    let isUnchanged =
      operation.baseTag == nil || operation.baseTag == server.changeTag || operation.base == server.fields
      || operation.sentChanges?.applied(to: operation.base) == server.fields
    operation.sentChanges = nil
    let deleteWins: Bool
    switch policy {
    case .server: deleteWins = isUnchanged
    case .client: deleteWins = true
    // At equal times the delete wins, on every device.
    case .newest: deleteWins = isUnchanged || operation.editedAt >= server.modifiedAt ?? 0
    case .manual: deleteWins = isUnchanged
    }
    if deleteWins {
      operation.base = server.fields
      operation.baseTag = server.changeTag
      operation.leaveConflict("ready to send", now: now)
      try ledger.update(operation)
    } else if policy == .manual {
      operation.enterConflict("deleted here, edited on the server", now: now)
      try ledger.update(operation)
    } else {
      try log("merge", "\(operation.key.name): edited on the server, the local delete was dropped")
      try ledger.end(operation, .merged, "edited on the server", now: now)
    }
  }

  func log(_ kind: String, _ message: String) throws {
    try EventLog.add(kind, message, now: now, ledger)
  }
}

extension QueuedOperation {
  /// Makes the operation a dead letter with its reason.
  mutating func fail(_ code: String, _ message: String) {
    state = .failed
    reason = message.isEmpty ? code : "\(code): \(message)"
    errorCode = code
    errorMessage = message
    nextAttemptAt = nil
    conflictAt = nil
  }

  mutating func enterConflict(_ reason: String, now: Int64) {
    if state != .conflict { conflictAt = now }
    state = .conflict
    nextAttemptAt = nil
    self.reason = reason
  }

  /// Sendable again, unless an operator holds it or it is a dead letter.
  mutating func leaveConflict(_ reason: String, now: Int64) {
    guard state != .paused, state != .failed else { return }
    becomePending(reason, now: now)
  }

  /// Sendable again; where the server asked for a wait, after its end.
  mutating func becomePending(_ reason: String, now: Int64) {
    self.reason = reason
    conflictAt = nil
    if state == .waiting, isServersWait, let end = nextAttemptAt, end > now { return }
    state = .pending
    nextAttemptAt = nil
  }

  /// Backs off after a passing failure, its attempt counted already.
  mutating func backOff(_ error: WebServicesError, now: Int64, random: Double) {
    let own = Backoff.seconds(afterAttempt: attempts, random: random)
    let asked = error.retryAfter ?? 0
    state = .waiting
    isServersWait = asked > 0
    nextAttemptAt = now + Backoff.milliseconds(max(own, asked))
    reason = "\(error.code.name), attempt \(attempts) of \(maxAttempts)"
  }

  /// Becomes the creation of a record that the server does not hold.
  mutating func startOver() {
    changes = FieldChanges(values: changes.values)
    base = [:]
    baseTag = nil
    sentChanges = nil
    isRecreation = false
  }

  /// Turns an edit into the creation of the whole record, as it was with the edit applied.
  mutating func recreate(from fields: [String: FieldValue]) {
    // The files of assets went with the server's record, but for those that the edit brings.
    let fields = fields.filter { $0.value.assetDescriptors.isEmpty }
    changes = FieldChanges(values: changes.applied(to: fields))
    baseTag = nil
  }
}
