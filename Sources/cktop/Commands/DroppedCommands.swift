import ArgumentParser
import CloudKit
import CloudSync
import Facts

/// `cktop conflicts dropped`.
struct ConflictsDropped: Verb {
  static let configuration = CommandConfiguration(
    commandName: "dropped",
    abstract: "What conflicts cost and operators discarded, and can be had back, newest first."
  )

  @Flag(help: "A JSON object a line.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let dropped = try session.storeToRead().dropped(limit: .max)
    if json { return OutputStream.standard.lines(dropped.map(\.json.line)) }
    var table = TextTable([
      .init(title: "ID", alignment: .right), .init(title: "TYPE", mayShrink: true),
      .init(title: "NAME", mayShrink: true), .init(title: "ZONE", mayShrink: true),
      .init(title: "DROPPED", mayShrink: true), .init(title: "REASON", mayShrink: true),
    ])
    for change in dropped {
      let what = change.kind == .delete ? "(deletion)" : change.changes.names.sorted().joined(separator: ", ")
      table.append([
        String(change.operation), change.type ?? "", change.key.name, change.key.zone, what, change.cause.text,
      ])
    }
    OutputStream.standard.lines(table.lines(width: OutputStream.standard.width))
  }
}

/// `cktop conflicts undo`.
struct ConflictsUndo: Verb {
  static let configuration = CommandConfiguration(
    commandName: "undo",
    abstract: "Enqueues again what was dropped of an operation.",
    discussion: "Possible until the record is edited again; nothing is sent before the next sync."
  )

  @Argument(help: "The operation's number, as 'cktop conflicts dropped' lists it.") var id: Int64
  @Flag(help: "What was done as a JSON object.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let store = try await session.storeToAddTo()
    let dropped = try store.detail(of: id)?.dropped ?? []
    guard dropped.contains(where: \.isOpen) else {
      let what =
        dropped.isEmpty
        ? "nothing that was dropped of \(id) can be undone"
        : "what was dropped of \(id) can be undone no more: it was undone, or the record was edited here since"
      throw CommandFailure("\(what); cktop conflicts dropped lists what can", .itemsFailed)
    }
    let accepted = try store.undo(id, actor: Operator.name)
    let operation: Int64? = if case .enqueued(let id) = accepted { id } else { nil }
    if json {
      let object: JSONObject = ["id": .integer(id), "operation": operation.map(OutputJSON.integer) ?? .null]
      return OutputStream.standard.line(object.line)
    }
    let text = operation.map { "enqueued as \($0)" } ?? "the record is as it was to be already"
    OutputStream.standard.line("undone \(id): \(text)")
    let queued = try operation.flatMap { try store.detail(of: $0)?.operation }
    OutputStream.standard.lines((queued.map(replacements) ?? []).map(\.visible))
  }

  /// What is to be sent, beside what the server holds now: somebody may have written it since.
  private func replacements(_ operation: QueuedOperation) -> [String] {
    if operation.kind == .delete { return ["  the record is to be deleted"] }
    return operation.changes.names.sorted().map { name in
      let (value, known) = (operation.changes[name]?.text ?? "(cleared)", operation.base[name]?.text ?? "(none)")
      return "  \(name): \(value) in place of \(known)"
    }
  }
}
