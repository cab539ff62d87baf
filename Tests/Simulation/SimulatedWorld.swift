import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization

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
  static let types = ["Note"]
  /// The zone that comes and goes; what happens in it is nobody's loss.
  static let fleeting = ZoneKey(zone: "C")

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
  private let folder: StorageFolder
  private var held: [(device: String, request: CKTransportRequest)] = []
  private var deletedOnServer: Set<String> = []
  private var counter: Int64 = 0

  init(seed: UInt64, census: Census) throws {
    self.seed = seed
    self.census = census
    random = SplitMix64(seed: seed)
    folder = StorageFolder(seed: seed)
    var configuration = EmulatorConfiguration()
    configuration.pageLimit = 2 + random.below(6)
    emulator = try Emulator(configuration: configuration)
    let database: DatabaseName = random.below(5) == 0 ? .public : .private
    scope = SyncStore.Scope(container: Self.container, environment: "development", database: database)
    let policy = ConflictPolicy.allCases[random.below(ConflictPolicy.allCases.count)]
    swarm = Swarm(&random)
    note("seed \(seed): \(database.rawValue), policy \(policy.rawValue), \(swarm.text)")
    for index in 0..<(2 + random.below(random.below(6) == 0 ? 7 : 2)) {
      let clock = SimulatedClock(world: clock)
      let wire = SimulatedWire(emulator, world: self.clock, clock: clock, seed: seed &* 31 &+ UInt64(index))
      let name = "device-\(index)"
      let merging = MergePolicy(policy, deletionGuard: swarm.deletionGuard)
      devices.append(try SimulatedDevice(name, folder.storage(name), scope, merging, clock: clock, wire: wire))
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
    note(emulator.dump())
  }

  private func step(_ device: SimulatedDevice) async throws {
    switch random.below(20) {
    case 0...5: try enqueue([try change(device)], device)
    case 6: try enqueue([deletion(device)], device)
    case 7: try editGroup(device)
    case 8: try random.below(4) == 0 ? decide(device) : command(device)
    case 9: try resolve(device)
    case 10:
      let seconds = [0.5, 5, 60, 3600][random.below(4)]
      note("clock +\(seconds)")
      clock.advance(seconds)
    case 11, 12: try happen(device)
    case 13: try await deliverLate()
    default: try await troubledPass(device)
    }
    try check(device)
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
    if random.happens(swarm.zoneEvent), scope.database == .private { try changeZone(device) }
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

  // MARK: - What devices do

  func zone(_ index: Int) -> ZoneKey {
    scope.database == .public ? .defaultZone : [ZoneKey(zone: "A"), ZoneKey(zone: "B"), Self.fleeting][index]
  }

  private func kept(_ index: Int) -> RecordKey { RecordKey(zone(index % 2), "k\(index)") }
  private func loose() -> RecordKey { RecordKey(zone(random.below(3)), "x\(random.below(4))") }

  private func owned(_ device: SimulatedDevice) -> RecordKey {
    let index = random.below(3)
    return RecordKey(zone(index % 2), "o\(device.name.dropFirst(7))-\(index)")
  }

  /// Of records that begin with `k`, which are never deleted, every device writes a field of its own, besides the one
  /// that all of them fight for; those with `o` are one device's alone, those with `x` anybody's.
  private func change(_ device: SimulatedDevice, in only: ZoneKey? = nil) throws -> Change {
    var key = [kept(random.below(5)), loose(), owned(device)][random.below(3)]
    if let only, key.zoneKey != only { key = RecordKey(only, "x\(random.below(4))") }
    counter += 1
    var changes = FieldChanges(values: [device.field: .int64(counter)])
    switch random.below(8) {
    case 0, 1: changes["shared"] = .int64(Int64(random.below(3)))
    case 2: changes["shared"] = nil
    case 3:
      let target = kept(random.below(5))
      // The emulator forgets the zone of what is referred to, so that a record of which more is known would be another.
      if target.zoneKey == key.zoneKey || key.name.hasPrefix("x") {
        changes["link"] = reference(to: target, "NONE", from: key)
      }
    // Rings come about by themselves among five.
    case 4:
      let target = kept(random.below(5))
      if target.zoneKey == key.zoneKey { changes["need"] = reference(to: target, "VALIDATE", from: key) }
    case 6:
      let target = kept(random.below(5))
      if target.zoneKey == key.zoneKey, target.zoneKey != .defaultZone, !Intents.isKept(key.name) {
        changes[FieldChanges.parent] = reference(to: target, "NONE", from: key)
      }
    case 5:
      let target = loose()
      if target.zoneKey == key.zoneKey, key.name.hasPrefix("x"), target != key {
        changes["owner"] = reference(to: target, random.below(3) == 0 ? "VALIDATE" : "DELETE_SELF", from: key)
      }
    default: break
    }
    guard swarm.hasAssets, random.below(3) == 0 else { return Change(key, .save(type: "Note", changes)) }
    // Few files, so that some are on the server already, in this record or another.
    let size = 10 + random.below(3)
    let file = Intents.isKept(key.name) ? "file_\(device.field)" : "file"
    changes[file] = .asset(WireAsset(size: Int64(size)))
    let sources = [file: [AssetSource(file: try folder.file(of: size))]]
    return Change(key, .save(type: "Note", changes), assets: sources)
  }

  private func reference(to target: RecordKey, _ action: String, from key: RecordKey) -> FieldValue {
    let zone = target.zoneKey == key.zoneKey ? nil : target.zoneKey.wire
    return .reference(WireReference(recordName: target.name, zoneID: zone, action: action))
  }

  private func deletion(_ device: SimulatedDevice) -> Change {
    Change(random.below(2) == 0 ? loose() : owned(device), .delete)
  }

  private func enqueue(_ changes: [Change], group: String? = nil, _ device: SimulatedDevice) throws {
    let accepted = try device.store.enqueue(changes, group: group, assets: device.keeping)
    remember(changes, accepted, device)
    note("\(device.name) \(group.map { "\($0): " } ?? "")\(changes.map(\.text)): \(accepted)")
  }

  private func remember(_ changes: [Change], _ accepted: [Accepted], _ device: SimulatedDevice) {
    for (change, accepted) in zip(changes, accepted) {
      if case .refused = accepted { continue }
      intents.accept(change, by: device)
    }
  }

  private func editGroup(_ device: SimulatedDevice) throws {
    guard scope.database == .private else { return }
    counter += 1
    let zone = zone(random.below(3))
    let changes = try (0..<(1 + random.below(3))).map { _ in try change(device, in: zone) }
    try enqueue(changes, group: "group-\(counter)", device)
  }

  private func command(_ device: SimulatedDevice) throws {
    let rows = try device.store.operations().rows
    guard let row = rows.isEmpty ? nil : rows[random.below(rows.count)] else { return }
    let verb = QueueVerb.allCases[random.below(QueueVerb.allCases.count)]
    try perform(verb, row, device)
  }

  func perform(_ verb: QueueVerb, _ row: QueueRow, _ device: SimulatedDevice) throws {
    let isUnanswered = try device.store.detail(of: row.id)?.operation?.isUnanswered ?? false
    let result = try device.store.perform(verb, on: .ids([row.id]), actor: "operator")
    if verb == .discard, result.changed == [row.id] {
      intents.giveUp(row.key, by: device)
      // With it goes what was sent: if the server has taken that, it is a stranger's now.
      if isUnanswered { intents.lose(row.key, by: device) }
    }
    note("\(device.name) \(verb.rawValue) \(row.id): \(result.changed)")
  }

  func resolve(_ device: SimulatedDevice) throws {
    for conflict in try device.store.conflicts() {
      // Nobody else writes these: a conflict about them is a change of our own taken for a stranger's.
      let isOwn = Intents.isOwned(conflict.key.name) && !intents.isGivenUp(conflict.key)
      if isOwn || (Intents.isKept(conflict.key.name) && conflict.fields.contains { $0.name == device.field }) {
        throw violation("\(device.name): conflict with itself about \(conflict.key.name): \(conflict)")
      }
      let side = ConflictSide.allCases[random.below(ConflictSide.allCases.count)]
      let left = try device.store.resolve(conflict.id, take: side, actor: "operator")
      note("\(device.name) resolves \(conflict.key.name) by \(side.rawValue): \(left?.names.sorted() ?? [])")
    }
  }

  /// Somebody decides about what the server deleted and the device holds back.
  func decide(_ device: SimulatedDevice) throws {
    for held in try device.store.heldDeletions() {
      let zone = held.zone
      if random.below(2) == 0 {
        let count = try device.store.acceptDeletions(in: zone, policy: device.merging, actor: "operator")
        census.count("deletions accepted")
        note("\(device.name) lets \(count) records of zone \(zone.zone) go")
      } else {
        // What its owner deleted is there again.
        for name in try device.store.read({ try $0.namesGone(zone) }) where Intents.isOwned(name) {
          intents.giveUp(RecordKey(zone, name), by: nil)
        }
        let count = try device.store.restoreDeletions(in: zone, actor: "operator")
        census.count("deletions restored")
        note("\(device.name) makes \(count) records of zone \(zone.zone) anew")
      }
    }
  }

  // MARK: - Passes

  private func troubledPass(_ device: SimulatedDevice) async throws {
    device.wire.meet(random.below(3) == 0 ? nil : swarm)
    if random.below(3) == 0 {
      let edits = try (0..<(1 + random.below(3))).map { _ in
        random.below(4) == 0 ? deletion(device) : try change(device)
      }
      // An app in a process of its own, which does not die with the driver.
      let clock = device.clock
      let store = try SyncStore(device.storage, scope: scope) { clock.now }
      let keeping = device.keeping
      let accepted = Mutex<[Accepted]>([])
      device.wire.whileInFlight {
        guard let result = try? store.enqueue(edits, assets: keeping) else { return }
        accepted.withLock { $0 = result }
      }
      try await pass(device)
      device.wire.whileInFlight(nil)
      let result = accepted.withLock(\.self)
      if !result.isEmpty {
        remember(edits, result, device)
        census.count("edit in flight")
        note("\(device.name) edited \(edits.map(\.text)) while it sent: \(result)")
      }
    } else {
      try await pass(device)
    }
  }

  /// - Returns: whether it has moved anything.
  @discardableResult
  func pass(_ device: SimulatedDevice, mayDie: Bool = true) async throws -> Bool {
    let dies = mayDie && random.happens(swarm.death)
    let deadlyWrite = dies ? (number: 1 + random.below(25), afterwards: random.below(2) == 0) : nil
    let end = try await device.pass(types: Self.types, deadlyWrite: deadlyWrite)
    let notes = device.wire.takeNotes()
    trace += notes.trace.map { "  \($0)" }
    for rare in notes.rare { census.count(rare) }
    held += notes.held.map { (device.name, $0) }
    deletedOnServer.formUnion(notes.deleted)
    if let fault = notes.violation { throw violation("\(device.name): \(fault)") }
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
        try compare(device)
      }
      return summary.sent + summary.failed + summary.fetched + summary.deleted > 0
    }
    return true
  }

  /// A request of long ago arrives at last.
  private func deliverLate() async throws {
    guard !held.isEmpty else { return }
    let (device, request) = held.remove(at: random.below(held.count))
    if random.below(3) == 0 { return note("a request of \(device) is lost for good") }
    for operation in Batch(request.body).operations {
      guard let name = Batch.name(operation), Intents.isOwned(name) else { continue }
      // Its deletion has been carried out, or found to be; that it is made again afterwards nobody can know before.
      if try deletedOnServer.contains(name) || hasDeleted(name)
        || operation["operationType"] as? String == "forceDelete"
      {
        for index in 0..<2 { intents.giveUp(RecordKey(zone(index), name), by: nil) }
      }
    }
    let date = clock.date
    let answer = try? await EmulatorTransport(emulator, now: { date }, sleep: { _ in }).send(request)
    census.count("arrived late")
    note("a request of \(device) arrives late: \(Batch(request.body).text) \(answer?.status ?? 0)")
  }

  /// Whether the device whose record it is has deleted it, and has nothing left to do about it.
  private func hasDeleted(_ name: String) throws -> Bool {
    let owner = devices.first { name.hasPrefix("o\($0.name.dropFirst(7))-") }
    let key = (0..<2).map { RecordKey(zone($0), name) }.first { intents.records[$0] == .some(nil) }
    guard let owner, let key else { return false }
    return try !owner.store.operations().rows.contains { $0.key == key }
  }

  func deliverAllLate() async throws {
    while !held.isEmpty { try await deliverLate() }
  }
}

extension Change {
  fileprivate var text: String {
    switch kind {
    case .delete: "-\(key.zone)/\(key.name)"
    case .save(_, let fields):
      "\(key.zone)/\(key.name)(\(fields.values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.text)" }.joined(separator: " ")))"
    }
  }
}
