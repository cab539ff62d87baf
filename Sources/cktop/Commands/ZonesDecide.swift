import ArgumentParser
import CloudSync
import Facts
import JSONText

/// `cktop zones accept`.
struct ZonesAccept: Verb {
  static let configuration = CommandConfiguration(
    commandName: "accept",
    abstract: "Accept the server's deletions that are on hold in a zone.",
    discussion: """
      Deletions are put on hold until a person decides if the server deleted 100 or more records within an hour, and \
      they are at least half of a zone, if it deleted all records of a zone at once (two or more), or if it deleted a \
      zone with its records. Queued edits of these records follow the store's conflict policy; in a deleted zone, they \
      fail.
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
    abstract: "Recreate the records of a zone whose deletion is on hold, and the zone if needed.",
    discussion: "Records are recreated from the local copy; the files of their assets cannot be restored."
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

/// The zone and the options of both decisions.
struct DeletionDecision: ParsableArguments {
  @Argument(help: "The zone's name.") var name: String
  @Option(help: "The zone's owner, if several zones have this name.") var owner: String?
  @Option(
    help: ArgumentHelp(
      "The version that 'zones list' showed. If the deletions on hold have changed since, nothing is done.",
      valueName: "version"
    )
  )
  var version: VersionArgument?
  @Flag(help: "Show what would be done without doing it.") var dryRun = false
  @Flag(help: "Do not ask for confirmation.") var yes = false
  @Flag(help: "Print the result as a JSON object.") var json = false

  /// The possible decisions.
  fileprivate enum Choice: String {
    case accept, restore

    var question: String {
      switch self {
      case .accept: "Delete them locally too?"
      case .restore: "Recreate them on the server, without the files of their assets?"
      }
    }

    /// The side effects: queued edits that are affected, or files that are lost.
    func besides(_ contents: (edits: Int, withFiles: Int), isWholeZone: Bool) -> String {
      switch self {
      case .accept where contents.edits > 0 && isWholeZone:
        "; queued edits of \(contents.edits) of them fail, and retry recreates those records"
      case .accept where contents.edits > 0: "; queued edits of \(contents.edits) of them follow the conflict policy"
      case .restore where contents.withFiles > 0: "; \(contents.withFiles) of them had files, which are lost"
      case .accept, .restore: ""
      }
    }

    var plan: String { self == .accept ? "accept the deletion of" : "enqueue again" }
    var past: String { self == .accept ? "accepted the deletion of" : "enqueued again" }
  }

  fileprivate func perform(
    _ choice: Choice,
    on store: SyncStore,
    _ decide: (SyncStore, ZoneKey, _ version: String) throws -> DeletionOutcome
  ) throws {
    let zones = try store.zones().filter { $0.key.zone == name && (owner == nil || $0.key.owner == owner) }
    guard let zone = zones.first(where: { $0.held != nil }), let held = zone.held else {
      if version != nil, !zones.isEmpty { try report(choice, DeletionOutcome(hasMoved: true)) }
      throw CommandFailure.usage("zone \(name) has no deletions on hold; run cktop zones list to see which zones have")
    }
    guard zones.count(where: { $0.held != nil }) == 1 else {
      let owners = zones.map(\.key.owner).joined(separator: ", ")
      throw CommandFailure.usage("several zones have this name; name the owner with --owner: \(owners)")
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
    try Question.needAnswer(yes, "this cannot be undone", orLook: ", or --dry-run for a preview")
    if !yes {
      guard Question.ask("The server deleted \(what) in zone \(name)\(besides). \(choice.question)") else { return }
    }
    // The decision applies to the version that was just read and shown.
    let outcome = try decide(store, zone.key, held.version)
    if outcome.hasMoved { return try report(choice, outcome) }
    let isPart = choice == .restore && outcome.records < held.records
    let rest = isPart ? "; the others were deleted locally too, or are being sent" : ""
    report(choice, "\(choice.past) \(outcome.records) of \(what) in zone \(name)\(besides)\(rest)", outcome)
  }

  /// Reports that the deletions on hold changed before or during the decision.
  private func report(_ choice: Choice, _ moved: DeletionOutcome) throws {
    let number = moved.onHold?.records ?? 0
    let onHold = "\(number == 0 ? "no" : "\(number)") \(number == 1 ? "deletion is" : "deletions are") on hold now"
    report(choice, "\(choice.past) \(Words.count(moved.records, "record")) in zone \(name); \(onHold)", moved)
    let next = moved.onHold.map { "run cktop zones list and decide with version \($0.version)" }
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
