import CloudKit
import Facts
import Foundation
import Testing

@testable import CloudSync

/// The sides of a conflict, and what each resolution sends.
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
