import ArgumentParser
import CloudSync
import Facts

/// `cktop records delete`.
struct RecordsDelete: ChangingVerb {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Enqueue the deletion of records.",
    discussion: """
      An ambiguous name stops the command before anything is enqueued. Asks for confirmation on a terminal; elsewhere \
      --yes is required. 'cktop conflicts undo' with the operation's number restores an unsent change or a conflict that \
      this drops.
      """
  )

  @Argument(help: "The names of the records.") var names: [String]
  @Option(help: "The zone; default: all zones are searched.", completion: .zones) var zone: String?
  @OptionGroup var whose: ZoneOwner
  @Flag(help: "Do not ask for confirmation.") var yes = false
  @Flag(help: .json("Print one JSON object per line.", AcceptedRecord.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    try session.refuseIfReadOnly()
    try Confirmation.needAnswer(yes, "records delete deletes records locally and on the server")
    let store = try await session.storeToChange()
    let zone = try store.zoneKey(zone, of: whose)
    var found: [RecordRow] = []
    var missing: [String] = []
    for name in names {
      if let row = try store.record(named: name, zone: zone) { found.append(row) } else { missing.append(name) }
    }
    if !yes, !found.isEmpty {
      let records = found.count == 1 ? "record \(found[0].record.key.name)" : "\(found.count) records"
      guard Confirmation.ask("Delete \(records), locally and on the server?".visible) else { return }
    }
    let accepted = try store.enqueue(found.map { Change($0.record.key, .delete) })
    for (row, accepted) in zip(found, accepted) {
      let action = try isQueued(accepted, store) ? "enqueued the deletion of" : "cancelled the unsent"
      try accepted.report(row.record.key, row.record.type, action: action, json: json)
    }
    try report(missing: missing)
  }

  /// Whether a deletion is queued. A record that was never sent needs none on the server.
  private func isQueued(_ accepted: Accepted, _ store: SyncStore) throws -> Bool {
    guard case .enqueued(let id) = accepted else { return true }
    return try store.view { try $0.detail(of: id) }?.operation != nil
  }

  private func report(missing: [String]) throws {
    for name in missing { CommandFailure.noRecord(name, zone: zone).report() }
    try (missing.isEmpty ? CommandStatus.done : .itemsFailed).end()
  }
}
