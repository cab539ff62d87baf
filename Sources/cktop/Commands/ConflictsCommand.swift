public import ArgumentParser
import CloudKit
public import CloudSync
import Dashboard
import Facts
import JSONText

/// `cktop conflicts`.
struct ConflictsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conflicts",
    abstract: "List and resolve conflicts: records changed here and on the server.",
    subcommands: [
      ConflictsList.self, ConflictsShow.self, ConflictsResolve.self, ConflictsDropped.self, ConflictsUndo.self,
    ],
    defaultSubcommand: ConflictsList.self
  )
}

/// `cktop conflicts list`.
struct ConflictsList: Verb {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "List all conflicts, oldest first.")

  @Flag(help: "Print one JSON object per line.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let reader = try session.reader()
    var listing = Listing(json ? nil : Self.table)
    try listing.print { (page: inout ListPage<Int64>) in
      try reader.view { view in
        try view.conflicts(after: page.last ?? 0, limit: page.limit) {
          page.add(json ? [$0.json.line] : $0.cells, at: $0.id)
        }
      }
    }
  }

  private static var table: TextTable {
    TextTable([
      .init(title: "ID", alignment: .right), .init(title: "TYPE", mayShrink: true),
      .init(title: "NAME", mayShrink: true),
      .init(title: "ZONE", mayShrink: true), .init(title: "VERSION"), .init(title: "FIELDS", mayShrink: true),
    ])
  }
}

extension Conflict {
  /// The conflict as a row of the table.
  fileprivate var cells: [String] {
    let deletion = isDeletedOnServer ? "(deleted on the server) " : ""
    let fields = deletion + fields.map(\.name).joined(separator: ", ")
    return [String(id), type, key.name, key.zone, version, kind == .delete ? "(deleted here)" : fields]
  }
}

/// `cktop conflicts show`.
struct ConflictsShow: Verb {
  static let configuration = CommandConfiguration(commandName: "show", abstract: "Show one conflict, field by field.")

  @Argument(help: "The conflict's number.", transform: { try VersionedID.number($0, from: "cktop conflicts list") })
  var id: Int64
  @Flag(help: "Print one JSON object.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    guard let conflict = try session.reader().view({ try $0.conflict(id) }) else { throw CommandFailure.noConflict(id) }
    OutputStream.standard.lines(json ? [conflict.json.line] : conflict.lines.map(\.visible))
  }
}

extension Conflict {
  /// The conflict for people, field by field.
  fileprivate var lines: [String] {
    var lines = ["conflict \(id): \(type) \(key.name) in zone \(key.zone), version \(version)"]
    lines.append("  \(cause.text)")
    switch cause {
    // The cause says it.
    case .conflict(.deletedHere, _), .conflict(.deletedOnServer, _): break
    default:
      if kind == .delete { lines.append("  deleted here, changed on the server") }
      if isDeletedOnServer { lines.append("  changed here, deleted on the server") }
    }
    for field in fields {
      let values = [field.base, field.local, field.server].map { $0?.text(Format()) ?? "(none)" }
      lines.append("  \(field.name): base \(values[0]) | local \(values[1]) | server \(values[2])")
    }
    return lines
  }
}

/// `cktop conflicts resolve`.
struct ConflictsResolve: Verb {
  static let configuration = CommandConfiguration(
    commandName: "resolve",
    abstract: "Resolve conflicts: one side for all fields, others for some.",
    discussion: """
      Name conflicts by number, or select them with --where or --all. The result is enqueued; nothing is sent before the \
      next sync. 'cktop conflicts undo' opens a conflict again; its help says until when.

      With the version that 'conflicts list' or 'show' printed, a conflict that changed since is left alone and shown as it \
      is now, and the exit code is 1. Without one, the conflict is resolved as it is now.
      """
  )

  @Argument(
    help: ArgumentHelp("Numbers of conflicts, each with or without its version.", valueName: "id[@version]"),
    transform: { try VersionedID(parsing: $0, from: "cktop conflicts list") }
  )
  var ids: [VersionedID] = []
  @OptionGroup var condition: WhereOption
  @Flag(help: "All conflicts.") var all = false
  @Option(
    help: ArgumentHelp("The version of the one conflict that is named; or write ID@VERSION.", valueName: "version")
  )
  var version: VersionArgument?
  @Option(help: "Whose values the fields get: local, server, base or newest.") var take: ConflictSide
  @Option(
    name: .customLong("field"),
    help: ArgumentHelp("Another side for one field. May be repeated.", valueName: "name=side")
  )
  var fields: [String] = []
  @Flag(help: "Show what would be sent and dropped without changing anything.") var dryRun = false
  @Flag(help: "Do not ask for confirmation.") var yes = false
  @Flag(help: "Print what was done as a JSON object.") var json = false
  @OptionGroup var options: StoreOptions

  func validate() throws {
    if version != nil, ids.count != 1 {
      throw ValidationError("--version needs exactly one conflict; write ID@VERSION")
    }
  }

  func run(_ session: Session) async throws {
    let choices = try choices()
    let filter = try condition.filter()
    switch (ids.isEmpty, filter, all) {
    case (false, nil, false) where ids.count == 1: try resolveOne(ids[0], choices, session)
    case (false, nil, false), (true, .some, false), (true, nil, true): try resolveMany(choices, filter, session)
    case (true, nil, false): throw CommandFailure.usage("no conflicts are named; give their numbers, --where or --all")
    default: throw CommandFailure.usage("numbers, --where and --all exclude each other; give one of them")
    }
  }

  // MARK: - One

  private func resolveOne(_ named: VersionedID, _ choices: [String: ConflictSide], _ session: Session) throws {
    let id = named.id
    let version = try VersionedID.versions([named, VersionedID(id: id, version: version?.text)])[id]
    let store = try session.storeToCommand(dryRun: dryRun)
    guard try version != nil || store.conflict(id) != nil else { throw CommandFailure.noConflict(id) }
    let outcome =
      dryRun
      ? try store.preview(id, take: take, fields: choices, ifVersion: version)
      : try store.resolve(id, take: take, fields: choices, ifVersion: version, actor: Operator.name)
    switch outcome {
    case .resolved(let resolution, let conflict): report(resolution, of: conflict)
    case .moved(let conflict): try report(moved: conflict.map(session.redaction.redact), id)
    }
  }

  private func report(_ resolution: Resolution, of conflict: Conflict) {
    if json { return OutputStream.standard.line(object(resolution, of: conflict.id).line) }
    let rest = resolution.left.map {
      let fields = "\(Words.count($0.names.count, "field")) will be sent"
      return resolution.kind == .delete ? "the deletion will be sent" : fields
    }
    let nothing = conflict.isDeletedOnServer ? "the record stays deleted" : "the server's record stays"
    OutputStream.standard.line("\(dryRun ? "would resolve" : "resolved") conflict \(conflict.id): \(rest ?? nothing)")
    if dryRun { OutputStream.standard.lines(lines(resolution).map(\.visible)) }
  }

  /// Nothing was done: shows the conflict as it is now.
  private func report(moved conflict: Conflict?, _ id: Int64) throws {
    guard let conflict else { throw CommandFailure.noConflict(id) }
    var object = conflict.json
    object["settled"] = .bool(false)
    (object["verb"], object["dryRun"]) = ("resolve", .bool(dryRun))
    (object["changed"], object["unknown"]) = (.array([]), .array([]))
    object["skipped"] = [["id": .integer(id), "why": .text(Self.hasMoved), "reason": .text(Self.hasMoved)]]
    object["moved"] = [.object(conflict.json)]
    OutputStream.standard.lines(json ? [object.line] : conflict.lines.map(\.visible))
    throw CommandFailure(
      "conflict \(id) changed meanwhile, nothing was done; look at it and decide with version \(conflict.version)",
      .itemsFailed
    )
  }

  private func object(_ resolution: Resolution, of id: Int64) -> JSONObject {
    [
      "id": .integer(id), "settled": .bool(!dryRun), "toBeSent": .bool(resolution.left != nil),
      "fields": .array((resolution.left?.names.sorted() ?? []).map(OutputJSON.text)),
      "operation": .text(resolution.kind.rawValue), "values": .fields(resolution.left?.values ?? [:]),
      "cleared": .array((resolution.left?.cleared.sorted() ?? []).map(OutputJSON.text)),
      "dropped": .array((resolution.dropped?.names.sorted() ?? []).map(OutputJSON.text)),
      "verb": "resolve", "dryRun": .bool(dryRun), "changed": [.integer(id)], "skipped": .array([]),
      "unknown": .array([]), "moved": .array([]),
    ]
  }

  private func lines(_ resolution: Resolution) -> [String] {
    let left = resolution.left ?? FieldChanges()
    let dropped = resolution.dropped ?? FieldChanges()
    return left.names.sorted().map { "  \($0): \(left[$0]?.text(Format()) ?? "(cleared)")" }
      + dropped.names.sorted().map { "  \($0): \(dropped[$0]?.text(Format()) ?? "(cleared)") is dropped" }
  }

  // MARK: - Several

  private static let hasMoved = "it is not in this version any more"

  private func resolveMany(_ choices: [String: ConflictSide], _ filter: QueueFilter?, _ session: Session) throws {
    let named = try VersionedID.versions(ids)
    let store = try session.storeToCommand(dryRun: dryRun)
    // The selection is fixed here: what becomes a conflict later is not resolved with these.
    let conflicts: [(id: Int64, version: String?)] =
      ids.isEmpty
      ? try store.conflictVersions(matching: filter).map { ($0.id, $0.version) }
      : ids.map(\.id).reduce(into: []) { list, id in
        if !list.contains(where: { $0.id == id }) { list.append((id, named[id])) }
      }
    if ids.isEmpty, !dryRun, !yes, !conflicts.isEmpty {
      try Question.needAnswer(
        yes,
        "this resolves \(Words.count(conflicts.count, "conflict"))",
        orLook: ", or --dry-run to look first"
      )
      let others = fields.isEmpty ? "" : ", \(fields.joined(separator: ", "))"
      let question = "Resolve \(Words.count(conflicts.count, "conflict")) with the \(take.words)\(others)?"
      guard Question.ask(question) else { return }
    }
    var outcome = try store.resolve(conflicts, take: take, fields: choices, dryRun: dryRun, actor: Operator.name)
    outcome.moved = outcome.moved.map(session.redaction.redact)
    let previews = dryRun ? try previews(of: outcome.resolved, choices, store) : []
    try report(outcome, previews)
  }

  /// The resolutions of these conflicts, without carrying them out.
  private func previews(of ids: [Int64], _ choices: [String: ConflictSide], _ store: SyncStore) throws
    -> [(Conflict, Resolution)]
  {
    try ids.compactMap { id -> (Conflict, Resolution)? in
      do {
        let outcome = try store.preview(id, take: take, fields: choices)
        if case .resolved(let resolution, let conflict) = outcome { return (conflict, resolution) } else { return nil }
      } catch let error as StoreError where error.kind == .invalid {
        // Resolved meanwhile.
        return nil
      }
    }
  }

  private func report(_ outcome: ConflictsOutcome, _ previews: [(Conflict, Resolution)]) throws {
    let moved = outcome.moved.map { ($0.id, Self.hasMoved) }
    let skipped = (moved + outcome.skipped.map { ($0.key, $0.value) }).sorted { $0.0 < $1.0 }
    if json {
      var object: JSONObject = [
        "verb": "resolve", "dryRun": .bool(dryRun), "changed": .array(outcome.resolved.map(OutputJSON.integer)),
        "skipped": .array(skipped.map { ["id": .integer($0.0), "why": .text($0.1), "reason": .text($0.1)] }),
        "unknown": .array(outcome.unknown.map(OutputJSON.integer)),
        "moved": .array(outcome.moved.map { .object($0.json) }),
      ]
      object["resolutions"] = dryRun ? .array(previews.map { .object(self.object($0.1, of: $0.0.id)) }) : .null
      OutputStream.standard.line(object.line)
    } else {
      let count = Words.count(outcome.resolved.count, "conflict")
      let left = skipped.isEmpty ? "" : "; left \(skipped.count) alone"
      OutputStream.standard.line("\(dryRun ? "would resolve" : "resolved") \(count)\(left)")
      for (conflict, resolution) in previews { report(resolution, of: conflict) }
    }
    for id in outcome.unknown { CommandFailure.noConflict(id).report() }
    for (id, why) in skipped {
      CommandFailure("conflict \(id) was left alone: \(why); cktop conflicts show \(id) shows it", .itemsFailed)
        .report()
    }
    if !skipped.isEmpty || !outcome.unknown.isEmpty { try CommandStatus.itemsFailed.end() }
  }

  private func choices() throws(CommandFailure) -> [String: ConflictSide] {
    var choices: [String: ConflictSide] = [:]
    for text in fields {
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, let side = ConflictSide(rawValue: parts[1]), side != .newest else {
        throw .usage("'\(text)' chooses no side; write --field NAME=local, NAME=server or NAME=base")
      }
      guard choices.updateValue(side, forKey: parts[0]) == nil else {
        throw .usage("field \(parts[0]) is chosen twice; give each field once")
      }
    }
    return choices
  }
}

extension ConflictSide: ExpressibleByArgument {}

extension ConflictSide {
  /// The side in a question.
  fileprivate var words: String {
    switch self {
    case .local: "values of this machine"
    case .server: "server's values"
    case .base: "values from before both changes"
    case .newest: "newest values"
    }
  }
}

extension CommandFailure {
  /// A conflict that is not there.
  static func noConflict(_ id: Int64) -> CommandFailure {
    CommandFailure("\(id) is not a conflict; cktop conflicts list shows them all", .itemsFailed)
  }
}
