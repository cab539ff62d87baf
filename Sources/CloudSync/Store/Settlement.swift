import CloudKit
import Facts

/// Writes the outcomes of one request: first, in one transaction, all that was refused, and what it says of the request as a
/// whole; then what was done, in as many as it takes.
struct Settlement {
  let reconciliation: Reconciliation
  let startedAt: Int64
  let seconds: Double
  let random: Double
  var result = SyncStore.Settled()
  private let sent: [QueuedOperation]
  private let outcomes: [Int64: Outcome]
  private var waits: [WaitScope: WebServicesError] = [:]
  private var tooLarge = false
  /// Bytes of what the server took.
  private var bytes = 0
  private var epochs: [ZoneKey: Int64] = [:]
  /// What the server holds as it was sent, and is still to be taken out of the queue.
  private var ended: [QueuedOperation] = []

  private var ledger: Ledger { reconciliation.ledger }
  private var now: Int64 { reconciliation.now }

  init(
    reconciliation: Reconciliation,
    startedAt: Int64,
    seconds: Double,
    random: Double,
    sent: [QueuedOperation],
    outcomes: [Int64: Outcome]
  ) {
    self.reconciliation = reconciliation
    self.startedAt = startedAt
    self.seconds = seconds
    self.random = random
    self.sent = sent
    self.outcomes = outcomes
  }

  /// A request of one operation cannot be split, nor can an atomic group.
  private var isWhole: Bool { sent.count == 1 || sent.contains { $0.group != nil } }

  /// Writes what this transaction takes: the first one what was refused, and what concerns the request as a whole, each then
  /// as many of what was done as there is time for.
  mutating func settle(_ done: inout TransactionSlice<QueuedOperation>) throws {
    if done.isFirst { try settleRefusals() }
    while let operation = done.next() { try settle(operation) }
    try finishEnding()
    try ledger.count(sent: result.acknowledged, failed: result.failed, bytes: bytes, now: now)
  }

  private mutating func settleRefusals() throws {
    try clearOthers()
    for operation in sent where outcomes[operation.id]?.isSuccess == false { try settle(operation) }
    try finish()
  }

  /// Writes the outcome of one operation, if there is any.
  private mutating func settle(_ sent: QueuedOperation) throws {
    guard let outcome = outcomes[sent.id] else { return }
    let acknowledged = result.acknowledged
    defer { if result.acknowledged > acknowledged { bytes += sent.bytes } }
    if case .saved(let record) = outcome, !sent.isPart, try ledger.isInFlight(sent.id, generation: sent.generation) {
      // As it was sent: it need not be read to be ended.
      result.acknowledged += 1
      try SyncStore.noteAssets(of: sent, in: record, ledger)
      ended.append(sent)
      try ledger.put(record, epoch: try epoch(sent.key.zoneKey))
      if ended.count == SyncStore.writtenAtOnce { try finishEnding() }
      return
    }
    // Whoever looks at the queue finds nothing in it that has ended.
    try finishEnding()
    guard var operation = try ledger.operation(sent.id), operation.state == .inFlight else { return }
    let generation = operation.sentGeneration
    operation.sentGeneration = nil
    operation.sentKind = nil
    operation.state = .pending
    switch outcome {
    case .saved(let record):
      if !sent.isPart { result.acknowledged += 1 }
      try SyncStore.noteAssets(of: sent, in: record, ledger)
      try acknowledgePart(operation, record, of: sent)
    case .deleted:
      result.acknowledged += 1
      try acknowledgeDelete(operation, isCurrent: generation == operation.generation)
    case .zoneDone:
      result.acknowledged += 1
      try Self.acknowledgeZone(operation, reconciliation)
    case .failed(let error, let disposition):
      try Retention.addAttempt(of: operation, error, startedAt: startedAt, seconds: seconds, ledger)
      if disposition == .acknowledge {
        result.acknowledged += 1
        operation.kind == .delete || sent.kind == .delete
          ? try acknowledgeDelete(operation, isCurrent: generation == operation.generation)
          : try Self.acknowledgeZone(operation, reconciliation)
      } else {
        try fail(&operation, sent, error, disposition)
      }
    }
  }

  /// Takes what has ended out of the queue.
  private mutating func finishEnding() throws {
    guard !ended.isEmpty else { return }
    try ledger.end(ended, .acknowledged, .onServer(), now: now)
    ended = []
  }

  // MARK: - Acknowledging only what was sent

  /// The number of the reading that sees the zone's records now.
  private mutating func epoch(_ zone: ZoneKey) throws -> Int64 {
    if let known = epochs[zone] { return known }
    let epoch = try ledger.epoch(zone)
    epochs[zone] = epoch
    return epoch
  }

  /// Takes that the server saved what has been edited since, or a part of it.
  private mutating func acknowledgePart(_ operation: QueuedOperation, _ record: MirrorRecord, of sent: QueuedOperation)
    throws
  {
    try ledger.put(record, epoch: try epoch(operation.key.zoneKey))
    let isCurrent = sent.sentGeneration == operation.generation
    // Edited while it was on its way: what the server does not hold yet stays, based on what it holds.
    var operation = operation
    operation.baseTag = record.changeTag
    operation.isRecreation = false
    operation.conflictRounds = 0
    operation.clearOfSuspicion()
    operation.forgetFailures()
    operation.cause = isCurrent ? .referencesFollow : .readyAgain(.editedWhileSent)
    operation.forgetSent()
    // An edit made meanwhile on an older reading is still to be compared.
    if operation.kind == .save, operation.needsReadBack {
      for name in sent.changes.names { operation.base[name] = record.fields[name] }
      return try reconciliation.rebase(operation, onto: record, epoch: try epoch(operation.key.zoneKey))
    }
    if operation.kind == .save {
      operation.changes = operation.changes.effective(on: record.fields)
      guard !operation.changes.isEmpty else {
        return try ledger.end(operation, .acknowledged, .onServer(), now: now)
      }
      operation.base = record.fields.filter { operation.changes.names.contains($0.key) }
    } else {
      operation.base = record.fields
    }
    try ledger.update(operation)
  }

  private func acknowledgeDelete(_ operation: QueuedOperation, isCurrent: Bool) throws {
    guard !isCurrent, operation.kind == .save else { return try ledger.endDeletion(operation, now: now) }
    try ledger.removeRecord(operation.key)
    // Saved again while the delete was on its way: a new record.
    var operation = operation
    operation.startOver()
    operation.cause = .ready
    try ledger.update(operation)
  }

  static func acknowledgeZone(_ operation: QueuedOperation, _ reconciliation: Reconciliation) throws {
    let (ledger, now) = (reconciliation.ledger, reconciliation.now)
    let zone = operation.key.zoneKey
    if operation.kind == .zoneSave {
      try ledger.markCreatedHere(zone)
    } else {
      try ledger.forgetContents(zone)
      let later = try ledger.operations(of: zone).filter { $0.id != operation.id }
      // Accepted after the zone's deletion: meant for a new zone, in which there is nothing yet.
      for var operation in later where !operation.key.name.isEmpty {
        if operation.kind == .delete {
          try ledger.end(operation, .acknowledged, .onServer(isDeletion: true), now: now)
        } else {
          operation.startOver()
          try ledger.update(operation)
        }
      }
      if later.contains(where: { $0.kind == .save || $0.kind == .zoneSave }) {
        try ledger.setState(zone, .unconfirmed)
      } else {
        try ledger.removeZone(zone)
      }
    }
    try ledger.end(operation, .acknowledged, .zoneDone, now: now)
  }

  // MARK: - Failing

  private mutating func fail(
    _ operation: inout QueuedOperation,
    _ sent: QueuedOperation,
    _ error: WebServicesError,
    _ disposition: Disposition
  ) throws {
    operation.errorCode = error.code.name
    operation.errorMessage = error.reason
    // An answer that names the operation clears it of what others did; a wait says nothing.
    switch disposition {
    case .wait, .isolate, .outage: break
    case .readBack where error.isLoss: break
    default: operation.clearOfSuspicion()
    }
    switch disposition {
    case .acknowledge:
      preconditionFailure("An acknowledgement is no failure.")
    case .wait(let scope):
      let scope = waitScope(scope, operation, error)
      wait(scope, error)
      operation.cause = .waits(scope.asCause, code: error.code.name)
    case .backOff:
      operation.attempts += 1
      operation.backOff(error, now: now, random: random)
    case .readBack:
      // Making a zone that is there changes nothing; everything else is looked at before it is repeated.
      guard operation.kind != .zoneSave else {
        operation.attempts += 1
        operation.backOff(error, now: now, random: random)
        break
      }
      operation.needsReadBack = true
      operation.cause = .unconfirmed(code: error.code.name)
      guard error.isLoss else {
        operation.conflictRounds += 1
        operation.lostRounds = 0
        break
      }
      operation.lostRounds += 1
      operation.isUnanswered = !operation.key.name.isEmpty
      // The first lost answer is read back at once. Where answers keep getting lost, it is the line, or what is sent.
      if operation.lostRounds > 1 || error.httpStatus != nil { try suspect(&operation, error, .network) }
    case .vanished where try ledger.isGone(operation.key):
      operation.cause = .recordDeleted
    case .vanished:
      // Where the feed has not been read to its end, it may be one of very many that are gone: its end decides.
      if reconciliation.policy.deletionGuard != nil, try ledger.zone(operation.key.zoneKey)?.needsFetch == true,
        try ledger.changeTag(operation.key) != nil
      {
        try DeletionHold(reconciliation: reconciliation).note(operation.key)
        operation.cause = .recordDeletedWhileFetching
        break
      }
      return try reconciliation.rebase(operation, onto: nil, epoch: 0)
    case .zoneMissing where operation.kind == .delete:
      return try ledger.endDeletion(operation, now: now)
    case .zoneMissing:
      try ZoneLoss.meet(&operation, error, reconciliation)
    case .sibling:
      operation.cause = .groupRejected
    case .split:
      if isWhole {
        operation.attempts += 1
        operation.fail(.tooLarge(code: error.code.name, message: error.reason))
      } else {
        tooLarge = true
        operation.cause = .requestTooLarge(code: error.code.name)
      }
    case .isolate:
      if isWhole {
        operation.attempts += 1
        operation.fail(rejection(error))
      } else {
        operation.suspicion = number
        operation.cause = .bisection(code: error.code.name, count: self.sent.count)
      }
    case .outage:
      operation.cause = .waits(.database, code: error.code.name)
      try suspect(&operation, error, .database)
    case .deadLetter:
      operation.attempts += 1
      operation.fail(.rejected(code: error.code.name, message: error.reason))
    }
    // It failed as it was sent, which is not what it is by now.
    if operation.state == .failed, operation.generation != sent.sentGeneration {
      operation.becomePending(.readyAgain(.editedWhileSent), now: now)
      operation.forgetFailures()
      if operation.kind == .delete, operation.baseTag == nil, !operation.isUnanswered { operation.needsReadBack = true }
    }
    // Also where an answer says that the server did not take it: what was sent may arrive a second time, and be taken then.
    if sent.kind == .save { operation.remember(sent: error.isLoss ? sent.changes : withoutCounters(sent)) }
    if operation.state == .failed { result.failed += 1 }
    result.error = error
    try ledger.update(operation)
  }

  /// What was sent to a record that is another by now: no second copy of it can be taken, so that none of it has counted.
  private func withoutCounters(_ sent: QueuedOperation) -> FieldChanges {
    let rules = reconciliation.policy.rules[sent.type ?? ""]
    return sent.changes.only(sent.changes.names.filter { (sent.changes.rules[$0] ?? rules[$0]) != .counter })
  }

  // MARK: - One that makes a request fail

  /// The number of the suspicion that this request's failure casts on what was in it.
  private var number: Int64 { sent.map(\.id).min() ?? 0 }

  /// The rejection of the request; of a group, no member is named.
  private func rejection(_ error: WebServicesError) -> FailureCause {
    .rejected(code: error.code.name, message: error.reason, group: sent.count == 1 ? nil : sent.count)
  }

  /// The request failed, and it may be for one of its records, or for nobody in it: everything waits, the next request is
  /// half of this one. A record that is alone has its attempts counted once others get through, or do not for long.
  private mutating func suspect(_ operation: inout QueuedOperation, _ error: WebServicesError, _ scope: WaitScope)
    throws
  {
    let wasSuspect = operation.suspicion != nil
    operation.suspicion = number
    guard isWhole else { return wait(scope, error) }
    let known = try ledger.wait(scope)
    let isToBlame = wasSuspect && known.map { $0.seconds >= Throttles.longWait } ?? true
    if isToBlame { operation.attempts += 1 }
    if operation.attempts >= operation.maxAttempts {
      return operation.fail(rejection(error))
    }
    operation.backOff(error, now: now, random: random)
    guard !isToBlame || known != nil else { return }
    wait(scope, error)
    // Others go first when that wait is over: they tell whether it is this record's doing.
    let scopeSeconds = Backoff.scopeSeconds(asked: error.retryAfter, previous: known?.seconds, random: 1)
    operation.nextAttemptAt = (operation.nextAttemptAt ?? now) + Backoff.milliseconds(scopeSeconds + 1)
  }

  /// A request that was refused whole clears all under the same suspicion that were not in it.
  private func clearOthers() throws {
    let isRefused = sent.allSatisfy { operation in
      guard case .failed(let error, let disposition)? = outcomes[operation.id] else { return false }
      return disposition == .isolate || disposition == .outage || (disposition == .readBack && error.isLoss)
    }
    guard isRefused, let zone = sent.first?.key.zoneKey else { return }
    let ids = Set(sent.map(\.id))
    for number in Set(sent.compactMap(\.suspicion)) {
      for var operation in try ledger.operations(of: zone, underSuspicion: number) where !ids.contains(operation.id) {
        operation.clearOfSuspicion()
        try ledger.update(operation)
      }
    }
  }

  /// Of several items that ask for a wait, the longest counts.
  private mutating func wait(_ scope: WaitScope, _ error: WebServicesError) {
    if let known = waits[scope], known.retryAfter ?? 0 >= error.retryAfter ?? 0 { return }
    waits[scope] = error
  }

  /// The narrowest scope known: a refusal of one item is its zone's, one of the whole request the database's.
  private func waitScope(_ scope: Disposition.Scope, _ operation: QueuedOperation, _ error: WebServicesError)
    -> WaitScope
  {
    switch scope {
    case .network: .network
    case .account: .account
    // What a full quota does not hold up would be sent again at once, and so on.
    case .quota: operation.kind == .save || sent.contains { $0.kind == .save } ? .quota : .zone(operation.key.zoneKey)
    case .throttle: error.httpStatus == nil ? .zone(operation.key.zoneKey) : .database
    }
  }

  /// What concerns the request as a whole: scopes that wait now or are free again, and its size.
  private func finish() throws {
    for (scope, error) in waits {
      try Throttles.set(scope, error, now: now, random: random, ledger)
    }
    let succeeded = sent.filter { outcomes[$0.id]?.isDone ?? false }
    let succeededIn = Set(succeeded.map(\.key.zoneKey))
    let saved = succeeded.contains { if case .saved = outcomes[$0.id] { true } else { false } }
    if !succeededIn.isEmpty {
      for scope in [.network, .account, .database] + succeededIn.map(WaitScope.zone) where waits[scope] == nil {
        try Throttles.clear(scope, ledger)
      }
      if saved, waits[.quota] == nil { try Throttles.clear(.quota, ledger) }
    }
    // Down by half where the server refuses the size, up again a little with each request that it takes.
    let limit = try ledger.value("operationLimit").flatMap { Int($0) } ?? 200
    let next = tooLarge ? max(1, limit / 2) : !succeededIn.isEmpty ? min(200, limit + 5) : limit
    if next != limit { try ledger.setValue("operationLimit", String(next)) }
  }
}
