import CloudKit
import Facts
import TestSupport
import Testing

@testable import CloudSync

/// What becomes of a requested change, by the condition on the record, the queued change and the local copy.
/// `RECORD_SNAPSHOTS=1` writes the table.
@Suite struct IntakeTests {
  private static let key = RecordKey(.one, "a")
  private static let fields: [String: FieldValue] = ["title": .string("old"), "kept": .int64(1)]

  private static let requests: [(String, Change.Kind)] = [
    ("save", .save(type: "Note", FieldChanges(values: ["title": .string("new")]))),
    ("save as it was", .save(type: "Note", FieldChanges(values: ["title": .string("old")]))),
    ("save another type", .save(type: "Task", FieldChanges(values: ["title": .string("new")]))), ("delete", .delete),
  ]

  private static let queued: [(String, QueuedOperation?)] = [
    ("nothing", nil), ("edit", operation(.save)), ("edit, failed", operation(.save) { $0.apply(.failed(failure)) }),
    ("edit, in conflict", operation(.save) { $0.apply(.conflicted(.fields(["title"]), now: 5)) }),
    ("edit, in flight", operation(.save) { $0.apply(.sent(as: .save)) }),
    ("edit, reply lost", operation(.save) { $0.apply(.replyLost(code: "TIMEOUT")) }),
    ("create", operation(.save, isNew: true)), ("delete", operation(.delete)),
    ("delete, failed", operation(.delete) { $0.apply(.failed(failure)) }),
  ]

  private static let mirrors: [(String, MirrorRecord?)] = [
    ("no record", nil), ("the record", record("1", "old")), ("a later record", record("2", "theirs")),
  ]

  private static let failure = FailureCause.rejected(code: "BAD_REQUEST", message: "bad")

  private static func operation(
    _ kind: OperationKind,
    isNew: Bool = false,
    _ change: (inout QueuedOperation) -> Void = { _ in }
  ) -> QueuedOperation {
    let changes = kind == .save ? FieldChanges(values: ["title": .string("queued")]) : FieldChanges()
    var operation = QueuedOperation(
      kind,
      key,
      type: "Note",
      changes,
      base: isNew ? [:] : fields.filter { kind == .delete || $0.key == "title" },
      baseTag: isNew ? nil : "1",
      now: 10
    )
    operation.id = 7
    change(&operation)
    return operation
  }

  private static func record(_ tag: String, _ title: String) -> MirrorRecord {
    MirrorRecord(key: key, type: "Note", changeTag: tag, fields: ["title": .string(title), "kept": .int64(1)])
  }

  private static func intake(
    _ kind: Change.Kind,
    _ known: Intake.Known,
    _ presence: Change.Presence? = nil,
    group: String? = nil
  ) -> Intake {
    var change = Change(key, kind)
    change.presence = presence
    return Intake(change, known, group: group, now: 40)
  }

  @Test func `the table of every request in every state is the recorded one`() throws {
    let table = Self.table
    #expect(try table == recorded("Tests/Sync/CloudSyncTests/Decide/Intake.txt", table))
  }

  @Test func `a change behind a zone delete is for a record of the new zone`() {
    for (_, mirror) in Self.mirrors {
      let known = Intake.Known(mirror: mirror, hasZoneDelete: true)
      #expect(Self.intake(Self.requests[0].1, known, .present).decision.isRefusal)
      guard case .insert(let operation) = Self.intake(Self.requests[1].1, known, .absent).decision else {
        Issue.record("not inserted: \(mirror?.changeTag ?? "no record")")
        continue
      }
      #expect(operation.changes.names == ["title"])
    }
  }

  @Test func `a version that was deleted here is not the base of the recreated record`() {
    var change = Change(Self.key, Self.requests[0].1, base: ["title": .string("old")], baseTag: "1")
    change.unchanged = ["kept": .int64(1)]
    for wasDeletedHere in [false, true] {
      let known = Intake.Known(wasDeletedHere: wasDeletedHere)
      guard case .insert(let operation) = Intake(change, known, now: 40).decision else {
        Issue.record("not inserted")
        continue
      }
      #expect(operation.changes.names == ["title", "kept"])
      #expect(operation.baseTag == (wasDeletedHere ? nil : "1"))
    }
  }

  @Test func `an edit that its group has no room for is refused, unless it joins another group`() {
    var queued = Self.queued[1].1
    queued?.group = "one"
    let known = Intake.Known(queued: queued, mirror: Self.mirrors[1].1, otherBytes: Planner.byteLimit)
    #expect(Self.intake(Self.requests[0].1, known).decision.isRefusal)
    guard case .update(let operation) = Self.intake(Self.requests[0].1, known, group: "two").decision else {
      Issue.record("not updated")
      return
    }
    #expect(operation.group == "two")
  }

  private static let presences: [(String, Change.Presence?)] = [
    ("no condition", nil), ("present", .present), ("absent", .absent), ("absent or kept", .absentOrKept),
  ]

  /// A line for each result, with the conditions on the record that lead to it.
  private static var table: String {
    var lines: [String] = []
    for (name, queued) in queued {
      for (found, mirror) in mirrors {
        lines.append("queued: \(name); here: \(found)")
        let known = Intake.Known(queued: queued, mirror: mirror)
        for (request, kind) in requests {
          let results = (request == "save" ? presences : [presences[0]]).map {
            ($0.0, result(of: intake(kind, known, $0.1)))
          }
          var shown: Set<String> = []
          for (_, result) in results where shown.insert(result).inserted {
            let same = results.filter { $0.1 == result }.map(\.0)
            let conditions = same.count < results.count ? " (\(same.joined(separator: ", ")))" : ""
            lines.append("  \(request)\(conditions): \(result)")
          }
        }
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func result(of intake: Intake) -> String {
    let operation: QueuedOperation
    var parts: [String]
    switch intake.decision {
    case .refused(let reason): return "refused, \(reason)"
    case .unchanged: return "unchanged"
    case .end(_, let ending, let cause):
      return "ends, \(ending), \(cause.text)" + (intake.dropped == nil ? "" : "; drops the save")
    case .insert(let new): (operation, parts) = (new, ["inserts"])
    case .update(let edited): (operation, parts) = (edited, ["updates"])
    }
    parts[0] += " \(operation.state)"
    let what = operation.kind == .delete ? "delete" : "save \(operation.changes.listed)"
    parts.append("\(what) on \(operation.baseTag ?? "nothing")")
    if operation.changes.isInsert { parts.append(operation.changes.yields ? "yields" : "must be new") }
    if operation.isRecreation { parts.append("recreates") }
    if operation.needsVerification { parts.append("to be compared") }
    if intake.dropped != nil { parts.append("drops the save") }
    return parts.joined(separator: "; ")
  }
}

extension Intake.Decision {
  fileprivate var isRefusal: Bool { if case .refused = self { true } else { false } }
}
