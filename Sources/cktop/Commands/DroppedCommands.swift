import ArgumentParser
import CloudKit
import CloudSync
import Dashboard
import Facts

/// `cktop conflicts dropped`.
struct ConflictsDropped: Verb {
  static let configuration = CommandConfiguration(
    commandName: "dropped",
    abstract: "List the changes that conflicts or discards dropped and that can be undone, newest first."
  )

  @Flag(help: "Print one JSON object per line.") var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let reader = try session.reader()
    var listing = Listing(json ? nil : Self.table)
    try listing.print { (page: inout ListPage<Int64>) in
      try reader.view { view in
        try view.dropped(before: page.last ?? .max, limit: page.limit) { id, change in
          page.add(json ? [change.json.line] : change.cells, at: id)
        }
      }
    }
  }

  private static var table: TextTable {
    TextTable([
      .init(title: "ID", alignment: .right), .init(title: "TYPE", mayShrink: true),
      .init(title: "NAME", mayShrink: true), .init(title: "ZONE", mayShrink: true),
      .init(title: "DROPPED", mayShrink: true), .init(title: "REASON", mayShrink: true),
    ])
  }
}

extension DroppedChange {
  /// The change as a row of the table.
  fileprivate var cells: [String] {
    let fields = isDecision ? Words.resolvedForThisSide : changes.names.sorted().joined(separator: ", ")
    let what = kind == .delete ? "(deletion)" : fields
    return [String(operation), type ?? "", key.name, key.zone, what, cause.text]
  }
}

/// `cktop conflicts undo`.
struct ConflictsUndo: Verb {
  static let configuration = CommandConfiguration(
    commandName: "undo",
    abstract: "Enqueue again what was dropped of an operation.",
    discussion: """
      A dropped change is kept for 90 days and can be undone \(Words.undoLimit(dropsNothing: false)). A resolution for \
      this side drops nothing and can be undone \(Words.undoLimit(dropsNothing: true)). Nothing is sent before the next \
      sync.

      What was dropped in a conflict, by resolving or discarding it, is a conflict again, and so is a discarded change of \
      a record that the server has changed since.
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
    let isConflict = detail?.operation?.state == .conflict
    if json {
      let object: JSONObject = [
        "id": .integer(id), "operation": operation.map(OutputJSON.integer) ?? .null, "isConflict": .bool(isConflict),
      ]
      return OutputStream.standard.line(object.line)
    }
    let text = operation.map { isConflict ? "conflict \($0) is open again" : "enqueued as operation \($0)" }
    OutputStream.standard.line("undid \(id): \(text ?? "the record already has these values")")
    OutputStream.standard.lines((detail.map(replacements) ?? []).map(\.visible))
  }

  /// The values to be sent, beside the server's current ones, which others may have changed since.
  private func replacements(_ detail: OperationDetail) -> [String] {
    guard let operation = detail.operation else { return [] }
    if operation.kind == .delete { return ["  the record will be deleted"] }
    return operation.changes.names.sorted().map { name in
      let value = operation.changes[name]?.text ?? "(cleared)"
      let known = detail.server?.fields[name]?.text ?? "(none)"
      return "  \(name): \(value) in place of \(known)"
    }
  }
}
