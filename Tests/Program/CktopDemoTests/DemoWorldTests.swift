import CloudSync
import Testing

@testable import CktopDemo

/// What happens in the demonstration's laboratory, on machines of any speed.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct DemoWorldTests {
  @Test func `what the poison key queues is refused, however early it is pressed`() async throws {
    let world = try await DemoWorld(seed: 1)
    _ = world.press("x")
    while try world.store.status().queue.total == 600 { await Task.yield() }

    // The laboratory's time is real: on a machine that is busy a pass may be cut short by it.
    var failed = 0
    repeat { failed += try await world.engine.sync().failed } while try world.store.status().queue.pending > 0

    #expect(failed == 1)
    let left = try world.store.operations(limit: 10).rows
    #expect(left.map(\.state) == [.failed])
    #expect(left.map(\.errorCode) == ["BAD_REQUEST"])
    await world.close()
  }

  @Test func `stocks are corrected only after the elements were read`() async throws {
    let world = try await DemoWorld(seed: 1)
    for _ in 0..<100 { await world.tick() }
    #expect(try world.store.status().queue.total == 600)
    try await world.engine.sync()

    while try world.store.status().queue.total == 0 {
      await world.tick()
      await Task.yield()
    }

    await world.close()
  }
}
