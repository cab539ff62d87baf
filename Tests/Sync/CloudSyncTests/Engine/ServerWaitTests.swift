import CloudKit
import CloudKitEmulator
import Foundation
import Testing

@testable import CloudSync

/// Waits that the server asks for about one operation or for a while: what keeps to them, and which error is shown.
@Suite(.serialized) struct ServerWaitTests {
  /// A device with an operation that the server has asked to wait 100 s for.
  private func waiting() async throws -> (world: World, mine: TestDevice, id: Int64) {
    let world = try World()
    let mine = try world.device("mine")
    let id = try mine.store.accept(world.put("a", ["x": .int64(1)]))
    mine.transport.interfere { operation, number, _ in
      guard operation == "records/modify", number == 1 else { return .pass }
      return .refusing("a", "INTERNAL_ERROR", "oops", retryAfter: 100)
    }
    try await mine.sync()
    return (world, mine, id)
  }

  @Test func `comparing with the server keeps its wait, too`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    world.emulator.throttle(until: world.clock.date.addingTimeInterval(60))
    try await mine.sync()
    let before = mine.transport.total

    let error = await #expect(throws: WebServicesError.self) { try await mine.engine.verify() }
    let inside = mine.transport.total
    world.clock.advance(100)
    _ = try await mine.engine.verify()

    #expect(error?.code == .throttled && (error?.retryAfter ?? 0) > 50)
    #expect(inside == before)
    #expect(mine.transport.total > before)
  }

  @Test func `an edit does not cut a wait short that the server asked for`() async throws {
    let (world, mine, id) = try await waiting()

    try mine.store.accept(world.put("a", ["y": .int64(1)]))
    _ = try mine.store.perform(.retry, on: .ids([id]), actor: "test")
    try await mine.sync()
    let inside = mine.transport.count("records/modify")
    world.clock.advance(101)
    try await mine.sync()

    #expect(inside == 1)
    #expect(world.onServer("a") == ["x": .int64(1), "y": .int64(1)])
  }

  @Test(arguments: [1.0, 200]) func `a pause and its end do not cut a wait short that the server asked for`(
    _ paused: Double
  ) async throws {
    let (world, mine, id) = try await waiting()

    _ = try mine.store.perform(.pause, on: .ids([id]), actor: "test")
    world.clock.advance(paused)
    _ = try mine.store.perform(.resume, on: .ids([id]), actor: "test")
    try await mine.sync()

    #expect(mine.transport.count("records/modify") == (paused < 100 ? 1 : 2))
    world.clock.advance(100)
    try await mine.sync()
    #expect(world.onServer("a") == ["x": .int64(1)])
    #expect(try mine.store.read { try $0.keptWait(of: id) } == nil)
  }

  @Test(arguments: ["discard", "zone", "conflict"])
  func `a pause that ends otherwise than by resuming leaves nothing of the server's wait`(_ end: String) async throws {
    let (world, mine, id) = try await waiting()
    let kept = "SELECT count(*) FROM pausedWaits"
    _ = try mine.store.perform(.pause, on: .ids([id]), actor: "test")
    #expect(try mine.store.count(kept) == 1)

    switch end {
    case "discard": _ = try mine.store.perform(.discard, on: .ids([id]), actor: "test")
    case "zone": _ = try mine.store.enqueueZoneDeletion(world.key("a").zoneKey)
    default: try mine.store.execute("UPDATE operations SET state = 'conflict', conflictAt = 1")
    }

    #expect(try mine.store.count(kept) == 0)
  }

  @Test func `what went wrong last is told, also where it struck one record alone`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", [:]))
    mine.transport.interfere { operation, number, _ in
      guard operation == "records/modify", number == 1 else { return .pass }
      return .refusing("a", "BAD_REQUEST", "no")
    }

    try await mine.sync()

    let status = try mine.store.status()
    #expect(status.lastError?.code == "BAD_REQUEST" && status.lastError?.message == "no")
    #expect(status.state == .idle)
  }

  @Test func `an error is the last one until a request of its scope succeeds, whatever else is left to do`()
    async throws
  {
    let world = try World()
    let mine = try world.device("mine")
    try mine.store.accept(world.put("kept", type: "Paused", [:]))
    try mine.store.pause(.type("Paused"), actor: "ana")
    try await mine.sync()
    try mine.store.accept(world.put("a", [:]))
    mine.transport.interfere { _, _, _ in .offline }
    _ = try? await mine.sync()
    #expect(try mine.store.status().lastError?.code == "NETWORK_ERROR")

    world.clock.advance(100)
    mine.transport.interfere { operation, _, _ in
      operation == "records/modify" ? .refusing("a", "BAD_REQUEST", "no") : .pass
    }
    try await mine.sync()
    #expect(try mine.store.status().lastError?.code == "BAD_REQUEST")

    mine.transport.interfere(nil)
    _ = try mine.store.perform(.retry, on: .all, actor: "ana")
    try await mine.sync()
    let status = try mine.store.status()
    #expect(status.lastError == nil && status.queue.total == 1 && !status.isInSync)
  }

  @Test func `an error of the network is over with the next good sync`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    try mine.store.accept(world.put("kept", type: "Paused", [:]))
    try mine.store.pause(.type("Paused"), actor: "ana")
    mine.transport.interfere { _, _, _ in .offline }
    _ = try? await mine.sync()
    #expect(try mine.store.status().lastError?.code == "NETWORK_ERROR")

    world.clock.advance(100)
    mine.transport.interfere(nil)
    try await mine.sync()

    let status = try mine.store.status()
    #expect(status.lastError == nil && !status.isInSync && status.queue.total == 1)
  }

  @Test func `a wait of the zone is kept in a comparison of the zone`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", [:]))
    try await mine.sync()
    try mine.store.accept(world.put("a", ["x": .int64(1)]))
    mine.transport.interfere { operation, _, _ in
      guard operation == "records/modify" else { return .pass }
      return .refusing("a", "THROTTLED", "slowly", retryAfter: 100)
    }
    try await mine.sync()
    let before = mine.transport.count("changes/zone")

    let error = await #expect(throws: WebServicesError.self) { try await mine.engine.verify() }

    #expect(error?.code == .throttled)
    #expect(mine.transport.count("changes/zone") == before)
  }

  @Test func `a server that fails for a moment is waited for, one that fails for long is an error`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    try await mine.sync()
    mine.transport.interfere { _, _, _ in .answer(status: 502, "<html>Bad Gateway</html>") }

    var states: [StoreStatus.State] = []
    for _ in 0..<12 {
      try await mine.sync()
      states.append(try mine.store.status().state)
      world.clock.advance(400)
    }

    #expect(states.first == .waiting)
    #expect(states.last == .error)
    mine.transport.interfere(nil)
    try await mine.sync()
    #expect(try mine.store.status().isInSync)
  }

  @Test func `an account's trouble met by a read-back spends no attempt, and is kept among them`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    let id = try mine.store.accept(world.put("a", ["x": .int64(1)]))
    mine.transport.interfere { operation, number, _ in
      switch (operation, number) {
      case ("records/modify", 1): return .answerLost
      case ("records/lookup", 1):
        return .refusing("a", "AUTHENTICATION_REQUIRED", "no")
      default: return .pass
      }
    }

    try await mine.sync()
    let afterFirst = try mine.store.operation(id).attempts
    world.clock.advance(400)
    try await mine.sync()

    #expect(afterFirst == 0)
    let attempts = try #require(try mine.store.detail(of: id)).attempts
    #expect(attempts.map(\.code) == ["AUTHENTICATION_REQUIRED", "NETWORK_ERROR"])
    #expect(attempts.first?.message == "verify it: no")
    // The feed has told meanwhile that it was saved.
    #expect(try mine.store.queue() == [])
  }
}
