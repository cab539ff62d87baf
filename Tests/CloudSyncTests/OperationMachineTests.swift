import CloudKit
import Facts
import Foundation
import Testing

@testable import CloudSync

/// What each event does to an operation in each phase. `RECORD_SNAPSHOTS=1` writes the table.
@Suite struct OperationMachineTests {
  private typealias Phase = QueuedOperation.Phase

  private static let phases: [Phase] = [
    .pending, .inFlight(generation: 1, .save), .waiting(until: 20, isServersWait: false),
    .waiting(until: 20, isServersWait: true), .failed, .paused, .conflict(since: 5),
  ]

  private static let fields: [String: FieldValue] = ["kept": .int64(1), "title": .string("old")]

  private static let busy = WebServicesError(.internalError, "busy")

  private static let events: [OperationEvent] = [
    .ready(.ready, now: 10), .ready(.ready, now: 30), .sent(as: .save), .answered, .recovered(now: 10), .attempted,
    .backedOff(busy, now: 10, random: 1), .deferred(until: 40, isServersWait: false), .failed(.refusedByApp("no")),
    .forgiven, .saved(tag: "2", isCurrent: true), .saved(tag: "2", isCurrent: false), .stale, .compared, .leftInDoubt,
    .replyLost(code: "LOST"), .disputed(code: "CONFLICT"), .mayBeCarriedOut(FieldChanges(cleared: ["x"])),
    .confirmed(), .confirmed(except: [FieldChanges(cleared: ["x"])]), .createNotFound, .uploaded, .uploadFailed,
    .suspected(.send(request: 4)), .suspected(.check(request: 4)), .suspected(nil), .cleared,
    .conflicted(.recreatedHere, now: 10), .resolved(by: .person, now: 10), .resolved(by: .app, now: 10),
    .edited(settlesConflict: false, now: 10), .edited(settlesConflict: true, now: 10), .repaired(now: 10),
    .retried(by: "ana", now: 10), .paused(by: "ana"), .resumed(by: "ana", waiting: nil),
    .resumed(by: "ana", waiting: 50), .startedOver, .recreated(from: fields), .outlived(fields, now: 10),
    .orphaned(fields, now: 10), .takenOver(from: fields, by: "user", now: 10),
  ]

  /// An operation of which every value that an event may reset is set.
  private static func operation(_ phase: Phase) -> QueuedOperation {
    QueuedOperation(
      id: 1,
      kind: .save,
      key: RecordKey(.one, "a"),
      type: "Note",
      changes: FieldChanges(values: ["title": .string("new")]),
      base: ["title": .string("base")],
      baseTag: "1",
      phase: phase,
      cause: .serverChanged,
      generation: 1,
      isRecreation: true,
      doubt: QueuedOperation.Doubt(isUnanswered: true, sentChanges: [FieldChanges(cleared: ["y"])], lostRounds: 2),
      conflictRounds: 3,
      attempts: 4,
      maxAttempts: 8,
      errorCode: "BUSY",
      errorMessage: "busy",
      enqueuedAt: 1,
      editedAt: 2,
      bytes: 10,
      suspicion: .send(request: 9)
    )
  }

  @Test func `the table of every event in every phase is the recorded one`() throws {
    let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "OperationMachine.txt")
    let text = Self.table
    if ProcessInfo.processInfo.environment["RECORD_SNAPSHOTS"] == "1" { try Data(text.utf8).write(to: file) }
    #expect(try String(decoding: Data(contentsOf: file), as: UTF8.self) == text)
  }

  @Test func `the table has every event`() throws {
    let sources = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appending(path: "Sources/CloudSync/Model/OperationMachine.swift")
    let text = try String(contentsOf: sources, encoding: .utf8)
    let start = try #require(text.range(of: "enum OperationEvent")).upperBound
    let body = text[start..<(try #require(text.range(of: "\n}\n", range: start..<text.endIndex)).lowerBound)]
    let names = Set(body.matches(of: /\n  case (\w+)/).map { String($0.1) })
    #expect(names == Set(Self.events.map { String("\($0)".prefix { $0.isLetter }) }))
  }

  /// A column for each phase with the one that follows, `·` for the same; below it, what else changes in all of them or
  /// in some.
  private static var table: String {
    let width = 24
    func row(_ cells: [String]) -> String {
      let last = cells.count - 1
      return cells.indices.map { index in
        let isShort = cells[index].count < width && index < last
        return isShort ? cells[index] + String(repeating: " ", count: width - cells[index].count) : cells[index]
      }.joined(separator: " ")
    }
    var lines = [row(["event"] + phases.map(name))]
    for event in events {
      let results = phases.map { phase in
        let before = operation(phase)
        var after = before
        after.apply(event)
        return (before, after)
      }
      lines += ["", row([name(event)] + results.map { $0.phase == $1.phase ? "·" : name($1.phase) })]
      let changes = results.map { Self.changes(from: $0, to: $1) }
      var shown: [String] = []
      for change in changes.joined() where !shown.contains(change) {
        shown.append(change)
        let places = changes.indices.filter { changes[$0].contains(change) }
        let place = places.count == phases.count ? "" : " (\(places.map { name(phases[$0]) }.joined(separator: ", ")))"
        lines.append("  \(change)\(place)")
      }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  private static func name(_ phase: Phase) -> String {
    switch phase {
    case .pending: "pending"
    case .inFlight(let generation, let kind): "in flight, \(kind) \(generation)"
    case .waiting(let end, let isServers): "\(isServers ? "server's " : "")wait to \(end)"
    case .failed: "failed"
    case .paused: "paused"
    case .conflict(let since): "conflict since \(since)"
    }
  }

  private static func name(_ event: OperationEvent) -> String {
    switch event {
    case .ready(_, let now): "ready at \(now)"
    case .saved(_, let isCurrent): isCurrent ? "saved" : "saved, edited since"
    case .confirmed(let left): left.isEmpty ? "confirmed" : "confirmed but for one"
    case .suspected(.send?): "suspected, sent"
    case .suspected(.check?): "suspected, checked"
    case .suspected(nil): "suspected no more"
    case .resolved(let decider, _): "resolved by \(decider)"
    case .edited(let settles, _): settles ? "edited, settles conflict" : "edited"
    case .resumed(_, let end): end == nil ? "resumed" : "resumed, server's wait"
    default: String("\(event)".prefix { $0.isLetter })
    }
  }

  /// The other values that differ, in words.
  private static func changes(from old: QueuedOperation, to new: QueuedOperation) -> [String] {
    let texts: [(name: String, value: (QueuedOperation) -> String)] = [
      ("cause", { $0.cause.text }), ("generation", { "\($0.generation)" }), ("edited at", { "\($0.editedAt)" }),
      ("attempts", { "\($0.attempts)" }), ("conflict rounds", { "\($0.conflictRounds)" }),
      ("error", { $0.errorCode ?? "none" }), ("needs read-back", { "\($0.needsReadBack)" }),
      ("unanswered", { "\($0.isUnanswered)" }), ("sent changes", { names($0.sentChanges) }),
      ("lost rounds", { "\($0.lostRounds)" }), ("suspicion", { $0.suspicion.map { "\($0)" } ?? "none" }),
      ("recreation", { "\($0.isRecreation)" }), ("base tag", { $0.baseTag ?? "none" }),
      ("base", { $0.base.keys.sorted().joined(separator: ", ") }), ("changes", { names([$0.changes]) }),
    ]
    return texts.filter { $0.value(old) != $0.value(new) }.map { text in
      "\(text.name): \(text.value(new).isEmpty ? "none" : text.value(new))"
    }
  }

  private static func names(_ changes: [FieldChanges]) -> String {
    changes.map { $0.names.sorted().joined(separator: "+") }.joined(separator: ", ")
  }
}
