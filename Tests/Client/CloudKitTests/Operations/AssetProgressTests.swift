import Testing

@testable import CloudKit

@Suite struct AssetProgressTests {
  @Test(arguments: [
    ([], [1], []),
    ([0], [0], []),
    ([10], [10], []),
    ([10], [3, 7], [0.3]),
    ([100], [4, 1, 1, 4, 60, 30], [0.05, 0.1, 0.7]),
    ([30, 70], [30, 35, 34, 1], [0.3, 0.65, 0.99]),
    // More than was announced.
    ([10], [8, 8, 8], [0.8]),
  ])
  func `fractions rise by at least a twentieth and stay less than 1`(
    sizes: [Int64],
    counts: [Int64],
    reported: [Double]
  ) {
    var progress = AssetProgress()
    for size in sizes { progress.expect(size) }

    #expect(counts.compactMap { progress.add($0) } == reported)
  }

  @Test func `a transfer in many pieces is reported at most 19 times`() {
    var progress = AssetProgress()
    progress.expect(1_000_003)

    #expect((0..<1_000_003).compactMap { _ in progress.add(1) }.count == 19)
  }
}
