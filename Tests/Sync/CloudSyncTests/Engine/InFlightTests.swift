import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization
import Testing

@testable import CloudSync

/// Operations in flight: edits that meet them, and replies that are lost.
@Suite(.serialized) struct InFlightTests {
  private let world: World
  private let device: TestDevice
  private var store: SyncStore { device.store }
  private var transport: TestTransport { device.transport }

  init() throws {
    world = try World()
    device = try world.device("store")
  }

  /// Calls `body` while the first `records/modify` is on its way.
  private func whileInFlight(
    _ result: Interference = .pass,
    on transport: TestTransport? = nil,
    _ body: @escaping @Sendable () -> Void
  ) {
    let transport = transport ?? self.transport
    let first = transport.count("records/modify") + 1
    transport.interfere { operation, number, _ in
      guard operation == "records/modify", number == first else { return .pass }
      body()
      return result
    }
  }

  @Test func `an edit in flight stays in flight, and is sent after it`() async throws {
    let (store, world) = (store, world)
    let seen = Recorder()
    try store.accept(world.put("a", ["sent": .int64(1), "both": .int64(1)]))
    whileInFlight {
      _ = try? store.enqueue([world.put("a", ["both": .int64(2), "late": .int64(2)])])
      seen.record((try? store.operations().rows.map(\.state.rawValue)) ?? [])
    }

    try await device.sync()

    #expect(seen.lines == ["inFlight"])
    #expect(world.onServer("a") == ["sent": .int64(1), "both": .int64(2), "late": .int64(2)])
    #expect(transport.count("records/modify") == 2)
    #expect(transport.bodies("records/modify").last?.contains("sent") == false)
    #expect(try store.endings() == ["save a acknowledged"])
  }

  @Test func `what remains of an edit in flight is based on what was sent`() throws {
    let id = try store.accept(world.put("a", ["sent": .int64(1), "both": .int64(1)]))
    let lease = try #require(try Lease.acquire(store))
    defer { lease.release(store) }
    try store.execute("UPDATE zones SET state = 'ready'")
    let sent = try store.begin([id], lease)
    try store.accept(world.put("a", ["both": .int64(2), "late": .int64(2)]))
    let saved = MirrorRecord(
      key: world.key("a"),
      type: "Note",
      changeTag: "1",
      fields: ["sent": .int64(1), "both": .int64(1)]
    )

    _ = try store.finish(sent, [id: .saved(saved)], seconds: 0, policy: MergePolicy(.server), random: 0, lease)

    let operation = try store.operation(id)
    #expect(operation.state == .pending)
    #expect(operation.changes == FieldChanges(values: ["both": .int64(2), "late": .int64(2)]))
    #expect(operation.base == ["both": .int64(1)])
    #expect(operation.baseTag == "1")
    #expect(try store.endings() == [])
  }

  @Test func `a delete in flight of a creation is sent after it`() async throws {
    let (store, world) = (store, world)
    try store.accept(world.put("a", ["x": .int64(1)]))
    whileInFlight { _ = try? store.enqueue([world.delete("a")]) }

    try await device.sync()

    #expect(world.onServer("a") == nil)
    #expect(try store.queue() == [])
    #expect(transport.count("records/modify") == 2)
  }

  @Test func `a record deleted and made anew in flight has nothing of the old one`() async throws {
    let (store, world) = (store, world)
    try store.accept(world.put("a", ["old": .int64(1)]))
    whileInFlight {
      _ = try? store.enqueue([world.delete("a")])
      _ = try? store.enqueue([world.put("a", ["new": .int64(2)])])
    }

    try await device.sync()

    #expect(world.onServer("a") == ["new": .int64(2)])
    #expect(try store.mirror("a") == ["new": .int64(2)])
  }

  @Test func `a save in flight of a delete makes the record anew`() async throws {
    let (store, world) = (store, world)
    try store.accept(world.put("a", ["old": .int64(1)]))
    try await device.sync()
    try store.accept(world.delete("a"))
    whileInFlight { _ = try? store.enqueue([world.put("a", ["new": .int64(2)])]) }

    try await device.sync()

    #expect(world.onServer("a") == ["new": .int64(2)])
  }

  // MARK: - Lost answers

  @Test func `a lost answer after the commit is read back, and nothing is written twice`() async throws {
    try store.accept(world.put("a", ["x": .int64(1)]))
    whileInFlight(.answerLost) {}

    try await device.sync()

    #expect(try store.queue() == [])
    #expect(try store.endings() == ["save a acknowledged"])
    #expect(transport.count("records/modify") == 1)
    #expect(transport.count("records/lookup") == 1)
    #expect(world.emulator.statistics.recordsSaved == 1)
    #expect(
      try store.records(named: "a").first?.changeTag
        == world.emulator.record("a", in: world.server, zone: "cktop")?.changeTag
    )
  }

  @Test func `a request that was lost before the commit is read back and sent again`() async throws {
    try store.accept(world.put("a", ["x": .int64(1)]))
    whileInFlight(.lost) {}

    try await device.sync()

    #expect(try store.endings() == ["save a acknowledged"])
    #expect(transport.count("records/modify") == 2)
    #expect(world.emulator.statistics.recordsSaved == 1)
  }

  @Test func `a delete whose answer was lost ends by reading back`() async throws {
    try store.accept(world.put("a", ["x": .int64(1)]))
    try await device.sync()
    try store.accept(world.delete("a"))
    whileInFlight(.answerLost) {}

    try await device.sync()

    #expect(try store.endings() == ["save a acknowledged", "delete a acknowledged"])
    #expect(transport.count("records/modify") == 2)
    #expect(world.onServer("a") == nil)
  }

  @Test(arguments: ConflictPolicy.allCases)
  func `an edit in flight survives a lost answer under every policy`(_ policy: ConflictPolicy) async throws {
    let world = try World()
    let device = try world.device("store", policy: policy)
    let store = device.store
    try store.accept(world.put("a", ["x": .int64(1)]))
    try await device.sync()
    try store.accept(world.put("a", ["x": .int64(2)]))
    whileInFlight(.answerLost, on: device.transport) {
      _ = try? store.enqueue([world.put("a", ["x": .int64(3)])])
    }

    try await device.sync()

    #expect(world.onServer("a") == ["x": .int64(3)])
    #expect(try store.queue() == [])
  }

  @Test(arguments: ConflictPolicy.allCases)
  func `a delete in flight survives a lost answer under every policy`(_ policy: ConflictPolicy) async throws {
    let world = try World()
    let device = try world.device("store", policy: policy)
    let store = device.store
    try store.accept(world.put("a", ["x": .int64(1)]))
    try await device.sync()
    try store.accept(world.put("a", ["x": .int64(2)]))
    whileInFlight(.answerLost, on: device.transport) { _ = try? store.enqueue([world.delete("a")]) }

    try await device.sync()

    #expect(world.onServer("a") == nil)
    #expect(try store.queue() == [])
  }

  @Test(arguments: ConflictPolicy.allCases)
  func `a record made anew while its delete is in flight survives a lost answer`(_ policy: ConflictPolicy) async throws
  {
    let world = try World()
    let device = try world.device("store", policy: policy)
    let store = device.store
    try store.accept(world.put("a", ["x": .int64(1)]))
    try await device.sync()
    try store.accept(world.delete("a"))
    whileInFlight(.answerLost, on: device.transport) {
      _ = try? store.enqueue([world.put("a", ["y": .int64(2)])])
    }

    try await device.sync()

    #expect(world.onServer("a") == ["y": .int64(2)])
    #expect(try store.queue() == [])
  }
}
