import CloudKit
import Synchronization
import Testing

@testable import CloudSync

/// The progress of a sync, as other processes see it.
@Suite(.serialized) struct ProgressTests {
  @Test func `each request publishes the progress of the requests before it`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    _ = try mine.store.enqueue((0..<1400).map { world.put("r\($0)", [:]) })
    let seen = Mutex<[Int?]>([])
    mine.transport.interfere { operation, _, _ in
      guard operation == "records/modify" else { return .pass }
      seen.withLock { $0.append(try? mine.store.status().progress?.done) }
      world.clock.advance(0.1)
      return .pass
    }

    try await mine.sync()

    #expect(seen.withLock { $0 } == [0, 200, 400, 600, 800, 1000, 1200])
  }

  @Test func `changes that are added while others are sent belong to the total and to the time left`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    _ = try mine.store.enqueue((0..<400).map { world.put("r\($0)", [:]) })
    let seen = Mutex<[StoreStatus]>([])
    mine.transport.interfere { operation, number, _ in
      guard operation == "records/modify" else { return .pass }
      if number == 1 { _ = try? mine.store.enqueue((400..<1000).map { world.put("r\($0)", [:]) }) }
      world.clock.advance(0.1)
      if let status = try? mine.store.status() { seen.withLock { $0.append(status) } }
      return .pass
    }

    try await mine.sync()

    let progress = seen.withLock { $0.compactMap(\.progress) }
    #expect(progress.map(\.done) == [0, 200, 400, 600, 800])
    #expect(progress.map(\.total) == [1000, 1000, 1000, 1000, 1000])
    let last = try #require(progress.last)
    #expect(last.etaSeconds == last.perSecond.map { 200 / $0 } && last.etaSeconds != nil)
    #expect(seen.withLock { $0.allSatisfy { $0.leftToSend + ($0.progress?.done ?? 0) == 1000 } })
  }

  @Test func `a fetch in between does not start the progress over, and paused changes are not left to be sent`()
    async throws
  {
    let world = try World()
    let mine = try world.device("mine", turn: (25, 2))
    _ = try mine.store.enqueue((0..<1000).map { world.put("r\($0)", [:]) })
    try mine.store.accept(world.put("p", type: "Paused", [:]))
    _ = try mine.store.pause(.type("Paused"), actor: "ana")
    let seen = Mutex<[CloudSync.Progress?]>([])
    mine.transport.interfere { operation, _, _ in
      guard operation == "records/modify" else { return .pass }
      seen.withLock { $0.append(try? mine.store.status().progress) }
      return .pass
    }

    try await mine.sync()

    #expect(seen.withLock { $0.map { $0?.done } } == [0, 200, 400, 600, 800])
    #expect(seen.withLock { $0.map { $0?.total } } == [1000, 1000, 1000, 1000, 1000])
  }

  @Test func `the rate is that of the last seconds`() {
    var rate = Rate()
    #expect(rate.progress(left: 30, at: 1_000) == Progress(phase: .send, done: 0, total: 30))
    rate.add(10)
    #expect(rate.progress(left: 20, at: 2_000) == Progress(phase: .send, done: 10, total: 30, perSecond: 10))
    // More were added, and the clock was set back.
    #expect(rate.progress(left: 50, at: 1_500) == Progress(phase: .send, done: 10, total: 60, perSecond: 20))
    #expect(rate.progress(left: 50, at: 60_000) == Progress(phase: .send, done: 10, total: 60))
  }
}
