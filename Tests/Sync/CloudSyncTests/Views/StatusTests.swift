import CloudKit
import CloudKitEmulator
import Foundation
import Testing

@testable import CloudSync

/// The status as a store has it. `VerdictTests` has the verdicts.
@Suite(.serialized) struct StatusTests {
  @Test func `the next request is made after the longest wait that stops all, else after the shortest`() {
    func next(_ waits: [(WaitScope, Int64)], retryAt: Int64? = nil) -> Int64? {
      var status = StoreStatus(generatedAt: 100)
      status.nextRetryAt = retryAt
      status.throttles = waits.map {
        ScopeWait(scope: $0, until: $1, code: "THROTTLED", message: "", isOwn: false, since: 0)
      }
      return status.nextActionAt
    }
    #expect(next([]) == nil)
    #expect(next([], retryAt: 300) == 300)
    #expect(next([(.database, 200), (.network, 400)], retryAt: 300) == 400)
    let zones = ["a", "b"].map { WaitScope.zone(ZoneKey(zone: $0)) }
    #expect(next([(zones[0], 200), (zones[1], 400)], retryAt: 300) == 200)
  }

  // MARK: - From a store

  @Test func `a new store is idle, empty and not in sync`() throws {
    let world = try World()
    let status = try world.open("store").status()

    #expect(status.state == .idle)
    #expect(status.verdict(hasCredential: true) == .neverSynced(hasStore: true))
    #expect(!status.isInSync)
    #expect(status.queue == StoreStatus.Queue())
  }

  @Test func `a pass makes it in sync, a change ends that, the next pass restores it`() async throws {
    let world = try World()
    let device = try world.device("store")
    try await device.sync()
    #expect(try device.store.status().isInSync)

    world.clock.advance(1)
    try device.store.accept(world.put("a", [:]))
    #expect(try !device.store.status().isInSync)

    world.clock.advance(1)
    try await device.sync()
    let status = try device.store.status()
    #expect(status.isInSync)
    #expect(status.lastSuccessAt == world.clock.now)
    #expect(status.recordsByType == ["Note": 1])
    #expect(status.recordsByZone == ["cktop": 1])
  }

  @Test func `a pass that failed is not in sync, not even when its wait is over`() async throws {
    let world = try World()
    let device = try world.device("store")
    try await device.sync()
    world.emulator.isOffline = true
    world.clock.advance(1)

    try await device.sync()
    #expect(try device.store.status().state == .offline)
    world.clock.advance(3600)

    #expect(try device.store.status().state == .idle)
    #expect(try !device.store.status().isInSync)
    world.emulator.isOffline = false
    try await device.sync()
    #expect(try device.store.status().isInSync)
  }

  @Test func `a change accepted while the feeds are read for the last time is not in sync`() async throws {
    let world = try World()
    let device = try world.device("store")
    try await device.sync()
    let store = device.store
    device.transport.interfere { operation, number, _ in
      guard operation == "changes/database", number == 2 else { return .pass }
      world.clock.advance(1)
      _ = try? store.enqueue([world.put("a", [:])])
      // Ended at once, so that the queue is empty when the pass ends.
      _ = try? store.enqueue([world.delete("a")])
      return .pass
    }

    try await device.sync()

    #expect(try store.status().queue.total == 0)
    #expect(try !store.status().isInSync)
  }

  /// Found by simulation, seed 2175.
  @Test func `a clock that is set back does not keep a store from being in sync`() async throws {
    let world = try World()
    let device = try world.device("mine")
    try device.store.accept(world.put("a", [:]))
    world.clock.advance(-86_400)

    try await device.sync()
    try await device.sync()

    #expect(try device.store.status().isInSync)
  }

  @Test func `counts and bytes are those of the queue`() throws {
    let world = try World()
    let store = try world.open("store")
    _ = try store.enqueue((1...4).map { world.put("r\($0)", ["text": .string("x")]) })
    world.clock.advance(1)
    try store.execute("UPDATE operations SET state = 'failed' WHERE id = 1")
    try store.execute("UPDATE operations SET state = 'waiting', nextAttemptAt = 5 WHERE id = 2")

    let queue = try store.status().queue
    #expect(queue.total == 4)
    #expect(queue.pending == 2)
    #expect(queue.failed == 1)
    #expect(queue.waiting == 1)
    #expect(queue.retryable == 2)
    #expect(queue.oldestPendingAt == world.clock.now - 1000)
    #expect(queue.bytes == (try store.operations().rows.reduce(0) { $0 + $1.bytes }))
  }

  @Test func `the queue in words counts one conflict and two conflicts`() {
    let queue = { StoreStatus.Queue(pending: 2, failed: 1, conflicts: $0).words }

    #expect(queue(0) == "2 pending, 1 failed")
    #expect(queue(1) == "2 pending, 1 failed, 1 conflict")
    #expect(queue(24) == "2 pending, 1 failed, 24 conflicts")
  }

  @Test func `the age of what is unsent leaves out what a person paused or decides about`() throws {
    let world = try World()
    let store = try world.open("store")
    let start = world.clock.now
    for (place, (name, zone, type)) in [
      ("failed", "a", "Note"), ("single", "a", "Note"), ("zone", "paused", "Note"), ("type", "a", "Paused"),
      ("sent", "a", "Note"), ("next", "a", "Note"),
    ].enumerated() {
      world.clock.advance(to: start + Int64(place) * 1000)
      try store.accept(world.put(name, zone: zone, type: type, [:]))
    }
    func oldest() throws -> Int64? { try store.view { try $0.oldestUnsentAt($0.status()) }.map { $0 - start } }
    #expect(try oldest() == 0)
    try store.execute("UPDATE operations SET state = 'failed' WHERE name = 'failed'")
    #expect(try oldest() == 1000)
    try store.execute("UPDATE operations SET state = 'paused' WHERE name = 'single'")
    #expect(try oldest() == 2000)
    try store.pause(.zone(ZoneKey(zone: "paused")), actor: "ana")
    #expect(try oldest() == 3000)
    try store.pause(.type("Paused"), actor: "ana")
    #expect(try oldest() == 4000)
    try store.execute("UPDATE operations SET state = 'waiting', nextAttemptAt = 5 WHERE name = 'sent'")
    #expect(try oldest() == 4000)
    try store.execute("DELETE FROM operations WHERE name IN ('sent', 'next')")
    #expect(try oldest() == nil)
    try store.pause(.everything, actor: "ana")
    #expect(try oldest() == nil)
  }

  @Test func `records are counted with pending edits laid over them`() async throws {
    let world = try World()
    let device = try world.device("store")
    _ = try device.store.enqueue((1...3).map { world.put("r\($0)", [:]) })
    try await device.sync()
    try device.store.accept(world.delete("r1"))
    try device.store.accept(world.put("r2", ["x": .int64(1)]))
    try device.store.accept(world.put("new", type: "Task", [:]))

    #expect(try device.store.status().recordsByType == ["Note": 2, "Task": 1])
    #expect(try device.store.records().total == 3)
  }

  @Test func `looking does not stand in the way of driving`() throws {
    let world = try World()
    let store = try world.open("store")

    #expect(try store.status().syncingProcess == nil)
    let lease = try #require(try Lease.acquire(store))
    #expect(try store.status().syncingProcess?.isLive == true)
    #expect(try store.status().syncingProcess?.pid == Int64(ProcessInfo.processInfo.processIdentifier))
    lease.release(store)
    #expect(try store.status().syncingProcess?.isLive == false)
  }
}
