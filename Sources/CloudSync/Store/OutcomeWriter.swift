import CloudKit
import Facts

/// Applies the outcomes of one request: in a first transaction the rejections and the facts about the request as a
/// whole, then the successes in as many transactions as needed.
struct OutcomeWriter {
  let reconciliation: Reconciliation
  let startedAt: Int64
  let seconds: Double
  let random: Double
  var result = SyncStore.OutcomeCounts()
  private let sent: [QueuedOperation]
  private let outcomes: [Int64: Outcome]
  private let restarted: SyncStore.Restarted
  private var waits: [WaitScope: WebServicesError] = [:]
  private var tooLarge = false
  /// Bytes of what the server took.
  private var bytes = 0
  private var epochs: [ZoneKey: Int64] = [:]

  private var ledger: Ledger { reconciliation.ledger }
  private var now: Int64 { reconciliation.now }

  init(
    reconciliation: Reconciliation,
    startedAt: Int64,
    seconds: Double,
    random: Double,
    sent: [QueuedOperation],
    outcomes: [Int64: Outcome],
    restarted: SyncStore.Restarted
  ) {
    self.reconciliation = reconciliation
    self.startedAt = startedAt
    self.seconds = seconds
    self.random = random
    self.sent = sent
    self.outcomes = outcomes
    self.restarted = restarted
  }

  /// Whether the request cannot be split: it holds one operation or an atomic group.
  private var isWhole: Bool { sent.count == 1 || sent.contains { $0.group != nil } }

  /// Applies the outcomes that fit into this transaction: rejections in the first one, then successes.
  mutating func write(_ done: inout TransactionSlice<QueuedOperation>) throws {
    if done.isFirst { try writeRefusals() }
    while let operations = done.next(SyncStore.writtenAtOnce) { try write(operations) }
    try ledger.count(sent: result.acknowledged, failed: result.failed, bytes: bytes, now: now)
  }

  private mutating func writeRefusals() throws {
    try clearOthers()
    for operation in sent where outcomes[operation.id]?.isSuccess == false { try write(operation) }
    try finish()
  }

  /// Applies the successes of some operations.
  private mutating func write(_ sent: [QueuedOperation]) throws {
    let generations = try ledger.generationsInFlight(sent.map(\.id))
    var ended: [Int64] = []
    var saved: [(record: MirrorRecord, epoch: Int64)] = []
    var others: [QueuedOperation] = []
    for sent in sent {
      guard case .saved(let record) = outcomes[sent.id], !sent.isPart, generations[sent.id] == sent.generation else {
        others.append(sent)
        continue
      }
      // Saved as it was sent: the row need not be read before it is removed.
      result.acknowledged += 1
      bytes += sent.bytes
      try SyncStore.noteAssets(of: sent, in: record, ledger)
      ended.append(sent.id)
      saved.append((record, try epoch(sent.key.zoneKey)))
    }
    // The other way round, each record would first update its operation's row.
    try ledger.end(ended, .acknowledged, .onServer(), now: now)
    try ledger.put(saved)
    for sent in others { try write(sent) }
  }

  /// Applies the outcome of one operation, if there is any.
  private mutating func write(_ sent: QueuedOperation) throws {
    guard let outcome = outcomes[sent.id] else { return }
    let acknowledged = result.acknowledged
    defer { if result.acknowledged > acknowledged { bytes += sent.bytes } }
    guard var operation = try ledger.operation(sent.id), operation.state == .inFlight else { return }
    let generation = operation.sentGeneration
    operation.apply(.answered)
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
      try SyncStore.acknowledgeZone(operation, restarted, now: now, ledger)
    case .failed(let error, let disposition):
      try Retention.addAttempt(of: operation, error, startedAt: startedAt, seconds: seconds, ledger)
      if disposition == .acknowledge {
        result.acknowledged += 1
        operation.kind == .delete || sent.kind == .delete
          ? try acknowledgeDelete(operation, isCurrent: generation == operation.generation)
          : try SyncStore.acknowledgeZone(operation, restarted, now: now, ledger)
      } else {
        try fail(&operation, sent, error, disposition)
      }
    }
  }

  // MARK: - Acknowledging only what was sent

  /// The zone's current epoch.
  private mutating func epoch(_ zone: ZoneKey) throws -> Int64 {
    if let known = epochs[zone] { return known }
    let epoch = try ledger.epoch(zone)
    epochs[zone] = epoch
    return epoch
  }

  /// Applies a save's reply to an operation that was edited since or was sent in part.
  private mutating func acknowledgePart(_ operation: QueuedOperation, _ record: MirrorRecord, of sent: QueuedOperation)
    throws
  {
    try ledger.put(record, epoch: try epoch(operation.key.zoneKey))
    let isCurrent = sent.sentGeneration == operation.generation
    // Edited while in flight: keep the changes that the server does not hold yet, based on its record.
    var operation = operation
    operation.apply(.saved(tag: record.changeTag, isCurrent: isCurrent))
    // An edit based on an older version must still be compared.
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
    // Saved again while the delete was in flight: a new record.
    var operation = operation
    operation.apply(.startedOver)
    operation.cause = .ready
    try ledger.update(operation)
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
    // A reply that names the operation clears it of suspicion; a wait does not.
    switch disposition {
    case .wait, .isolate, .outage, .readBack: break
    default: operation.apply(.cleared)
    }
    noteDoubt(&operation, error, disposition)
    switch disposition {
    case .acknowledge, .absent, .unanswered, .denied, .restart, .misfit, .hold, .stop:
      preconditionFailure("No response to a failed write.")
    case .wait(let scope):
      let scope = waitScope(scope, operation, error)
      wait(scope, error)
      operation.cause = .waits(scope.asCause, code: error.code.name)
    case .backOff:
      operation.apply(.attempted)
      operation.apply(.backedOff(error, now: now, random: random))
      if isReferredTo(sent, error) {
        let (attempt, limit) = (operation.attempts, operation.maxAttempts)
        operation.cause = .stillReferredTo(code: error.code.name, attempt: attempt, of: limit)
      }
    case .readBack:
      // Creating an existing zone changes nothing; everything else is verified before it is repeated.
      guard operation.kind != .zoneSave else {
        operation.apply(.attempted)
        operation.apply(.backedOff(error, now: now, random: random))
        break
      }
      operation.apply(.replyLost(code: error.code.name))
      // Verify the first lost reply at once. If replies keep getting lost, the network or the request is at fault.
      if operation.lostRounds > 1 || error.httpStatus != nil { try suspect(&operation, error, .network) }
    case .compare: operation.apply(.disputed(code: error.code.name))
    case .vanished where try ledger.isGone(operation.key):
      operation.cause = .recordDeleted
    case .vanished:
      // While the zone has changes to fetch, this may be one of many deletions: decide at the end of the change feed.
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
        operation.apply(.attempted)
        operation.apply(.failed(.tooLarge(code: error.code.name, message: error.reason)))
      } else {
        tooLarge = true
        operation.cause = .requestTooLarge(code: error.code.name)
      }
    case .isolate:
      if isWhole {
        operation.apply(.attempted)
        operation.apply(.failed(rejection(error)))
      } else {
        operation.apply(.suspected(.send(request: number)))
        operation.cause = .bisection(code: error.code.name, count: self.sent.count)
      }
    case .outage:
      operation.cause = .waits(.database, code: error.code.name)
      try suspect(&operation, error, .database)
    case .deadLetter:
      operation.apply(.attempted)
      operation.apply(
        .failed(
          isReferredTo(sent, error)
            ? .stillReferredTo(code: error.code.name) : .rejected(code: error.code.name, message: error.reason)
        )
      )
    }
    // The failed version is not the current one.
    if operation.state == .failed, operation.generation != sent.sentGeneration {
      operation.apply(.ready(.readyAgain(.editedWhileSent), now: now))
      operation.apply(.forgiven)
      if operation.kind == .delete, operation.baseTag == nil, !operation.isUnanswered { operation.apply(.stale) }
    }
    // Even a rejected request may be delivered a second time, and be accepted then.
    if sent.kind == .save {
      operation.apply(.mayBeCarriedOut(disposition == .compare ? withoutCounters(sent) : sent.changes))
    }
    if operation.state == .failed { result.failed += 1 }
    result.error = error
    try ledger.update(operation)
  }

  /// Whether the server refused a deletion because others refer to the record. Of a save the same error means that it
  /// refers to a missing one.
  private func isReferredTo(_ sent: QueuedOperation, _ error: WebServicesError) -> Bool {
    sent.kind == .delete && error.code == .validatingReferenceError
  }

  /// Requests a verification before the next attempt, if the server may have carried out the write on which it failed.
  private func noteDoubt(_ operation: inout QueuedOperation, _ error: WebServicesError, _ disposition: Disposition) {
    let isAttempt = [.backOff, .outage, .deadLetter].contains(disposition)
    // Creating an existing zone changes nothing.
    guard isAttempt, error.leavesWriteInDoubt, operation.kind != .zoneSave else { return }
    operation.apply(.leftInDoubt)
  }

  /// The sent changes without counters: the record has changed, so a second copy would be rejected and no counter was
  /// applied.
  private func withoutCounters(_ sent: QueuedOperation) -> FieldChanges {
    let rules = reconciliation.policy.rules[sent.type ?? ""]
    return sent.changes.only(sent.changes.names.filter { (sent.changes.rules[$0] ?? rules[$0]) != .counter })
  }

  // MARK: - Bisection

  /// Identifies the failed request whose operations are under suspicion.
  private var number: Int64 { sent.map(\.id).min() ?? 0 }

  /// The rejection of the request. The server does not name the bad member of a group.
  private func rejection(_ error: WebServicesError) -> FailureCause {
    .rejected(code: error.code.name, message: error.reason, group: sent.count == 1 ? nil : sent.count)
  }

  /// Handles a failed request that may be the fault of one of its records or of none: the scope backs off and the next
  /// request is half as large. A single record's attempts count once other requests succeed, or when none has for long.
  private mutating func suspect(_ operation: inout QueuedOperation, _ error: WebServicesError, _ scope: WaitScope)
    throws
  {
    let wasSuspect = operation.suspicion != nil
    operation.apply(.suspected(.send(request: number)))
    guard isWhole else { return wait(scope, error) }
    let known = try ledger.wait(scope)
    let isToBlame = wasSuspect && known.map { $0.seconds >= Throttles.longWait } ?? true
    if isToBlame { operation.apply(.attempted) }
    if operation.attempts >= operation.maxAttempts {
      return operation.apply(.failed(rejection(error)))
    }
    operation.apply(.backedOff(error, now: now, random: random))
    guard !isToBlame || known != nil else { return }
    wait(scope, error)
    // Others are sent first after that wait, which shows whether this record is at fault.
    let scopeSeconds = Backoff.scopeSeconds(asked: error.retryAfter, previous: known?.seconds, random: 1)
    let end = (operation.waitsUntil ?? now) + Backoff.milliseconds(scopeSeconds + 1)
    operation.apply(.deferred(until: end, isServersWait: operation.isServersWait))
  }

  /// When the whole request failed, clears the operations under the same suspicion that were not in it.
  private func clearOthers() throws {
    let isRefused = sent.allSatisfy { operation in
      guard case .failed(_, let disposition)? = outcomes[operation.id] else { return false }
      return [.isolate, .outage, .readBack].contains(disposition)
    }
    guard isRefused, let zone = sent.first?.key.zoneKey else { return }
    let ids = Set(sent.map(\.id))
    for suspicion in Set(sent.compactMap(\.suspicion)) {
      for var operation in try ledger.operations(of: zone, under: suspicion) where !ids.contains(operation.id) {
        operation.apply(.cleared)
        try ledger.update(operation)
      }
    }
  }

  /// Notes a wait for a scope. The longest of several counts.
  private mutating func wait(_ scope: WaitScope, _ error: WebServicesError) {
    if let known = waits[scope], known.retryAfter ?? 0 >= error.retryAfter ?? 0 { return }
    waits[scope] = error
  }

  /// The narrowest scope: the zone for a rejection of one item, the database for one of the whole request.
  private func waitScope(_ scope: Disposition.Scope, _ operation: QueuedOperation, _ error: WebServicesError)
    -> WaitScope
  {
    switch scope {
    case .network: .network
    case .account: .account
    // Operations that a full quota does not stop would otherwise be sent again at once, in a loop.
    case .quota: operation.kind == .save || sent.contains { $0.kind == .save } ? .quota : .zone(operation.key.zoneKey)
    case .throttle: error.httpStatus == nil ? .zone(operation.key.zoneKey) : .database
    }
  }

  /// Applies the facts about the request as a whole: throttled scopes, cleared scopes, and the size limit.
  private func finish() throws {
    try Throttles.set(waits, now: now, random: random, ledger)
    let succeeded = sent.filter { outcomes[$0.id]?.isDone ?? false }
    let succeededIn = Set(succeeded.map(\.key.zoneKey))
    let saved = succeeded.contains { if case .saved = outcomes[$0.id] { true } else { false } }
    if !succeededIn.isEmpty {
      for scope in [.network, .account, .database] + succeededIn.map(WaitScope.zone) where waits[scope] == nil {
        try Throttles.clear(scope, ledger)
      }
      if saved, waits[.quota] == nil { try Throttles.clear(.quota, ledger) }
    }
    // Halve what was sent when the server rejects the size; raise the limit a little with each success.
    let limit = try ledger.value("operationLimit").flatMap { Int($0) } ?? 200
    let next = tooLarge ? max(1, min(limit, sent.count) / 2) : !succeededIn.isEmpty ? min(200, limit + 5) : limit
    if next != limit { try ledger.setValue("operationLimit", String(next)) }
  }
}
