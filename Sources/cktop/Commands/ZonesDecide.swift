import ArgumentParser
import CloudSync

/// `cktop zones accept`.
struct ZonesAccept: Verb {
  static let configuration = CommandConfiguration(
    commandName: "accept",
    abstract: "Lets come true what the server deleted in a zone and is held back.",
    discussion: """
      A hundred deletions or more within an hour, where they are half of a zone's records, or a zone that is gone with its \
      records: such deletions are held back until somebody decides. Queued edits of these records go by the conflict policy that the store keeps; those of a \
      zone that is gone become dead letters.
      """
  )
  @OptionGroup var decision: DeletionDecision
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    try decision.perform(.accept, on: session.storeToCommand(dryRun: decision.dryRun)) { store, zone, version in
      try session.refuseOtherPolicy(store)
      return try store.acceptDeletions(in: zone, ifVersion: version, actor: Operator.name)
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
    let store = try await session.storeToAddTo(dryRun: decision.dryRun)
    try decision.perform(.restore, on: store) { store, zone, version in
      try store.restoreDeletions(in: zone, ifVersion: version, actor: Operator.name)
    }
  }
}

/// Which zone, and how: the same for both decisions.
struct DeletionDecision: ParsableArguments {
  @Argument(help: "The zone's name.") var name: String
  @Option(help: "Its owner, where several zones have the name.") var owner: String?
  @Option(
    help: ArgumentHelp(
      "The version that 'zones list' showed: if more or other deletions are on hold by now, nothing is done.",
      valueName: "version"
    )
  )
  var version: VersionArgument?
  @Flag(help: "Tell what would be done and do nothing.") var dryRun = false
  @Flag(help: "Ask no questions.") var yes = false
  @Flag(help: "What was done as a JSON object.") var json = false

  /// What can be decided.
  fileprivate enum Choice: String {
    case accept, restore

    var question: String {
      switch self {
      case .accept: "Delete them here, too?"
      case .restore: "Put them back on the server, without the files of their assets?"
      }
    }

    /// What goes with the records, or does not come back with them.
    func besides(_ contents: (edits: Int, withFiles: Int), isWholeZone: Bool) -> String {
      switch self {
      case .accept where contents.edits > 0 && isWholeZone:
        "; \(contents.edits) with queued edits stay as dead letters, which retry makes anew"
      case .accept where contents.edits > 0: "; queued edits of \(contents.edits) of them go by the conflict policy"
      case .restore where contents.withFiles > 0: "; \(contents.withFiles) of them had files, which are gone"
      case .accept, .restore: ""
      }
    }

    var plan: String { self == .accept ? "let go" : "enqueue anew" }
    var past: String { self == .accept ? "let go" : "enqueued anew" }
  }

  fileprivate func perform(
    _ choice: Choice,
    on store: SyncStore,
    _ decide: (SyncStore, ZoneKey, _ version: String) throws -> DeletionOutcome
  ) throws {
    let zones = try store.zones().filter { $0.key.zone == name && (owner == nil || $0.key.owner == owner) }
    guard let zone = zones.first(where: { $0.held != nil }), let held = zone.held else {
      if version != nil, !zones.isEmpty { try report(choice, DeletionOutcome(hasMoved: true)) }
      throw CommandFailure.usage("zone \(name) holds no deletions back; cktop zones list shows which do")
    }
    guard zones.count(where: { $0.held != nil }) == 1 else {
      let owners = zones.map(\.key.owner).joined(separator: ", ")
      throw CommandFailure.usage("zones of several owners have that name; give one with --owner: \(owners)")
    }
    if let version, version.text != held.version {
      return try report(choice, DeletionOutcome(hasMoved: true, onHold: held))
    }
    let what = "\(held.records) \(held.records == 1 ? "record" : "records")"
    let besides = choice.besides(try store.heldContents(of: zone.key), isWholeZone: held.isWholeZone)
    if dryRun {
      let line = "would \(choice.plan) \(what) in zone \(name)\(besides); version \(held.version)"
      return report(choice, line, DeletionOutcome(records: held.records, onHold: held))
    }
    try Question.needAnswer(yes, "this cannot be undone", orLook: ", or --dry-run to look first")
    if !yes {
      guard Question.ask("The server deleted \(what) of zone \(name)\(besides). \(choice.question)") else { return }
    }
    // What was just read is what is decided on, and what was asked about.
    let outcome = try decide(store, zone.key, held.version)
    if outcome.hasMoved { return try report(choice, outcome) }
    let isPart = choice == .restore && outcome.records < held.records
    let rest = isPart ? "; the others are to be deleted here, too, or on their way" : ""
    report(choice, "\(choice.past) \(outcome.records) of \(what) in zone \(name)\(besides)\(rest)", outcome)
  }

  /// What is on hold changed, before anything was done or when a part was.
  private func report(_ choice: Choice, _ moved: DeletionOutcome) throws {
    let number = moved.onHold?.records ?? 0
    let onHold = "\(number == 0 ? "no" : "\(number)") \(number == 1 ? "deletion is" : "deletions are") on hold now"
    report(choice, "\(choice.past) \(moved.records) in zone \(name); \(onHold)", moved)
    let next = moved.onHold.map { "look at cktop zones list and decide with version \($0.version)" }
    throw CommandFailure(
      "the deletions on hold in zone \(name) changed meanwhile; \(next ?? "there is nothing to decide")",
      .itemsFailed
    )
  }

  private func report(_ choice: Choice, _ line: String, _ outcome: DeletionOutcome) {
    let object: JSONObject = [
      "verb": .text(choice.rawValue), "dryRun": .bool(dryRun), "zone": .text(name),
      "records": .integer(Int64(outcome.records)), "moved": .bool(outcome.hasMoved),
      "onHold": .integer(Int64(outcome.onHold?.records ?? 0)), "version": .optional(outcome.onHold?.version),
    ]
    OutputStream.standard.line(json ? object.line : line.visible)
  }
}
