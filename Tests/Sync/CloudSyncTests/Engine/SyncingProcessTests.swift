import CloudKit
import CloudKitEmulator
import Dispatch
import Facts
import Foundation
import Synchronization
import Testing

@testable import CloudSync

/// The process that syncs a store, and what becomes of its work when it ends.
@Suite(.serialized, .timeLimit(.minutes(40))) struct SyncingProcessTests {
  private let world: World

  init() throws { world = try World() }

  @Test func `whoever asks a driver for a pass learns what stopped it`() throws {
    let store = try world.open("store")
    let id = try store.requestSync([])
    let lease = try #require(try Lease.acquire(store))
    _ = try store.startSync(lease)
    var summary = SyncSummary()
    summary.error = WebServicesError(.authenticationRequired, "sign in")
    try store.endSync(nil, summary, serving: [id], lease)

    guard case .finished(let told) = try store.requestState(id) else {
      Issue.record("the pass has ended")
      return
    }
    #expect(told.failure?.code == .notAuthenticated)
  }

  @Test func `a requested sync waits for nothing, and is done by the next process that syncs the store`() async throws {
    let first = try world.device("store")
    let second = try world.device("store")
    try first.store.accept(world.put("a", ["x": .int64(1)]))
    try second.engine.requestSync()
    #expect(try first.store.queue() == ["save a pending"])
    #expect(try first.store.hasSyncRequest())

    try await first.sync()
    #expect(try second.store.queue().isEmpty)
    #expect(try !second.store.hasSyncRequest())
  }

  @Test func `a driver that is replaced in the middle of a request leaves the rest to its successor`() async throws {
    let first = try world.device("store")
    let second = try world.device("store")
    try first.store.accept(world.put("a", ["x": .int64(1)]))
    let (world, store) = (world, second.store)
    let usurper = Mutex<Lease?>(nil)
    first.transport.interfere { operation, _, _ in
      guard operation == "records/modify" else { return .pass }
      world.clock.advance(6)
      usurper.withLock { $0 = try? Lease.acquire(store) }
      return .pass
    }

    let error = await #expect(throws: StoreError.self) { try await first.sync() }

    #expect(error?.kind == .fenced)
    #expect(try store.queue() == ["save a inFlight"])
    usurper.withLock { lease in
      lease?.release(store)
      lease = nil
    }
    try await second.sync()
    #expect(try store.endings() == ["save a acknowledged"])
    #expect(second.transport.count("records/modify") == 0)
    #expect(world.emulator.statistics.recordsSaved == 1)
  }

  // MARK: - Death

  @Test func `rows in flight of a dead driver are read back, sent again where need be, and end once`() async throws {
    let store = try world.open("store")
    _ = try store.enqueue((0..<4).map { world.put("r\($0)", ["x": .int64(1)]) })
    try store.execute("UPDATE zones SET state = 'ready'")
    do {
      let lease = try #require(try Lease.acquire(store))
      #expect(try store.begin([1, 2, 3], lease).count == 3)
    }
    // Two of the three had arrived.
    try world.emulator.createZone("cktop", in: world.server, at: world.clock.date)
    for name in ["r0", "r2"] {
      try world.saveOnServer(name, ["x": .int64(1)])
    }
    let device = try world.device("store")

    try await device.sync()

    #expect(try device.store.queue() == [])
    #expect(try device.store.endings().sorted() == (0..<4).map { "save r\($0) acknowledged" })
    #expect(world.emulator.statistics.recordsSaved == 4)
  }

  /// Takes the store from its driver at one write of many: to the driver's work that is the same as its death.
  private final class Death: Sendable {
    private let state = Mutex((left: 0, hasCome: false))
    private let store: SyncStore

    init(of store: SyncStore) { self.store = store }

    func come(atWrite number: Int) { state.withLock { $0.left = number } }

    func tick() {
      let isDue = state.withLock { state in
        state.left -= 1
        return state.left == 0
      }
      guard isDue else { return }
      let hasCome = try? store.write { ledger in
        guard var holder = try ledger.lease() else { return false }
        holder.fencingToken += 1
        holder.expiresAt = nil
        try ledger.put(holder, keeping: nil)
        return true
      }
      state.withLock { $0.hasCome = hasCome == true }
    }

    /// Whether it came to pass.
    func end() -> Bool { state.withLock(\.hasCome) }
  }

  @Test func `a driver may die before any of its writes, and nothing is lost or done twice`() async throws {
    var deaths = 0
    for number in 1...200 {
      let world = try World()
      let preparing = try world.device("store")
      _ = try preparing.store.enqueue([world.put("edited", ["x": .int64(0)]), world.put("deleted", [:])])
      try await preparing.sync()
      _ = try preparing.store.enqueue([
        world.put("edited", ["x": .int64(1)]), world.delete("deleted"), world.put("new", ["x": .int64(1)]),
        world.put("far", zone: "other", [:]),
      ])
      world.emulator.faults = FaultPlan(rules: [
        FaultRule(when: FaultCondition(operation: "records/modify", limit: 1), then: .dropAfterCommit)
      ])
      let death = Death(of: try world.open("store"))
      let device = try world.device("store", beforeEachWrite: { death.tick() })
      let lease = try #require(try Lease.acquire(device.store))

      death.come(atWrite: number)
      _ = try? await device.engine.runSync(lease)
      lease.release(device.store)
      guard death.end() else { break }
      deaths += 1
      world.clock.advance(10)
      let successor = try world.device("store")
      try await successor.sync()

      let store = successor.store
      #expect(try store.queue() == [], "death at write \(number)")
      #expect(world.onServer("edited") == ["x": .int64(1)])
      #expect(world.onServer("deleted") == nil)
      #expect(world.onServer("new") == ["x": .int64(1)])
      #expect(world.onServer("far", zone: "other") == [:])
      #expect(try store.count("SELECT count(*) FROM history") == 6, "death at write \(number)")
      #expect(try store.count("SELECT count(DISTINCT operationId) FROM history") == 6)
      // Each version was written once: two creations before, then an edit and two creations.
      #expect(world.emulator.statistics.recordsSaved == 5, "death at write \(number)")
    }
    #expect(deaths > 15)
    #expect(deaths < 200)
  }

  @Test func `what a dead process sent is shown as unconfirmed, also when it is discarded`() async throws {
    let mine = try world.device("mine")
    let sent = try mine.store.accept(world.put("sent", ["x": .int64(1)]))
    let other = try mine.store.accept(world.put("other", ["x": .int64(1)]))
    let lease = try #require(try Lease.acquire(mine.store))
    try mine.store.execute("UPDATE zones SET state = 'ready'")
    _ = try mine.store.begin([sent], lease)
    #expect(try mine.store.operations().rows.first?.cause == .sending)
    lease.release(mine.store)

    #expect(try mine.store.operations().rows.first?.cause == .senderEnded)
    #expect(try mine.store.detail(of: sent)?.operation?.cause == .senderEnded)
    let dry = try mine.store.perform(.discard, on: .all, dryRun: true, actor: "test")
    let done = try mine.store.perform(.discard, on: .all, actor: "test")
    #expect(dry.unconfirmed == [sent] && done.unconfirmed == [sent])
    #expect(done.changed == [sent, other])
  }

  // MARK: - Driving

  @Test func `a driver sends what another process enqueues`() async throws {
    let device = try world.device("store", pollInterval: 100_000)
    let other = try world.open("store")

    try await whileDriving(device) {
      try await eventually(other) { try other.status().lastSuccessAt != nil }
      try other.accept(world.put("a", [:]))
      try await eventually(other) { try other.queue() == [] }
    }

    #expect(world.onServer("a") == [:])
  }

  @Test func `a sleeping driver wakes at once`() async throws {
    let device = try world.device("store", pollInterval: 100_000)
    let other = try world.open("store")
    let (arrivals, continuation) = AsyncStream.makeStream(of: ContinuousClock.Instant.self)
    device.transport.interfere { operation, _, _ in
      if operation == "records/modify" { continuation.yield(.now) }
      return .pass
    }

    try await whileDriving(device) {
      try await eventually(other) { try other.count("SELECT count(*) FROM lease WHERE expiresAt IS NULL") > 0 }
      let start = ContinuousClock.now
      try other.accept(world.put("a", [:]))
      var iterator = arrivals.makeAsyncIterator()
      let arrival = try #require(await iterator.next())
      // The promise is 250 ms. A machine that runs all tests at once gets far more, and nothing else wakes this driver.
      #expect(arrival - start < .seconds(60))
      try await eventually(other) { try other.queue() == [] }
    }
  }

  @Test func `a pass that another process asks for is made by the driver and reported as one's own`() async throws {
    let driver = try world.device("store", pollInterval: 100_000)
    let asking = try world.device("store")
    let theirs = try world.device("theirs")

    try await whileDriving(driver) {
      try await eventually(asking.store) { try asking.store.status().lastSuccessAt != nil }
      _ = try theirs.store.enqueue((0..<3).map { world.put("r\($0)", [:]) })
      try await theirs.sync()

      let summary = try await asking.sync()

      #expect(summary.fetched == 3)
      #expect(summary.reachedEnd)
    }
    #expect(asking.transport.total == 0)
  }

  @Test func `who waits for a dead driver's pass makes it himself`() async throws {
    let (dying, asking) = (try world.open("store"), try world.device("store"))
    let lease = try #require(try Lease.acquire(dying))
    _ = try dying.requestSync([])
    _ = try dying.startSync(lease)
    try asking.store.accept(world.put("a", [:]))

    let pass = Task { try await asking.sync() }
    try await eventually(dying) { try dying.count("SELECT count(*) FROM syncRequests") == 2 }
    lease.release(dying)
    let summary = try await pass.value

    #expect(summary.sent == 1)
    #expect(asking.transport.total > 0)
  }

  @Test func `who finds the driver silent takes its place`() async throws {
    let (silent, asking) = (try world.open("store"), try world.device("store"))
    let lease = try #require(try Lease.acquire(silent))
    try lease.rest(silent)

    let pass = Task { try await asking.sync() }
    try await eventually(silent) { try silent.hasSyncRequest() }
    world.clock.advance(6)
    let summary = try await pass.value

    #expect(summary.reachedEnd)
    #expect(throws: StoreError.self) { try lease.renew(silent) }
  }

  @Test func `a driver that is cancelled lets the store go`() async throws {
    let device = try world.device("store", pollInterval: 100_000)
    try await whileDriving(device) {
      try await eventually(device.store) { try device.store.status().lastSuccessAt != nil }
    }

    #expect(try Lease.acquire(world.open("store")) != nil)
  }

  @Test func `a second driver waits and goes on when the first has ended`() async throws {
    let second = try world.device("store", pollInterval: 100_000)
    let first = try world.open("store")
    let lease = try #require(try Lease.acquire(first))

    try await whileDriving(second) {
      lease.release(first)
      try await eventually(first) { try first.status().lastSuccessAt != nil }
    }

    #expect(second.transport.total > 0)
  }

  @Test func `who stands by takes over after a driver's death, of which nobody tells`() async throws {
    let second = try world.device("store", pollInterval: 100_000)
    let first = try world.open("store")
    var lease = try Lease.acquire(first)
    try lease?.rest(first)

    try await whileDriving(second) {
      // As when the process ends: the kernel closes the file.
      lease = nil
      try await eventually(first) { try first.status().lastSuccessAt != nil }
    }

    #expect(second.transport.total > 0)
  }

  @Test func `who stands by takes over from a driver that sleeps on while there is work`() async throws {
    let second = try world.device("store", pollInterval: 100_000)
    let first = try world.open("store")
    let stopped = try #require(try Lease.acquire(first))
    try stopped.rest(first)

    try await whileDriving(second) {
      try first.accept(world.put("a", [:]))
      try await eventually(first) { try first.queue() == [] }
    }

    #expect(throws: StoreError.self) { try stopped.renew(first) }
    #expect(world.onServer("a") == [:])
  }

  @Test func `who stands by takes over from a driver that does not wake when it said it would`() async throws {
    let second = try world.device("store", pollInterval: 100_000)
    let first = try world.open("store")
    let stopped = try #require(try Lease.acquire(first))
    try stopped.rest(first, until: world.clock.now + 1)
    world.clock.advance(1)

    try await whileDriving(second) { try await eventually(first) { try first.status().lastSuccessAt != nil } }

    #expect(throws: StoreError.self) { try stopped.renew(first) }
  }

  @Test func `who stands by leaves a driver alone that sleeps with nothing to do, and one that works`() async throws {
    let second = try world.device("store", pollInterval: 100_000)
    let first = try world.open("store")
    let lease = try #require(try Lease.acquire(first))
    try lease.rest(first, until: world.clock.now + 1_000_000)
    let standBy = Task { try await second.engine.standBy() }
    for _ in 0..<20 {
      try lease.renew(first)
      try lease.rest(first, until: world.clock.now + 1_000_000)
    }

    standBy.cancel()

    #expect(try await standBy.value == nil)
    try lease.renew(first)
  }

  @Test func `a driver goes on by itself when a back-off is over`() async throws {
    let device = try world.device("store", pollInterval: 100_000)
    let element = #"{"records":[{"recordName":"a","serverErrorCode":"INTERNAL_ERROR"}]}"#
    device.transport.interfere { operation, number, _ in
      operation == "records/modify" && number == 1 ? .answer(status: 200, element) : .pass
    }
    try device.store.accept(world.put("a", [:]))

    try await whileDriving(device) {
      try await eventually(device.store) { try device.store.status().queue.waiting == 1 }
      world.clock.advance(1)
      try await eventually(device.store) { try device.store.queue() == [] }
    }
  }

  @Test func `a driver that may not ask the server writes nothing while it waits`() async throws {
    let device = try world.device("store", pollInterval: 100_000)
    try await device.sync()
    _ = try device.store.pause([.everything], actor: "test")
    let other = try world.open("store")

    try await whileDriving(device) {
      try await eventually(other) {
        try other.count("SELECT count(*) FROM lease WHERE expiresAt IS NULL AND fencingToken > 1") > 0
      }
      try other.accept(world.put("a", [:]))
      #expect(try other.queue() == ["save a pending"])
      _ = try other.resumeAll(actor: "test")
      try await eventually(other) { try other.queue() == [] }
    }
  }

  // MARK: - The watch

  @Test func `a write of another connection is noticed`() async throws {
    let (watching, writing) = (try world.open("store"), try world.open("store"))
    let (writes, continuation) = AsyncStream.makeStream(of: Void.self)
    let watcher = try #require(StoreWatcher(watching, queue: .global()) { continuation.yield() })
    defer { _ = watcher }

    try writing.accept(world.put("a", [:]))

    var iterator = writes.makeAsyncIterator()
    #expect(await iterator.next() != nil)
  }

  @Test func `a wake-up that comes before the sleep ends it`() async {
    let wakeup = Wakeup()

    wakeup.wake()
    await wakeup.sleep(nil)
    Task { wakeup.wake() }
    await wakeup.sleep(nil)
    await wakeup.sleep(.milliseconds(1))
    let sleeper = Task { await wakeup.sleep(nil) }
    sleeper.cancel()
    await sleeper.value
  }
}
