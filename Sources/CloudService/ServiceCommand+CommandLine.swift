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
    case .perform(let verb, .listing(let listing, except: []), _, _):
      Self.selection(listing, verb).map { ["queue", verb.rawValue] + $0 }
    case .pause(let rules, _): Self.words("pause", rules)
    case .resume([.everything], _): ["queue", "resume", "--everything"]
    case .resume(let rules?, _): Self.words("resume", rules)
    case .resume(nil, _): ["queue", "resume", "--all"]
    case .flush(let throttles): ["queue", "flush"] + (throttles ? ["--throttles"] : [])
    case .resolve(let id, let side, let fields, let version, _):
      Self.named(["conflicts", "resolve"], [id], [id: version], side, fields)
    case .resolveAll(let versions, let side, let fields, _) where versions.count > 1:
      Self.named(["conflicts", "resolve"], versions.keys.sorted(), versions, side, fields)
    case .undo(let ids): Self.named(["conflicts", "undo"], ids)
    // The command line does not name the server's record that a screen shows beside the change.
    case .edit(let id, let assignments, let version):
      Self.named(["queue", "edit"], [id], [id: version?.operation]).map { $0 + assignments.map(\.written.asArgument) }
    case .acceptDeletions(let zone, let version, _): Self.decision("accept", zone, version)
    case .restoreDeletions(let zone, let version, _): Self.decision("restore", zone, version)
    case .fetchAgain(let zones): Self.of(zones, "repair")
    case .sync: ["sync"]
    case .keepSyncing: ["sync", "--watch"]
    case .perform, .resolveAll, .undoAll, .markDroppedSeen, .requestSync: nil
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

  /// Pause rules: one of them, or several zones.
  private static func words(_ verb: String, _ rules: [PauseRule]) -> [String]? {
    switch rules.first {
    case .everything? where rules.count == 1: ["queue", verb, "--all"]
    case .type(let type)? where rules.count == 1: ["queue", verb, "--type", type.asArgument]
    default: of(rules.compactMap { if case .zone(let zone) = $0 { zone } else { nil } }, verb, of: rules.count)
    }
  }

  /// Zones of one user, as many as a person would type.
  private static func of(_ zones: [ZoneKey], _ verb: String, of count: Int? = nil) -> [String]? {
    guard 1...20 ~= zones.count, zones.count == count ?? zones.count, Set(zones.map(\.owner)).count == 1 else {
      return nil
    }
    return ["zones", verb] + zones.map(\.zone.asArgument) + owner(of: zones[0])
  }

  /// All operations of a list, where an expression selects them. A pause of all is a rule.
  private static func selection(_ listing: QueueListing, _ verb: QueueVerb) -> [String]? {
    if case .words = listing.filter { return nil }
    let all = verb == .retry || verb == .discard ? ["--all"] : nil
    return listing.condition.map { ["--where", $0.asArgument] } ?? all
  }

  private static func decision(_ verb: String, _ zone: ZoneKey, _ version: String) -> [String] {
    ["zones", verb, zone.zone.asArgument] + owner(of: zone) + ["--version", version]
  }

  private static func owner(of zone: ZoneKey) -> [String] {
    zone.owner.isEmpty ? [] : ["--owner", zone.owner.asArgument]
  }
}

extension Receipt {
  /// The command line that does the same; what words or marks in a list selected is named by its numbers.
  package var commandLine: String? {
    switch command {
    case .undoAll: ServiceCommand.undo(result.changed.sorted()).commandLine
    case .perform(let verb, .listing, _, let dryRun):
      command.commandLine
        ?? ServiceCommand.perform(verb, .ids(result.changed.sorted()), dryRun: dryRun).commandLine
    default: command.commandLine
    }
  }
}
