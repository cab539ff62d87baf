import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Synchronization
import TestSupport

@testable import CloudSync

/// A world in which everything follows from one seed: devices that edit the same records, a server, wires with faults,
/// deaths, accounts, and clocks that go wrong.
final class SimulatedWorld {
  /// What a run found wrong.
  struct Violation: Error, CustomStringConvertible {
    var description: String
  }

  static let user = "ana"
  static let container = "iCloud.simulation"
  static let types = ["Note", "Task"]
  /// The zone that comes and goes; what happens in it is nobody's loss.
  static let fleeting = ZoneKey(zone: "C")
  /// The zone that nobody but the first device deletes, which means what is in it then and nothing that comes
  /// afterwards.
  static let renewed = ZoneKey(zone: "D")

  let seed: UInt64
  let census: Census
  private(set) var trace: [String] = []
  var random: SplitMix64
  let clock = SimulatedClock()
  let emulator: Emulator
  let scope: SyncStore.Scope
  let swarm: Swarm
  var devices: [SimulatedDevice] = []
  var intents = Intents()
  let folder: StorageFolder
  private var held: [(device: String, request: CKTransportRequest)] = []
  private var deletedOnServer: Set<String> = []
  /// What apps were asked about, to be judged once it is known what was edited meanwhile.
  var asked: [(key: RecordKey, fields: [String], device: SimulatedDevice)] = []
  private var seenOnServer: Set<RecordKey> = []
  /// The sets of records as the server had them when it was last looked at.
  private(set) var listed: [RecordKey: Set<Int64>] = [:]
  var counter: Int64 = 0

  init(seed: UInt64, census: Census) throws {
    self.seed = seed
    self.census = census
    random = SplitMix64(seed: seed)
    folder = StorageFolder(seed: seed)
    var configuration = EmulatorConfiguration()
    configuration.seed = seed
    configuration.pageLimit = 2 + random.below(6)
    emulator = try Emulator(configuration: configuration)
    let database: DatabaseName = random.below(5) == 0 ? .public : .private
    scope = SyncStore.Scope(container: Self.container, environment: "development", database: database)
    let hasApps = random.below(3) == 0
    let settles = random.below(2) == 0 && hasApps
    let policy = settles ? .manual : ConflictPolicy.allCases[random.below(ConflictPolicy.allCases.count)]
    swarm = Swarm(&random)
    let rules = swarm.changesHaveRules ? MergeRules() : Self.types.reduce(into: MergeRules()) { $0[$1] = Tally.rules }
    let judge = settles ? "app" : policy.rawValue
    note("seed \(seed): \(database.rawValue), policy \(judge), \(hasApps ? "apps, " : "")\(swarm.text)")
    for index in 0..<(2 + random.below(random.below(6) == 0 ? 7 : 2)) {
      let clock = SimulatedClock(world: clock)
      let wire = SimulatedWire(emulator, world: self.clock, clock: clock, seed: seed &* 31 &+ UInt64(index))
      let name = "device-\(index)"
      let merging = MergePolicy(policy, rules: rules, deletionGuard: swarm.deletionGuard)
      let app = hasApps ? SimulatedApp(seed: seed &* 37 &+ UInt64(index), settles: settles) : nil
      let storage = try folder.storage(name)
      devices.append(
        try SimulatedDevice(
          name,
          storage,
          scope,
          merging,
          clock: clock,
          wire: wire,
          app: app,
          isWaitedFor: (seed / 2 + UInt64(index)) % 3 > 0
        )
      )
    }
  }

  func note(_ line: String) { trace.append(line) }

  func violation(_ text: String) -> Violation {
    Violation(description: "seed \(seed): \(text)\n" + trace.joined(separator: "\n"))
  }

  // MARK: - The run

  /// Trouble, then peace, then the reckoning.
  func run() async throws {
    for _ in 0..<swarm.steps { try await step(devices[random.below(devices.count)]) }
    try await heal()
    if intents.releases > 0 { census.count("deleted without what it had let go of") }
    note(emulator.dump())
  }

  private func step(_ device: SimulatedDevice) async throws {
    switch random.below(20) {
    case 0...2: try enqueue([try change(device)], device)
    case 3: try editList(device)
    case 4, 5: try editRecord(device)
    case 6: try random.below(2) == 0 ? enqueue([try deletion(device)], device) : bindOrRelease(device)
    case 7: try editGroup(device)
    case 8: try random.below(4) == 0 ? decide(device) : command(device)
    case 9: try random.below(2) == 0 ? resolve(device) : undo(device)
    case 10:
      let seconds = [0.5, 5, 60, 3600][random.below(4)]
      note("clock +\(seconds)")
      clock.advance(seconds)
    case 11, 12: try happen(device)
    case 13: try await deliverLate()
    default: try await troubledPass(device)
    }
    try check(device)
    try watchChildren()
  }

  /// What happens to a device or to the server, if it does in this run.
  private func happen(_ device: SimulatedDevice) throws {
    if random.happens(swarm.clockJump) {
      let seconds = [-86_400.0, -3600, -60, 60, 3600, 86_400][random.below(6)]
      note("\(device.name)'s clock jumps by \(seconds)")
      census.count(seconds < 0 ? "clock set back" : "clock set forward")
      device.clock.advance(seconds)
    }
    if random.happens(swarm.tokenExpiry) {
      let operation = ["changes/zone", "changes/database"][random.below(2)]
      note("tokens of \(operation) expire")
      emulator.faults = FaultPlan(
        rules: [FaultRule(when: FaultCondition(operation: operation, limit: 1), then: .expiredToken)]
      )
    }
    // Before its first pass a store is nobody's, and would be another's by right.
    if random.happens(swarm.accountEvent * 2), try device.store.status().identity != nil {
      let user = [nil, "ben", "ben", Self.user, Self.user][random.below(5)]
      note("\(device.name) is \(user ?? "nobody") now")
      try device.signIn(as: user)
    }
    if random.happens(swarm.zoneEvent * 2), scope.database == .private { try changeZone(device) }
    if random.happens(swarm.zoneRenewal), scope.database == .private { try renewZone(devices[0]) }
  }

  private func changeZone(_ device: SimulatedDevice) throws {
    let zone = Self.fleeting
    let database = EmulatorDatabase.private(of: Self.user, Self.container)
    switch random.below(4) {
    case 0: note("\(device.name) makes zone C: \(try device.store.enqueueZone(zone))")
    case 1: note("\(device.name) deletes zone C: \(try device.store.enqueueZoneDeletion(zone))")
    case 2:
      guard (try? emulator.deleteZone(zone.zone, in: database, at: clock.date)) != nil else { return }
      note("somebody deletes zone C")
      census.count("zone deleted by others")
    default:
      guard (try? emulator.createZone(zone.zone, in: database, at: clock.date)) != nil else { return }
      note("somebody makes zone C")
    }
  }

  // MARK: - Passes

  private func troubledPass(_ device: SimulatedDevice) async throws {
    device.meet(random.below(3) == 0 ? nil : swarm)
    if random.below(3) == 0 {
      let edits = try (0..<(1 + random.below(3))).map { _ in
        random.below(4) == 0 ? try deletion(device) : try change(device)
      }
      // An app in a process of its own, which does not die with the driver.
      let clock = device.clock
      let store = try SyncStore(device.storage, scope: scope) { clock.now }
      let keeping = device.keeping
      let accepted = Mutex<[Accepted]>([])
      let tally = random.below(3) == 0 ? tally(device) : nil
      let counted = Mutex<Tally?>(nil)
      device.wire.whileInFlight {
        guard let result = try? store.enqueue(edits, assets: keeping) else { return }
        accepted.withLock { $0 = result }
        if let tally = try? tally?.accepted(by: store) { counted.withLock { $0 = tally } }
      }
      try await pass(device)
      device.wire.whileInFlight(nil)
      let result = accepted.withLock(\.self)
      if !result.isEmpty {
        remember(edits, result, device)
        census.count("edit in flight")
        note("\(device.name) edited \(edits.map(\.text)) while it sent: \(result)")
      }
      if let tally = counted.withLock(\.self) { remember(tally, device) }
    } else {
      try await pass(device)
    }
  }

  /// - Returns: whether it has moved anything.
  @discardableResult
  func pass(_ device: SimulatedDevice, mayDie: Bool = true) async throws -> Bool {
    let dies = mayDie && random.happens(swarm.death)
    let deadlyWrite = dies ? (number: 1 + random.below(25), afterwards: random.below(2) == 0) : nil
    // What a store knows of a public database is what it was once told to read.
    let told = mayDie && scope.database == .public ? random.below(4) : 3
    let types = [[], ["Note"], ["Task"], Self.types][told]
    let drives = mayDie && random.below(2) == 0
    let end = try await device.pass(types: types, drives: drives, deadlyWrite: deadlyWrite)
    try watchSets(changedBy: device.name)
    let notes = device.wire.takeNotes()
    trace += notes.trace.map { "  \($0)" }
    for rare in notes.rare { census.count(rare) }
    held += notes.held.map { (device.name, $0) }
    deletedOnServer.formUnion(notes.deleted)
    if notes.deletedZones.contains(Self.renewed.zone) { deletedOnServer.formUnion(intents.names(in: Self.renewed)) }
    if let fault = notes.violation { throw violation("\(device.name): \(fault)") }
    if let app = device.app?.takeNotes() {
      trace += app.trace.map { "  \($0)" }
      for rare in app.rare { census.count(rare) }
      for conflict in app.conflicts {
        asked.append((conflict.key, conflict.fields, device))
        intents.settle(conflict.key)
      }
    }
    switch end {
    case .died:
      census.count("died")
      if try device.store.status().queue.inFlight > 0 { census.count("died with rows in flight") }
      note("\(device.name) dies in a pass")
    case .fenced:
      census.count("fenced")
      note("\(device.name) is fenced in a pass")
    case .refused:
      census.count("refused as somebody else")
      note("\(device.name) is refused: the store is not \(device.user ?? "nobody")'s")
    case .made(let summary):
      note(
        "\(device.name) passes: sent \(summary.sent), failed \(summary.failed), fetched \(summary.fetched), "
          + "deleted \(summary.deleted), \(summary.reachedEnd ? "to the end" : "cut short")"
      )
      if try summary.reachedEnd && device.store.status().isInSync {
        census.count("in sync")
        // Between two full scans it does not know of deletions.
        if scope.database == .private || !drives { try compare(device) }
      }
      return summary.sent + summary.failed + summary.fetched + summary.deleted > 0
    }
    return true
  }

  /// What has let go of its owner does not go with it, not even to be made anew afterwards.
  private func watchChildren() throws {
    let children = intents.children
    guard !children.isEmpty else { return }
    let server = records(of: Self.user)
    for child in children {
      if server[child] != nil { seenOnServer.insert(child) }
      guard server[child] != nil || !seenOnServer.contains(child) else {
        throw violation("\(child.zone)/\(child.name) is gone from the server")
      }
    }
  }

  /// Notes which elements others removed from the server's sets before the device that put them in could know that they
  /// had arrived there.
  private func watchSets(changedBy actor: String) throws {
    for key in intents.keysOfSets {
      let record = emulator.record(key.name, in: database(of: Self.user), zone: key.zone)
      let elements = record?.fields[Tally.elements]?.elements ?? []
      for element in (listed[key] ?? []).subtracting(elements) {
        let adder = devices.first { $0.name == intents.adder(of: element) && $0.name != actor }
        let isInDoubt = try adder?.isInDoubt(about: element, of: key) ?? false
        if isInDoubt { census.count("element removed before its reply") }
        intents.remove(element, isInDoubt: isInDoubt)
      }
      listed[key] = elements
    }
  }

  /// A request of long ago arrives at last.
  private func deliverLate() async throws {
    guard !held.isEmpty else { return }
    let (device, request) = held.remove(at: random.below(held.count))
    if random.below(3) == 0 { return note("a request of \(device) is lost for good") }
    if Batch(request.body).zonesDeleted.contains(Self.renewed.zone) { intents.giveUpAll(in: Self.renewed) }
    for operation in Batch(request.body).operations {
      guard let name = Batch.name(operation), Intents.isOwned(name) else { continue }
      // Its deletion has been carried out, or found to be; that it is made again afterwards nobody can know before.
      if try deletedOnServer.contains(name) || hasDeleted(name)
        || operation["operationType"] as? String == "forceDelete"
      {
        for zone in zones { intents.giveUp(RecordKey(zone, name), by: nil) }
      }
    }
    let date = clock.date
    let answer = try? await EmulatorTransport(emulator, now: { date }, sleep: { _ in }).send(request)
    census.count("arrived late")
    try watchSets(changedBy: device)
    note("a request of \(device) arrives late: \(Batch(request.body).text) \(answer?.status ?? 0)")
  }

  /// Whether the device whose record it is has deleted it, and has nothing left to do about it.
  private func hasDeleted(_ name: String) throws -> Bool {
    let owner = devices.first { name.hasPrefix("o\($0.name.dropFirst(7))-") }
    let key = zones.map { RecordKey($0, name) }.first { intents.isDeleted($0) }
    guard let owner, let key else { return false }
    return try !owner.store.operations().rows.contains { $0.key == key }
  }

  func deliverAllLate() async throws {
    while !held.isEmpty { try await deliverLate() }
  }
}
