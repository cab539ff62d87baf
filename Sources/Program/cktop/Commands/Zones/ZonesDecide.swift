import ArgumentParser
import CloudService
import CloudSync
import Facts

/// `cktop zones accept`.
struct ZonesAccept: ZoneDecision {
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

  func require(_ store: SyncStore, _ session: Session) throws {
    if !dryRun { try session.refuseOtherPolicy(store) }
  }

  func command(_ store: SyncStore) throws -> ServiceCommand {
    let (zone, version) = try decision.zone(store)
    return .acceptDeletions(zone, version: version, dryRun: dryRun)
  }
}

/// `cktop zones restore`.
struct ZonesRestore: ZoneDecision {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Recreate the records of a zone whose deletion is on hold, and the zone if needed.",
    discussion: "Records are recreated from the local copy; the files of their assets cannot be restored."
  )
  @OptionGroup var decision: DeletionDecision
  @OptionGroup var options: StoreOptions

  static var addsToQueue: Bool { true }

  func command(_ store: SyncStore) throws -> ServiceCommand {
    let (zone, version) = try decision.zone(store)
    return .restoreDeletions(zone, version: version, dryRun: dryRun)
  }
}

/// A verb that decides about the deletions on hold in a zone.
protocol ZoneDecision: CommandVerb {
  var decision: DeletionDecision { get }
}

extension ZoneDecision {
  var dryRun: Bool { decision.dryRun }
  var yes: Bool { decision.yes }
  var json: Bool { decision.json }

  /// The question, unless the deletions on hold are others by now.
  func question(_ command: ServiceCommand, _ store: SyncStore) throws -> CommandQuestion? {
    switch command {
    case .acceptDeletions(let zone, let version, _), .restoreDeletions(let zone, let version, _):
      let held = try store.heldDeletions().first { $0.zone == zone && $0.version == version }
      guard let held else { return nil }
      let (edits, files) = try store.heldContents(of: held)
      if case .acceptDeletions = command { return .acceptDeletions(held, edits: edits) }
      return .restoreDeletions(held, files: files)
    default: return nil
    }
  }

  func lines(_ receipt: Receipt, _ question: CommandQuestion?, _ store: SyncStore) -> [String] {
    guard let question, let held = question.held else { return [] }
    let rest = receipt.changed < held.records ? "the others were deleted locally too, or are being sent" : nil
    return [question.effect, dryRun ? "version \(held.version)" : nil, rest].compactMap(\.self)
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

  /// The zone with deletions on hold, and the version that was given or else was just read. The deletions may be
  /// decided already if a version is given.
  fileprivate func zone(_ store: SyncStore) throws -> (zone: ZoneKey, version: String) {
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
    return (zone.key, version?.text ?? zone.held?.version ?? "")
  }
}
