import CloudKit
import Foundation
import Testing

@testable import CloudSync

/// Who may drive a store.
@Suite(.serialized) struct LeaseTests {
  private let world: World

  init() throws { world = try World() }

  @Test func `a driver at work is not replaced by whoever is tired of waiting, one that rests is`() throws {
    let (first, second) = (try world.open("store"), try world.open("store"))
    let lease = try #require(try Lease.acquire(first))
    for _ in 0..<4 {
      world.clock.advance(4)
      try lease.renew(first)
      #expect(try Lease.acquire(second, holderIsSilent: true) == nil)
    }
    try lease.rest(first)
    #expect(try Lease.acquire(second) == nil)
    #expect(try Lease.acquire(second, holderIsSilent: true) != nil)
  }

  @Test func `a second driver is refused until the first lets go`() throws {
    let (first, second) = (try world.open("store"), try world.open("store"))
    let lease = try #require(try Lease.acquire(first))

    #expect(try Lease.acquire(second) == nil)
    lease.release(first)

    #expect(try Lease.acquire(second) != nil)
  }

  @Test func `a driver that died is replaced at once`() throws {
    let (first, second) = (try world.open("store"), try world.open("store"))
    // As when the process ends: the kernel drops the lock, nothing is written.
    do { _ = try #require(try Lease.acquire(first)) }

    let lease = try #require(try Lease.acquire(second))

    #expect(lease.fencingToken == 2)
  }

  @Test func `a driver that was stopped past its end is replaced and writes nothing more`() throws {
    let (first, second) = (try world.open("store"), try world.open("store"))
    try first.accept(world.put("a", [:]))
    let stopped = try #require(try Lease.acquire(first))
    world.clock.advance(5)
    #expect(try Lease.acquire(second) == nil)
    world.clock.advance(0.001)

    let lease = try #require(try Lease.acquire(second))

    let error = #expect(throws: StoreError.self) { try first.begin([1], stopped) }
    #expect(error?.kind == .fenced)
    #expect(throws: StoreError.self) { try first.endSync(nil, SyncSummary(), serving: [1], stopped) }
    #expect(throws: StoreError.self) { try stopped.renew(first) }
    #expect(try first.queue() == ["save a pending"])
    try lease.renew(second)
  }

  @Test func `whoever took over from a stopped driver keeps the store when that one lets go`() throws {
    let (first, second, third) = (try world.open("store"), try world.open("store"), try world.open("store"))
    let stopped = try #require(try Lease.acquire(first))
    world.clock.advance(6)
    let lease = try #require(try Lease.acquire(second))

    stopped.release(first)
    try lease.renew(second)

    #expect(try Lease.acquire(third) == nil)
    #expect(try third.status().syncingProcess?.isLive == true)
  }

  @Test func `a driver at rest keeps the store however long it sleeps, unless it does not react`() throws {
    let (first, second) = (try world.open("store"), try world.open("store"))
    let lease = try #require(try Lease.acquire(first))
    try lease.rest(first)
    // A heartbeat that comes late does not give it an end to miss.
    try lease.renew(first)
    world.clock.advance(100_000)

    #expect(try Lease.acquire(second) == nil)
    #expect(try Lease.acquire(second, holderIsSilent: true) != nil)
    #expect(throws: StoreError.self) { try lease.renew(first) }
  }
}
