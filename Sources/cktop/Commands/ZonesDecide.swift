import ArgumentParser
import CloudSync

/// `cktop zones accept`.
struct ZonesAccept: Verb {
  static let configuration = CommandConfiguration(
    commandName: "accept",
    abstract: "Lets come true what the server deleted in a zone and is held back.",
    discussion: """
      Half of a zone's records at once, if they are a hundred at least, or a zone that is gone with its records: such \
      deletions are held back until somebody decides. Queued edits of these records go by the conflict policy; those of a \
      zone that is gone become dead letters.
      """
  )
  @OptionGroup var decision: DeletionDecision
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    try decision.perform("accept", "Delete them here, too?", session) { store, zone in
      try store.acceptDeletions(in: zone, policy: MergePolicy(session.settings.policy.value), actor: "cli")
    }
  }
}

/// `cktop zones restore`.
struct ZonesRestore: Verb {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Enqueues anew what the server deleted in a zone and is held back, and the zone if need be.",
    discussion: "Records are made as they were last known here; the files of their assets cannot be brought back."
  )
  @OptionGroup var decision: DeletionDecision
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    try decision.perform("restore", "Put them back on the server, without the files of their assets?", session) {
      store,
      zone in
      try store.restoreDeletions(in: zone, actor: "cli")
    }
  }
}

/// Which zone, and how: the same for both decisions.
struct DeletionDecision: ParsableArguments {
  @Argument(help: "The zone's name.") var name: String
  @Option(help: "Its owner, where several zones have the name.") var owner: String?
  @Flag(help: "Tell what would be done and do nothing.") var dryRun = false
  @Flag(help: "Ask no questions.") var yes = false
  @Flag(help: "What was done as a JSON object.") var json = false

  fileprivate func perform(
    _ verb: String,
    _ question: String,
    _ session: Session,
    _ decide: (SyncStore, ZoneKey) throws -> Int
  ) throws {
    if !dryRun { try session.refuseIfReadOnly() }
    let store = try session.storeToRead()
    let zones = try store?.zones().filter { $0.key.zone == name && (owner == nil || $0.key.owner == owner) } ?? []
    guard let store, let zone = zones.first(where: { $0.held != nil }), let held = zone.held else {
      throw CommandFailure.usage("zone \(name) holds no deletions back; cktop zones list shows which do")
    }
    guard zones.count(where: { $0.held != nil }) == 1 else {
      let owners = zones.map(\.key.owner).joined(separator: ", ")
      throw CommandFailure.usage("zones of several owners have that name; give one with --owner: \(owners)")
    }
    let what = "\(held.records) \(held.records == 1 ? "record" : "records")"
    if dryRun {
      return report(verb, "would \(verb == "accept" ? "let go" : "enqueue anew") \(what)", zone.key, held.records)
    }
    if !yes {
      guard Question.canBeAsked else {
        throw CommandFailure.usage("this cannot be undone; give --yes to do it, or --dry-run to look first")
      }
      guard Question.ask("The server deleted \(what) of zone \(name). \(question)") else { return }
    }
    let count = try decide(store, zone.key)
    let rest =
      verb == "restore" && count < held.records ? "; the others are to be deleted here, too, or on their way" : ""
    report(verb, "\(verb == "accept" ? "let go" : "enqueued anew") \(count) of \(what)", zone.key, count, rest)
  }

  private func report(_ verb: String, _ line: String, _ zone: ZoneKey, _ count: Int, _ rest: String = "") {
    let object: JSONObject = [
      "verb": .text(verb), "dryRun": .bool(dryRun), "zone": .text(zone.zone), "records": .integer(Int64(count)),
    ]
    OutputStream.standard.line(json ? object.line : "\(line) in zone \(zone.zone)\(rest)".visible)
  }
}
