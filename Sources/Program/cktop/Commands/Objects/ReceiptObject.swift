import CloudService
import CloudSync
import Facts
import JSONText

extension Receipt {
  /// The receipt as JSON.
  var json: JSONObject { fields.object(self) }

  private var fields: JSONFields<Receipt> {
    switch command {
    case .flush: Self.flushed
    case .acceptDeletions, .restoreDeletions: Self.decision
    case .pause, .resume: pausedZones.isEmpty ? Self.operations : Self.zonePauses
    case .resolve, .resolveAll: Self.resolution
    case .undo: Self.undo
    case .edit: Self.edit
    case .fetchAgain: Self.repair
    // No verb prints the others.
    case .perform, .undoAll, .markDroppedSeen, .requestSync, .sync, .keepSyncing: Self.operations
    }
  }

  /// The result for each operation and each pause rule.
  static let operations: JSONFields<Receipt> = [
    "verb": .text(\.verbName), "dryRun": .bool(\.command.isDryRun), "changed": .integers(\.result.changed),
    "skipped": .list { $0.result.skipped.sorted { $0.key < $1.key }.map(LeftAlone.init) },
    "unknown": .integers(\.result.unknown), "unanswered": .integers(\.result.unconfirmed),
    "rules": .texts { $0.result.rules.map(\.text) }, "recreatedZones": .texts { $0.result.recreated.sorted() },
    "moved": .list { $0.result.moved.map(OperationLine.init) }, "notReached": .integer(\.result.notReached),
  ]

  static let flushed: JSONFields<Receipt> = ["flushed": .integer(\.changed)]

  /// The decision on the deletions of a zone.
  static let decision: JSONFields<Receipt> = [
    "verb": .text(\.verbName), "dryRun": .bool(\.command.isDryRun), "zone": .text(\.zoneName),
    "changed": .texts { $0.zones.map(\.zone) }, "records": .integer(\.changed), "moved": .bool(\.doesNotApply),
    "onHold": .integer { $0.onHold?.records ?? 0 }, "version": .text(\.onHold?.version),
  ]

  /// The zones whose rules were changed; of a command about one zone also its name.
  static let zonePauses = operations.adding(["changed": .texts { names(of: $0.result.rules) }])
    .adding((["zone": .text(\.self)] as JSONFields<String>).ifAny(\.zoneName))

  static let resolution = oneResolution.ifAny { $0.isOfOneConflict ? $0 : nil }.adding(operations)
    .adding(["moved": .list(\.moved)]).adding(previews.ifAny { $0.isOfOneConflict ? nil : $0 })

  /// How one conflict was resolved. If it has changed, it is shown as it is now.
  private static let oneResolution = (["id": .integer(\.conflictID)] as JSONFields<Receipt>)
    .adding(Effect.jsonFields.ifAny { $0.resolutions.first.map(Effect.init) })
    .adding(Conflict.jsonFields.ifAny { $0.resolutions.isEmpty ? $0.moved.first : nil })
    .adding(["settled": .bool { !$0.resolutions.isEmpty && !$0.command.isDryRun }])

  private static let previews: JSONFields<Receipt> = [
    "resolutions": .list(Effect.preview) { $0.command.isDryRun ? $0.resolutions.map(Effect.init) : nil }
  ]

  static let undo = operations.adding(Undone.jsonFields.ifAny { $0.undone.count == 1 ? $0.undone[0] : nil })
    .adding(["restored": .list { $0.undone.filter { $0.restored != nil } }])

  static let edit = operations.adding(["toBeSent": .bool(\.isToBeSent)])

  static let repair = operations.adding(["changed": .texts { $0.zones.map(\.zone) }])

  private var verbName: String? {
    switch command {
    case .perform(let verb, _, _, _): verb.rawValue
    case .pause: "pause"
    case .resume: "resume"
    case .resolve, .resolveAll: "resolve"
    case .undo, .undoAll: "undo"
    case .edit: "edit"
    case .acceptDeletions: "accept"
    case .restoreDeletions: "restore"
    case .fetchAgain: "repair"
    case .flush, .markDroppedSeen, .requestSync, .sync, .keepSyncing: nil
    }
  }

  private static func names(of rules: [PauseRule]) -> [String] {
    rules.compactMap { if case .zone(let zone) = $0 { zone.zone } else { nil } }
  }

  /// The zones that a pause or a resumption names.
  private var pausedZones: [String] {
    switch command {
    case .pause(let rules, _), .resume(let rules?, _): Self.names(of: rules)
    default: []
    }
  }

  /// The one zone that the command is about.
  private var zoneName: String? {
    switch command {
    case .acceptDeletions(let zone, _, _), .restoreDeletions(let zone, _, _): zone.zone
    default: pausedZones.count == 1 ? pausedZones[0] : nil
    }
  }

  private var isOfOneConflict: Bool { conflictID != nil }

  private var conflictID: Int64? { if case .resolve(let id, _, _, _, _) = command { id } else { nil } }

  private var undone: [Undone] {
    guard case .undo(let ids) = command else { return [] }
    return ids.map { Undone(id: $0, restored: result.restored[$0]) }
  }
}

/// An operation that a command left alone.
private struct LeftAlone: PrintedObject {
  let id: Int64
  let obstacle: Obstacle

  static let jsonFields: JSONFields<Self> = [
    "id": .integer(\.id), "why": .text(\.obstacle.text), "reason": .text(\.obstacle.text),
  ]
}

/// The effect of a resolution on a conflict.
private struct Effect: PrintedObject {
  let conflict: Conflict
  let resolution: Resolution

  static let jsonFields: JSONFields<Self> = [
    "id": .integer(\.conflict.id), "toBeSent": .bool { $0.resolution.left != nil },
    "fields": .texts { $0.resolution.left?.names.sorted() ?? [] }, "operation": .text(\.resolution.kind.rawValue),
    "values": .fields { $0.resolution.left?.values ?? [:] },
    "cleared": .texts { $0.resolution.left?.cleared.sorted() ?? [] },
    "dropped": .texts { $0.resolution.dropped?.names.sorted() ?? [] },
  ]

  /// The effect on one conflict of several.
  static let preview = jsonFields.adding([
    "settled": .bool { _ in false }, "verb": .text { _ in "resolve" }, "dryRun": .bool { _ in true },
    "changed": .integers { [$0.conflict.id] }, "skipped": .integers { _ in [] }, "unknown": .integers { _ in [] },
    "moved": .integers { _ in [] },
  ])
}

/// An operation that an undo was to restore.
private struct Undone: PrintedObject {
  let id: Int64
  let restored: CommandResult.Restored?

  static let jsonFields: JSONFields<Self> = [
    "id": .integer(\.id), "operation": .integer(\.restored?.operation),
    "isConflict": .bool { $0.restored?.state == .conflict }, "state": .text(\.restored?.state?.rawValue),
  ]
}
