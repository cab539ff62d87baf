import CloudKit
import Facts

/// The facts about a request that decide about the outcome of each of its operations.
struct SentRequest: Hashable {
  var count: Int
  /// Identifies the request in a bisection.
  var number: Int64
  /// Whether it cannot be split: it holds one operation, an atomic group or a reference cycle.
  var isWhole: Bool
  var hasSaves: Bool
  var seconds: Double
  var policy: MergePolicy
  /// The known waits of the network and the database, in seconds.
  var waits: [WaitScope: Double] = [:]
  var now: Int64
  /// From 0 to 1, for the back-off.
  var random: Double

  init(_ sent: [QueuedOperation], seconds: Double, policy: MergePolicy, now: Int64, random: Double) {
    count = sent.count
    number = sent.map(\.id).min() ?? 0
    isWhole = sent.count == 1 || sent.contains { $0.group != nil || $0.isOfCycle }
    hasSaves = sent.contains { $0.kind == .save }
    (self.seconds, self.policy, self.now, self.random) = (seconds, policy, now, random)
  }
}

/// The decision about one operation, given its outcome.
struct OutcomeDecision: Hashable {
  private(set) var writes: [StoreWrite] = []
  /// Whether the server holds everything that was sent, or verifying showed that nothing is left to send.
  private(set) var isAcknowledged = false
  /// Whether it acknowledges the creation or deletion of a zone, which ends the operation.
  private(set) var endsZoneOperation = false
  /// The scope that waits because of the error.
  private(set) var wait: WaitScope?
  private(set) var isTooLarge = false
  /// The error to report.
  private(set) var error: WebServicesError?
  private(set) var operation: QueuedOperation
  private let sent: QueuedOperation
  private let request: SentRequest
  private let facts: RecordFacts

  /// - Parameters:
  ///   - operation: the operation as it is stored: in flight, or unconfirmed if it was verified.
  ///   - sent: the operation as it was sent or verified.
  ///   - facts: needed after a save of an earlier generation, and if the record or its zone is missing.
  init(
    _ operation: QueuedOperation,
    sent: QueuedOperation,
    _ outcome: Outcome,
    of request: SentRequest,
    _ facts: RecordFacts = RecordFacts()
  ) {
    (self.operation, self.sent, self.request, self.facts) = (operation, sent, request, facts)
    if !outcome.isOfVerification { self.operation.apply(.answered) }
    switch outcome {
    case .saved(let record): acknowledgeSave(as: record)
    case .deleted: acknowledgeDelete()
    case .zoneDone: acknowledgeZone()
    case .failed(let error, let disposition):
      writes.append(.attempt(of: sent.id, to: nil, error, seconds: request.seconds))
      if disposition != .acknowledge {
        fail(error, disposition)
      } else if operation.kind == .delete || sent.kind == .delete {
        acknowledgeDelete()
      } else {
        acknowledgeZone()
      }
    case .verified(let found): compare(with: found)
    case .notVerified(let error, let disposition): stayUnconfirmed(error, disposition)
    }
  }

  // MARK: - Acknowledging only what was sent

  /// Keeps the changes that were made since, based on the server's record.
  private mutating func acknowledgeSave(as record: MirrorRecord) {
    isAcknowledged = true
    operation.apply(.saved(tag: record.changeTag))
    // An edit based on an older version must still be compared.
    if operation.kind == .save, operation.needsVerification {
      for name in sent.changes.names { operation.base[name] = record.fields[name] }
      return rebase(onto: record)
    }
    writes.append(.put(record, epoch: facts.epoch))
    if operation.kind == .save {
      operation.changes = operation.changes.effective(on: record.fields)
      if operation.changes.isEmpty { operation.apply(.ended(.acknowledged, .onServer())) }
    }
    let isSave = operation.kind == .save
    operation.base = isSave ? record.fields.filter { operation.changes.names.contains($0.key) } : record.fields
    writes.append(.update(operation))
  }

  private mutating func acknowledgeDelete() {
    isAcknowledged = true
    // Saved again while the delete was in flight: a new record.
    operation.apply(.startedOver)
    operation.cause = .ready
    writes += [.remove(operation.key), .update(operation)]
  }

  private mutating func acknowledgeZone() { (isAcknowledged, endsZoneOperation) = (true, true) }

  private mutating func rebase(onto server: MirrorRecord?) {
    let rebase = Rebase(operation, onto: server, facts, policy: request.policy, now: request.now)
    operation = rebase.operation
    writes += rebase.writes
  }

  // MARK: - Verifying

  private mutating func compare(with found: Outcome.Found) {
    switch found {
    case .record(let record): rebaseUnconfirmed(onto: record)
    case .nothing where operation.kind.isOfZone: acknowledgeZone()
    case .nothing: rebaseUnconfirmed(onto: nil)
    case .zone(let token):
      // A zone of that name may be the old one or a recreated one. It is known to be the old one only if nothing in it
      // has changed since its delete was sent; otherwise a person decides.
      operation.apply(.compared)
      operation.apply(
        token != nil && token == operation.zoneToken
          ? .ready(.readyAgain(.zoneStillThere), now: request.now) : .failed(.zoneChanged(zone: operation.key.zone))
      )
      writes.append(.update(operation))
    }
  }

  private mutating func rebaseUnconfirmed(onto server: MirrorRecord?) {
    if operation.bisection?.isCheck == true { operation.apply(.bisected(nil)) }
    rebase(onto: server)
    isAcknowledged = operation.end != nil
  }

  private mutating func stayUnconfirmed(_ error: WebServicesError, _ disposition: Disposition) {
    switch disposition {
    case .zoneMissing:
      operation.apply(.compared)
      operation.apply(.confirmed())
      writes = operation.meetMissingZone(error, facts, now: request.now)
      isAcknowledged = operation.end != nil
    case .isolate, .outage:
      self.error = error
      if disposition == .outage { wait = .database }
      // The server may be failing in general: no operation is at fault unless other requests succeed or this lasts.
      let isPassing = request.waits[.database].map { $0 < Throttles.longWait } ?? false
      let isToBlame = operation.bisection != nil && !isPassing
      operation.apply(.bisected(.check(request: request.number)))
      if request.count == 1, isToBlame || disposition == .isolate {
        failCheck(error)
      } else {
        operation.cause = .checkRefused(code: error.code.name)
      }
    default:
      self.error = error
      wait = disposition.scope(in: operation.key.zoneKey)
      failCheck(error, waitsFor: wait)
    }
    writes.append(.update(operation))
  }

  /// Handles the error of a single check, which does not hold up the others.
  private mutating func failCheck(_ error: WebServicesError, waitsFor scope: WaitScope? = nil) {
    let (code, message) = (error.code.name, error.reason)
    writes.append(.attempt(of: operation.id, to: "verify it", error, seconds: request.seconds))
    (operation.errorCode, operation.errorMessage) = (code, message)
    if let scope { return operation.cause = .checkWaits(scope.asCause, code: code) }
    backOff(error)
    guard operation.attempts >= operation.maxAttempts else { return }
    let failure: FailureCause =
      operation.kind.isOfZone
      ? .cannotVerifyZone(zone: operation.key.zone, code: code, message: message)
      : .cannotVerify(code: code, message: message)
    operation.apply(.failed(failure))
  }

  // MARK: - Failing

  private mutating func fail(_ error: WebServicesError, _ disposition: Disposition) {
    operation.errorCode = error.code.name
    operation.errorMessage = error.reason
    // A reply that names the operation ends its bisection; a wait does not.
    switch disposition {
    case .wait, .isolate, .outage, .verify: break
    default: operation.apply(.cleared)
    }
    // The server may have carried out a write on which it failed. Creating an existing zone changes nothing.
    if [.backOff, .outage, .deadLetter].contains(disposition), error.leavesWriteInDoubt, operation.kind != .zoneSave {
      operation.apply(.leftInDoubt)
    }
    guard respond(to: error, disposition) else { return }
    // The failed version is not the current one.
    if operation.state == .failed, operation.generation != sent.sentGeneration {
      operation.apply(.ready(.readyAgain(.editedWhileSent), now: request.now))
      operation.apply(.forgiven)
      if operation.kind == .delete, operation.baseTag == nil, !operation.isUnconfirmed { operation.apply(.stale) }
    }
    // Even a rejected request may be delivered a second time, and be accepted then.
    if sent.kind == .save { operation.apply(.mayBeCarriedOut(sent.changes)) }
    self.error = error
    writes.append(.update(operation))
  }

  /// - Returns: whether the operation goes on or fails; not if it ended or was rebased.
  private mutating func respond(to error: WebServicesError, _ disposition: Disposition) -> Bool {
    let code = error.code.name
    switch disposition {
    case .acknowledge, .absent, .unanswered, .denied, .restart, .misfit, .hold, .stop:
      preconditionFailure("No response to a failed write.")
    case .wait(let scope): wait(for: waitScope(scope, error), code)
    case .backOff:
      backOff(error)
      if isReferredTo(error) {
        let (attempt, limit) = (operation.attempts, operation.maxAttempts)
        operation.cause = .stillReferredTo(code: code, attempt: attempt, of: limit)
      }
    // Creating an existing zone changes nothing; everything else is verified before it is repeated.
    case .verify where operation.kind == .zoneSave: backOff(error)
    case .verify:
      operation.apply(.replyLost(code: code))
      // Verify the first lost reply at once. If replies keep getting lost, the network or the request is at fault.
      if operation.lostRounds > 1 || error.httpStatus != nil { bisect(error, .network) }
    case .compare: operation.apply(.disputed(code: code))
    case .vanished: return vanish()
    case .zoneMissing:
      writes += operation.meetMissingZone(error, facts, now: request.now)
      guard operation.end != nil else { break }
      writes.append(.update(operation))
      return false
    case .sibling: operation.cause = .groupRejected
    case .split where request.isWhole: failAttempt(.tooLarge(code: code, message: error.reason))
    case .split:
      isTooLarge = true
      operation.cause = .requestTooLarge(code: code)
    case .isolate where request.isWhole: failAttempt(rejection(error))
    case .isolate:
      operation.apply(.bisected(.send(request: request.number)))
      operation.cause = .bisection(code: code, count: request.count)
    case .outage:
      operation.cause = .waits(.database, code: code)
      bisect(error, .database)
    case .deadLetter:
      failAttempt(isReferredTo(error) ? .stillReferredTo(code: code) : FailureCause(rejection: error))
    }
    return true
  }

  private mutating func wait(for scope: WaitScope, _ code: String) {
    wait = scope
    operation.cause = .waits(scope.asCause, code: code)
  }

  private mutating func backOff(_ error: WebServicesError) {
    operation.apply(.attempted)
    operation.apply(.backedOff(error, now: request.now, random: request.random))
  }

  private mutating func failAttempt(_ failure: FailureCause) {
    operation.apply(.attempted)
    operation.apply(.failed(failure))
  }

  /// The record to be updated does not exist. While the zone has changes to fetch, this may be one of many deletions:
  /// decide at the end of the change feed.
  private mutating func vanish() -> Bool {
    if facts.isGone {
      operation.cause = .recordDeleted
    } else if request.policy.deletionGuard != nil, facts.zone?.needsFetch == true,
      DeletionHold.marks(operation, isKnown: facts.isKnown)
    {
      writes.append(.mark(operation.key))
      operation.cause = .recordDeletedWhileFetching
    } else {
      rebase(onto: nil)
      return false
    }
    return true
  }

  /// Whether the server refused a deletion because others refer to the record. Of a save the same error means that it
  /// refers to a missing one.
  private func isReferredTo(_ error: WebServicesError) -> Bool {
    sent.kind == .delete && error.code == .validatingReferenceError
  }

  /// The narrowest scope: the zone for a rejection of one item, the database for one of the whole request.
  private func waitScope(_ scope: Disposition.Scope, _ error: WebServicesError) -> WaitScope {
    switch scope {
    case .network: .network
    case .account: .account
    // Operations that a full quota does not stop would otherwise be sent again at once, in a loop.
    case .quota: operation.kind == .save || request.hasSaves ? .quota : .zone(operation.key.zoneKey)
    case .throttle: error.httpStatus == nil ? .zone(operation.key.zoneKey) : .database
    }
  }

  // MARK: - Bisection

  /// The rejection of the request. The server does not name the bad member of a group.
  private func rejection(_ error: WebServicesError) -> FailureCause {
    FailureCause(rejection: error, group: request.count == 1 ? nil : request.count)
  }

  /// Handles a failed request that may be the fault of one of its records or of none: the scope backs off and the next
  /// request is half as large. A single record's attempts count once other requests succeed, or when none has for long.
  private mutating func bisect(_ error: WebServicesError, _ scope: WaitScope) {
    let wasBisected = operation.bisection != nil
    operation.apply(.bisected(.send(request: request.number)))
    guard request.isWhole else { return wait = scope }
    let known = request.waits[scope]
    let isToBlame = wasBisected && known.map { $0 >= Throttles.longWait } ?? true
    if isToBlame { operation.apply(.attempted) }
    if operation.attempts >= operation.maxAttempts { return operation.apply(.failed(rejection(error))) }
    operation.apply(.backedOff(error, now: request.now, random: request.random))
    guard !isToBlame || known != nil else { return }
    wait = scope
    // Others are sent first after that wait, which shows whether this record is at fault. A wait that the server asked
    // for is already part of both, and is not waited twice.
    let scopeSeconds = Backoff.scopeSeconds(asked: error.retryAfter, previous: known, random: 1)
    let own = operation.waitsUntil ?? request.now
    let end = max(own, (error.asksToWait ? request.now : own) + Backoff.milliseconds(scopeSeconds + 1))
    operation.apply(.deferred(until: end, isServersWait: operation.isServersWait))
  }
}

extension QueuedOperation.Bisection {
  var isCheck: Bool { if case .check = self { true } else { false } }
}
