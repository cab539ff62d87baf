import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CloudSync

/// Since when the holder of a lease is proven to live.
struct ProofOfLifeTests {
  private let life = ProofOfLife(since: 100)

  private func prove(at now: Int64, isLate: Bool = false) {
    life.look(at: now) { isLate }
    life.confirm(at: now)
  }

  @Test func `frequent proofs leave no break, and nothing is asked`() {
    for now in stride(from: Int64(100), through: 80_100, by: 8_000) {
      life.look(at: now) {
        Issue.record("asked at \(now)")
        return true
      }
      life.confirm(at: now)
    }
    #expect(life.since == 100)
  }

  @Test func `a process that was late is proven to live from then on`() {
    prove(at: 20_000, isLate: false)
    #expect(life.since == 100)
    prove(at: 50_000, isLate: true)
    #expect(life.since == 50_000)
    prove(at: 51_000, isLate: true)
    #expect(life.since == 50_000)
  }

  @Test func `what is not committed proves nothing`() {
    life.look(at: 9_000) { true }
    // The transaction failed; the next one is late, too.
    life.look(at: 10_000) { true }
    #expect(life.since == 10_000)
    life.confirm(at: 10_000)
    #expect(life.since == 10_000)
  }

  @Test func `a break stays if another transaction begins before the one that found it is confirmed`() {
    prove(at: 5_000)
    life.look(at: 60_000) { true }
    // The first transaction has extended the lease, so the second one does not find the process late.
    life.look(at: 60_010) { false }
    #expect(life.since == 60_000)
    life.confirm(at: 60_000)
    life.confirm(at: 60_010)
    #expect(life.since == 60_000)
  }

  @Test func `a clock that was moved back is asked about`() {
    prove(at: 50, isLate: true)
    #expect(life.since == 50)
  }
}

/// Situations of a syncing process: what a look at them says, and what the history says of them at once, after the next
/// sync, and after a day.
struct PastVerdictTests {
  private let world: World
  private let store: SyncStore
  private let began: Int64

  init() throws {
    world = try World()
    store = try world.open("store")
    began = world.clock.now
  }

  private func history(until end: Int64) throws -> [VerdictSpan] {
    try store.view { try $0.verdictHistory(from: 0, to: end) }
  }

  /// The verdicts that the history has for a time, as what held at its beginning, middle and end.
  private func states(_ from: Int64, _ until: Int64) throws -> [VerdictState?] {
    let spans = try history(until: .max)
    return [from, (from + until) / 2, until - 1].map { time in
      spans.first { $0.from <= time && time < $0.until }?.state
    }
  }

  /// A process that has synced, is idle, and polls again after 30 seconds.
  private func idle() async throws -> Lease {
    let device = try world.device("store")
    try await device.sync()
    let lease = try #require(try Lease.acquire(store))
    try store.noteSyncing(.started, lease)
    try lease.rest(store, until: world.clock.now + 30_000, pollInterval: 30_000)
    return lease
  }

  /// A poll that finds nothing, and the rest after it.
  private func poll(_ lease: Lease) throws {
    try store.write(lease) { _, _ in }
    try lease.rest(store, until: world.clock.now + 30_000, pollInterval: 30_000)
  }

  /// Checks that the history of a time is the same at once, after the next sync, and after a day.
  private func expectAlways(_ from: Int64, _ until: Int64, _ states: [VerdictState?], next: () async throws -> Void)
    async throws
  {
    #expect(try self.states(from, until) == states, "at once")
    try await next()
    #expect(try self.states(from, until) == states, "after the next sync")
    world.clock.advance(86_400)
    #expect(try self.states(from, until) == states, "after a day")
  }

  private func nextSync() async throws {
    let device = try world.device("store")
    try await device.sync()
  }

  @Test func `an idle process that polls in time is in sync throughout`() async throws {
    let lease = try await idle()
    let start = world.clock.now
    for _ in 1...4 {
      world.clock.advance(30)
      try poll(lease)
    }
    try await expectAlways(start, world.clock.now, [.inSync, .inSync, .inSync]) {
      world.clock.advance(30)
      try poll(lease)
    }
  }

  @Test func `a process that hung with a change waiting was not in sync then, also when it goes on`() async throws {
    let lease = try await idle()
    world.clock.advance(5)
    try store.accept(world.put("a", [:]))
    let start = world.clock.now
    world.clock.advance(60)
    try await expectAlways(start, start + 50_000, [nil, nil, nil]) {
      // It continues, and its verdict is the same as before.
      _ = try store.perform(.discard, on: .all, actor: "test")
      try poll(lease)
    }
  }

  @Test func `a process that missed its poll is in sync until its last sign of life`() async throws {
    let lease = try await idle()
    let start = world.clock.now
    world.clock.advance(90)
    try await expectAlways(start, start + 80_000, [nil, nil, nil]) { try poll(lease) }
    #expect(try states(start - 1, start).allSatisfy { $0 == .inSync || $0 == nil })
  }

  @Test func `a process that was killed for a moment leaves a gap that the next sync keeps`() async throws {
    let lease = try await idle()
    world.clock.advance(10)
    // As the kernel does when the process ends.
    lease.letGo()
    try store.accept(world.put("a", [:]))
    let start = world.clock.now
    world.clock.advance(20)
    try await expectAlways(start, start + 19_000, [nil, nil, nil]) { try await nextSync() }
  }

  @Test func `a decision counts from its own time on`() async throws {
    let lease = try await idle()
    world.clock.advance(3)
    _ = try store.pause([.everything], actor: "test")
    let decided = world.clock.now
    world.clock.advance(2)
    #expect(try states(decided - 2_000, decided) == [.inSync, .inSync, .inSync])
    #expect(try states(decided, decided + 2_000) == [.paused, .paused, .paused])

    world.clock.advance(2)
    _ = try store.resumeAll(actor: "test")
    let resumed = world.clock.now
    world.clock.advance(10)
    try await expectAlways(decided, resumed, [.paused, .paused, .paused]) { try poll(lease) }
    #expect(try states(resumed, resumed + 10_000) == [.inSync, .inSync, .inSync])
  }

  @Test func `a decision without a syncing process does not say that one lives`() async throws {
    let lease = try await idle()
    lease.letGo()
    world.clock.advance(60)
    let start = world.clock.now
    _ = try store.pause([.everything], actor: "test")
    world.clock.advance(10)
    try await expectAlways(start - 30_000, start + 9_000, [nil, nil, nil]) { try await nextSync() }
  }
}

/// A process that was stopped, after another one took over and ended.
struct StoppedProcessTests {
  private let world: World
  private let store: SyncStore

  init() throws {
    world = try World()
    store = try world.open("store")
  }

  @Test func `one that ended is no syncing process although a stopped one keeps the lock`() throws {
    let stopped = try #require(try Lease.acquire(store))
    world.clock.advance(60)
    let next = try #require(try Lease.acquire(store))
    #expect(try store.read(store.hasEngine))
    next.release(store)

    #expect(try !store.read(store.hasEngine))
    #expect(try store.status().syncingProcess?.isLive == false)
    // It holds its lock, and sees that it lost the lease.
    #expect(throws: StoreError.self) { try stopped.renew(store) }
    stopped.letGo()
    #expect(try Lease.acquire(store) != nil)
  }
}

/// A clock that is set while a process syncs.
struct SetClockTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  @Test func `a clock that is set ahead makes no process late and no sync old`() throws {
    // The time, and the part of it by which the clock was set ahead.
    let time = Mutex<(now: Int64, ahead: Int64)>((1_000_000, 0))
    let store = try SyncStore(
      SQLiteStorage(path: folder.path("store.sqlite")),
      scope: SyncStore.Scope(container: "iCloud.test", environment: "development", database: .private),
      now: { time.withLock { $0.now + $0.ahead } },
      clockOffset: { time.withLock(\.ahead) }
    )
    let lease = try #require(try Lease.acquire(store))
    try store.write(lease) { ledger, now in
      try ledger.changeActivity { ($0.lastSuccessAt, $0.reachedEnd) = (now, true) }
    }
    try lease.rest(store, until: store.now() + 30_000, pollInterval: 30_000)
    #expect(try store.status().isInSync)

    time.withLock { $0.ahead += 7_200_000 }
    #expect(try store.status().syncingProcess?.stalledSince == nil)
    #expect(try store.status().isInSync)
    #expect(try Lease.acquire(store) == nil)
    let (ahead, start) = (store.now(), store.now() - 7_200_000)
    try store.write(lease) { _, _ in }
    #expect(lease.life.since == start)

    // It is judged by its own time as before.
    try lease.rest(store, until: store.now() + 30_000, pollInterval: 30_000)
    time.withLock { $0.now += 38_001 }
    #expect(try store.status().syncingProcess?.stalledSince == ahead)
  }
}
