import CloudSync
import Facts

extension ServiceCommand {
  /// The command line that does the same to the store of its settings, such as `cktop queue retry 14`.
  ///
  /// Nil if there is none: for what only a screen shows, such as the rows of a list, for more numbers than a person
  /// would type, and for values with control characters, which do not survive a terminal.
  package var commandLine: String? {
    words.map { (["cktop"] + $0 + (isDryRun ? ["--dry-run"] : [])).joined(separator: " ") }
      .flatMap { line in line.unicodeScalars.contains { $0.properties.generalCategory == .control } ? nil : line }
  }

  private var words: [String]? {
    switch self {
    case .perform(let verb, .ids(let ids), let versions, _):
      Self.named(["queue", verb.rawValue], ids, versions.mapValues(Optional.some))
    case .perform(let verb, .matching(_, let text), _, _): ["queue", verb.rawValue, "--where", text.asArgument]
    // A pause of all is a rule.
    case .perform(let verb, .all, _, _) where verb == .retry || verb == .discard: ["queue", verb.rawValue, "--all"]
    case .pause(let rules, _): rules.count == 1 ? Self.words("pause", rules[0]) : nil
    case .resume([.everything], _): ["queue", "resume", "--everything"]
    case .resume(let rules?, _): rules.count == 1 ? Self.words("resume", rules[0]) : nil
    case .resume(nil, _): ["queue", "resume", "--all"]
    case .flush(let throttles): ["queue", "flush"] + (throttles ? ["--throttles"] : [])
    case .resolve(let id, let side, let fields, let version, _):
      Self.named(["conflicts", "resolve"], [id], [id: version], side, fields)
    case .resolveAll(let versions, let side, let fields, _) where versions.count > 1:
      Self.named(["conflicts", "resolve"], versions.keys.sorted(), versions, side, fields)
    case .undo(let ids): Self.named(["conflicts", "undo"], ids)
    // The command line does not name the server's record that a screen shows beside the change.
    case .edit(let id, let assignments, let version) where version?.serverTag == nil:
      Self.named(["queue", "edit"], [id], [id: version?.operation]).map { $0 + assignments.map(\.written.asArgument) }
    case .acceptDeletions(let zone, let version, _): Self.decision("accept", zone, version)
    case .restoreDeletions(let zone, let version, _): Self.decision("restore", zone, version)
    case .fetchAgain(let zones): zones.count == 1 ? Self.of(zones[0], "repair") : nil
    case .sync: ["sync"]
    case .keepSyncing: ["sync", "--watch"]
    case .perform, .resolveAll, .undoAll, .markDroppedSeen, .edit, .askForSync: nil
    }
  }

  /// A verb with numbers and their versions, and with the sides of conflicts.
  private static func named(
    _ verb: [String],
    _ ids: [Int64],
    _ versions: [Int64: String?] = [:],
    _ side: ConflictSide? = nil,
    _ fields: [String: ConflictSide] = [:]
  ) -> [String]? {
    guard 1...20 ~= ids.count else { return nil }
    let names = ids.map { id in "\(id)" + ((versions[id] ?? nil).map { "@\($0)" } ?? "") }
    let others = fields.sorted { $0.key < $1.key }.flatMap { ["--field", "\($0.key)=\($0.value.rawValue)".asArgument] }
    return verb + names + (side.map { ["--take", $0.rawValue] } ?? []) + others
  }

  private static func words(_ verb: String, _ rule: PauseRule) -> [String]? {
    switch rule {
    case .everything: ["queue", verb, "--all"]
    case .type(let type): ["queue", verb, "--type", type.asArgument]
    case .zone(let zone): of(zone, verb)
    }
  }

  private static func of(_ zone: ZoneKey, _ verb: String) -> [String]? {
    zone.owner.isEmpty ? ["zones", verb, zone.zone.asArgument] : nil
  }

  private static func decision(_ verb: String, _ zone: ZoneKey, _ version: String) -> [String] {
    let owner = zone.owner.isEmpty ? [] : ["--owner", zone.owner.asArgument]
    return ["zones", verb, zone.zone.asArgument] + owner + ["--version", version]
  }
}
