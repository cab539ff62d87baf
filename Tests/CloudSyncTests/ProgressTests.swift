import CloudKit
import Synchronization
import Testing

@testable import CloudSync

/// How far a pass is, as those see it who look.
@Suite(.serialized) struct ProgressTests {
  @Test func `the beginning of a phase is shown at once, and what follows a few times a second`() {
    var shown = ShownProgress()
    #expect(shown.isDue(Progress(phase: .send, done: 0, total: 9), now: 0))
    shown.last = (at: 1000, progress: Progress(phase: .send, done: 4, total: 9))
    for (phase, done, now, isDue) in [
      (Progress.Phase.send, 5, Int64(1249), false), (.send, 5, 1250, true), (.send, 4, 1001, false),
      (.send, 3, 1001, true), (.fetch, 5, 1000, true), (.upload, 5, 1000, true),
      // The clock was set back.
      (.send, 5, 751, false), (.send, 5, 750, true), (.send, 5, -9000, true),
    ] {
      #expect(shown.isDue(Progress(phase: phase, done: done, total: 9), now: now) == isDue, "\(phase) \(done) \(now)")
    }
  }

  @Test func `a long sending is shown as it goes, without a transaction for each request`() async throws {
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

    // Before the first request; after it, at 0.1 s, and then at 0.4 s.
    #expect(seen.withLock { $0 } == [0, 200, 200, 200, 800, 800, 800])
  }
}
