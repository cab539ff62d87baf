import CloudKit
import Facts
import Foundation
import Testing

@testable import CloudSync

/// What becomes of each kind of unconfirmed operation with each reply to its re-fetch. `RECORD_SNAPSHOTS=1` writes the
/// table.
@Suite struct ReadBackDecisionTests {
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

  private static let replies: [(name: String, reply: ReadBackReply, databaseWait: Double?)] = [
    ("our own save", .records([key: .success(server("ours"))]), nil),
    ("another record", .records([key: .success(server("theirs"))]), nil),
    ("a set with the element", .records([key: .success(server("base", set: set("ours", "theirs")))]), nil),
    // The element was never saved, or another device removed it since: the record does not tell.
    ("a set without the element", .records([key: .success(server("base", set: set("theirs")))]), nil),
    ("no record", .records([key: .success(nil)]), nil),
    ("another operation's record", .records([RecordKey(.one, "b"): .success(nil)]), nil),
    ("its record is throttled", .records([key: .failure(error(.throttled))]), nil),
    ("its record fails", .records([key: .failure(error(.internalError))]), nil),
    ("its record is refused", .records([key: .failure(error(.accessDenied))]), nil),
    ("no zone", .zoneMissing(error(.zoneNotFound)), nil),
    ("request rejected", .rejected(error(.badRequest, status: 400)), nil),
    ("server fails", .rejected(error(.internalError, status: 500)), nil),
    ("server fails for a short time", .rejected(error(.internalError, status: 500)), 10),
    ("server fails for long", .rejected(error(.internalError, status: 500)), 400),
  ]

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
      doubt: .init(needsReadBack: true, isUnanswered: true, sentChanges: kind == .save ? [changes] : []),
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
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "ReadBackDecision.txt")
    let text = Self.table
    if ProcessInfo.processInfo.environment["RECORD_SNAPSHOTS"] == "1" { try Data(text.utf8).write(to: file) }
    #expect(try String(decoding: Data(contentsOf: file), as: UTF8.self) == text)
  }

  @Test func `each record requested has its element of the reply, and one that is omitted an error`() throws {
    let keys = ["a", "b", "c", "d", "e"].map { RecordKey(.one, $0) }
    let results: [WireRecordResult] = [
      .record(WireRecord(recordName: "a", recordType: "Note", recordChangeTag: "1")), .deleted(recordName: "b"),
      .failure(recordName: "c", Self.error(.notFound)), .failure(recordName: "d", Self.error(.internalError)),
    ]

    func found(_ results: [WireRecordResult]) throws -> [String] {
      guard case .records(let found) = try ReadBackReply(results, to: keys, in: .one) else { return [] }
      return keys.map { key in
        switch found[key] {
        case .success(let record): record?.changeTag ?? "none"
        case .failure(let error): error.code.name
        case nil: "omitted"
        }
      }
    }

    #expect(try found(results) == ["1", "none", "none", "INTERNAL_ERROR", "UNEXPECTED_SERVER_RESPONSE"])
    let nameless = results + [.failure(recordName: nil, Self.error(.badRequest))]
    #expect(try found(nameless) == ["1", "none", "none", "INTERNAL_ERROR", "BAD_REQUEST"])
    let signedOut = WireRecordResult.failure(recordName: nil, Self.error(.authenticationRequired))
    #expect(throws: WebServicesError.self) { try found([signedOut]) }
  }

  private static var table: String {
    var lines: [String] = []
    for (name, reply, databaseWait) in replies {
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
        let decision = ReadBackDecision(operation, reply, of: request, facts)
        var parts = decision.writes.compactMap { OutcomeDecisionTests.words($0, of: operation) }
        if let scope = decision.wait { parts.append("\(scope.name) waits") }
        let result = parts.isEmpty ? "nothing" : parts.joined(separator: "; ")
        let row = shown.firstIndex { $0.result == result } ?? shown.endIndex
        if row == shown.endIndex { shown.append((result, [])) }
        shown[row].names.append(name)
      }
      for (result, names) in shown { lines += ["  \(names.joined(separator: "; "))", "    \(result)"] }
    }
    return lines.joined(separator: "\n") + "\n"
  }
}
