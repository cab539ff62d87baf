import ArgumentParser
import CloudKit
import CloudService
import CloudSync
import Dashboard
import Facts

/// `cktop conflicts dropped`.
struct ConflictsDropped: ChangingVerb {
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
  @Flag(help: .json("Print one JSON object per line.", DroppedChange.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let store = try seen ? session.storeToCommand() : nil
    let reader = try store.map(session.reader) ?? session.reader()
    let zones = try reader.store.zoneTitles()
    var listing = ListPrinter(json ? nil : Self.table)
    var last: Int64?
    try listing.print { (page: inout PrintedPage<Int64>) in
      try reader.view { view in
        try view.dropped(before: page.last ?? .max, limit: page.limit, unseenToo: true) { id, change in
          last = max(last ?? id, id)
          return page.add(json ? [change.json.line] : change.cells(zones), at: id)
        }
      }
    }
    if let store, let last { _ = try ServiceCommand.markDroppedSeen(through: last).run(on: { store }).checked() }
  }

  private static var table: TextTable {
    TextTable([
      .numbers("ID"), "SEEN", .shrinking("TYPE"), .shrinking("NAME"), .shrinking("ZONE"), .shrinking("DROPPED"),
      .shrinking("REASON"),
    ])
  }
}

extension DroppedChange {
  /// The change as a row of the table.
  fileprivate func cells(_ zones: ZoneTitles) -> [String] {
    let reason = isOpen ? cause.text : "\(cause.text); the record was edited since"
    return [String(operation), isSeen ? "yes" : "no", type ?? "", key.name, zones[key.zoneKey], parts, reason]
  }
}

/// `cktop conflicts undo`.
struct ConflictsUndo: CommandVerb {
  static let configuration = CommandConfiguration(
    commandName: "undo",
    abstract: "Undo what was dropped of operations, or overwritten for them.",
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
    help: "The numbers of operations, as listed by 'cktop conflicts dropped'.",
    transform: { try VersionedID.number($0, from: "cktop conflicts dropped") }
  )
  var ids: [Int64]
  @Flag(help: .json("Print the result as a JSON object.", Receipt.undo.shape)) var json = false
  @OptionGroup var options: StoreOptions

  static var addsToQueue: Bool { true }

  func command(_ store: SyncStore) -> ServiceCommand { .undo(ids) }

  func lines(_ receipt: Receipt, _ question: CommandQuestion?, _ store: SyncStore) throws -> [String] {
    try receipt.result.restored.sorted { $0.key < $1.key }.flatMap { try lines($0.key, $0.value, store) }
  }

  /// The lines about an operation that an undo queued: its values, beside the server's current ones, which others may
  /// have changed since.
  private func lines(_ id: Int64, _ restored: CommandResult.Restored, _ store: SyncStore) throws -> [String] {
    let number = ids.count > 1 || restored.operation != id ? ["change \(id) is operation \(restored.operation)"] : []
    guard let detail = try store.view({ try $0.detail(of: restored.operation) }), let operation = detail.operation
    else {
      return number
    }
    if operation.kind == .delete { return number + ["  the record will be deleted"] }
    return number
      + operation.changes.names.sorted().map { name in
        let value = operation.changes[name]?.text(Format()) ?? "(cleared)"
        let known = detail.server?.fields[name]?.text(Format()) ?? "(none)"
        return "  \(name): \(value) in place of \(known)"
      }
  }
}
