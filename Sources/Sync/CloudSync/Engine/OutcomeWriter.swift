import CloudKit
import Facts

/// Applies the outcomes of one request: in a first transaction the rejections and the facts about the request as a
/// whole, then the successes in as many transactions as needed.
struct OutcomeWriter {
  let ledger: Ledger
  let sent: [QueuedOperation]
  let outcomes: [Int64: Outcome]
  var request: SentRequest
  var result = SyncStore.OutcomeCounts()
  private var waits: [WaitScope: WebServicesError] = [:]
  private var tooLarge = false
  /// The bytes of what the server saved when it was sent.
  private var bytes = 0
  private var epochs: [ZoneKey: Int64] = [:]

  private var now: Int64 { request.now }

  init(
    _ ledger: Ledger,
    sent: [QueuedOperation],
    outcomes: [Int64: Outcome],
    _ request: SentRequest
  ) {
    self.ledger = ledger
    self.sent = sent
    self.outcomes = outcomes
    self.request = request
  }

  /// Applies the outcomes that fit into this transaction: rejections in the first one, then successes.
  mutating func write(_ done: inout TransactionSlice<QueuedOperation>) throws {
    if done.isFirst { try writeRefusals() }
    while let operations = done.next(SyncStore.writtenAtOnce) { try write(operations) }
    try ledger.count(sent: result.acknowledged, bytes: bytes, now: now)
  }

  private mutating func writeRefusals() throws {
    try clearOthers()
    let refused = sent.filter { outcomes[$0.id]?.isSuccess == false }
    if !refused.isEmpty {
      for scope in [WaitScope.network, .database] { request.waits[scope] = try ledger.wait(scope)?.seconds }
    }
    for operation in refused { try write(operation) }
    try finish()
  }

  /// Applies the successes of some operations.
  private mutating func write(_ sent: [QueuedOperation]) throws {
    let generations = try ledger.generationsInFlight(sent.map(\.id))
    var ended: [Int64] = []
    var saved: [(record: MirrorRecord, epoch: Int64)] = []
    var others: [QueuedOperation] = []
    for sent in sent {
      guard case .saved(let record) = outcomes[sent.id], generations[sent.id] == sent.generation else {
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
    guard let outcome = outcomes[sent.id], let operation = try ledger.operation(sent.id),
      outcome.isOfVerification ? operation.needsVerification : operation.state == .inFlight
    else { return }
    let facts = try facts(about: operation, outcome)
    let decision = OutcomeDecision(operation, sent: sent, outcome, of: request, facts)
    if case .saved(let record) = outcome { try SyncStore.noteAssets(of: sent, in: record, ledger) }
    try ledger.write(decision.writes, now: now)
    if decision.endsZoneOperation { try SyncStore.acknowledgeZone(decision.operation, now: now, ledger) }
    if let scope = decision.wait, let error = decision.error { waits.note(scope, error) }
    if decision.isTooLarge { tooLarge = true }
    if decision.isAcknowledged {
      result.acknowledged += 1
      if !outcome.isOfVerification { bytes += sent.bytes }
    } else if decision.operation.state == .failed {
      result.failed += 1
    }
    result.error = decision.error ?? result.error
  }

  private mutating func facts(about operation: QueuedOperation, _ outcome: Outcome) throws -> RecordFacts {
    let zone = operation.key.zoneKey
    switch outcome {
    case .saved:
      let awaits = try operation.needsVerification && ledger.hasZoneDelete(zone)
      return RecordFacts(epoch: try epoch(zone), hasZoneDelete: awaits)
    case .failed(_, .zoneMissing), .notVerified(_, .zoneMissing):
      return try RecordFacts(of: operation, zoneIsMissing: true, request.policy, ledger)
    case .failed(_, .vanished), .verified(.record), .verified(.nothing):
      return try RecordFacts(of: operation, zoneIsMissing: false, request.policy, ledger)
    case .deleted, .zoneDone, .failed, .verified(.zone), .notVerified: return RecordFacts()
    }
  }

  private mutating func epoch(_ zone: ZoneKey) throws -> Int64 {
    if let known = epochs[zone] { return known }
    let epoch = try ledger.epoch(zone)
    epochs[zone] = epoch
    return epoch
  }

  /// When the whole request failed, clears the operations in the same bisection that were not in it: they are not its
  /// cause.
  private func clearOthers() throws {
    guard sent.allSatisfy({ outcomes[$0.id]?.isRejection ?? false }), let first = sent.first else { return }
    let verifies = outcomes[first.id]?.isOfVerification ?? false
    let bisections = sent.compactMap(\.bisection).filter { !verifies || $0.isCheck }
    let ids = Set(sent.map(\.id))
    for bisection in Set(bisections) {
      for var operation in try ledger.operations(of: first.key.zoneKey, in: bisection) where !ids.contains(operation.id)
      {
        operation.apply(verifies ? .bisected(nil) : .cleared)
        try ledger.update(operation)
      }
    }
  }

  /// Applies the facts about the request as a whole: throttled scopes, cleared scopes, and the size limit.
  private func finish() throws {
    try Throttles.set(waits, now: now, random: request.random, ledger)
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
    let most = Planner.requestLimit
    let limit = Int(try ledger.value(.operationLimit) ?? Int64(most))
    let next = tooLarge ? max(1, min(limit, sent.count) / 2) : !succeededIn.isEmpty ? min(most, limit + 5) : limit
    if next != limit { try ledger.setValue(.operationLimit, Int64(next)) }
  }
}
