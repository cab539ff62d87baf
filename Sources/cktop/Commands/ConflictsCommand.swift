import ArgumentParser
import CloudKit
import CloudSync

/// `cktop conflicts`.
struct ConflictsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "conflicts",
    abstract: "The conflict desk: changes that both sides made and nobody has settled.",
    subcommands: [ConflictsList.self, ConflictsShow.self, ConflictsResolve.self],
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
    if conflict.kind == .delete { lines.append("  deleted here, changed on the server") }
    if conflict.isDeletedOnServer { lines.append("  changed here, deleted on the server") }
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
    discussion: "What is left to be sent is enqueued; nothing is sent before the next sync."
  )

  @Argument(help: "The conflict's number.") var id: Int64
  @Option(help: "Whose values the fields get: local, server, base or newest.") var take: ConflictSide
  @Option(
    name: .customLong("field"),
    help: ArgumentHelp("Another side for one field. May be repeated.", valueName: "name=side")
  )
  var fields: [String] = []
  @Flag(help: "What was done as a JSON object.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    try session.refuseIfReadOnly()
    let choices = try choices()
    guard let store = try session.storeToRead(), try store.conflict(id) != nil else {
      throw CommandFailure.noConflict(id)
    }
    let left = try store.resolve(id, take: take, fields: choices, actor: "cli")
    if json {
      let object: JSONObject = [
        "id": .integer(id), "settled": true, "toBeSent": .bool(left != nil),
        "fields": .array((left?.names.sorted() ?? []).map(OutputJSON.text)),
      ]
      return OutputStream.standard.line(object.line)
    }
    let rest = left.map { "\($0.names.count) fields are to be sent" } ?? "the server's record stands"
    OutputStream.standard.line("settled \(id): \(rest)")
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
