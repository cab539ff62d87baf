import CloudKit
import Facts
import TestSupport
import Testing

@testable import CloudSync

/// What becomes of each kind of unconfirmed operation with each reply to its re-fetch. `RECORD_SNAPSHOTS=1` writes the
/// table.
@Suite struct VerificationDecisionTests {
  private static let key = RecordKey(.one, "a")
  private static let base: [String: FieldValue] = ["title": .string("base")]

  private static let operations: [(name: String, operation: QueuedOperation, isAlone: Bool)] = [
    ("save", unconfirmed(.save), true), ("save, with others", unconfirmed(.save), false),
    ("save, bisected", unconfirmed(.save, bisection: .check(request: 9)), true),
    ("save, bisected when sent", unconfirmed(.save, bisection: .send(request: 9)), true),
    ("save, last attempt", unconfirmed(.save, attempts: 7, bisection: .check(request: 9)), true),
    ("create", unconfirmed(.save, isNew: true), true), ("delete", unconfirmed(.delete), true),
    ("new element", unconfirmed(.save, FieldChanges(values: ["set": set("ours")], rules: ["set": .elements])), true),
  ]

  private static let outcomes: [(name: String, outcome: Outcome, databaseWait: Double?)] = [
    ("our own save", .verified(.record(server("ours"))), nil),
    ("another record", .verified(.record(server("theirs"))), nil),
    ("a set with the element", .verified(.record(server("base", set: set("ours", "theirs")))), nil),
    // The element was never saved, or another device removed it since: the record does not tell.
    ("a set without the element", .verified(.record(server("base", set: set("theirs")))), nil),
    ("no record", .verified(.nothing), nil),
    ("its record is throttled", one(error(.throttled)), nil),
    ("its record fails", one(error(.internalError)), nil),
    ("its record is refused", one(error(.accessDenied)), nil),
    ("no zone", all(error(.zoneNotFound)), nil),
    ("request rejected", all(error(.badRequest, status: 400)), nil),
    ("server fails", all(error(.internalError, status: 500)), nil),
    ("server fails for a short time", all(error(.internalError, status: 500)), 10),
    ("server fails for long", all(error(.internalError, status: 500)), 400),
  ]

  /// The error of one element of the reply.
  private static func one(_ error: WebServicesError) -> Outcome {
    .notVerified(error, Disposition(of: error, during: .verifying(isWhole: false)))
  }

  /// The error of the whole request.
  private static func all(_ error: WebServicesError) -> Outcome {
    .notVerified(error, Disposition(of: error, during: .verifying(isWhole: true)))
  }

  private static func error(_ code: ServerErrorCode, status: Int? = nil) -> WebServicesError {
    OutcomeDecisionTests.error(code, status: status)
  }

  private static func unconfirmed(
    _ kind: OperationKind,
    _ changes: FieldChanges = FieldChanges(values: ["title": .string("ours")]),
    isNew: Bool = false,
    attempts: Int = 0,
    bisection: QueuedOperation.Bisection? = nil
  ) -> QueuedOperation {
    let changes = kind == .save ? changes : FieldChanges()
    return QueuedOperation(
      id: 4,
      kind: kind,
      key: key,
      type: "Note",
      changes: changes,
      base: isNew ? [:] : kind == .save ? base.filter { changes.names.contains($0.key) } : base,
      baseTag: isNew ? nil : "1",
      cause: .unconfirmed(code: "NETWORK_ERROR"),
      generation: 1,
      doubt: .init(needsVerification: true, isUnconfirmed: true, sentChanges: kind == .save ? [changes] : []),
      attempts: attempts,
      maxAttempts: 8,
      enqueuedAt: 1,
      editedAt: 2,
      bytes: 10,
      bisection: bisection
    )
  }

  private static func server(_ title: String, set: FieldValue? = nil) -> MirrorRecord {
    var fields: [String: FieldValue] = ["title": .string(title)]
    fields["set"] = set
    return MirrorRecord(key: key, type: "Note", changeTag: "2", fields: fields, modifiedAt: 10)
  }

  private static func set(_ elements: String...) -> FieldValue { .list(.string, elements.map(FieldValue.string)) }

  @Test func `the table of every reply to every operation is the recorded one`() throws {
    let table = Self.table
    #expect(try table == recorded("Tests/Sync/CloudSyncTests/Decide/VerificationDecision.txt", table))
  }

  @Test func `each record requested has its element of the reply, and one that is omitted an error`() throws {
    let asked = zip(Int64(1)..., ["a", "b", "c", "d", "e", "f"]).map { id, name in
      var operation = Self.unconfirmed(.save)
      (operation.id, operation.key) = (id, RecordKey(.one, name))
      return operation
    }
    let results: [WireResult<WireRecord>] = [
      .item(WireRecord(recordName: "a", recordType: "Note", recordChangeTag: "1")), .deleted("b"),
      .failure("c", Self.error(.notFound)), .failure("d", Self.error(.internalError)),
      .failure("e", Self.error(.zoneNotFound)), .item(WireRecord(recordName: "g", recordType: "Note")),
    ]

    func found(_ results: [WireResult<WireRecord>]) throws -> [String] {
      let outcomes = try Interpreter.outcomes(ofVerifying: asked, in: .one, results)
      return asked.map { operation in
        switch outcomes[operation.id] {
        case .verified(.record(let record)): record.changeTag
        case .verified(.nothing): "none"
        case .notVerified(let error, .backOff): error.code.name
        default: "omitted"
        }
      }
    }

    let named = ["1", "none", "none", "INTERNAL_ERROR", "ZONE_NOT_FOUND"]
    #expect(try found(results) == named + ["UNEXPECTED_SERVER_RESPONSE"])
    let nameless = results + [.failure(nil, Self.error(.badRequest))]
    #expect(try found(nameless) == named + ["BAD_REQUEST"])
    let signedOut = WireResult<WireRecord>.failure(nil, Self.error(.authenticationRequired))
    #expect(throws: WebServicesError.self) { try found([signedOut]) }
  }

  // MARK: - Zones

  private static let zoneDelete: QueuedOperation = {
    var operation = unconfirmed(.zoneDelete, isNew: true)
    (operation.key, operation.type, operation.zoneToken) = (RecordKey(.one, ""), nil, "t")
    return operation
  }()

  private static func decision(of operation: QueuedOperation, _ result: WireResult<WireZone>?) -> OutcomeDecision {
    let request = SentRequest([operation], seconds: 1, policy: MergePolicy(.manual), now: 100, random: 1)
    let outcome = Interpreter.outcome(ofVerifyingZone: .one, result)
    return OutcomeDecision(operation, sent: operation, outcome, of: request)
  }

  @Test(arguments: ["t", "u", nil] as [String?])
  func `the delete of a zone is sent again if the zone is as it was, else a person decides`(token: String?) {
    var zone = WireZone(zoneID: ZoneKey.one.wire)
    zone.syncToken = token

    let decision = Self.decision(of: Self.zoneDelete, .item(zone))

    let operation = decision.operation
    #expect(operation.cause == (token == "t" ? .readyAgain(.zoneStillThere) : .failed(.zoneChanged(zone: "one"))))
    #expect(!operation.needsVerification && !decision.isAcknowledged)
    #expect(decision.writes == [.update(operation)])
  }

  @Test func `the delete of a zone ends if the zone is missing`() {
    var deleted = WireZone(zoneID: ZoneKey.one.wire)
    deleted.deleted = true

    for result in [deleted.result(), .failure(deleted.zoneID, Self.error(.zoneNotFound))] {
      let decision = Self.decision(of: Self.zoneDelete, result)

      #expect(decision.endsZoneOperation && decision.isAcknowledged && decision.writes.isEmpty)
    }
  }

  @Test func `the delete of a zone that cannot be verified waits, backs off, and fails after its last attempt`() {
    let wire = ZoneKey.one.wire
    var last = Self.zoneDelete
    for _ in 1..<last.maxAttempts { last.apply(.attempted) }

    let throttled = Self.decision(of: Self.zoneDelete, .failure(wire, Self.error(.throttled)))
    let omitted = Self.decision(of: Self.zoneDelete, nil)
    let failed = Self.decision(of: Self.zoneDelete, .failure(wire, Self.error(.internalError)))
    let failedLast = Self.decision(of: last, .failure(wire, Self.error(.internalError)))

    #expect(throttled.wait == .zone(.one) && omitted.wait == .zone(.one) && failed.wait == nil)
    #expect(throttled.operation.cause == .checkWaits(.zone("one"), code: "THROTTLED"))
    #expect(throttled.operation.attempts == 0 && omitted.operation.attempts == 0)
    #expect(failed.operation.state == .waiting && failed.operation.attempts == 1)
    let cause = FailureCause.cannotVerifyZone(zone: "one", code: "INTERNAL_ERROR", message: "no")
    #expect(failedLast.operation.cause == .failed(cause))
    #expect([throttled, omitted, failed, failedLast].allSatisfy { $0.operation.needsVerification })
  }

  // MARK: - The table

  private static var table: String {
    var lines: [String] = []
    for (name, outcome, databaseWait) in outcomes {
      lines.append(name)
      // The operations with the same result, in one line.
      var shown: [(result: String, names: [String])] = []
      for (name, operation, isAlone) in operations {
        var other = operation
        other.id = 5
        let all = isAlone ? [operation] : [operation, other]
        var request = SentRequest(all, seconds: 1, policy: MergePolicy(.manual), now: 100, random: 1)
        request.waits[.database] = databaseWait
        let facts = RecordFacts(
          record: MirrorRecord(key: key, type: "Note", changeTag: "1", fields: base),
          zone: KnownZone(.one, state: .ready)
        )
        let decision = OutcomeDecision(operation, sent: operation, outcome, of: request, facts)
        var parts = decision.writes.compactMap { OutcomeDecisionTests.words($0, of: operation) }
        if let scope = decision.wait { parts.append("\(scope.name) waits") }
        #expect(decision.isAcknowledged == (decision.operation.end != nil))
        let result = parts.joined(separator: "; ")
        let row = shown.firstIndex { $0.result == result } ?? shown.endIndex
        if row == shown.endIndex { shown.append((result, [])) }
        shown[row].names.append(name)
      }
      for (result, names) in shown { lines += ["  \(names.joined(separator: "; "))", "    \(result)"] }
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
