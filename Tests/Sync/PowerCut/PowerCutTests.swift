import CloudKit
import Foundation
import TestSupport
import Testing

/// The power goes at each boundary between two calls on the disk; what had not been synced is dropped, torn at sectors
/// of 512 bytes, or there in another order.
///
/// `SEEDS=20 swift test --filter PowerCut` cuts twenty histories at every boundary; otherwise one is cut at some.
@Suite(.serialized) struct PowerCutTests {
  private struct Finding {
    var cuts = 0
    var losses: [String] = []
  }

  private static let seeds = ProcessInfo.processInfo.environment["SEEDS"].flatMap { UInt64($0) }

  /// Cuts a history's power at every `stride`-th boundary.
  private func cut(_ seed: UInt64, synchronous: String = "FULL", steps: Int, stride: Int) async throws -> Finding {
    let disk = try Disk(isRecorded: true)
    let script = try Script(seed: seed, synchronous: synchronous, disk: disk)
    try await script.run(steps: steps)
    var platter = Platter()
    var random = SplitMix64(seed: seed)
    var (accepted, asked) = (0, 0)
    var requests: [(CKTransportRequest, Date)] = []
    var finding = Finding()
    for (index, entry) in disk.log.enumerated() {
      switch entry {
      case .asked(let number): asked = number + 1
      case .accepted(let number): accepted = number + 1
      case .requested(let request, let time): requests.append((request, time))
      case .changed(let name, let change):
        // The making of the file has journals of another kind.
        if index < 12 || index % stride == Int(seed) % stride {
          finding.cuts += 1
          let left = platter.survivors(&random)
          if let loss = try await script.loss(in: left, accepted: accepted, asked: asked, requests: requests) {
            finding.losses.append("seed \(seed), cut at \(index): \(loss)")
          }
        }
        platter.take(change, of: name)
      }
    }
    return finding
  }

  @Test func `what was accepted is there after a power cut at any boundary, and the engine goes on`() async throws {
    for seed in 0..<(Self.seeds ?? 1) {
      let finding = try await cut(seed, steps: 25, stride: Self.seeds == nil ? 9 : 1)

      #expect(finding.cuts > 20)
      #expect(finding.losses.isEmpty)
    }
  }

  @Test func `without syncing the same cuts do lose something`() async throws {
    let finding = try await cut(1, synchronous: "OFF", steps: 25, stride: 9)

    #expect(!finding.losses.isEmpty)
  }
}
