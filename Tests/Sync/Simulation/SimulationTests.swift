import Foundation
import Testing

/// Devices in all the trouble there is, each run decided by its seed.
///
/// `SEEDS=10000 swift test --filter Simulation` runs more of them, from `FROM` on; `SEED=123` runs just that one and tells all of
/// it. One seed in eight runs on files, the others in memory; `STORE=memory` or `STORE=file` runs all of them on one.
@Suite(.serialized) struct SimulationTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static func number(_ name: String) -> UInt64? { environment[name].flatMap { UInt64($0) } }

  private static var seeds: [UInt64] {
    if let seed = number("SEED") { return [seed] }
    let first = number("FROM") ?? 0
    return Array(first..<(first + (number("SEEDS") ?? 400)))
  }

  /// What a campaign has to have met, or it has not tried what it is for.
  private static let rareStates = [
    "died", "died with rows in flight", "fenced", "refused as somebody else", "in sync", "edit in flight",
    "arrived late", "clock set back", "zone deleted by others", "deletions accepted",
    "deletions restored", "zone to be made anew", "old reading saved", "deleted record saved", "undone",
    "upload", "assets/rereference", "row failed", "row conflict", "row paused",
    "row waiting", "row blocked", "stalled write", "twice write", "answerLost write", "answerCut write",
    "itemQuota write", "itemPoisoned write", "quota write", "error VALIDATING_REFERENCE_ERROR",
    "app refuses to send", "app changes before it goes", "app does not take", "app repairs", "app is asked about",
  ]

  @Test func `devices end equal to the server, and every accepted change ends once`() async throws {
    Self.forgoBacktraces()
    defer { StorageFolder.removeSpares() }
    let census = Census()
    let start = ContinuousClock.now
    // One task would get few turns among all other tests, and run on alone when they have ended.
    await withTaskGroup(of: Void.self) { group in
      for (place, seed) in Self.seeds.enumerated() {
        if place >= 4 { await group.next() }
        group.addTask { await Self.run(seed, census) }
      }
    }
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    print("\(Self.seeds.count) seeds in \(seconds) s\n\(census.text)")
    guard Self.number("SEED") == nil else { return }
    for state in Self.rareStates { #expect(census[state] > 0, "\(state)") }
  }

  private static func run(_ seed: UInt64, _ census: Census) async {
    do {
      let world = try SimulatedWorld(seed: seed, census: census)
      try await world.run()
      if number("SEED") != nil { print(world.trace.joined(separator: "\n")) }
      guard seed % 100 < 2 else { return }
      let again = try SimulatedWorld(seed: seed, census: census)
      try await again.run()
      #expect(world.trace == again.trace, "seed \(seed) does not replay")
    } catch {
      Issue.record("seed \(seed): \(error)")
    }
  }

  /// The testing library takes down a backtrace of every error that is thrown, which costs a campaign a sixth of its time:
  /// here they are thrown by the thousand, and caught.
  private static func forgoBacktraces() {
    for name in ["_swift_willThrow", "_swift_willThrowTypedImpl"] {
      dlsym(nil, name)?.assumingMemoryBound(to: UnsafeRawPointer?.self).pointee = nil
    }
  }
}
