import CloudService
import CloudSync
import Facts
import JSONText

extension Receipt {
  /// The receipt as JSON.
  var json: JSONObject {
    switch command {
    case .flush: ["flushed": .integer(Int64(changed))]
    case .acceptDeletions(let zone, _, _): decision("accept", zone)
    case .restoreDeletions(let zone, _, _): decision("restore", zone)
    case .perform(let verb, _, _, _): operations(verb.rawValue)
    case .pause(let rules, _): operations("pause") + pauses(of: rules)
    case .resume(let rules, _): operations("resume") + pauses(of: rules ?? [])
    case .resolve(let id, _, _, _, _):
      // A conflict that has changed is shown as it is now.
      (resolutions.first.map(effect) ?? moved.first?.json ?? ["id": .integer(id)])
        + ["settled": .bool(!resolutions.isEmpty && !command.isDryRun)] + operations("resolve")
    case .resolveAll:
      operations("resolve") + ["resolutions": command.isDryRun ? .array(resolutions.map(preview)) : .null]
    case .undo(let ids):
      operations("undo") + (ids.count == 1 ? undone(ids[0]) : [:])
        + ["restored": .array(ids.filter { result.restored[$0] != nil }.map { .object(undone($0)) })]
    case .edit: operations("edit") + ["toBeSent": .bool(isToBeSent)]
    case .undoAll: operations("undo")
    case .fetchAgain: operations("repair") + ["changed": Self.names(zones)]
    // No verb prints these.
    case .markDroppedSeen, .requestSync, .sync, .keepSyncing: ["changed": []]
    }
  }

  /// The result for each operation and each pause rule.
  private func operations(_ verb: String) -> JSONObject {
    let skipped = result.skipped.sorted { $0.key < $1.key }
    return [
      "verb": .text(verb), "dryRun": .bool(command.isDryRun),
      "changed": .array(result.changed.map(OutputJSON.integer)),
      "skipped": .array(
        skipped.map { ["id": .integer($0.key), "why": .text($0.value.text), "reason": .text($0.value.text)] }
      ),
      "unknown": .array(result.unknown.map(OutputJSON.integer)),
      "unanswered": .array(result.unconfirmed.map(OutputJSON.integer)),
      "rules": .array(result.rules.map { .text($0.text) }),
      "recreatedZones": .array(result.recreated.sorted().map(OutputJSON.text)),
      "moved": .array(result.moved.map { .object($0.json) } + moved.map { .object($0.json) }),
      "notReached": .integer(Int64(result.notReached)),
    ]
  }

  /// The zones whose rules were changed; of a command about one zone also its name.
  private func pauses(of rules: [PauseRule]) -> JSONObject {
    func zones(_ rules: [PauseRule]) -> [ZoneKey] {
      rules.compactMap { if case .zone(let zone) = $0 { zone } else { nil } }
    }
    let named = zones(rules)
    guard !named.isEmpty else { return [:] }
    var object: JSONObject = ["changed": Self.names(zones(result.rules))]
    if rules.count == 1 { object["zone"] = .text(named[0].zone) }
    return object
  }

  private static func names(_ zones: [ZoneKey]) -> JSON { .array(zones.map { .text($0.zone) }) }

  private func decision(_ verb: String, _ zone: ZoneKey) -> JSONObject {
    [
      "verb": .text(verb), "dryRun": .bool(command.isDryRun), "zone": .text(zone.zone),
      "changed": Self.names(zones), "records": .integer(Int64(changed)), "moved": .bool(doesNotApply),
      "onHold": .integer(Int64(onHold?.records ?? 0)), "version": .optional(onHold?.version),
    ]
  }

  private func effect(_ conflict: Conflict, _ resolution: Resolution) -> JSONObject {
    let left = resolution.left
    return [
      "id": .integer(conflict.id), "toBeSent": .bool(left != nil),
      "fields": .array((left?.names.sorted() ?? []).map(OutputJSON.text)),
      "operation": .text(resolution.kind.rawValue), "values": .fields(left?.values ?? [:]),
      "cleared": .array((left?.cleared.sorted() ?? []).map(OutputJSON.text)),
      "dropped": .array((resolution.dropped?.names.sorted() ?? []).map(OutputJSON.text)),
    ]
  }

  /// The effect on one conflict of several.
  private func preview(_ conflict: Conflict, _ resolution: Resolution) -> JSON {
    let members: JSONObject = [
      "settled": false, "verb": "resolve", "dryRun": true, "changed": [.integer(conflict.id)], "skipped": [],
      "unknown": [], "moved": [],
    ]
    return .object(effect(conflict, resolution) + members)
  }

  private func undone(_ id: Int64) -> JSONObject {
    let restored = result.restored[id]
    return [
      "id": .integer(id), "operation": .optional(restored?.operation),
      "isConflict": .bool(restored?.state == .conflict), "state": .optional(restored?.state?.rawValue),
    ]
  }
}

extension JSONObject {
  /// The members of both; a key of the second replaces that of the first.
  fileprivate static func + (first: JSONObject, second: JSONObject) -> JSONObject {
    second.members.reduce(into: first) { $0[$1.key] = $1.value }
  }
}
