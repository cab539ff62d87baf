import CloudKit
import CloudKitEmulator
import Foundation
import Testing

@testable import CloudSync

/// A sync goes on when the network is back. Nothing here asks for a sync, and the clock stands still: only events move
/// the engine.
@Suite(.serialized, .timeLimit(.minutes(40))) struct NetworkReturnTests {
  private let world: World
  /// Reports whether the network can be used.
  private let network: AsyncStream<Bool>.Continuation
  private let device: TestDevice
  private var store: SyncStore { device.store }

  init() async throws {
    let world = try World()
    let (reports, network) = AsyncStream.makeStream(of: Bool.self)
    (self.world, self.network) = (world, network)
    device = try world.device("store", configure: { $0.network = { reports } })
    try await device.sync()
  }

  @Test func `a change queued offline is sent when the network is back`() async throws {
    world.emulator.isOffline = true
    network.yield(false)
    try await whileDriving(device) {
      try store.accept(world.put("a", [:]))
      try await eventually(store) { try store.lacksNetwork() }
      #expect(try store.queue() == ["save a pending"])
      #expect(try store.operations().rows.map(\.attempts) == [0])

      world.emulator.isOffline = false
      network.yield(true)
      try await eventually(store) { try store.queue() == [] }
    }
    #expect(world.onServer("a") != nil)
    #expect(try store.status().throttles == [])
  }

  @Test func `a change queued offline by a process that ended is sent by a later one`() async throws {
    world.emulator.isOffline = true
    try await whileDriving(device) {
      try store.accept(world.put("a", ["x": .int64(1)]))
      try await eventually(store) { try store.lacksNetwork() }
    }
    let (reports, network) = AsyncStream.makeStream(of: Bool.self)
    let next = try world.device("store", configure: { $0.network = { reports } })
    network.yield(false)
    try await whileDriving(next) {
      world.emulator.isOffline = false
      network.yield(true)
      try await eventually(store) { try store.queue() == [] }
    }
    #expect(world.onServer("a") == ["x": .int64(1)])
  }

  @Test func `a network that comes and goes is tried once each time, and waits grow meanwhile`() async throws {
    world.emulator.isOffline = true
    network.yield(false)
    try await whileDriving(device) {
      try store.accept(world.put("a", [:]))
      var waits: [Int64] = []
      for _ in 0..<4 {
        try await eventually(store) {
          let until = try store.status().throttles.first?.until ?? 0
          return until > world.clock.now && until - world.clock.now > waits.last ?? 0
        }
        waits.append(try #require(store.status().throttles.first?.until) - world.clock.now)
        network.yield(true)
        network.yield(false)
      }
      #expect(waits == [1000, 2000, 4000, 8000])
    }
    #expect(try store.operations().rows.map(\.attempts) == [0])
  }

  @Test func `a server's wait is kept, whatever the network does`() async throws {
    try store.accept(world.put("a", [:]))
    device.transport.interfere { operation, _, _ in
      operation == "records/modify"
        ? .answer(status: 503, "", headers: [CKHTTPHeader("Retry-After", "60")]) : .pass
    }
    // The first lost reply may be verified at once.
    for _ in 0..<2 { try await device.sync() }
    let until = world.clock.now + 60_000
    #expect(try store.read { try $0.wait(.network)?.until } == until)

    #expect(try !store.endNetworkWait())
    #expect(try store.read { try $0.wait(.network)?.until } == until)
    #expect(try !store.lacksNetwork())
  }
}
