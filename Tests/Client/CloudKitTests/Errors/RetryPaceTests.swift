import CloudKit
import Testing

struct RetryPaceTests {
  @Test(
    arguments: [
      ([nil, nil, nil, nil, nil, nil, nil, nil], [1, 2, 4, 8, 16, 32, 60, 60]), ([5, 1, nil, 300], [5, 2, 4, 300]),
      ([.infinity, .nan, -1], [1, 2, 4]),
    ] as [([Double?], [Int])]
  )
  func `waits double up to a minute and are at least as long as the server asked`(
    _ asked: [Double?],
    _ seconds: [Int]
  ) {
    var pace = RetryPace()
    #expect(asked.map { pace.afterFailure(retryAfter: $0) } == seconds.map { .seconds($0) })
  }
}
