import Foundation
import Testing

/// Devices in all the trouble there is, each run decided by its seed.
///
/// `SEEDS=10000 swift test --filter Simulation` runs more of them; `SEED=123` runs just that one.
@Suite struct SimulationTests {
  private static let steps = 70

  private static var seeds: [UInt64] {
    let environment = ProcessInfo.processInfo.environment
    if let seed = environment["SEED"].flatMap({ UInt64($0) }) { return [seed] }
    let count = environment["SEEDS"].flatMap { UInt64($0) } ?? 25
    return Array(0..<count)
  }

  @Test func `devices end equal to the server, and every accepted change ends once`() async throws {
    for seed in Self.seeds {
      do {
        try await SimulatedWorld(seed: seed).run(steps: Self.steps)
      } catch {
        Issue.record("seed \(seed): \(error)")
      }
    }
  }

  @Test(arguments: [3, 17] as [UInt64])
  func `a seed replays to the letter`(_ seed: UInt64) async throws {
    let first = try SimulatedWorld(seed: seed)
    let second = try SimulatedWorld(seed: seed)

    try await first.run(steps: Self.steps)
    try await second.run(steps: Self.steps)

    #expect(first.trace == second.trace)
  }
}
