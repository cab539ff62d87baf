import Facts
import Foundation
import Testing

@testable import CloudSync

/// Who began to sync a store, and who stopped, in its event log.
struct SyncingLogTests {
  private let world: World
  private let store: SyncStore
  private static let first = Event.SyncingProcess(program: "cktop", pid: 4711, user: "root", host: "mail")
  private static let second = Event.SyncingProcess(program: "importer", pid: 3321, user: "ana", host: "mail")

  init() throws {
    world = try World()
    store = try world.open("store")
  }

  /// The events of this kind, oldest first.
  private func events() throws -> [Event] {
    try store.events(matching: QueueFilter(parsing: "kind = 'syncing'", of: .events)).map(\.event).reversed()
  }

  @Test(
    arguments: [
      ([(.started, first), (.stopped, first)], [.syncingStarted(by: first), .syncingStopped(by: first)]),
      (
        [(.started, first), (.stopped, first), (.started, second)],
        [.syncingStarted(by: first), .syncingStopped(by: first), .syncingStarted(by: second)]
      ),
      (
        [(.started, first), (.started, second)],
        [.syncingStarted(by: first), .syncingStarted(by: second, insteadOf: first)]
      ),
      ([(.started, first), (.started, first)], [.syncingStarted(by: first), .syncingStarted(by: first)]),
    ] as [([(SyncingChange, Event.SyncingProcess)], [Event])]
  )
  func `a process that begins after one that did not stop takes its place`(
    _ changes: [(change: SyncingChange, process: Event.SyncingProcess)],
    _ expected: [Event]
  ) throws {
    for (change, process) in changes {
      try store.write { try $0.noteSyncing(change, by: process, aliveSince: 1, now: 1) }
    }

    #expect(try events() == expected)
  }

  @Test func `this process is logged while it holds the lease`() throws {
    let lease = try #require(try Lease.acquire(store))
    try store.noteSyncing(.started, lease)
    try store.noteSyncing(.stopped, lease)

    let process = Event.SyncingProcess.current
    #expect(process.pid == Int64(getpid()) && process.user == Operator.name && !process.program.isEmpty)
    #expect(try events() == [.syncingStarted(by: process), .syncingStopped(by: process)])
  }

  @Test func `a process that lost the lease logs nothing`() throws {
    let lease = try #require(try Lease.acquire(store))
    world.clock.advance(60)
    _ = try #require(try Lease.acquire(store, holderIsSilent: true))

    #expect(throws: StoreError.self) { try store.noteSyncing(.stopped, lease) }
    #expect(try events() == [])
  }
}
