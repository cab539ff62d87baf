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
}
