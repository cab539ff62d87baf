import CloudKit
import CloudKitEmulator
import Foundation

@testable import CloudSync

/// A world in which everything follows from one seed: devices that edit the same records, a server, a wire with faults,
/// deaths, and a clock.
final class SimulatedWorld {
  /// What a run found wrong.
  struct Violation: Error, CustomStringConvertible {
    var description: String
  }

  private static let container = "iCloud.simulation"
  private static let user = "ana"
  private static let types = ["Note"]
  private static let deviceRate = 0.35

  let seed: UInt64
  private(set) var trace: [String] = []
  private var random: SplitMix64
  private let clock = SimulatedClock()
  private let emulator: Emulator
  private let folder: URL
  private let scope: SyncStore.Scope
  private var devices: [SimulatedDevice] = []
  private var counter: Int64 = 0

  init(seed: UInt64) throws {
    self.seed = seed
    random = SplitMix64(seed: seed)
    folder = FileManager.default.temporaryDirectory.appendingPathComponent("simulation-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    var configuration = EmulatorConfiguration()
    configuration.pageLimit = 2 + random.below(6)
    emulator = try Emulator(configuration: configuration)
    let database: DatabaseName = random.below(4) == 0 ? .public : .private
    scope = SyncStore.Scope(container: Self.container, environment: "development", database: database)
    let policy = ConflictPolicy.allCases[random.below(ConflictPolicy.allCases.count)]
    note("seed \(seed): \(database.rawValue), policy \(policy.rawValue)")
    for index in 0..<(2 + random.below(3)) { devices.append(try device(index, policy)) }
  }

  deinit { try? FileManager.default.removeItem(at: folder) }

  private func device(_ index: Int, _ policy: ConflictPolicy) throws -> SimulatedDevice {
    let (emulator, clock, scope, seed) = (emulator, clock, scope, seed)
    let path = folder.appendingPathComponent("device-\(index).sqlite").path
    let wire = SimulatedWire(emulator, clock: clock, seed: seed &* 31 &+ UInt64(index))
    return try SimulatedDevice("device-\(index)", wire: wire) { beforeEachWrite in
      let store = try SyncStore(path: path, scope: scope) {
        beforeEachWrite()
        return clock.now
      }
      let client = WebServicesClient(
        WebServicesClient.Configuration(
          container: Self.container,
          environment: "development",
          credential: .webAuth(apiToken: "token", webAuthToken: Self.user),
          now: { clock.date }
        ),
        transport: wire
      )
      let engine = SyncEngine(
        store: store,
        SyncEngine.Configuration(client: client, policy: policy, random: { 0.5 })
      )
      return (store, engine)
    }
  }

  private func note(_ line: String) { trace.append(line) }

  // MARK: - The run

  /// Trouble, then peace, then the reckoning.
  func run(steps: Int) async throws {
    for _ in 0..<steps {
      try await step(devices[random.below(devices.count)])
    }
    try await heal()
    try reckon()
    note(emulator.dump())
  }

  private func step(_ device: SimulatedDevice) async throws {
    switch random.below(16) {
    case 0...5: try edit(device, kept: random.below(2) == 0)
    case 6: try delete(device)
    case 7: try editGroup(device)
    case 8: try command(device)
    case 9: try resolve(device)
    case 10:
      let seconds = [0.5, 5, 60, 3600][random.below(4)]
      note("clock +\(seconds)")
      clock.advance(seconds)
    case 11: try expireTokens()
    default: try await pass(device)
    }
    try check(device)
  }

  // MARK: - What devices do

  private func key(_ name: String) -> RecordKey { RecordKey(scope.zoneForChangesWithoutOne, name) }

  /// Records whose names begin with `k` are never deleted; on those every device writes a field of its own, besides the
  /// one that all of them fight for.
  private func change(_ device: SimulatedDevice, kept: Bool) -> Change {
    let name = (kept ? "k" : "x") + "\(random.below(5))"
    counter += 1
    var changes = FieldChanges(values: [device.field: .int64(counter)])
    switch random.below(4) {
    case 0: changes["shared"] = .int64(Int64(random.below(3)))
    case 1: changes["shared"] = nil
    case 2: changes["link"] = .reference(WireReference(recordName: "k\(random.below(5))"))
    default: break
    }
    return Change(key(name), .save(type: "Note", changes))
  }

  /// Notes what the server will have to hold in the end.
  private func remember(_ changes: [Change], _ device: SimulatedDevice) {
    for change in changes where change.key.name.hasPrefix("k") {
      guard case .save(_, let fields) = change.kind, case .int64(let value)? = fields.values[device.field] else {
        continue
      }
      device.written[change.key.name] = value
    }
  }

  private func edit(_ device: SimulatedDevice, kept: Bool) throws {
    let change = change(device, kept: kept)
    let accepted = try device.store.enqueue([change])
    remember([change], device)
    note("\(device.name) edits \(change.key.name): \(accepted)")
  }

  private func delete(_ device: SimulatedDevice) throws {
    let name = "x\(random.below(5))"
    let accepted = try device.store.enqueue([Change(key(name), .delete)])
    note("\(device.name) deletes \(name): \(accepted)")
  }

  private func editGroup(_ device: SimulatedDevice) throws {
    guard scope.database == .private else { return }
    counter += 1
    let changes = (0..<(1 + random.below(3))).map { _ in change(device, kept: random.below(2) == 0) }
    let accepted = try device.store.enqueue(changes, group: "group-\(counter)")
    remember(changes, device)
    note("\(device.name) edits \(changes.map(\.key.name)) as one: \(accepted)")
  }

  private func command(_ device: SimulatedDevice) throws {
    let rows = try device.store.operations().rows
    guard let row = rows.isEmpty ? nil : rows[random.below(rows.count)] else { return }
    let verb = QueueVerb.allCases[random.below(QueueVerb.allCases.count)]
    let result = try device.store.perform(verb, on: .ids([row.id]), actor: "operator")
    if verb == .discard, result.changed == [row.id] { device.written[row.key.name] = nil }
    note("\(device.name) \(verb.rawValue) \(row.id): \(result.changed)")
  }

  private func resolve(_ device: SimulatedDevice) throws {
    for conflict in try device.store.conflicts() {
      // Nobody else writes that field, and these records are never made anew: a conflict about it is a change of our own taken for a stranger's.
      if conflict.key.name.hasPrefix("k"), conflict.fields.contains(where: { $0.name == device.field }) {
        throw violation("\(device.name): conflict with itself about \(conflict.key.name)")
      }
      let side = ConflictSide.allCases[random.below(ConflictSide.allCases.count)]
      let left = try device.store.resolve(conflict.id, take: side, actor: "operator")
      note("\(device.name) resolves \(conflict.key.name) by \(side.rawValue): \(left?.names.sorted() ?? [])")
    }
  }

  private func expireTokens() throws {
    let operation = ["changes/zone", "changes/database"][random.below(2)]
    note("tokens of \(operation) expire")
    emulator.faults = FaultPlan(
      rules: [FaultRule(when: FaultCondition(operation: operation, limit: 1), then: .expiredToken)]
    )
  }

  private func pass(_ device: SimulatedDevice) async throws {
    device.wire.setFaultRate(random.below(3) == 0 ? 0 : Self.deviceRate)
    if random.below(3) == 0 {
      let edits = (0..<(1 + random.below(3))).map { _ in
        random.below(4) == 0 ? Change(key("x\(random.below(5))"), .delete) : change(device, kept: random.below(2) == 0)
      }
      let store = device.store
      let wasDone = Flag()
      device.wire.whileInFlight {
        wasDone.raise()
        _ = try? store.enqueue(edits)
      }
      try await makePass(device)
      device.wire.whileInFlight(nil)
      if wasDone.isRaised {
        remember(edits, device)
        note("\(device.name) edited \(edits.map(\.key.name)) while it sent")
      }
    } else {
      try await makePass(device)
    }
  }

  private func makePass(_ device: SimulatedDevice, mayDie: Bool = true) async throws {
    let deadlyWrite = mayDie && random.below(3) == 0 ? 1 + random.below(25) : nil
    let summary = try await device.pass(types: Self.types, deadlyWrite: deadlyWrite)
    trace += device.wire.takeTrace().map { "  \($0)" }
    guard let summary else { return note("\(device.name) dies at write \(deadlyWrite ?? 0) of a pass") }
    note(
      "\(device.name) passes: sent \(summary.sent), failed \(summary.failed), fetched \(summary.fetched), "
        + "deleted \(summary.deleted), \(summary.reachedEnd ? "to the end" : "cut short")"
    )
    if try device.store.status().isInSync, summary.reachedEnd { try compare(device) }
  }

  // MARK: - What has to hold

  private func violation(_ text: String) -> Violation {
    Violation(description: "seed \(seed): \(text)\n" + trace.joined(separator: "\n"))
  }

  /// Whatever happened, every row explains itself and every operation that is gone has one ending.
  private func check(_ device: SimulatedDevice) throws {
    let mute = try device.count("SELECT count(*) FROM operations WHERE reason = ''")
    if mute > 0 { throw violation("\(device.name): \(mute) rows without a reason") }
    let accepted = try device.count("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'operations'")
    let live = try device.count("SELECT count(*) FROM operations")
    let ended = try device.count("SELECT count(*) FROM history")
    let distinct = try device.count("SELECT count(DISTINCT operationId) FROM history")
    if accepted != live + ended || ended != distinct {
      throw violation("\(device.name): \(accepted) accepted, \(live) live, \(ended) ended, \(distinct) of them once")
    }
  }

  private func onServer() -> [EmulatorRecord] {
    let database: EmulatorDatabase =
      scope.database == .public ? .public(Self.container) : .private(of: Self.user, Self.container)
    return emulator.records(in: database, zone: scope.zoneForChangesWithoutOne.zone)
  }

  private func compare(_ device: SimulatedDevice) throws {
    let server = onServer().map { record in
      let fields = record.fields.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.text)" }
      return "\(record.recordName) [\(record.changeTag)] \(fields.joined(separator: " "))"
    }.sorted()
    let mirror = try device.mirror()
    if mirror != server {
      throw violation(
        "\(device.name) says it is in sync and is not\nmirror:\n\(mirror.joined(separator: "\n"))\nserver:\n"
          + server.joined(separator: "\n")
      )
    }
  }

  /// No more faults, and somebody who clears every dead letter and conflict away.
  private func heal() async throws {
    note("peace")
    emulator.faults = FaultPlan()
    for device in devices {
      device.wire.setFaultRate(0)
      try device.restart()
    }
    for round in 1...12 {
      clock.advance(20_000)
      for device in devices {
        _ = try device.store.perform(.resume, on: .all, actor: "operator")
        _ = try device.store.perform(.retry, on: .all, actor: "operator")
        try resolve(device)
        try await makePass(device, mayDie: false)
        try check(device)
      }
      let left = try devices.reduce(0) { try $0 + $1.store.status().queue.total }
      note("round \(round): \(left) left")
      // One more round than it takes, so that everybody has read what the last one wrote.
      if left == 0, round > 1 { return try await readOnce() }
    }
    throw violation("the queues do not run empty")
  }

  private func readOnce() async throws {
    for device in devices { _ = try await device.pass(types: Self.types, deadlyWrite: nil) }
  }

  private func reckon() throws {
    for device in devices {
      guard try device.store.status().isInSync else {
        throw violation("\(device.name) is not in sync: \(try device.store.status().reason)")
      }
      try compare(device)
      let records = Dictionary(uniqueKeysWithValues: onServer().map { ($0.recordName, $0.fields) })
      for (name, value) in device.written.sorted(by: { $0.key < $1.key })
      where records[name]?[device.field] != .int64(value) {
        let found = records[name]?[device.field].map(\.text) ?? "nothing"
        throw violation("\(device.name) wrote \(value) to \(name), the server holds \(found)")
      }
    }
  }
}
