import CloudKit
import Facts
import TestSupport
import Testing

@testable import CloudSync

/// What becomes of each kind of operation with each outcome of its request. `RECORD_SNAPSHOTS=1` writes the table.
@Suite struct OutcomeDecisionTests {
  private static let key = RecordKey(.one, "a")
  private static let base: [String: FieldValue] = ["title": .string("base")]
  private static let record = MirrorRecord(key: key, type: "Note", changeTag: "2", fields: ["title": .string("ours")])

  private static let kinds: [(name: String, kind: OperationKind, isNew: Bool)] = [
    ("create", .save, true), ("save", .save, false), ("delete", .delete, false), ("zone save", .zoneSave, true),
    ("zone delete", .zoneDelete, true),
  ]

  /// How the operation was sent.
  private enum Situation: String, CaseIterable {
    case alone
    case withOthers = "with others"
    case editedSince = "edited since"
    case deletedSince = "deleted since"
    case savedSince = "saved since"
    case lastAttempt = "last attempt"
    case bisected

    func applies(to kind: OperationKind) -> Bool {
      switch self {
      case .editedSince, .deletedSince: kind == .save
      case .savedSince: kind == .delete
      case .alone, .withOthers, .lastAttempt, .bisected: true
      }
    }
  }

  private static let failures: [(name: String, error: WebServicesError, disposition: Disposition)] = [
    ("wait for the network", error(.networkError, .notSent), .wait(.network)),
    ("wait for the account", error(.authenticationRequired), .wait(.account)),
    ("wait for space", error(.quotaExceeded), .wait(.quota)),
    ("throttled", error(.throttled), .wait(.throttle)),
    ("throttled, whole request", error(.throttled, status: 503), .wait(.throttle)),
    ("back off", error(.internalError), .backOff),
    ("back off, referred to", error(.validatingReferenceError), .backOff),
    ("verify", error(.networkError, .unknown), .verify),
    ("verify, gateway", error(.unexpectedServerResponse, .unknown, status: 502), .verify),
    ("merge", error(.conflict), .compare), ("deleted", error(.notFound), .vanished),
    ("no zone", error(.zoneNotFound), .zoneMissing), ("again", error(.atomicError), .sibling),
    ("less", error(.limitExceeded), .split), ("bisect", error(.badRequest), .isolate),
    ("outage", error(.internalError, status: 500), .outage), ("failed", error(.badRequest), .deadLetter),
    ("failed, referred to", error(.validatingReferenceError), .deadLetter),
    ("done", error(.exists), .acknowledge),
  ]

  static func error(_ code: ServerErrorCode, _ effect: WebServicesError.Effect? = nil, status: Int? = nil)
    -> WebServicesError
  {
    var error = effect.map { WebServicesError(code, "no", effect: $0) } ?? WebServicesError(code, "no")
    error.httpStatus = status
    return error
  }

  private static func sent(_ kind: OperationKind, isNew: Bool, _ situation: Situation) -> QueuedOperation {
    var operation = QueuedOperation(
      id: 4,
      kind: kind,
      key: kind == .save || kind == .delete ? key : RecordKey(.one, ""),
      type: kind == .save ? "Note" : nil,
      changes: kind == .save ? FieldChanges(values: ["title": .string("ours")]) : FieldChanges(),
      base: isNew ? [:] : base,
      baseTag: isNew ? nil : "1",
      cause: .ready,
      generation: 1,
      attempts: situation == .lastAttempt ? 7 : 0,
      maxAttempts: 8,
      enqueuedAt: 1,
      editedAt: 2,
      bytes: 10,
      bisection: situation == .bisected ? .send(request: 9) : nil
    )
    operation.apply(.sent(as: kind))
    return operation
  }

  /// The operation as it is stored when the reply comes.
  private static func stored(_ sent: QueuedOperation, _ situation: Situation) -> QueuedOperation {
    var operation = sent
    switch situation {
    case .editedSince:
      operation.apply(.edited(resolvesConflict: false, now: 20))
      operation.changes["more"] = .int64(1)
    case .deletedSince:
      operation.apply(.edited(resolvesConflict: false, now: 20))
      (operation.kind, operation.changes) = (.delete, FieldChanges())
    case .savedSince:
      operation.apply(.edited(resolvesConflict: false, now: 20))
      operation.kind = .save
      operation.changes["title"] = .string("again")
    case .alone, .withOthers, .lastAttempt, .bisected: break
    }
    return operation
  }

  private static func stored(_ kind: (name: String, kind: OperationKind, isNew: Bool), _ situation: Situation)
    -> QueuedOperation
  {
    stored(sent(kind.kind, isNew: kind.isNew, situation), situation)
  }

  private static func decision(
    _ kind: (name: String, kind: OperationKind, isNew: Bool),
    _ situation: Situation,
    _ outcome: Outcome,
    _ facts: RecordFacts = RecordFacts(),
    guarded: Bool = false
  ) -> OutcomeDecision {
    let sent = sent(kind.kind, isNew: kind.isNew, situation)
    var other = sent
    other.id = 3
    let policy = MergePolicy(.server, deletionGuard: guarded ? DeletionGuard() : nil)
    let all = situation == .withOthers ? [sent, other] : [sent]
    var request = SentRequest(all, seconds: 1, policy: policy, now: 100, random: 1)
    if situation == .bisected { request.waits = [.database: 400, .network: 400] }
    return OutcomeDecision(stored(sent, situation), sent: sent, outcome, of: request, facts)
  }

  @Test func `the table of every outcome of every kind is the recorded one`() throws {
    let table = Self.table
    #expect(try table == recorded("Tests/Sync/CloudSyncTests/Decide/OutcomeDecision.txt", table))
  }

  @Test func `the wait that a gateway asks for is not waited twice`() {
    var error = Self.error(.tryAgainLater, .unknown, status: 503)
    error.retryAfter = 60
    var ends: [Int64?] = []

    for case .update(let operation) in Self.decision(Self.kinds[1], .alone, .failed(error, .verify)).writes {
      ends.append(operation.waitsUntil)
    }

    // One second after the longest wait of all others.
    #expect(ends == [100 + 66_000 + 1000])
  }

  @Test func `every response to a failed write is in the table`() {
    for (name, kind, isNew) in Self.kinds {
      let missing = Self.possible(kind, isNew: isNew).subtracting(Self.failures.map(\.disposition))
      #expect(missing.isEmpty, "\(name)")
    }
  }

  /// The responses to a failure of an operation.
  private static func possible(_ kind: OperationKind, isNew: Bool) -> Set<Disposition> {
    let errors = ServerErrorCode.allNamed.flatMap { code in
      [WebServicesError.Effect.notSent, .unknown].map { WebServicesError(code, "", effect: $0) }
    }
    return Set(
      errors.flatMap { error in
        [true, false].map { isWhole in
          let phase = Phase.sending(kind, isCreation: isNew, attempt: 1, of: 8, isWhole: isWhole)
          return Disposition(of: error, during: phase)
        }
      }
    ).union([.deadLetter])
  }

  private static var table: String {
    var lines: [String] = []
    func add(_ title: String, _ outcome: Outcome, where applies: (OperationKind, Bool) -> Bool) {
      lines.append(title)
      // The kinds and situations with the same result, in one line.
      var shown: [(result: String, kinds: [(name: String, situations: [String])])] = []
      for kind in kinds where applies(kind.kind, kind.isNew) {
        for situation in Situation.allCases where situation.applies(to: kind.kind) {
          let result = words(decision(kind, situation, outcome), of: stored(kind, situation))
          let row = shown.firstIndex { $0.result == result } ?? shown.endIndex
          if row == shown.endIndex { shown.append((result, [])) }
          if shown[row].kinds.last?.name != kind.name { shown[row].kinds.append((kind.name, [])) }
          shown[row].kinds[shown[row].kinds.count - 1].situations.append(situation.rawValue)
        }
      }
      for (result, kinds) in shown {
        let names = kinds.map { "\($0.name) \($0.situations.joined(separator: " or "))" }
        lines += ["  " + result] + (shown.count == 1 ? [] : ["    " + names.joined(separator: "; ")])
      }
    }
    add("saved", .saved(record)) { kind, _ in kind == .save }
    add("deleted", .deleted) { kind, _ in kind == .delete }
    add("zone done", .zoneDone) { kind, _ in kind.isOfZone }
    for failure in failures {
      add(failure.name, .failed(failure.error, failure.disposition)) { kind, isNew in
        possible(kind, isNew: isNew).contains(failure.disposition)
      }
    }
    lines += zoneLines + vanishedLines
    return lines.joined(separator: "\n") + "\n"
  }

  /// The zone is missing, by what is known of it.
  private static var zoneLines: [String] {
    let outcome = Outcome.failed(error(.zoneNotFound), .zoneMissing)
    let zones: [(name: String, state: ZoneState, createdHere: Bool)] = [
      ("unconfirmed", .unconfirmed, false), ("created here", .ready, true), ("created by others", .ready, false),
      ("deleted", .deleted, false),
    ]
    return zones.flatMap { zone in
      [0, 3].flatMap { records in
        [(false, false), (true, false), (true, true)].compactMap { isGuarded, hasDelete in
          if records == 0, isGuarded { return nil }
          var known = KnownZone(.one, state: zone.state)
          known.createdHere = zone.createdHere
          let fields = base.merging(["kept": .int64(1)]) { $1 }
          let facts = RecordFacts(
            record: MirrorRecord(key: key, type: "Note", changeTag: "1", fields: fields),
            zone: known,
            records: records,
            hasZoneDelete: hasDelete,
            isGuarded: isGuarded
          )
          let title = "no zone, \(zone.name), \(records) records\(isGuarded ? ", guarded" : "")"
          let result = words(decision(kinds[1], .alone, outcome, facts), of: stored(kinds[1], .alone))
          return "\(title)\(hasDelete ? ", its delete queued" : "")\n  save: \(result)"
        }
      }
    }
  }

  /// The record is missing, by what is known of it.
  private static var vanishedLines: [String] {
    let outcome = Outcome.failed(error(.notFound), .vanished)
    var reading = KnownZone(.one, state: .ready)
    reading.needsFetch = true
    let known: [(name: String, facts: RecordFacts)] = [
      ("its deletion is known", RecordFacts(isKnown: true, isGone: true)),
      ("the zone has changes to fetch", RecordFacts(isKnown: true, zone: reading)),
      ("the zone has changes to fetch, no local copy", RecordFacts(zone: reading)),
      ("its zone delete is queued", RecordFacts(isKnown: true, hasZoneDelete: true)),
    ]
    return known.flatMap { name, facts in
      ["deleted, \(name)"]
        + [Situation.alone, .deletedSince].map { situation in
          let decision = decision(kinds[1], situation, outcome, facts, guarded: true)
          return "  save, \(situation.rawValue): \(words(decision, of: stored(kinds[1], situation)))"
        }
    }
  }

  // MARK: - Words

  private static func words(_ decision: OutcomeDecision, of stored: QueuedOperation) -> String {
    var parts = decision.writes.compactMap { words($0, of: stored) }
    if decision.isAcknowledged { parts.insert("acknowledged", at: 0) }
    if decision.endsZoneOperation { parts.append("the zone operation ends") }
    if let scope = decision.wait { parts.append("\(scope.name) waits") }
    if decision.isTooLarge { parts.append("smaller requests") }
    return parts.joined(separator: "; ")
  }

  static func words(_ write: StoreWrite, of stored: QueuedOperation) -> String? {
    switch write {
    case .update(let operation): words(operation, of: stored)
    case .drop(let dropped, _): "drops \(dropped.changes.names.sorted().joined(separator: ", "))"
    // Every failure records one.
    case .attempt: nil
    case .put(let record, _): "mirror: \(record.changeTag)"
    case .remove: "mirror: none"
    case .mark: "mirror: marked as deleted"
    case .setState(_, let state): "zone: \(state)"
    case .lose(_, let loss): "zone lost: \(loss)"
    }
  }

  /// The state with its cause, and the other values that differ from the stored ones.
  private static func words(_ operation: QueuedOperation, of stored: QueuedOperation) -> String {
    if let end = operation.end { return "ends: \(end.ending), \(end.cause.text)" }
    var parts = ["\(operation.state): \(operation.cause.text)"]
    if (operation.changes, operation.baseTag) != (stored.changes, stored.baseTag) {
      let names = operation.changes.names.sorted().joined(separator: " and ")
      parts.append("\(operation.kind)\(names.isEmpty ? "" : " \(names)") on \(operation.baseTag ?? "nothing")")
    }
    if let end = operation.waitsUntil { parts.append("until \(end)") }
    if operation.attempts > stored.attempts { parts.append("counts an attempt") }
    if operation.needsVerification { parts.append("to be compared") }
    if operation.isUnconfirmed { parts.append("unconfirmed") }
    if operation.bisection != stored.bisection {
      parts.append(operation.bisection.map { "bisected: \($0)" } ?? "not bisected")
    }
    return parts.joined(separator: ", ")
  }
}
