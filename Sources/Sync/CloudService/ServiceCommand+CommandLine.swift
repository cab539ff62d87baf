import CloudSync
import Facts

extension ServiceCommand {
  /// The command line that does the same to the store of its settings, such as `cktop queue retry 14`.
  ///
  /// Nil if there is none: for what only a screen shows, such as the rows of a list, for more numbers than a person
  /// would type, and for values with control characters, which do not survive a terminal.
  package var commandLine: String? {
    rule.words().map { (["cktop"] + $0 + (isDryRun ? ["--dry-run"] : [])).joined(separator: " ") }
      .flatMap { line in line.unicodeScalars.contains { $0.properties.generalCategory == .control } ? nil : line }
  }

  /// A verb of the queue with its operations.
  static func words(_ verb: QueueVerb, _ selection: Selection, _ versions: [Int64: String]) -> [String]? {
    switch selection {
    case .ids(let ids): named(["queue", verb.rawValue], ids, versions.mapValues(Optional.some))
    case .matching(_, let text): ["queue", verb.rawValue, "--where", text.asArgument]
    // A pause of all is a rule.
    case .all: verb == .retry || verb == .discard ? ["queue", verb.rawValue, "--all"] : nil
    case .listing(let listing, except: []): words(verb, listing).map { ["queue", verb.rawValue] + $0 }
    case .listing: nil
    }
  }

  /// A verb with numbers and their versions, and with the sides of conflicts.
  static func named(
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
  static func words(_ verb: String, _ rules: [PauseRule]) -> [String]? {
    switch rules.first {
    case .everything? where rules.count == 1: ["queue", verb, verb == "resume" ? "--everything" : "--all"]
    case .type(let type)? where rules.count == 1: ["queue", verb, "--type", type.asArgument]
    default: of(rules.compactMap { if case .zone(let zone) = $0 { zone } else { nil } }, verb, of: rules.count)
    }
  }

  /// Zones of one user, as many as a person would type.
  static func of(_ zones: [ZoneKey], _ verb: String, of count: Int? = nil) -> [String]? {
    guard 1...20 ~= zones.count, zones.count == count ?? zones.count, Set(zones.map(\.owner)).count == 1 else {
      return nil
    }
    return ["zones", verb] + zones.map(\.zone.asArgument) + owner(of: zones[0])
  }

  /// All operations of a list, where an expression selects them. A pause of all is a rule.
  private static func words(_ verb: QueueVerb, _ listing: QueueListing) -> [String]? {
    if case .words = listing.filter { return nil }
    let all = verb == .retry || verb == .discard ? ["--all"] : nil
    return listing.condition.map { ["--where", $0.asArgument] } ?? all
  }

  static func decision(_ verb: String, _ zone: ZoneKey, _ version: String) -> [String] {
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
