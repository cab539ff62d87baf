import ArgumentParser
import CloudService
import CloudSync
import Facts

/// `cktop zones accept`.
struct ZonesAccept: CommandVerb {
  static let configuration = CommandConfiguration(
    commandName: "accept",
    abstract: "Accept the server's deletions that are on hold in a zone.",
    discussion: """
      Deletions are put on hold until a person decides if the server deleted 100 or more records within an hour, and \
      they are at least half of a zone, if it deleted all records of a zone at once (two or more), or if it deleted a \
      zone with its records. Queued edits of these records follow the store's conflict policy; in a deleted zone, all \
      queued saves fail.
      """
  )
  @OptionGroup var decision: DeletionDecision
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let store = try session.storeToCommand(dryRun: decision.dryRun)
    if !decision.dryRun { try session.refuseOtherPolicy(store) }
    try decision.carryOut(ServiceCommand.acceptDeletions, on: store)
  }

  func command(_ store: @autoclosure () throws -> SyncStore) throws -> ServiceCommand {
    try decision.command(ServiceCommand.acceptDeletions, decision.held(store()))
  }
}

/// `cktop zones restore`.
struct ZonesRestore: CommandVerb {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Recreate the records of a zone whose deletion is on hold, and the zone if needed.",
    discussion: "Records are recreated from the local copy; the files of their assets cannot be restored."
  )
  @OptionGroup var decision: DeletionDecision
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    try await decision.carryOut(ServiceCommand.restoreDeletions, on: session.storeToAddTo(dryRun: decision.dryRun))
  }

  func command(_ store: @autoclosure () throws -> SyncStore) throws -> ServiceCommand {
    try decision.command(ServiceCommand.restoreDeletions, decision.held(store()))
  }
}

/// The zone and the options of both decisions.
struct DeletionDecision: ParsableArguments {
  @Argument(help: "The zone's name.", completion: .zones) var name: String
  @OptionGroup var whose: ZoneOwner
  @Option(
    help: ArgumentHelp(
      "The version that 'zones list' showed. If the deletions on hold have changed since, nothing is done.",
      valueName: "version"
    )
  )
  var version: VersionArgument?
  @Flag(help: "Show what would be done without doing it.") var dryRun = false
  @Flag(help: "Do not ask for confirmation.") var yes = false
  @Flag(help: .json("Print the result as a JSON object.", Receipt.decision.shape)) var json = false

  /// The zone with its deletions on hold; none if they are decided already and a version is given.
  fileprivate func held(_ store: SyncStore) throws -> (zone: ZoneKey, held: HeldDeletions?) {
    let owner = whose.owner
    let zones = try store.view { try $0.zones() }.filter {
      $0.key.zone == name && (owner == nil || $0.key.owner == owner)
    }
    let held = zones.filter { $0.held != nil }
    guard let zone = held.first ?? (version == nil ? nil : zones.first) else {
      throw CommandFailure.usage(
        "zone \(name.excerpt) has no deletions on hold; run cktop zones list to see which zones have"
      )
    }
    guard held.count < 2 else { throw CommandFailure.severalOwners(of: held.map(\.key)) }
    return (zone.key, zone.held)
  }

  fileprivate typealias Choice = (ZoneKey, _ version: String, _ dryRun: Bool) -> ServiceCommand

  /// The command, for the version that was given or else for the one that was just read.
  fileprivate func command(_ choice: Choice, _ found: (zone: ZoneKey, held: HeldDeletions?)) -> ServiceCommand {
    choice(found.zone, version?.text ?? found.held?.version ?? "", dryRun)
  }

  fileprivate func carryOut(_ choice: Choice, on store: SyncStore) throws {
    let found = try held(store)
    let command = command(choice, found)
    guard let held = found.held, version == nil || version?.text == held.version else {
      return try command.carriedOut(on: store).report(json: json)
    }
    let (edits, files) = try store.heldContents(of: held)
    let isRestored = if case .restoreDeletions = command { true } else { false }
    let question: CommandQuestion =
      isRestored ? .restoreDeletions(held, files: files) : .acceptDeletions(held, edits: edits)
    if !dryRun, !yes {
      try Confirmation.needAnswer(yes, "this cannot be undone", orLook: ", or --dry-run for a preview")
      guard Confirmation.ask(question.text.visible) else { return }
    }
    let receipt = command.carriedOut(on: store)
    let rest = receipt.changed < held.records ? "the others were deleted locally too, or are being sent" : nil
    let lines = [question.effect, dryRun ? "version \(held.version)" : nil, rest]
    try receipt.report(json: json, lines: lines.compactMap(\.self))
  }
}

extension HeldDeletions {
  /// The commands that decide about them.
  var waysOfDeciding: String {
    let owner = zone.owner.isEmpty ? "" : " --owner \(zone.owner.asArgument)"
    return ["restore", "accept"].map { "cktop zones \($0) \(zone.zone.asArgument)\(owner)" }.joined(separator: " or ")
  }
}
