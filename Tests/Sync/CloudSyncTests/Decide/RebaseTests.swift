import CloudKit
import Facts
import TestSupport
import Testing

@testable import CloudSync

/// What becomes of a change when the server's record is another than the one it was made on, under each policy.
/// `RECORD_SNAPSHOTS=1` writes the table.
@Suite struct RebaseTests {
  private static let key = RecordKey(.one, "a")
  private static let base: [String: FieldValue] = ["title": .string("base"), "kept": .int64(1)]

  private static let operations: [(String, QueuedOperation, hasZoneDelete: Bool)] =
    [
      ("edit", change(.save)), ("edit, failed", change(.save, phase: .failed)),
      ("edit, in conflict", change(.save, phase: .conflict(since: 5))),
      ("edit, unconfirmed", change(.save, doubt: unconfirmed)),
      ("edit, ninth conflict in a row", change(.save, rounds: 9)), ("edit that adds a file", fileEdit),
      ("create", change(.save, isNew: true)), ("create, unconfirmed", change(.save, isNew: true, doubt: unconfirmed)),
      ("insert", insert(yields: false)), ("insert, unconfirmed", insert(yields: false, doubt: unconfirmed)),
      ("insert that yields", insert(yields: true)), ("recreation", change(.save, isRecreation: true)),
      ("delete", change(.delete)), ("delete, paused", change(.delete, phase: .paused)),
      ("delete, ninth conflict in a row", change(.delete, rounds: 9)),
    ].map { ($0.0, $0.1, false) } + [
      ("edit, zone delete pending", change(.save), true), ("delete, zone delete pending", change(.delete), true),
    ]

  private static let servers: [(String, MirrorRecord?)] = [
    ("the same record", server("1", base)),
    ("another field edited", server("2", ["title": .string("base"), "kept": .int64(2)])),
    ("the same field edited earlier", server("2", ["title": .string("theirs"), "kept": .int64(1)], at: 10)),
    ("the same field edited later", server("2", ["title": .string("theirs"), "kept": .int64(1)], at: 30)),
    ("the same field edited at the same time", server("2", ["title": .string("theirs"), "kept": .int64(1)], at: 20)),
    ("our own edit", server("2", ["title": .string("ours"), "kept": .int64(1)])),
    ("another file", server("2", base.merging(["file": file("other")]) { $1 })),
    ("another type", server("2", base, type: "Task")), ("no record", nil),
  ]

  private static func file(_ checksum: String) -> FieldValue { .asset(WireAsset(fileChecksum: checksum, size: 3)) }

  /// An edit that adds a file, which is not uploaded yet.
  private static let fileEdit: QueuedOperation = {
    var operation = change(.save)
    operation.assets = [QueuedAsset(field: "file", position: 0, digest: "ours", size: 3)]
    operation.changes = FieldChanges(values: ["file": .asset(operation.assets[0].value)])
    operation.base = [:]
    return operation
  }()

  private static func insert(yields: Bool, doubt: QueuedOperation.Doubt = .init()) -> QueuedOperation {
    var operation = change(.save, isNew: true, doubt: doubt)
    (operation.changes.isInsert, operation.changes.yields) = (true, yields)
    return operation
  }

  private static let unconfirmed = QueuedOperation.Doubt(
    needsVerification: true,
    isUnconfirmed: true,
    sentChanges: [FieldChanges(values: ["title": .string("ours")])]
  )

  private static func change(
    _ kind: OperationKind,
    isNew: Bool = false,
    phase: QueuedOperation.Phase = .pending,
    isRecreation: Bool = false,
    doubt: QueuedOperation.Doubt = .init(),
    rounds: Int = 0
  ) -> QueuedOperation {
    QueuedOperation(
      id: 1,
      kind: kind,
      key: key,
      type: "Note",
      changes: kind == .save ? FieldChanges(values: ["title": .string("ours")]) : FieldChanges(),
      base: isNew ? [:] : kind == .delete ? base : ["title": .string("base")],
      baseTag: isNew ? nil : "1",
      phase: phase,
      cause: .ready,
      generation: 1,
      isRecreation: isRecreation,
      doubt: doubt,
      conflictRounds: rounds,
      maxAttempts: 8,
      enqueuedAt: 20,
      editedAt: 20,
      bytes: 10
    )
  }

  private static func server(_ tag: String, _ fields: [String: FieldValue], type: String = "Note", at time: Int64 = 10)
    -> MirrorRecord
  {
    MirrorRecord(key: key, type: type, changeTag: tag, fields: fields, modifiedAt: time)
  }

  @Test func `the table of every change on every record is the recorded one`() throws {
    let table = Self.table
    #expect(try table == recorded("Tests/Sync/CloudSyncTests/Decide/Rebase.txt", table))
  }

  private static var table: String {
    var lines: [String] = []
    for (name, operation, hasZoneDelete) in operations {
      let facts = RecordFacts(record: self.server("1", base), hasZoneDelete: hasZoneDelete)
      for (found, server) in servers {
        lines.append("\(name); on the server: \(found)")
        for policy in ConflictPolicy.allCases {
          let rebase = Rebase(operation, onto: server, facts, policy: MergePolicy(policy), now: 40)
          lines.append("  \(policy): \(result(of: rebase))")
        }
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func result(of rebase: Rebase) -> String {
    let operation = rebase.operation
    var parts: [String] = []
    if let end = operation.end {
      parts.append("\(end.ending), \(end.cause.text)")
    } else {
      parts.append("\(operation.state), \(operation.cause.text)")
      parts.append("\(operation.kind) \(operation.changes.listed) on \(operation.baseTag ?? "nothing")")
      if operation.needsVerification { parts.append("to be compared") }
      if operation.isUnconfirmed { parts.append("unconfirmed") }
    }
    for dropped in rebase.dropped {
      if dropped.dropsChange { parts.append("drops \(dropped.changes.names.sorted().joined(separator: ", "))") }
      if dropped.overwritten != nil { parts.append("overwrites the server's side") }
    }
    return parts.joined(separator: "; ")
  }
}
