import CloudKit
import Facts
import Foundation
import Testing

@testable import CloudSync

/// The outcome of each operation of a request, by the reply.
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
