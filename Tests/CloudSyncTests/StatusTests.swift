import CloudKit
import CloudKitEmulator
import Foundation
import Testing

@testable import CloudSync

/// From facts to one word: the truth table of `status`.
@Suite(.serialized) struct StatusTests {
  private static func status(_ change: (inout StoreStatus) -> Void) -> StoreStatus {
    var status = StoreStatus(generatedAt: 100)
    status.lastSuccessAt = 50
    status.reachedEnd = true
    change(&status)
    status.derive()
    return status
  }

  private static func throttle(_ scope: String, until: Int64 = 200, isOwn: Bool = false) -> StoreStatus.Throttle {
    StoreStatus.Throttle(scope: scope, until: until, error: "THROTTLED", message: "", isOwn: isOwn)
  }

  @Test func `everything sent and read is idle and in sync`() {
    let status = Self.status { _ in }

    #expect(status.state == .idle)
    #expect(status.reason == "everything is sent")
    #expect(status.isInSync)
  }

  @Test func `what a driver that is gone had sent is not called sent`() {
    let status = Self.status { status in
      status.queue.total = 2
      status.queue.inFlight = 2
    }

    #expect(status.state == .idle)
    #expect(status.reason == "2 unconfirmed")
    #expect(!status.isInSync)
  }

  @Test func `each fact alone decides the state, and none but the first two leave it in sync`() {
    let problem = StoreStatus.Failure(code: "AUTHENTICATION_FAILED", message: "no", at: 1)
    let cases: [(String, StoreStatus.State, Bool, (inout StoreStatus) -> Void)] = [
      ("sending", .sending, true, { $0.state = .sending }),
      ("fetching", .fetching, true, { $0.state = .fetching }),
      ("paused", .paused, false, { $0.pauses = [Pause(rule: .everything, at: 0)] }),
      ("account", .error, false, { $0.accountProblem = problem }),
      (
        "network", .offline, false,
        {
          $0.throttles = [Self.throttle("network")]; $0.reachedEnd = false
        }
      ),
      (
        "database", .waiting, false,
        {
          $0.throttles = [Self.throttle("database")]; $0.reachedEnd = false
        }
      ),
      (
        "standing error", .error, false,
        {
          $0.errorStands = true; $0.lastError = problem
        }
      ),
      (
        "pending", .idle, false,
        {
          $0.queue.total = 1; $0.queue.pending = 1
        }
      ),
      (
        "back-off", .waiting, false,
        {
          $0.queue.total = 1; $0.queue.waiting = 1
        }
      ),
      (
        "failed", .idle, false,
        {
          $0.queue.total = 1; $0.queue.failed = 1
        }
      ),
      (
        "conflict", .idle, false,
        {
          $0.queue.total = 1; $0.queue.conflicts = 1
        }
      ),
      (
        "all paused", .paused, false,
        {
          $0.queue.total = 1; $0.queue.paused = 1
        }
      ),
      (
        "held zone", .waiting, false,
        {
          $0.queue.total = 1
          $0.queue.pending = 1
          $0.throttles = [Self.throttle("zone:notes")]
        }
      ),
      (
        "never synced", .idle, false,
        {
          $0.lastSuccessAt = nil; $0.reachedEnd = false
        }
      ),
      ("enqueued since", .idle, false, { $0.lastEnqueueAt = 51 }),
      ("last pass cut short", .idle, false, { $0.reachedEnd = false }),
    ]
    for (name, state, isInSync, change) in cases {
      let status = Self.status(change)

      #expect(status.state == state, "\(name)")
      #expect(status.isInSync == isInSync, "\(name)")
      #expect(!status.reason.isEmpty, "\(name)")
    }
  }

  @Test func `the worst fact names the state`() {
    let problem = StoreStatus.Failure(code: "X", message: "no", at: 1)
    var facts: [(inout StoreStatus) -> Void] = [
      { $0.pauses = [Pause(rule: .everything, at: 0)] },
      { $0.accountProblem = problem },
      { $0.throttles = [Self.throttle("network"), Self.throttle("database")] },
      { $0.state = .sending },
      {
        $0.errorStands = true; $0.lastError = problem
      },
      { $0.throttles = [Self.throttle("database")] },
      {
        $0.queue.total = 2; $0.queue.waiting = 1
      },
    ]
    var states: [StoreStatus.State] = []
    while !facts.isEmpty {
      states.append(Self.status { status in for fact in facts.reversed() { fact(&status) } }.state)
      facts.removeFirst()
    }

    #expect(states == [.paused, .error, .offline, .sending, .error, .waiting, .waiting])
  }

  @Test func `a wait is shown with its end`() {
    #expect(Self.status { $0.throttles = [Self.throttle("database")] }.nextActionAt == 200)
    #expect(Self.status { $0.throttles = [Self.throttle("network")] }.nextActionAt == 200)
    let own = Self.status { $0.throttles = [Self.throttle("database", isOwn: true)] }
    #expect(own.reason == "THROTTLED: waiting to retry")
  }

  // MARK: - From a store

  @Test func `a new store is idle, empty and not in sync`() throws {
    let world = try World()
    let status = try world.open("store").status()

    #expect(status.state == .idle)
    #expect(status.reason == "never synced")
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

    #expect(try store.status().driver == nil)
    let lease = try #require(try Lease.acquire(store))
    #expect(try store.status().driver?.isLive == true)
    #expect(try store.status().driver?.pid == Int64(ProcessInfo.processInfo.processIdentifier))
    lease.release(store)
    #expect(try store.status().driver?.isLive == false)
  }
}
