import CloudKit

/// Writes the outcomes of one request, within one transaction.
struct Settlement {
  let reconciliation: Reconciliation
  let startedAt: Int64
  let seconds: Double
  let random: Double
  var result = SyncStore.Settled()
  private let isWhole: Bool
  private var waits: [WaitScope: WebServicesError] = [:]
  private var succeededIn: Set<ZoneKey> = []
  private var saved = false
  private var tooLarge = false

  private var ledger: any Ledger { reconciliation.ledger }
  private var now: Int64 { reconciliation.now }

  init(reconciliation: Reconciliation, startedAt: Int64, seconds: Double, random: Double, isWhole: Bool) {
    self.reconciliation = reconciliation
    self.startedAt = startedAt
    self.seconds = seconds
    self.random = random
    self.isWhole = isWhole
  }

  mutating func settle(_ sent: QueuedOperation, _ outcome: Outcome) throws {
    guard var operation = try ledger.operation(sent.id), operation.state == .inFlight else { return }
    let generation = operation.sentGeneration
    operation.sentGeneration = nil
    operation.sentKind = nil
    operation.state = .pending
    switch outcome {
    case .saved(let record):
      succeededIn.insert(operation.key.zoneKey)
      saved = true
      result.acknowledged += 1
      (operation.sentChanges, operation.isUnanswered) = (sent.changes, false)
      try SyncStore.noteAssets(of: sent, in: record, ledger)
      try acknowledgeSave(operation, record, isCurrent: generation == operation.generation)
    case .deleted:
      succeededIn.insert(operation.key.zoneKey)
      result.acknowledged += 1
      try acknowledgeDelete(operation, isCurrent: generation == operation.generation)
    case .zoneDone:
      succeededIn.insert(operation.key.zoneKey)
      result.acknowledged += 1
      try acknowledgeZone(operation)
    case .failed(let error, let disposition):
      try addAttempt(operation, error)
      if disposition == .acknowledge {
        succeededIn.insert(operation.key.zoneKey)
        result.acknowledged += 1
        operation.kind == .delete || sent.kind == .delete
          ? try acknowledgeDelete(operation, isCurrent: generation == operation.generation)
          : try acknowledgeZone(operation)
      } else {
        try fail(&operation, sent, error, disposition)
      }
    }
  }

  // MARK: - Acknowledging only what was sent

  private func acknowledgeSave(_ operation: QueuedOperation, _ record: MirrorRecord, isCurrent: Bool) throws {
    try ledger.put(record, epoch: try ledger.epoch(operation.key.zoneKey))
    guard !isCurrent else {
      return try ledger.end(operation, .acknowledged, "the server holds it", now: now)
    }
    // Edited while it was on its way: what the server does not hold yet stays, based on what it holds.
    var operation = operation
    operation.baseTag = record.changeTag
    operation.isRecreation = false
    operation.conflictRounds = 0
    operation.lostRounds = 0
    operation.attempts = 0
    operation.errorCode = nil
    operation.errorMessage = nil
    operation.reason = "edited while it was sent, ready to send"
    // An edit made meanwhile on an older reading is still to be compared.
    if operation.kind == .save, operation.needsReadBack {
      return try reconciliation.rebase(operation, onto: record, epoch: try ledger.epoch(operation.key.zoneKey))
    }
    operation.forgetSent()
    if operation.kind == .save {
      operation.changes = operation.changes.effective(on: record.fields)
      guard !operation.changes.isEmpty else {
        return try ledger.end(operation, .acknowledged, "the server holds it", now: now)
      }
      operation.base = record.fields.filter { operation.changes.names.contains($0.key) }
    } else {
      operation.base = record.fields
    }
    try ledger.update(operation)
  }

  private func acknowledgeDelete(_ operation: QueuedOperation, isCurrent: Bool) throws {
    try ledger.removeRecord(operation.key)
    guard !isCurrent, operation.kind == .save else {
      return try ledger.end(operation, .acknowledged, "the server does not hold it", now: now)
    }
    // Saved again while the delete was on its way: a new record.
    var operation = operation
    operation.startOver()
    operation.reason = "ready to send"
    try ledger.update(operation)
  }

  private func acknowledgeZone(_ operation: QueuedOperation) throws {
    let zone = operation.key.zoneKey
    if operation.kind == .zoneSave {
      try ledger.markCreatedHere(zone)
    } else {
      try ledger.forgetContents(zone)
      let later = try ledger.operations(of: zone).filter { $0.id != operation.id }
      // Accepted after the zone's deletion: meant for a new zone, in which there is nothing yet.
      for var operation in later where !operation.key.name.isEmpty {
        if operation.kind == .delete {
          try ledger.end(operation, .acknowledged, "the server does not hold it", now: now)
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
    try ledger.end(operation, .acknowledged, "done on the server", now: now)
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
    switch disposition {
    case .acknowledge:
      preconditionFailure("An acknowledgement is no failure.")
    case .wait(let scope):
      let scope = waitScope(scope, operation, error)
      wait(scope, error)
      operation.reason = "held by \(error.code.name): \(scope.name)"
    case .backOff:
      operation.attempts += 1
      operation.backOff(error, now: now, random: random)
    case .readBack:
      operation.needsReadBack = operation.key.name.isEmpty == false
      operation.reason = "to be read back after \(error.code.name)"
      if error.code == .conflict || error.code == .exists {
        operation.conflictRounds += 1
        operation.lostRounds = 0
      } else {
        operation.lostRounds += 1
        if sent.kind == .save { operation.sentChanges = sent.changes }
        operation.isUnanswered = operation.needsReadBack
        // The first lost answer is read back at once; where answers keep getting lost, the line is to blame.
        if operation.lostRounds > 1 { wait(.network, error) }
      }
    case .vanished:
      return try reconciliation.rebase(operation, onto: nil, epoch: 0)
    case .zoneMissing:
      operation.attempts += 1
      try ZoneLoss.meet(&operation, error, now: now, ledger)
    case .sibling:
      operation.reason = "its atomic group was refused because of another member"
    case .split:
      if isWhole {
        operation.attempts += 1
        let isSize = error.code == .limitExceeded
        operation.fail(error.code.name, (isSize ? "too large for the server even alone: " : "") + error.reason)
      } else {
        tooLarge = true
        operation.reason = "\(error.code.name) of the whole request, to be sent in a smaller one"
      }
    case .outage:
      wait(.database, error)
      if isWhole {
        operation.attempts += 1
        operation.backOff(error, now: now, random: random)
        if operation.attempts >= operation.maxAttempts { operation.fail(error.code.name, error.reason) }
      } else {
        tooLarge = true
        operation.reason = "held by \(error.code.name): \(WaitScope.database.name)"
      }
    case .deadLetter:
      operation.attempts += 1
      operation.fail(error.code.name, error.reason)
    }
    // An answer that came says that the server did not take it; an earlier request may have been taken all the same.
    if !operation.isUnanswered { operation.sentChanges = nil }
    if operation.state == .failed { result.failed += 1 }
    result.error = error
    try ledger.update(operation)
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
    case .quota: .quota
    case .throttle: error.httpStatus == nil ? .zone(operation.key.zoneKey) : .database
    }
  }

  private func addAttempt(_ operation: QueuedOperation, _ error: WebServicesError) throws {
    let attempt = Attempt(
      number: try ledger.lastAttemptNumber(of: operation.id) + 1,
      at: startedAt,
      seconds: seconds,
      code: error.code.name,
      message: error.reason,
      response: error.response
    )
    try Retention.add(attempt, of: operation.id, ledger)
  }

  /// What concerns the request as a whole: scopes that wait now or are free again, and its size.
  func finish() throws {
    for (scope, error) in waits {
      try Throttles.set(scope, error, now: now, random: random, ledger)
    }
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
