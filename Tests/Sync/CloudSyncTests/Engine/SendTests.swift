import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CloudSync

/// Sending against the emulator: batches, order, zones, dead letters.
@Suite(.serialized) struct SendTests {
  private let world: World
  private let device: TestDevice
  private var store: SyncStore { device.store }
  private var transport: TestTransport { device.transport }

  init() throws {
    world = try World()
    device = try world.device("store")
  }

  private func reference(_ name: String) -> FieldValue { .reference(WireReference(recordName: name)) }

  @Test func `1,000 records go in 5 requests and their zone is made once`() async throws {
    _ = try store.enqueue((0..<1000).map { world.put("r\($0)", ["number": .int64(Int64($0))]) })

    let summary = try await device.sync()

    #expect(summary.sent == 1000)
    #expect(summary.reachedEnd)
    #expect(transport.count("records/modify") == 5)
    #expect(transport.count("zones/modify") == 1)
    #expect(world.emulator.recordCount(in: world.server) == 1000)
    #expect(try store.status().queue.total == 0)
    let ended = try store.history(limit: 2000)
    #expect(ended.filter { $0.ending == .acknowledged }.count == 1000)
    #expect(Set(ended.map(\.id)).count == 1000)
  }

  @Test func `a second store fetches everything`() async throws {
    _ = try store.enqueue((0..<450).map { world.put("r\($0)", ["number": .int64(Int64($0))]) })
    try await device.sync()
    let second = try world.device("second")

    let summary = try await second.sync()

    #expect(summary.fetched == 450)
    #expect(try second.store.records().total == 450)
    #expect(try second.store.records(mirrorOnly: true) == store.records(mirrorOnly: true))
  }

  @Test(arguments: [0, 1, 2, 3] as [UInt64])
  func `records that refer to each other go in order, whatever order they came in`(_ seed: UInt64) async throws {
    let world = try World()
    let device = try world.device("store")
    var random = SplitMix64(seed: seed)
    var changes = [world.put("r0", [:])]
    for index in 1..<450 {
      let parent = "r\(Int(random.next() % UInt64(index)))"
      let value = FieldValue.reference(WireReference(recordName: parent, action: "VALIDATE"))
      changes.append(world.put("r\(index)", ["parent": value]))
    }
    _ = try device.store.enqueue(changes.shuffled(using: &random))

    let summary = try await device.sync()

    #expect(summary.sent == 450)
    #expect(summary.failed == 0)
    #expect(world.emulator.statistics.itemErrors == 0)
    #expect(try device.store.queue() == [])
  }

  @Test func `records in a reference cycle go together`() async throws {
    _ = try store.enqueue([
      world.put("a", ["next": reference("b")]), world.put("b", ["next": reference("c")]),
      world.put("c", ["next": reference("a")]), world.put("d", ["next": reference("a")]),
    ])

    try await device.sync()

    #expect(try store.queue() == [])
    #expect(world.emulator.recordCount(in: world.server) == 4)
  }

  @Test func `deletes go children first`() async throws {
    let parent = FieldValue.reference(WireReference(recordName: "parent", action: "VALIDATE"))
    _ = try store.enqueue([world.put("parent", [:]), world.put("child", ["parent": parent])])
    try await device.sync()

    _ = try store.enqueue([world.delete("parent"), world.delete("child")])
    let summary = try await device.sync()

    #expect(summary.failed == 0)
    #expect(world.emulator.recordCount(in: world.server) == 0)
    #expect(try store.queue() == [])
  }

  @Test func `one poisoned record does not block its 199 neighbours`() async throws {
    world.emulator.faults = FaultPlan(rules: [FaultRule(when: FaultCondition(recordName: "r77"), then: .poison)])
    _ = try store.enqueue((0..<200).map { world.put("r\($0)", [:]) })

    let summary = try await device.sync()

    #expect(summary.sent == 199)
    #expect(summary.failed == 1)
    #expect(transport.count("records/modify") == 1)
    let row = try #require(try store.operations().rows.first)
    #expect(row.key.name == "r77")
    #expect(row.state == .failed)
    #expect(row.errorCode == "BAD_REQUEST")
    #expect(row.cause == .failed(.rejected(code: "BAD_REQUEST", message: row.errorMessage ?? "")))
  }

  @Test func `a request refused whole for one of its records is halved until the culprit is alone`() async throws {
    transport.interfere { operation, _, body in
      guard operation == "records/modify", body.contains(#""r77""#) else { return .pass }
      return .answer(status: 400, #"{"serverErrorCode":"BAD_REQUEST","reason":"Unexpected input"}"#)
    }
    _ = try store.enqueue((0..<200).map { world.put("r\($0)", [:]) })

    let summary = try await device.sync()

    #expect(summary.sent == 199)
    #expect(try store.operations().rows.map(\.key.name) == ["r77"])
    #expect(try store.operations().rows.map(\.state) == [.failed])
    #expect(transport.count("records/modify") <= 20)
  }

  @Test func `requests too large for the server become smaller, and larger again`() async throws {
    transport.interfere { operation, _, body in
      guard operation == "records/modify", body.components(separatedBy: "operationType").count > 51 else {
        return .pass
      }
      return .answer(status: 413, "<html>too large</html>")
    }
    _ = try store.enqueue((0..<120).map { world.put("r\($0)", [:]) })
    try await device.sync()
    #expect(try store.queue() == [])

    transport.interfere(nil)
    let before = transport.count("records/modify")
    for round in 0..<40 { try store.accept(world.put("more\(round)", [:])); try await device.sync() }
    _ = try store.enqueue((0..<200).map { world.put("s\($0)", [:]) })
    let grown = transport.count("records/modify")
    try await device.sync()

    #expect(grown == before + 40)
    #expect(transport.count("records/modify") == grown + 1)
  }

  @Test func `a dead letter holds its dependants, which say who blocks them, and nobody else`() async throws {
    world.emulator.faults = FaultPlan(rules: [FaultRule(when: FaultCondition(recordName: "parent"), then: .poison)])
    let validated = FieldValue.reference(WireReference(recordName: "parent", action: "VALIDATE"))
    _ = try store.enqueue([
      world.put("child", ["parent": validated]), world.put("parent", [:]), world.put("free", [:]),
    ])

    try await device.sync()
    world.clock.advance(600)
    try await device.sync()

    let rows = try store.operations().rows
    let parent = try #require(rows.first { $0.key.name == "parent" })
    let child = try #require(rows.first { $0.key.name == "child" })
    #expect(rows.count == 2)
    #expect(parent.state == .failed)
    #expect(child.blockedBy == [parent.id])
    #expect(child.attempts == 1)
    #expect(world.onServer("free") != nil)

    world.emulator.faults = FaultPlan()
    _ = try store.perform(.retry, on: .ids([parent.id]), actor: "test")
    try await device.sync()
    #expect(try store.queue() == [])
  }

  @Test func `an atomic group goes whole, or waits whole for the member that was refused`() async throws {
    world.emulator.faults = FaultPlan(rules: [FaultRule(when: FaultCondition(recordName: "b"), then: .poison)])
    _ = try store.enqueue([world.put("a", [:]), world.put("b", [:]), world.put("c", [:])], group: "g")
    try store.accept(world.put("free", [:]))

    try await device.sync()

    #expect(try store.queue() == ["save a pending", "save b failed", "save c pending"])
    #expect(world.emulator.recordCount(in: world.server) == 1)
    #expect(try store.operation(1).attempts == 0)

    world.emulator.faults = FaultPlan()
    _ = try store.perform(.retry, on: .ids([2]), actor: "test")
    let before = transport.count("records/modify")
    try await device.sync()
    #expect(try store.queue() == [])
    #expect(transport.count("records/modify") == before + 1)
  }

  @Test func `an atomic group that is refused as a whole spends attempts and ends`() async throws {
    let world = try World { $0.assumptions.atomicFailure = .refusesRequest }
    let device = try world.device("store")
    world.emulator.faults = FaultPlan(rules: [FaultRule(when: FaultCondition(recordName: "b"), then: .poison)])
    _ = try device.store.enqueue([world.put("a", [:]), world.put("b", [:])], group: "g")

    for _ in 0..<12 {
      try await device.sync()
      world.clock.advance(600)
    }

    #expect(try device.store.operations().rows.map(\.state) == [.failed, .failed])
    #expect(device.transport.count("records/modify") == 8)
  }

  @Test func `an atomic group that is too large for the server fails with its reason`() async throws {
    transport.interfere { operation, _, _ in
      operation == "records/modify" ? .answer(status: 413, "") : .pass
    }
    _ = try store.enqueue([world.put("a", [:]), world.put("b", [:])], group: "g")

    try await device.sync()

    #expect(try store.operations().rows.map(\.state) == [.failed, .failed])
    #expect(transport.count("records/modify") == 1)
  }

  @Test func `a paused member that is paused after the plan holds its whole group`() throws {
    _ = try store.enqueue([world.put("a", [:]), world.put("b", [:])], group: "g")
    let lease = try #require(try Lease.acquire(store))
    defer { lease.release(store) }
    _ = try store.perform(.pause, on: .ids([2]), actor: "test")

    try store.execute("UPDATE zones SET state = 'ready'")
    #expect(try store.begin([1, 2], atomic: true, lease).isEmpty)
    #expect(try store.queue() == ["save a pending", "save b paused"])
    #expect(try store.begin([1, 2], lease).isEmpty)
  }

  @Test func `what has become part of a group since the plan is not sent alone`() throws {
    let id = try store.accept(world.put("a", [:]))
    let lease = try #require(try Lease.acquire(store))
    defer { lease.release(store) }
    _ = try store.enqueue([world.put("a", ["x": .int64(1)]), world.put("b", [:])], group: "g")

    try store.execute("UPDATE zones SET state = 'ready'")
    #expect(try store.begin([id], lease).isEmpty)
    #expect(try store.begin([id], atomic: true, lease).isEmpty)
    #expect(try store.begin([id, id + 1], atomic: true, lease).count == 2)
  }

  // MARK: - Zones

  @Test func `a zone is made before its changes, only once, and not again after others deleted it`() async throws {
    try store.accept(world.put("a", zone: "one", [:]))
    try store.accept(world.put("b", zone: "two", [:]))
    try await device.sync()
    try store.accept(world.put("c", zone: "one", [:]))
    try await device.sync()

    #expect(transport.count("zones/modify") == 1)
    #expect(try store.zones().map(\.state) == ["ready", "ready"])

    try world.emulator.deleteZone("one", in: world.server, at: world.clock.date)
    try store.accept(world.put("d", zone: "one", [:]))
    for _ in 0..<2 { try await device.sync() }

    #expect(transport.count("zones/modify") == 1)
    #expect(try store.heldDeletions().map(\.isWholeZone) == [true])
    #expect(try store.queue() == ["save d pending"])
    #expect(world.onServer("d", zone: "one") == nil)
  }

  @Test func `a zone can be made and deleted`() async throws {
    _ = try store.enqueueZone(ZoneKey(zone: "notes"))
    try await device.sync()
    #expect(try store.zones().map(\.state) == ["ready"])
    #expect(try store.enqueueZone(ZoneKey(zone: "notes")) == .unchanged)
    try store.accept(world.put("a", zone: "notes", [:]))
    try await device.sync()

    _ = try store.enqueueZoneDeletion(ZoneKey(zone: "notes"))
    try await device.sync()

    #expect(try store.zones() == [])
    #expect(try store.records().total == 0)
    #expect(world.emulator.recordCount(in: world.server) == 0)
    #expect(try store.queue() == [])
  }

  @Test func `a change accepted after its zone's deletion goes to a new zone`() async throws {
    try store.accept(world.put("a", zone: "notes", ["old": .int64(1), "kept": .int64(1)]))
    try await device.sync()
    _ = try store.enqueueZoneDeletion(ZoneKey(zone: "notes"))
    try store.accept(world.put("a", zone: "notes", ["new": .int64(2)]))

    try await device.sync()

    #expect(world.onServer("a", zone: "notes") == ["new": .int64(2)])
    #expect(try store.queue() == [])
    #expect(try store.mirror("a") == ["new": .int64(2)])
  }

  @Test func `what is the same as before its zone's deletion is in the new zone, too`() async throws {
    let a = world.put("a", zone: "notes", ["old": .int64(1), "kept": .int64(1)])
    let b = world.put("b", zone: "notes", ["x": .int64(1)])
    _ = try store.enqueue([a, b])
    try await device.sync()
    _ = try store.enqueueZoneDeletion(ZoneKey(zone: "notes"))
    #expect(try store.record(a.key) == nil)

    try store.accept(world.put("a", zone: "notes", ["old": .int64(2), "kept": .int64(1)]))
    try store.accept(b)
    #expect(try store.enqueue([b]) == [.unchanged])
    try await device.sync()

    #expect(world.onServer("a", zone: "notes") == ["old": .int64(2), "kept": .int64(1)])
    #expect(world.onServer("b", zone: "notes") == ["x": .int64(1)])
    #expect(try store.queue() == [])
  }

  @Test(arguments: [ConflictPolicy.server, .client, .newest, .manual], ["edit", "same", "delete", "zone"])
  func `nothing that others did in a zone that is to be deleted concerns what is put into the next`(
    policy: ConflictPolicy,
    theirs: String
  ) async throws {
    let world = try World()
    let (mine, other) = (try world.device("mine", policy: policy), try world.device("other"))
    _ = try mine.store.enqueue(["a", "b"].map { world.put($0, zone: "notes", ["x": .int64(1), "y": .int64(1)]) })
    try await mine.sync()
    try await other.sync()
    switch theirs {
    case "edit": try other.store.accept(world.put("a", zone: "notes", ["x": .int64(5)]))
    case "same": try other.store.accept(world.put("a", zone: "notes", ["x": .int64(2), "z": .int64(1)]))
    case "delete": try other.store.accept(world.delete("a", zone: "notes"))
    default: _ = try other.store.enqueueZoneDeletion(ZoneKey(zone: "notes"))
    }
    try await other.sync()
    _ = try mine.store.enqueueZoneDeletion(ZoneKey(zone: "notes"))
    _ = try mine.store.enqueue([
      world.put("a", zone: "notes", ["x": .int64(2)]), world.put("b", zone: "notes", ["x": .int64(1), "y": .int64(1)]),
    ])

    try await mine.sync()

    #expect(world.onServer("a", zone: "notes") == ["x": .int64(2)])
    #expect(world.onServer("b", zone: "notes") == ["x": .int64(1), "y": .int64(1)])
    #expect(try mine.store.queue() == [] && mine.store.dropped().isEmpty)
    #expect(try mine.store.status().heldDeletions.isEmpty)
  }

  @Test(arguments: [ConflictPolicy.server, .client])
  func `a record that is deleted and made anew stands as a whole against what others wrote, or gives way as one`(
    policy: ConflictPolicy
  ) async throws {
    let world = try World()
    let (mine, other) = (try world.device("mine", policy: policy), try world.device("other"))
    try mine.store.accept(world.put("a", ["t": .int64(1), "u": .int64(2)]))
    try await mine.sync()
    try await other.sync()
    try other.store.accept(world.put("a", ["t": .int64(50)]))
    try await other.sync()

    try mine.store.accept(world.delete("a"))
    try mine.store.accept(world.put("a", ["t": .int64(1)]))
    try await mine.sync()

    #expect(world.onServer("a") == (policy == .client ? ["t": .int64(1)] : ["t": .int64(50), "u": .int64(2)]))
    #expect(try mine.store.queue() == [])
    #expect(try mine.store.dropped().map(\.dropsChange) == [policy == .server])
  }

  @Test func `what was meant for a new zone is an edit where the zone stays after all`() async throws {
    try store.accept(world.put("a", zone: "notes", ["x": .int64(1), "y": .int64(1)]))
    try await device.sync()
    _ = try store.enqueueZoneDeletion(ZoneKey(zone: "notes"))
    try store.accept(world.put("a", zone: "notes", ["x": .int64(2)]))
    _ = try store.enqueueZone(ZoneKey(zone: "notes"))

    try await device.sync()

    let zones = try store.endings().filter { $0.hasPrefix("zone") }
    #expect(zones == ["zoneDelete  superseded", "zoneSave  acknowledged"])
    #expect(world.onServer("a", zone: "notes") == ["x": .int64(2), "y": .int64(1)])
  }

  @Test func `a throttled zone operation is not sent again before its time`() async throws {
    world.emulator.faults = FaultPlan()
    _ = try store.enqueueZone(ZoneKey(zone: "notes"))
    transport.interfere { operation, _, _ in
      operation == "zones/modify"
        ? .answer(
          status: 200,
          #"{"zones":[{"zoneID":{"zoneName":"notes"},"serverErrorCode":"THROTTLED","retryAfter":30}]}"#
        )
        : .pass
    }

    try await device.sync()
    #expect(transport.count("zones/modify") == 1)
    world.clock.advance(29)
    try await device.sync()
    #expect(transport.count("zones/modify") == 1)
    transport.interfere(nil)
    world.clock.advance(2)
    try await device.sync()

    #expect(try store.queue() == [])
  }

  // MARK: - The books

  @Test func `every accepted operation ends exactly once`() async throws {
    _ = try store.enqueue((0..<40).map { world.put("r\($0)", ["x": .int64(0)]) })
    try await device.sync()
    let other = try world.device("other")
    try await other.sync()
    _ = try other.store.enqueue((0..<20).map { world.put("r\($0)", ["x": .int64(1)]) })
    _ = try other.store.enqueue((20..<30).map { world.delete("r\($0)") })
    try await other.sync()
    world.emulator.faults = FaultPlan(
      seed: 5,
      rules: [
        FaultRule(when: FaultCondition(operation: "records/modify", every: 2), then: .dropAfterCommit),
        FaultRule(when: FaultCondition(operation: "records/modify", every: 3), then: .internalError),
      ]
    )
    _ = try store.enqueue((10..<35).map { world.put("r\($0)", ["x": .int64(2)]) })
    _ = try store.enqueue((0..<10).map { world.delete("r\($0)") })
    _ = try store.enqueue((35..<40).map { world.delete("r\($0)") })
    let accepted = try #require(store.operations().rows.last?.id)

    for _ in 0..<20 {
      try await device.sync()
      world.clock.advance(700)
    }

    #expect(try store.queue() == [])
    #expect(try store.history(limit: 1000).map(\.id).sorted() == Array(1...accepted))
  }
}

/// Lines that a test writes down from wherever it runs.
final class Recorder: Sendable {
  private let storage = Mutex<[String]>([])

  var lines: [String] { storage.withLock { $0 } }
  func record(_ line: String) { storage.withLock { $0.append(line) } }
  func record(_ lines: [String]) { storage.withLock { $0 += lines } }
}
