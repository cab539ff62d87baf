import ArgumentParser
import CloudKit
import CloudService
import CloudSync
import Facts

/// `cktop zones`.
struct ZonesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "zones",
    abstract: "List, create, delete and pause zones, and decide on deletions on hold.",
    subcommands: [
      ZonesList.self, ZonesCreate.self, ZonesDelete.self, ZonesPause.self, ZonesResume.self, ZonesRepair.self,
      ZonesAccept.self, ZonesRestore.self,
    ],
    defaultSubcommand: ZonesList.self
  )
}

/// `cktop zones list`.
struct ZonesList: Verb {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "List the known zones with token age, last fetch, and counts of records and unsent changes."
  )

  @Flag(help: .json("Print one JSON object per line.", ZoneRow.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let zones = try session.reader().view { try $0.zones() }
    let (format, now) = (Format(), SyncStore.currentTime)
    if json { return OutputFile.standard.lines(zones.map(\.json.line)) }
    var table = TextTable([
      .shrinking("ZONE"), .shrinking("OWNER"), "STATE", .numbers("RECORDS"), .numbers("UNSENT"), "TOKEN SAVED",
      "LAST FETCH", "VERSION",
    ])
    for zone in zones {
      table.append([
        zone.key.zone, zone.key.owner, zone.stateText, String(zone.records), String(zone.unsent),
        format.time(zone.tokenAt, now: now), format.time(zone.lastFetchAt, now: now), zone.held?.version ?? "",
      ])
    }
    OutputFile.standard.lines(table.lines(width: OutputFile.standard.width))
  }
}

extension ZoneRow {
  /// The state, with a pending delete and the deletions on hold.
  fileprivate var stateText: String {
    let pending = isDeletePending ? existence : nil
    return [state, pending, isPaused ? "paused" : nil, held?.countText].compactMap(\.self).joined(separator: ", ")
  }
}

/// The zones that a verb is about.
struct ZoneNames: ParsableArguments {
  @Argument(help: ArgumentHelp("The names of zones.", valueName: "name"), completion: .zones) var names: [String]
  @OptionGroup var whose: ZoneOwner

  func keys(_ store: SyncStore) throws -> [ZoneKey] { try names.map { try store.zoneKey(named: $0, of: whose) } }

  /// Refuses a name that `isKnown` does not accept, which may be misspelled.
  func require(_ isKnown: (ZoneKey) throws -> Bool, in store: SyncStore) throws {
    for key in try keys(store) where try !isKnown(key) { throw CommandFailure.noZone(key.title) }
  }
}

extension CommandFailure {
  /// The failure for a zone that does not exist.
  static func noZone(_ name: String) -> CommandFailure {
    CommandFailure("there is no zone \(name.excerpt); cktop zones list shows those that are known", .itemsFailed)
  }
}

/// `cktop zones pause`.
struct ZonesPause: CommandVerb {
  static let configuration = CommandConfiguration(
    commandName: "pause",
    abstract: "Stop sending to zones until they are resumed. Their changes are still fetched."
  )

  @OptionGroup var zones: ZoneNames
  @Flag(help: .json("Print the result as a JSON object.", Receipt.zonePauses.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func require(_ store: SyncStore, _ session: Session) throws { try zones.require(store.hasSeen, in: store) }

  func command(_ store: SyncStore) throws -> ServiceCommand {
    .pause(try zones.keys(store).map(PauseRule.zone))
  }
}

/// `cktop zones resume`.
struct ZonesResume: CommandVerb {
  static let configuration = CommandConfiguration(
    commandName: "resume",
    abstract: "Resume sending to paused zones. Operations that were paused one by one stay paused."
  )

  @OptionGroup var zones: ZoneNames
  @Flag(help: .json("Print the result as a JSON object.", Receipt.zonePauses.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func require(_ store: SyncStore, _ session: Session) throws { try zones.require(store.hasSeen, in: store) }

  func command(_ store: SyncStore) throws -> ServiceCommand {
    .resume(try zones.keys(store).map(PauseRule.zone))
  }
}

/// `cktop zones repair`.
struct ZonesRepair: CommandVerb {
  static let configuration = CommandConfiguration(
    commandName: "repair",
    abstract: "Have the next sync fetch zones again from the start.",
    discussion: """
      Records that differ from the server's are replaced; unsent changes are kept. 'cktop verify' shows what differs, and \
      'cktop verify --repair' fetches only zones that differ.
      """
  )

  @OptionGroup var zones: ZoneNames
  @Flag(help: .json("Print the result as a JSON object.", Receipt.repair.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func require(_ store: SyncStore, _ session: Session) throws { try zones.require(store.knows, in: store) }

  func command(_ store: SyncStore) throws -> ServiceCommand {
    .fetchAgain(try zones.keys(store))
  }
}

/// `cktop zones create`.
struct ZonesCreate: ChangingVerb {
  static let configuration = CommandConfiguration(commandName: "create", abstract: "Enqueue the creation of a zone.")

  @Argument(help: "The zone's name.") var name: String
  @Flag(help: .json("Print the result as a JSON object.", AcceptedZone.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    try session.refuseNames(zone: name)
    let zone = ZoneKey(zone: name)
    let store = try await session.storeToChange()
    let isDeleting = try store.hasZoneDelete(zone)
    let accepted = try store.enqueueZone(zone)
    try accepted.report(zone, json: json)
    guard isDeleting, case .enqueued = accepted else { return }
    OutputFile.error.line("cktop: cancelled the queued deletion of zone \(name)".visible)
  }
}

/// `cktop zones delete`.
struct ZonesDelete: ChangingVerb {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Enqueue the deletion of a zone and all its records.",
    discussion: """
      Until the next sync, 'cktop zones create' cancels the deletion. Queued changes of the zone are not sent; \
      'cktop conflicts dropped' lists them, and 'cktop conflicts undo' enqueues them again. Asks for confirmation on a \
      terminal; elsewhere --yes is required.
      """
  )

  @Argument(help: "The zone's name.") var name: String
  @Flag(help: "Do not ask for confirmation.") var yes = false
  @Flag(help: .json("Print the result as a JSON object.", AcceptedZone.shape)) var json = false
  @OptionGroup var options: StoreOptions

  func run(_ session: Session) async throws {
    let zone = ZoneKey(zone: name)
    try session.refuseIfReadOnly()
    try Confirmation.needAnswer(yes, "zones delete deletes a zone and all its records")
    let store = try await session.storeToAddTo()
    let known = try store.view { try $0.zones() }.first { $0.key == zone }
    if !yes, let known {
      let records = known.records == 1 ? "its record" : "its \(known.records) records"
      guard Confirmation.ask("Delete zone \(name) and \(records), locally and on the server?".visible) else { return }
    }
    let dropped = try store.queuedChanges(in: zone)
    let accepted = try store.enqueueZoneDeletion(zone)
    try accepted.report(zone, action: "enqueued the deletion of", json: json)
    guard case .enqueued = accepted else { return }
    if known == nil { ZoneNote.report(name, "its deletion will be sent anyway") }
    guard dropped > 0 else { return }
    let changes = Words.count(dropped, "queued change")
    OutputFile.error.line("cktop: dropped \(changes) of the zone; run cktop conflicts dropped to see them")
  }
}

extension SyncStore {
  /// Whether a change makes the next sync create the zone that it names.
  func isNew(_ zone: ZoneKey?) throws -> Bool {
    guard let zone, scope.database == .private, !zone.isDefaultZone else { return false }
    return try !knows(zone)
  }
}

extension Accepted {
  fileprivate func report(_ zone: ZoneKey, action: String = "enqueued", json: Bool) throws(CommandFailure) {
    try report("zone \(zone.zone)", action: action, json ? { AcceptedZone(zone: zone, operation: $0).json } : nil)
  }
}

/// The result of enqueuing a change of a zone.
struct AcceptedZone: PrintedObject {
  let zone: ZoneKey
  let operation: Int64?

  static let jsonFields: JSONFields<Self> = [
    "result": .accepted(\.operation), "zone": .text(\.zone.zone), "operation": .integer(\.operation),
  ]
}
