import ArgumentParser
import CloudKit
import CloudSync
import Dashboard
import Facts
import JSONText

/// `cktop conflicts dropped`.
struct ConflictsDropped: Verb {
  static let configuration = CommandConfiguration(
    commandName: "dropped",
    abstract: "List what was dropped or overwritten and can be undone, newest first.",
    discussion: """
      Local changes that a policy or an app dropped are listed until a person has seen them, even if the record was edited \
      since. 'cktop status' counts them. --seen marks those that it lists as seen; a change that is dropped meanwhile \
      stays unseen.
      """
  )

  @Flag(help: "Mark what is listed as seen.") var seen = false
  @Flag(help: "Print one JSON object per line.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let store = try seen ? session.storeToCommand() : nil
    let reader = try store.map { StoreReader($0, session.redaction) } ?? session.reader()
    var listing = Listing(json ? nil : Self.table)
    var last: Int64?
    try listing.print { (page: inout ListPage<Int64>) in
      try reader.view { view in
        try view.dropped(before: page.last ?? .max, limit: page.limit, unseenToo: true) { id, change in
          last = max(last ?? id, id)
          return page.add(json ? [change.json.line] : change.cells, at: id)
        }
      }
    }
    if let store, let last { try store.markDroppedSeen(through: last, actor: Operator.name) }
  }

  private static var table: TextTable {
    TextTable([
      .init(title: "ID", alignment: .right), .init(title: "SEEN"), .init(title: "TYPE", mayShrink: true),
      .init(title: "NAME", mayShrink: true), .init(title: "ZONE", mayShrink: true),
      .init(title: "DROPPED", mayShrink: true), .init(title: "REASON", mayShrink: true),
    ])
  }
}

extension DroppedChange {
  /// The change as a row of the table.
  fileprivate var cells: [String] {
    let reason = isOpen ? cause.text : "\(cause.text); the record was edited since"
    return [String(operation), isSeen ? "yes" : "no", type ?? "", key.name, key.zone, parts, reason]
  }

  /// The dropped fields, and those of the server that were overwritten.
  var parts: String {
    let dropped = kind == .delete ? "(deletion)" : changes.names.sorted().joined(separator: ", ")
    guard let overwritten else { return dropsChange ? dropped : Words.resolvedForThisSide }
    let names = overwritten.values?.names.sorted().joined(separator: ", ") ?? "(deletion)"
    return [dropped, "server's \(names)"].filter { !$0.isEmpty }.joined(separator: "; ")
  }
}

/// `cktop conflicts undo`.
struct ConflictsUndo: Verb {
  static let configuration = CommandConfiguration(
    commandName: "undo",
    abstract: "Undo what was dropped of an operation, or overwritten for it.",
    discussion: """
      What was dropped or overwritten is kept for 90 days and can be undone \(Words.undoLimit). Nothing is sent before \
      the next sync. An undo keeps the time of the edit that it brings back, and can itself be undone. Files of the server \
      that were overwritten cannot be restored.

      A discarded change is queued again under its number and as it was: failed with its cause, paused, in conflict or \
      pending. So is one whose record was deleted; once the deletion is sent, the record is recreated with it. What was \
      dropped in a conflict is a conflict again. A resolution for this side is a conflict again until it \
      is sent; after that, the server's former values are queued. Where the server has changed a field since, it is a \
      conflict.
      """
  )

  @Argument(
    help: "The operation's number, as listed by 'cktop conflicts dropped'.",
    transform: { try VersionedID.number($0, from: "cktop conflicts dropped") }
  )
  var id: Int64
  @Flag(help: "Print the result as a JSON object.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let store = try await session.storeToAddTo()
    let accepted: Accepted
    do throws(StoreError) {
      accepted = try store.undo(id, actor: Operator.name)
    } catch {
      // The command is right: it is the change that cannot be undone.
      throw error.kind == .invalid ? CommandFailure(error.message, .itemsFailed) : CommandFailure(error)
    }
    let operation: Int64? = if case .enqueued(let id) = accepted { id } else { nil }
    let detail = try operation.flatMap { try store.detail(of: $0) }
    let state = detail?.operation?.state
    if json {
      let object: JSONObject = [
        "id": .integer(id), "operation": operation.map(OutputJSON.integer) ?? .null,
        "isConflict": .bool(state == .conflict), "state": state.map { .text($0.rawValue) } ?? .null,
      ]
      return OutputStream.standard.line(object.line)
    }
    OutputStream.standard.line("undid \(id): \(operation.map { Self.text($0, state) } ?? Self.unchanged)")
    OutputStream.standard.lines((detail.map(replacements) ?? []).map(\.visible))
  }

  private static let unchanged = "the record already has these values"

  /// What became of the operation.
  private static func text(_ id: Int64, _ state: OperationState?) -> String {
    switch state {
    case .conflict: "conflict \(id) is open again"
    case .failed, .paused: "operation \(id) is \(state == .failed ? "failed" : "paused") again, as before"
    case nil: "the change is no longer sent"
    case .pending, .waiting, .inFlight: "enqueued as operation \(id)"
    }
  }

  /// The values to be sent, beside the server's current ones, which others may have changed since.
  private func replacements(_ detail: OperationDetail) -> [String] {
    guard let operation = detail.operation else { return [] }
    if operation.kind == .delete { return ["  the record will be deleted"] }
    return operation.changes.names.sorted().map { name in
      let value = operation.changes[name]?.text(Format()) ?? "(cleared)"
      let known = detail.server?.fields[name]?.text(Format()) ?? "(none)"
      return "  \(name): \(value) in place of \(known)"
    }
  }
}
