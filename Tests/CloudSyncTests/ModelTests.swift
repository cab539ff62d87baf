import CloudKit
import Facts
import Foundation
import TestSupport
import Testing

@testable import CloudSync

@Suite(.serialized) struct FieldChangesTests {
  @Test func `a later change wins field by field`() {
    var changes = FieldChanges(values: ["a": .int64(1), "b": .int64(1)], cleared: ["c"])

    changes.apply(FieldChanges(values: ["b": .int64(2), "c": .int64(2)], cleared: ["a"]))

    #expect(changes == FieldChanges(values: ["b": .int64(2), "c": .int64(2)], cleared: ["a"]))
  }

  @Test func `a field is set or cleared, never both`() {
    let changes = FieldChanges(values: ["a": .int64(1)], cleared: ["a", "b"])

    #expect(changes.cleared == ["b"])
    #expect(changes.names == ["a", "b"])
  }

  @Test func `forgetting leaves a field alone`() {
    var changes = FieldChanges(values: ["a": .int64(1)], cleared: ["b"])

    changes.forget("a")
    changes.forget("b")

    #expect(changes.isEmpty)
  }

  @Test func `applying and taking what is effective are inverse`() {
    var random = SplitMix64(seed: 3)
    for _ in 0..<500 {
      var before: [String: FieldValue] = [:]
      var changes = FieldChanges()
      for name in ["a", "b", "c"] {
        if random.next() % 2 == 0 { before[name] = .int64(Int64(random.next() % 2)) }
        if random.next() % 2 == 0 { changes[name] = random.next() % 3 == 0 ? nil : .int64(Int64(random.next() % 2)) }
      }
      let after = changes.applied(to: before)
      let effective = changes.effective(on: before)

      #expect(effective.applied(to: before) == after)
      #expect(effective.isEmpty == (after == before))
      #expect(changes.effective(on: after).isEmpty)
    }
  }

  @Test func `bytes grow with the text`() {
    let short = FieldChanges(values: ["a": .string("x")]).requestBytes
    let long = FieldChanges(values: ["a": .string(String(repeating: "x", count: 1001))]).requestBytes

    #expect(long == short + 1000)
    #expect(FieldValue.bytes(Data(count: 300)).byteCount == 400)
    #expect(FieldValue.list(.string, [.string("ab"), .string("c")]).byteCount == 11)
  }
}

@Suite(.serialized) struct InterpreterTests {
  private let zone = ZoneKey(zone: "notes")

  private func operation(
    _ id: Int64,
    _ name: String,
    _ kind: OperationKind = .save,
    baseTag: String? = nil,
    changes: FieldChanges = FieldChanges(values: ["a": .int64(1)])
  ) -> QueuedOperation {
    QueuedOperation(
      id: id,
      kind: kind,
      key: RecordKey(zone, name),
      type: "Note",
      changes: changes,
      base: [:],
      baseTag: baseTag,
      phase: .inFlight(generation: 1, kind),
      cause: .ready,
      generation: 1,
      maxAttempts: 8,
      enqueuedAt: 0,
      editedAt: 0,
      bytes: 0
    )
  }

  private func saved(_ name: String) -> WireResult<WireRecord> {
    .item(WireRecord(recordName: name, recordType: "Note", recordChangeTag: "t-\(name)"))
  }

  private func disposition(_ outcome: Outcome?) -> Disposition? {
    if case .failed(_, let disposition) = outcome { disposition } else { nil }
  }

  @Test func `elements are matched by name, whatever their order`() {
    let sent = [operation(1, "a"), operation(2, "b"), operation(3, "c", .delete)]

    let outcomes = Interpreter.outcomes(of: sent, .success([.deleted("c"), saved("b"), saved("a")]))

    #expect(outcomes[1] == .saved(MirrorRecord(key: RecordKey(zone, "a"), type: "Note", changeTag: "t-a", fields: [:])))
    #expect(outcomes[2] == .saved(MirrorRecord(key: RecordKey(zone, "b"), type: "Note", changeTag: "t-b", fields: [:])))
    #expect(outcomes[3] == .deleted)
  }

  @Test func `an error without a name is matched by its place`() {
    let error = WebServicesError(.badRequest, "no")

    let outcomes = Interpreter.outcomes(
      of: [operation(1, "a"), operation(2, "b")],
      .success([saved("a"), .failure(nil, error)])
    )

    #expect(outcomes[2] == .failed(error, .deadLetter))
  }

  @Test func `an error without a name is not that of a record that the answer names`() {
    let outcomes = Interpreter.outcomes(
      of: [operation(1, "a"), operation(2, "b")],
      .success([.failure(nil, WebServicesError(.badRequest, "no")), saved("a")])
    )

    #expect(outcomes[1]?.isSuccess == true)
    #expect(disposition(outcomes[2]) == .verify)
  }

  @Test func `two spellings of an accent are two records`() {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    let error = WebServicesError(.badRequest, "no")

    let outcomes = Interpreter.outcomes(
      of: [operation(1, composed), operation(2, decomposed)],
      .success([saved(decomposed), .failure(composed, error)])
    )

    #expect(outcomes[1] == .failed(error, .deadLetter))
    #expect(outcomes[2]?.isSuccess == true)
    #expect(RecordKey(zone, composed) != RecordKey(zone, decomposed))
    #expect(RecordKey(zone, decomposed) < RecordKey(zone, composed))
    #expect(ZoneKey(zone: composed) != ZoneKey(zone: decomposed))
  }

  @Test func `what the answer leaves open is read back`() {
    let sent = [operation(1, "a"), operation(2, "b"), operation(3, "c", .delete), operation(4, "d")]

    let outcomes = Interpreter.outcomes(
      of: sent,
      .success([.item(WireRecord(recordName: "a")), .deleted("b"), saved("c")])
    )

    #expect(sent.map { disposition(outcomes[$0.id]) } == [.verify, .verify, .verify, .verify])
  }

  @Test func `a failure of the request is everybody's`() {
    let sent = [operation(1, "a"), operation(2, "b")]

    let outcomes = Interpreter.outcomes(of: sent, .failure(WebServicesError(.throttled, "", retryAfter: 3)))

    #expect(sent.map { disposition(outcomes[$0.id]) } == [.wait(.throttle), .wait(.throttle)])
  }

  @Test func `an atomic refusal that blames nobody costs everybody an attempt`() {
    let sibling = WebServicesError(.atomicError, "")
    let sent = [operation(1, "a"), operation(2, "b")]

    let nobody = Interpreter.outcomes(
      of: sent,
      .success([.failure("a", sibling), .failure("b", sibling)])
    )
    let somebody = Interpreter.outcomes(
      of: sent,
      .success([.failure("a", sibling), .failure("b", WebServicesError(.badRequest, ""))])
    )

    #expect(sent.map { disposition(nobody[$0.id]) } == [.backOff, .backOff])
    #expect(sent.map { disposition(somebody[$0.id]) } == [.sibling, .deadLetter])
  }

  @Test func `a save is an update where a base is known, a creation where not`() {
    let changes = FieldChanges(values: ["a": .int64(1)], cleared: ["b"])

    let create = Interpreter.wireOperation(operation(1, "x", changes: changes))
    let update = Interpreter.wireOperation(operation(1, "x", baseTag: "t", changes: changes))

    #expect(create.operationType == .create)
    #expect(create.record.recordChangeTag == nil)
    #expect(create.record.clearedFields.isEmpty)
    #expect(update.operationType == .update)
    #expect(update.record.recordChangeTag == "t")
    #expect(update.record.fields == changes.values)
    #expect(update.record.clearedFields == ["b"])
  }

  @Test func `a delete carries the tag it was decided on, and forces only where none is known`() {
    let known = Interpreter.wireOperation(operation(1, "x", .delete, baseTag: "t"))
    let unknown = Interpreter.wireOperation(operation(1, "x", .delete))

    #expect(known.operationType == .delete)
    #expect(known.record.recordChangeTag == "t")
    #expect(unknown.operationType == .forceDelete)
  }
}

@Suite(.serialized) struct ConflictTests {
  private let key = RecordKey(ZoneKey(zone: "notes"), "x")

  private func conflict(
    _ kind: OperationKind = .save,
    changes: FieldChanges,
    base: [String: FieldValue],
    server: [String: FieldValue]?,
    editedAt: Int64 = 10,
    modifiedAt: Int64 = 20
  ) -> Conflict {
    let operation = QueuedOperation(
      id: 1,
      kind: kind,
      key: key,
      type: "Note",
      changes: changes,
      base: base,
      baseTag: "1",
      phase: .conflict(since: 30),
      cause: .ready,
      generation: 1,
      conflictRounds: 1,
      attempts: 0,
      maxAttempts: 8,
      enqueuedAt: 0,
      editedAt: editedAt,
      bytes: 0
    )
    return Conflict(
      operation,
      server: server.map {
        MirrorRecord(key: key, type: "Note", changeTag: "2", fields: $0, modifiedAt: modifiedAt)
      }
    )
  }

  private var both: Conflict {
    conflict(
      changes: FieldChanges(values: ["a": .int64(1), "b": .int64(1), "c": .int64(1)]),
      base: ["a": .int64(0), "b": .int64(0), "c": .int64(0)],
      server: ["a": .int64(2), "b": .int64(2), "c": .int64(0), "d": .int64(9)]
    )
  }

  @Test func `only fields that both sides changed are in conflict`() {
    #expect(both.fields.map(\.name) == ["a", "b"])
    #expect(both.fields.first?.base == .int64(0))
    #expect(both.fields.first?.local == .int64(1))
    #expect(both.fields.first?.server == .int64(2))
  }

  @Test func `what is not in conflict is sent whoever wins`() {
    #expect(both.resolution(.local).left == FieldChanges(values: ["a": .int64(1), "b": .int64(1), "c": .int64(1)]))
    #expect(both.resolution(.server).left == FieldChanges(values: ["c": .int64(1)]))
    #expect(both.resolution(.base).left == FieldChanges(values: ["a": .int64(0), "b": .int64(0), "c": .int64(1)]))
    #expect(both.resolution(.newest).left == both.resolution(.server).left)
  }

  @Test func `each field can have its own side`() {
    let left = both.resolution(.server, ["b": .base]).left

    #expect(left == FieldChanges(values: ["b": .int64(0), "c": .int64(1)]))
    #expect(both.resolution(.server, ["a": .newest]).left == both.resolution(.server).left)
  }

  @Test func `the newer side is told by the clocks of both`() {
    let newer = conflict(
      changes: FieldChanges(values: ["a": .int64(1)]),
      base: [:],
      server: ["a": .int64(2)],
      editedAt: 21
    )

    #expect(newer.resolution(.newest).left == FieldChanges(values: ["a": .int64(1)]))
  }

  @Test func `at equal times two machines choose the same value of each field, and a deletion before an edit`() {
    func tie(_ local: [String: FieldValue], _ server: [String: FieldValue], _ kind: OperationKind = .save) -> Conflict {
      conflict(
        kind,
        changes: FieldChanges(values: local),
        base: ["a": .int64(0), "b": .int64(0)],
        server: server,
        editedAt: 20
      )
    }
    let (mine, theirs): ([String: FieldValue], [String: FieldValue]) = (
      ["a": .int64(1), "b": .int64(2)], ["a": .int64(2), "b": .int64(1)]
    )

    #expect(tie(mine, theirs).times.later == nil)
    #expect(tie(mine, theirs).resolution(.newest).left == FieldChanges(values: ["b": .int64(2)]))
    #expect(tie(theirs, mine).resolution(.newest).left == FieldChanges(values: ["a": .int64(2)]))
    #expect(tie([:], theirs, .delete).resolution(.newest).left == FieldChanges())
  }

  @Test func `nothing is left to send where the server's value is taken for all`() {
    let one = conflict(changes: FieldChanges(values: ["a": .int64(1)]), base: [:], server: ["a": .int64(2)])

    #expect(one.resolution(.server).left == nil)
  }

  @Test func `a delete against an edit is taken whole`() {
    let delete = conflict(.delete, changes: FieldChanges(), base: ["a": .int64(0)], server: ["a": .int64(2)])

    #expect(delete.fields.map(\.name) == ["a"])
    #expect(delete.resolution(.local).left == FieldChanges())
    #expect(delete.resolution(.server).left == nil)
    #expect(delete.resolution(.newest).left == nil)
    // Neither side: as it was before.
    #expect(delete.resolution(.base).left == FieldChanges(values: ["a": .int64(0)]))
  }

  @Test func `an edit against a delete sends the whole record or nothing`() {
    let changes = FieldChanges(values: ["a": .int64(1), "b": .int64(0)])
    let edit = conflict(changes: changes, base: ["a": .int64(0), "b": .int64(0)], server: nil)

    #expect(edit.isDeletedOnServer)
    #expect(edit.resolution(.local).left == changes)
    #expect(edit.resolution(.server).left == nil)
    #expect(edit.resolution(.server, ["a": .local]).left == FieldChanges(values: ["a": .int64(1)]))
  }
}
