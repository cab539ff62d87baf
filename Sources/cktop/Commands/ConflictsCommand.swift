import ArgumentParser
import CloudKit
import CloudSync
import Facts

/// `cktop conflicts`.
struct ConflictsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conflicts",
    abstract: "The conflict desk: changes that both sides made and nobody has settled.",
    subcommands: [
      ConflictsList.self, ConflictsShow.self, ConflictsResolve.self, ConflictsDropped.self, ConflictsUndo.self,
    ],
    defaultSubcommand: ConflictsList.self
  )
}

/// `cktop conflicts list`.
struct ConflictsList: Verb {
  static let configuration = CommandConfiguration(commandName: "list", abstract: "All conflicts, oldest first.")

  @Flag(help: "A JSON object a line.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let conflicts = try session.storeToRead().conflicts()
    if json { return OutputStream.standard.lines(conflicts.map(\.json.line)) }
    var table = TextTable([
      .init(title: "ID", alignment: .right), .init(title: "TYPE", mayShrink: true),
      .init(title: "NAME", mayShrink: true),
      .init(title: "ZONE", mayShrink: true), .init(title: "VERSION"), .init(title: "FIELDS", mayShrink: true),
    ])
    for conflict in conflicts {
      let deletion = conflict.isDeletedOnServer ? "(deleted on the server) " : ""
      let fields = deletion + conflict.fields.map(\.name).joined(separator: ", ")
      let what = conflict.kind == .delete ? "(deleted here)" : fields
      table.append([String(conflict.id), conflict.type, conflict.key.name, conflict.key.zone, conflict.version, what])
    }
    OutputStream.standard.lines(table.lines(width: OutputStream.standard.width))
  }
}

/// `cktop conflicts show`.
struct ConflictsShow: Verb {
  static let configuration = CommandConfiguration(commandName: "show", abstract: "One conflict, field by field.")

  @Argument(help: "The conflict's number.") var id: Int64
  @Flag(help: "One JSON object.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    guard let conflict = try session.storeToRead().conflict(id) else { throw CommandFailure.noConflict(id) }
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
      let values = [field.base, field.local, field.server].map { $0?.text ?? "(none)" }
      lines.append("  \(field.name): base \(values[0]) | local \(values[1]) | server \(values[2])")
    }
    return lines
  }
}

/// `cktop conflicts resolve`.
struct ConflictsResolve: Verb {
  static let configuration = CommandConfiguration(
    commandName: "resolve",
    abstract: "Resolves a conflict: one side for all fields, others for some.",
    discussion: """
      What is left to be sent is enqueued; nothing is sent before the next sync. 'cktop conflicts undo' restores what is \
      dropped, until the record is edited again.

      With the version that 'conflicts list' or 'show' printed, a conflict that changed since is left alone and shown as it \
      is now, and the exit code is 1. Without one, the conflict is resolved as it is now.
      """
  )

  @Argument(help: ArgumentHelp("The conflict's number, with the version or without.", valueName: "id[@version]"))
  var id: VersionedID
  @Option(help: ArgumentHelp("The version that the decision is about; or write ID@VERSION.", valueName: "version"))
  var version: VersionArgument?
  @Option(help: "Whose values the fields get: local, server, base or newest.") var take: ConflictSide
  @Option(
    name: .customLong("field"),
    help: ArgumentHelp("Another side for one field. May be repeated.", valueName: "name=side")
  )
  var fields: [String] = []
  @Flag(help: "Shows what would be sent and dropped, and changes nothing.") var dryRun = false
  @Flag(help: "What was done as a JSON object.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let choices = try choices()
    let versions = [id, VersionedID(id: id.id, version: version?.text)]
    let version = try VersionedID.versions(versions)[id.id]
    let store = try session.storeToCommand(dryRun: dryRun)
    guard try version != nil || store.conflict(id.id) != nil else { throw CommandFailure.noConflict(id.id) }
    let outcome =
      dryRun
      ? try store.preview(id.id, take: take, fields: choices, ifVersion: version)
      : try store.resolve(id.id, take: take, fields: choices, ifVersion: version, actor: Operator.name)
    switch outcome {
    case .resolved(let resolution, let conflict): report(resolution, of: conflict)
    case .moved(let conflict): try report(moved: conflict)
    }
  }

  private func report(_ resolution: Resolution, of conflict: Conflict) {
    if json { return OutputStream.standard.line(object(resolution).line) }
    let rest = resolution.left.map {
      let count = $0.names.count
      let fields = count == 1 ? "1 field is to be sent" : "\(count) fields are to be sent"
      return resolution.kind == .delete ? "the deletion is to be sent" : fields
    }
    let nothing = conflict.isDeletedOnServer ? "the record stays deleted" : "the server's record stands"
    OutputStream.standard.line("\(dryRun ? "would settle" : "settled") \(id.id): \(rest ?? nothing)")
    if dryRun { OutputStream.standard.lines(lines(resolution).map(\.visible)) }
  }

  /// Nothing was done: shows the conflict as it is now.
  private func report(moved conflict: Conflict?) throws {
    guard let conflict else { throw CommandFailure.noConflict(id.id) }
    var object = conflict.json
    object["settled"] = .bool(false)
    OutputStream.standard.lines(json ? [object.line] : conflict.lines.map(\.visible))
    throw CommandFailure(
      "conflict \(id.id) changed meanwhile, nothing was done; look at it and decide with version \(conflict.version)",
      .itemsFailed
    )
  }

  private func object(_ resolution: Resolution) -> JSONObject {
    [
      "id": .integer(id.id), "settled": .bool(!dryRun), "toBeSent": .bool(resolution.left != nil),
      "fields": .array((resolution.left?.names.sorted() ?? []).map(OutputJSON.text)),
      "operation": .text(resolution.kind.rawValue), "values": .fields(resolution.left?.values ?? [:]),
      "cleared": .array((resolution.left?.cleared.sorted() ?? []).map(OutputJSON.text)),
      "dropped": .array((resolution.dropped?.names.sorted() ?? []).map(OutputJSON.text)),
    ]
  }

  private func lines(_ resolution: Resolution) -> [String] {
    let left = resolution.left ?? FieldChanges()
    let dropped = resolution.dropped ?? FieldChanges()
    return left.names.sorted().map { "  \($0): \(left[$0]?.text ?? "(cleared)")" }
      + dropped.names.sorted().map { "  \($0): \(dropped[$0]?.text ?? "(cleared)") is dropped" }
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

extension CommandFailure {
  /// A conflict that is not there.
  static func noConflict(_ id: Int64) -> CommandFailure {
    CommandFailure("\(id) is no conflict; cktop conflicts list names them", .itemsFailed)
  }
}
