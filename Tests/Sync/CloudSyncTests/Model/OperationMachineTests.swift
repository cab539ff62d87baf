import CloudKit
import Facts
import Foundation
import TestSupport
import Testing

@testable import CloudSync

/// What each event does to an operation in each phase. `RECORD_SNAPSHOTS=1` writes the table.
@Suite struct OperationMachineTests {
  private typealias Phase = QueuedOperation.Phase

  private typealias Event = (name: String, value: Any, apply: (inout QueuedOperation) -> Void)

  private static let fields: [String: FieldValue] = ["kept": .int64(1), "title": .string("old")]

  private static let busy = WebServicesError(.internalError, "busy")

  private static func phases(_ kind: OperationKind) -> [Phase] {
    [
      .pending, .inFlight(generation: 1, kind), .waiting(until: 20, isServersWait: false),
      .waiting(until: 20, isServersWait: true), .failed, .paused, .conflict(since: 5),
    ]
  }

  private static func events(_ kind: OperationKind) -> [Event] {
    let sending: KeyValuePairs<String, SendingEvent> = [
      "ready at 10": .ready(.ready, now: 10), "ready at 30": .ready(.ready, now: 30), "sent": .sent(as: kind),
      "answered": .answered, "recovered": .recovered, "attempted": .attempted,
      "backed off": .backedOff(busy, now: 10, random: 1), "deferred": .deferred(until: 40, isServersWait: false),
      "failed": .failed(.refusedByApp("no")), "forgiven": .forgiven, "saved": .saved(tag: "2"),
    ]
    let doubt: KeyValuePairs<String, DoubtEvent> = [
      "stale": .stale, "compared": .compared, "left in doubt": .leftInDoubt, "reply lost": .replyLost(code: "LOST"),
      "disputed": .disputed(code: "CONFLICT"), "may be carried out": .mayBeCarriedOut(FieldChanges(cleared: ["x"])),
      "confirmed": .confirmed(), "confirmed but for one": .confirmed(except: [FieldChanges(cleared: ["x"])]),
      "create not found": .createNotFound, "uploaded": .uploaded, "upload failed": .uploadFailed,
      "bisected, sent": .bisected(.send(request: 4)), "bisected, checked": .bisected(.check(request: 4)),
      "bisected no more": .bisected(nil), "cleared": .cleared,
    ]
    let decisions: KeyValuePairs<String, DecisionEvent> = [
      "conflicted": .conflicted(.recreatedHere, now: 10), "resolved by a person": .resolved(by: .person, now: 10),
      "resolved by the app": .resolved(by: .app, now: 10), "edited": .edited(resolvesConflict: false, now: 10),
      "edited, settles conflict": .edited(resolvesConflict: true, now: 10), "repaired": .repaired(now: 10),
      "retried": .retried(by: "ana", now: 10), "paused": .paused(by: "ana"),
      "resumed": .resumed(by: "ana", waiting: nil), "resumed, server's wait": .resumed(by: "ana", waiting: 50),
      "taken over": .takenOver(from: fields, by: "user", now: 10), "ended": .ended(.merged, .serverKept()),
    ]
    let losses: KeyValuePairs<String, LossEvent> = [
      "started over": .startedOver, "recreated": .recreated(from: fields), "outlived": .outlived(fields, now: 10),
      "orphaned": .orphaned(fields, now: 10),
    ]
    return sending.map { event in (event.key, event.value, { $0.apply(event.value) }) }
      + doubt.map { event in (event.key, event.value, { $0.apply(event.value) }) }
      + decisions.map { event in (event.key, event.value, { $0.apply(event.value) }) }
      + losses.map { event in (event.key, event.value, { $0.apply(event.value) }) }
  }

  /// A new operation, or one of which every value that an event may reset is set.
  private static func operation(_ kind: OperationKind, _ phase: Phase, isNew: Bool) -> QueuedOperation {
    let isOfZone = kind == .zoneSave || kind == .zoneDelete
    let doubt = QueuedOperation.Doubt(isUnconfirmed: true, sentChanges: [FieldChanges(cleared: ["y"])], lostRounds: 2)
    return QueuedOperation(
      id: 1,
      kind: kind,
      key: RecordKey(.one, isOfZone ? "" : "a"),
      type: isOfZone ? nil : "Note",
      changes: kind == .save ? FieldChanges(values: ["title": .string("new")]) : FieldChanges(),
      base: isNew ? [:] : ["title": .string("base")],
      baseTag: isNew ? nil : "1",
      phase: phase,
      cause: .serverChanged,
      generation: 1,
      isRecreation: !isNew,
      doubt: isNew ? QueuedOperation.Doubt() : doubt,
      conflictRounds: isNew ? 0 : 3,
      attempts: isNew ? 0 : 4,
      maxAttempts: 8,
      errorCode: isNew ? nil : "BUSY",
      errorMessage: isNew ? nil : "busy",
      enqueuedAt: 1,
      editedAt: 2,
      bytes: 10,
      bisection: isNew ? nil : .send(request: 9)
    )
  }

  @Test func `the table of every event in every phase is the recorded one`() throws {
    let table = Self.table
    #expect(try table == recorded("Tests/Sync/CloudSyncTests/Model/OperationMachine.txt", table))
  }

  @Test func `the table has every event`() throws {
    let text = try packageText("Sources/Sync/CloudSync/Model/OperationEvents.swift")
    let names = Set(text.matches(of: /\n  case (\w+)/).map { String($0.1) })
    #expect(names == Set(Self.events(.save).map { String("\($0.value)".prefix { $0.isLetter }) }))
  }

  /// For a save that was tried before, all events; for the others, those that do something else.
  private static var table: String {
    let (tried, new) = (rows(.save, isNew: false), rows(.save, isNew: true))
    let parts = [
      ("a save that was tried before", tried), ("a new save, where it differs", new.filter { !tried.contains($0) }),
      ("a delete that was tried before, where it differs", rows(.delete, isNew: false).filter { !tried.contains($0) }),
      ("a new zone save, where it differs from a new save", rows(.zoneSave, isNew: true).filter { !new.contains($0) }),
      ("a new zone delete, where it differs", rows(.zoneDelete, isNew: true).filter { !new.contains($0) }),
    ]
    let columns = row(["event"] + phases(.save).map(name))
    return parts.map { "\($0):\n\n\(columns)\n\n\($1.joined(separator: "\n"))" }.joined(separator: "\n\n\n")
  }

  private static func row(_ cells: [String]) -> String {
    let (width, last) = (24, cells.count - 1)
    return cells.indices.map { index in
      let isShort = cells[index].count < width && index < last
      return isShort ? cells[index] + String(repeating: " ", count: width - cells[index].count) : cells[index]
    }.joined(separator: " ")
  }

  /// For each event, a column for each phase with the one that follows, `·` for the same; below it, what else changes in
  /// all of them or in some.
  private static func rows(_ kind: OperationKind, isNew: Bool) -> [String] {
    let phases = phases(kind)
    return events(kind).map { event in
      let results = phases.map { phase in
        let before = operation(kind, phase, isNew: isNew)
        var after = before
        event.apply(&after)
        return (before, after)
      }
      let next = results.map { $1.end != nil ? "ends" : $0.phase == $1.phase ? "·" : name($1.phase) }
      var lines = [row([event.name] + next)]
      let changes = results.map { Self.changes(from: $0, to: $1) }
      var shown: [String] = []
      for change in changes.joined() where !shown.contains(change) {
        shown.append(change)
        let places = changes.indices.filter { changes[$0].contains(change) }
        let place = places.count == phases.count ? "" : " (\(places.map { name(phases[$0]) }.joined(separator: ", ")))"
        lines.append("  \(change)\(place)")
      }
      return lines.joined(separator: "\n") + "\n"
    }
  }

  private static func name(_ phase: Phase) -> String {
    switch phase {
    case .pending: "pending"
    case .inFlight: "in flight"
    case .waiting(let end, let isServers): "\(isServers ? "server's " : "")wait to \(end)"
    case .failed: "failed"
    case .paused: "paused"
    case .conflict(let since): "conflict since \(since)"
    }
  }

  /// The other values that differ, in words.
  private static func changes(from old: QueuedOperation, to new: QueuedOperation) -> [String] {
    let texts: [(name: String, value: (QueuedOperation) -> String)] = [
      ("cause", { $0.cause.text }), ("generation", { "\($0.generation)" }), ("edited at", { "\($0.editedAt)" }),
      ("attempts", { "\($0.attempts)" }), ("conflict rounds", { "\($0.conflictRounds)" }),
      ("error", { $0.errorCode ?? "none" }), ("needs verification", { "\($0.needsVerification)" }),
      ("unconfirmed", { "\($0.isUnconfirmed)" }), ("sent changes", { names($0.sentChanges) }),
      ("lost rounds", { "\($0.lostRounds)" }), ("bisection", { $0.bisection.map { "\($0)" } ?? "none" }),
      ("recreation", { "\($0.isRecreation)" }), ("base tag", { $0.baseTag ?? "none" }),
      ("base", { $0.base.keys.sorted().joined(separator: ", ") }), ("changes", { names([$0.changes]) }),
      ("ends", { $0.end.map { "\($0.ending), \($0.cause.text)" } ?? "" }),
    ]
    return texts.filter { $0.value(old) != $0.value(new) }.map { text in
      "\(text.name): \(text.value(new).isEmpty ? "none" : text.value(new))"
    }
  }

  private static func names(_ changes: [FieldChanges]) -> String {
    changes.map { $0.names.sorted().joined(separator: "+") }.joined(separator: ", ")
  }
}
