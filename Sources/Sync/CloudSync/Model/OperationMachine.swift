package import CloudKit
package import Facts

/// An accepted change to be sent to the server. There is at most one for a record: later edits merge into it and
/// increment its generation. Its phase, doubt, bisection and counts change only by events, and so does what a decision
/// about the server's reply ends. Commands end rows of the queue directly.
package struct QueuedOperation: Hashable, Sendable {
  package var id: Int64
  package var kind: OperationKind
  /// The record; for zone operations the zone, with an empty name.
  package var key: RecordKey
  package var type: String?
  package var changes: FieldChanges
  /// The server's values of the touched fields when this change was made: the merge base.
  package var base: [String: FieldValue]
  /// The server's change tag of the base; nil if the record did not exist.
  package var baseTag: String?
  /// The token of the zone that a zone delete in flight deletes; nil if it was not known.
  package var zoneToken: String?
  package fileprivate(set) var phase = Phase.pending
  /// The reason for its phase.
  package var cause: Cause
  package var generation: Int64
  /// Whether it was sent in one request with operations that it blocks and that block it. Not stored.
  package var isOfCycle = false
  /// Whether this is a save of a record that was deleted earlier in the same operation, so the server may lack it.
  package var isRecreation = false
  package fileprivate(set) var doubt = Doubt()
  /// Conflicts in a row without progress; limited, then a person decides.
  package fileprivate(set) var conflictRounds = 0
  package fileprivate(set) var attempts = 0
  package var maxAttempts: Int
  package var errorCode: String?
  package var errorMessage: String?
  package var enqueuedAt: Int64
  package var editedAt: Int64
  /// The question that the app was asked and has not decided.
  package var asked: Asked?
  package var bytes: Int
  /// The name of the atomic group; its operations are sent in one atomic request.
  package var group: String?
  /// The assets of its changes that this operation uploads.
  package var assets: [QueuedAsset] = []
  package fileprivate(set) var bisection: Bisection?
  /// How it ended; nil if it stays in the queue. `Ledger.update` removes one that ended. Not stored with it.
  package fileprivate(set) var end: End?
  /// The identifiers of the operations that block this one.
  package var blockedBy: [Int64] = []
  package var enqueuedBy: ProgramID?
  /// The time of the next attempt where something else than its own wait decides it. Not stored.
  package var explainedAttemptAt: Int64??

  /// The phase of an operation. Times are milliseconds since 1970.
  package enum Phase: Hashable, Sendable {
    case pending
    /// A generation is in flight as a kind: a save may become a delete meanwhile.
    case inFlight(generation: Int64, OperationKind)
    /// Whether the server asked for the wait, so that a flush does not end it.
    case waiting(until: Int64, isServersWait: Bool)
    case failed
    case paused
    case conflict(since: Int64)
  }

  package struct End: Hashable, Sendable {
    package var ending: Ending
    package var cause: Cause
  }

  /// The uncertainty about its earlier requests.
  package struct Doubt: Hashable, Sendable {
    /// Whether it must be verified before anything is sent, after a lost reply or a conflict without the server's
    /// record.
    package var needsVerification = false
    /// Whether a request's reply was lost: it may have been carried out, or still be, until the server's record is seen
    /// to have changed.
    package var isUnconfirmed = false
    /// The changes of unconfirmed saves, latest last: if the server holds them, they are our own and no conflict.
    package var sentChanges: [FieldChanges] = []
    /// Replies lost in a row.
    package var lostRounds = 0
  }

  /// A request with this operation that was rejected as a whole. The number identifies the request.
  package enum Bisection: Hashable, Sendable {
    case send(request: Int64)
    /// A re-fetch.
    case check(request: Int64)
  }

  /// The subject of a question to the app.
  package enum Asked: Hashable, Sendable {
    case conflict(version: String)
    case deadLetter(generation: Int64)
  }
}

/// Each event can happen in any phase.
extension QueuedOperation {
  mutating func apply(_ event: SendingEvent) {
    switch event {
    case .ready(let cause, let now): becomeReady(cause, now)
    case .sent(let kind): (phase, cause) = (.inFlight(generation: generation, kind), .sending)
    case .answered: phase = .pending
    case .recovered:
      // An edit of what was in flight has noted it already.
      if kind == .save, phase == .inFlight(generation: generation, .save) { doubt.remember(changes) }
      (doubt.needsVerification, doubt.isUnconfirmed) = (kind != .zoneSave, !kind.isOfZone)
      (phase, cause) = (.pending, .sentBeforeRestart(isRepeated: kind == .zoneSave))
    case .attempted: attempts += 1
    case .backedOff(let error, let rounds, let now, let random): backOff(error, rounds ?? attempts, now, random)
    case .deferred(let end, let isServersWait): phase = .waiting(until: end, isServersWait: isServersWait)
    case .failed(let failure):
      (phase, cause) = (.failed, .failed(failure))
      (errorCode, errorMessage) = (failure.code, failure.message)
    case .forgiven: forgive()
    case .saved(let tag):
      (baseTag, isRecreation, conflictRounds) = (tag, false, 0)
      apply(.cleared)
      apply(.confirmed())
      forgive()
      cause = .readyAgain(.editedWhileSent)
    }
  }

  mutating func apply(_ event: DoubtEvent) {
    switch event {
    case .stale: doubt.needsVerification = true
    case .compared: doubt.needsVerification = false
    case .leftInDoubt: (doubt.needsVerification, doubt.isUnconfirmed) = (true, !kind.isOfZone)
    case .replyLost(let code):
      (doubt.needsVerification, doubt.isUnconfirmed, cause) = (true, !kind.isOfZone, .unconfirmed(code: code))
      doubt.lostRounds += 1
    case .disputed(let code):
      (doubt.needsVerification, doubt.lostRounds, cause) = (true, 0, .unconfirmed(code: code))
      conflictRounds += 1
    case .mayBeCarriedOut(let changes): doubt.remember(changes)
    case .confirmed(let left): (doubt.sentChanges, doubt.isUnconfirmed) = (left, !left.isEmpty)
    case .createNotFound: doubt.isUnconfirmed = false
    case .uploaded: doubt.lostRounds = 0
    case .uploadFailed: doubt.lostRounds += 1
    case .bisected(let bisection): self.bisection = bisection
    case .cleared: (bisection, doubt.lostRounds) = (nil, 0)
    }
  }

  mutating func apply(_ event: DecisionEvent) {
    switch event {
    case .conflicted(let conflict, let now): enterConflict(conflict, now)
    case .resolved(let decider, let now):
      generation += 1
      attempts = 0
      if decider == .person { conflictRounds = 0 }
      becomeReady(.readyAgain(.resolved(by: decider)), now)
    case .edited(let resolvesConflict, let now):
      generation += 1
      editedAt = now
      apply(.cleared)
      guard resolvesConflict || state == .failed || state == .waiting else { return }
      becomeReady(.readyAgain(.edited), now)
      forgive()
    case .repaired(let now):
      (editedAt, phase, cause) = (now, .pending, .readyAgain(.repairedByApp))
      forgive()
    case .retried(let actor, let now):
      becomeReady(.readyAgain(.retried(by: actor)), now)
      forgive()
      conflictRounds = 0
      apply(.cleared)
      dropReceipts()
      for index in assets.indices where assets[index].path != nil { assets[index].mayHaveChanged = true }
    case .paused(let actor): (phase, cause) = (.paused, .paused(by: actor))
    case .resumed(let actor, let end):
      phase = end.map { .waiting(until: $0, isServersWait: true) } ?? .pending
      cause = .readyAgain(.resumed(by: actor))
    case .takenOver(let fields, let user, let now):
      recreate(from: fields)
      base = [:]
      apply(.confirmed())
      apply(.compared)
      if state == .conflict { becomeReady(.readyAgain(.takenOver(by: user)), now) }
    case .ended(let ending, let cause): end = End(ending: ending, cause: cause)
    }
  }

  mutating func apply(_ event: LossEvent) {
    guard kind == .save else {
      // One in flight ends with its reply.
      if kind == .delete, state != .inFlight { apply(.ended(.acknowledged, .onServer(isDeletion: true))) }
      return
    }
    switch event {
    case .startedOver:
      changes = FieldChanges(values: changes.values, rules: changes.rules)
      (base, baseTag, isRecreation) = ([:], nil, false)
      dropReceipts()
      apply(.confirmed())
    case .recreated(let fields): recreate(from: fields)
    case .outlived(let fields, let now):
      recreate(from: fields)
      isHeldByPerson ? note(.recordDeleted) : becomeReady(.readyAgain(.recreates), now)
    case .orphaned(let fields, let now):
      recreate(from: fields)
      base = fields
      enterConflict(.deletedOnServer, now)
    }
  }

  private mutating func becomeReady(_ cause: Cause, _ now: Int64) {
    self.cause = cause
    if case .waiting(let end, isServersWait: true) = phase, end > now { return }
    phase = .pending
  }

  private mutating func backOff(_ error: WebServicesError, _ rounds: Int, _ now: Int64, _ random: Double) {
    guard !isHeldByPerson, state != .conflict else { return }
    let own = Backoff.seconds(afterAttempt: rounds, random: random)
    let asked = error.retryAfter ?? 0
    let end = now + Backoff.milliseconds(max(own, Backoff.seconds(asked: asked, attempt: rounds)))
    phase = .waiting(until: end, isServersWait: asked > 0)
    cause = .backOff(code: error.code.name, attempt: attempts, of: maxAttempts)
  }

  private mutating func enterConflict(_ conflict: ConflictCause, _ now: Int64) {
    if state != .conflict { phase = .conflict(since: now) }
    cause = .conflict(conflict, rounds: conflictsEndlessly ? conflictRounds : nil)
  }

  private mutating func forgive() { (attempts, errorCode, errorMessage) = (0, nil, nil) }

  /// The old fields stay the base: if another client recreates the record too, only the fields edited here are ours.
  private mutating func recreate(from fields: [String: FieldValue]) {
    // The server deleted the asset files with its record, except for those that the edit brings.
    let fields = fields.filter { $0.value.assets?.isEmpty ?? true }
    changes = FieldChanges(values: changes.applied(to: fields), rules: changes.rules)
    base = fields.filter { changes.names.contains($0.key) }
    baseTag = nil
    dropReceipts()
  }
}

extension QueuedOperation.Doubt {
  fileprivate mutating func remember(_ changes: FieldChanges) {
    guard sentChanges.last != changes else { return }
    // Keep only the latest few.
    sentChanges = sentChanges.suffix(3) + [changes]
  }
}
