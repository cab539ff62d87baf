import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import Testing

@testable import CloudSync

/// Clocks that are set back after a wait has begun.
@Suite(.serialized) struct ClockSetBackTests {
  private let world: World
  private let device: TestDevice

  init() throws {
    world = try World()
    device = try world.device("store")
  }

  @Test func `a wait that was noted by a clock hours ahead is as long as the server asked, and no longer`() async throws
  {
    try await device.sync()
    world.clock.advance(7200)
    device.transport.interfere { operation, _, _ in
      operation == "changes/database"
        ? .answer(status: 429, #"{"serverErrorCode":"THROTTLED","reason":"wait","retryAfter":30}"#) : .pass
    }
    try device.store.accept(world.put("a", [:]))
    try await device.sync()
    #expect(try device.store.status().state == .waiting)
    device.transport.interfere(nil)

    world.clock.advance(-7200)
    try await device.sync()
    #expect(world.onServer("a") == nil, "the server's wait is begun anew, not forgotten")
    world.clock.advance(34)
    try await device.sync()

    #expect(world.onServer("a") != nil)
    #expect(try device.store.events(limit: 50).contains { $0.event == .clockMovedBack(seconds: 7200) })
  }

  @Test func `an item's wait is shortened likewise, and one that is noted after the change is left alone`() async throws
  {
    let answer = #"{"records":[{"recordName":"a","serverErrorCode":"INTERNAL_ERROR","reason":"no","retryAfter":60}]}"#
    try device.store.accept(world.put("first", [:]))
    try await device.sync()
    world.clock.advance(7200)
    device.transport.interfere { operation, _, _ in
      operation == "records/modify" ? .answer(status: 200, answer) : .pass
    }
    let id = try device.store.accept(world.put("a", [:]))
    try await device.sync()
    let noted = try #require(try device.store.operation(id).nextAttemptAt)
    #expect(noted > world.clock.now + 50_000)

    world.clock.advance(-7200)
    try await device.sync()

    let left = try #require(try device.store.operation(id).nextAttemptAt) - world.clock.now
    #expect(left > 50_000 && left < 200_000)
  }

  @Test func `a back-off that was set without an attempt ends soon after the clock is right again`() async throws {
    try device.store.accept(world.put("first", [:]))
    try await device.sync()
    let id = try device.store.accept(world.put("a", [:]))
    device.transport.interfere { operation, _, _ in
      operation == "records/modify" ? .refusing("a", "INTERNAL_ERROR", "no") : .pass
    }
    try await device.sync()
    world.clock.advance(365 * 86_400)
    device.transport.interfere { _, _, _ in .offline }
    try await device.sync()
    try device.store.write { ledger in
      var operation = try #require(try ledger.operation(id))
      operation.apply(.deferred(until: world.clock.now + 60_000, isServersWait: operation.isServersWait))
      try ledger.update(operation)
    }
    world.clock.advance(-365 * 86_400)
    let lease = try #require(try Lease.acquire(device.store))
    defer { lease.release(device.store) }

    try device.store.shortenWaits(lease)

    let end = try #require(try device.store.operation(id).nextAttemptAt)
    #expect(end <= world.clock.now + 300_000)
  }

  @Test func `a lease that seems to last for hours is silent`() throws {
    let other = try world.open("store")
    world.clock.advance(7200)
    let lease = try #require(try Lease.acquire(device.store))
    world.clock.advance(-7200)

    #expect(try Lease.acquire(other) != nil)
    #expect(throws: StoreError.self) { try lease.renew(device.store) }
  }

  @Test func `1,200 waits are shortened in transactions of at most 500 rows`() async throws {
    try await device.sync()
    let store = device.store
    try store.fill(1200, "pending")
    let end = world.clock.now + 60_000
    try store.execute("UPDATE operations SET state = 'waiting', nextAttemptAt = \(end), isServersWait = 0")
    let lease = try #require(try Lease.acquire(store))
    defer { lease.release(store) }
    let transactions = try Transactions.of(store)
    world.clock.advance(-7200)

    try store.shortenWaits(lease)
    try store.shortenWaits(lease)

    #expect(transactions.rows == [500, 500, 200])
    let shortened = world.clock.now + 60_000
    #expect(try store.count("SELECT count(*) FROM operations WHERE nextAttemptAt = \(shortened)") == 1200)
    #expect(try store.events(limit: 9).filter { $0.event == .clockMovedBack(seconds: 7200) }.count == 1)
  }
}
