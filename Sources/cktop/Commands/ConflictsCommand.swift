import ArgumentParser
import CloudKit
import CloudSync

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
    guard let conflicts = try session.storeToRead()?.conflicts() else { return }
    if json { return OutputStream.standard.lines(conflicts.map(\.json.line)) }
    var table = TextTable([
      .init(title: "ID", alignment: .right), .init(title: "TYPE", mayShrink: true),
      .init(title: "NAME", mayShrink: true),
      .init(title: "ZONE", mayShrink: true), .init(title: "FIELDS", mayShrink: true),
    ])
    for conflict in conflicts {
      let deletion = conflict.isDeletedOnServer ? "(deleted on the server) " : ""
      let fields = deletion + conflict.fields.map(\.name).joined(separator: ", ")
      let what = conflict.kind == .delete ? "(deleted here)" : fields
      table.append([String(conflict.id), conflict.type, conflict.key.name, conflict.key.zone, what])
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
    guard let conflict = try session.storeToRead()?.conflict(id) else { throw CommandFailure.noConflict(id) }
    OutputStream.standard.lines(json ? [conflict.json.line] : lines(conflict).map(\.visible))
  }

  private func lines(_ conflict: Conflict) -> [String] {
    var lines = ["conflict \(conflict.id): \(conflict.type) \(conflict.key.name) in zone \(conflict.key.zone)"]
    lines.append("  \(conflict.reason)")
    // Mostly the reason says it.
    if !conflict.reason.contains("deleted") {
      if conflict.kind == .delete { lines.append("  deleted here, changed on the server") }
      if conflict.isDeletedOnServer { lines.append("  changed here, deleted on the server") }
    }
    for field in conflict.fields {
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
    abstract: "Settles a conflict: one side for all fields, others for some.",
    discussion: """
      What is left to be sent is enqueued; nothing is sent before the next sync. What is dropped can be had back by \
      'cktop conflicts undo' until the record is edited again.
      """
  )

  @Argument(help: "The conflict's number.") var id: Int64
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
    guard let store = try session.storeToCommand(dryRun: dryRun), let conflict = try store.conflict(id) else {
      throw CommandFailure.noConflict(id)
    }
    let preview = try store.preview(id, take: take, fields: choices)
    if !dryRun { _ = try store.resolve(id, take: take, fields: choices, actor: "cli") }
    if json { return OutputStream.standard.line(object(preview).line) }
    let rest = preview.left.map {
      let count = $0.names.count
      let fields = count == 1 ? "1 field is to be sent" : "\(count) fields are to be sent"
      return preview.kind == .delete ? "the deletion is to be sent" : fields
    }
    let nothing = conflict.isDeletedOnServer ? "the record stays deleted" : "the server's record stands"
    OutputStream.standard.line("\(dryRun ? "would settle" : "settled") \(id): \(rest ?? nothing)")
    if dryRun { OutputStream.standard.lines(lines(preview).map(\.visible)) }
  }

  private func object(_ preview: Resolution) -> JSONObject {
    [
      "id": .integer(id), "settled": .bool(!dryRun), "toBeSent": .bool(preview.left != nil),
      "fields": .array((preview.left?.names.sorted() ?? []).map(OutputJSON.text)),
      "operation": .text(preview.kind.rawValue), "values": .fields(preview.left?.values ?? [:]),
      "cleared": .array((preview.left?.cleared.sorted() ?? []).map(OutputJSON.text)),
      "dropped": .array((preview.dropped?.names.sorted() ?? []).map(OutputJSON.text)),
    ]
  }

  private func lines(_ preview: Resolution) -> [String] {
    let left = preview.left ?? FieldChanges()
    let dropped = preview.dropped ?? FieldChanges()
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
      choices[parts[0]] = side
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
