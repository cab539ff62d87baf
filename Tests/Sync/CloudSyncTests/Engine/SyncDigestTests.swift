import Facts
import Testing

@testable import CloudSync

/// Which syncs of a process that keeps syncing share a line of the log.
struct SyncDigestTests {
  /// A sync that took 100 ms.
  private func sync(_ digest: inout SyncDigest, at start: Int64, fetched: Int, isAsked: Bool = false) -> SyncDigest
    .Line?
  {
    var summary = SyncSummary()
    summary.fetched = fetched
    return digest.add(summary, from: start, isAsked: isAsked, now: start + 100)
  }

  private func line(_ fetched: Int, _ seconds: Double, at end: Int64) -> SyncDigest.Line {
    SyncDigest.Line(event: .synced(sent: 0, fetched: fetched, deleted: 0, failed: 0, seconds: seconds), at: end)
  }

  @Test func `a sync that no other was shortly before is logged at once`() {
    var digest = SyncDigest()

    #expect(sync(&digest, at: 0, fetched: 1) == line(1, 0.1, at: 100))
    #expect(sync(&digest, at: 1_000, fetched: 0) == nil && digest.dueAt == nil)
    #expect(sync(&digest, at: 5_100, fetched: 2) == line(2, 0.1, at: 5_200))
    #expect(digest.end() == nil)
  }

  @Test func `50 pages that follow one another are two lines, the second when none follows`() throws {
    var digest = SyncDigest()
    let lines = (0..<50).compactMap { sync(&digest, at: $0 * 200, fetched: 200) }

    #expect(lines == [line(200, 0.1, at: 100)])
    let dueAt = try #require(digest.dueAt)
    #expect(dueAt == 9_900 + SyncDigest.quiet && digest.due(at: dueAt - 1) == nil)
    #expect(digest.due(at: dueAt) == line(9_800, 9.7, at: 9_900))
    #expect(digest.dueAt == nil)
  }

  @Test func `syncs that go on are a line each half minute`() {
    var digest = SyncDigest()
    let lines = (0..<301).compactMap { sync(&digest, at: $0 * 1_000, fetched: 1) }

    #expect(lines.count == 10 && lines.map(\.at) == lines.map(\.at).sorted())
    #expect(lines.dropFirst().allSatisfy { $0.event == line(31, 30.1, at: 0).event })
  }

  @Test func `what a person asked for is logged at once, with what was not logged before it`() {
    var digest = SyncDigest()
    _ = sync(&digest, at: 0, fetched: 1)

    #expect(sync(&digest, at: 200, fetched: 2) == nil)
    #expect(sync(&digest, at: 400, fetched: 3, isAsked: true) == line(5, 0.3, at: 500))
  }

  @Test func `nothing waits for a clock that was moved back`() {
    var digest = SyncDigest()
    _ = sync(&digest, at: 100_000, fetched: 1)
    _ = sync(&digest, at: 100_200, fetched: 2)

    #expect(digest.due(at: 5_000) == line(2, 0.1, at: 100_300))
  }
}
