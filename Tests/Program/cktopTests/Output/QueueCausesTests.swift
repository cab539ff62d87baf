import Facts
import Testing

@testable import CloudSync
@testable import cktop

struct QueueCausesTests {
  private func cause(_ failure: FailureCause, first: Int64) -> QueueCause {
    QueueCause(
      state: .failed,
      code: failure.code,
      message: failure.message,
      cause: .failed(failure),
      count: 1,
      first: first,
      oldestAt: 0,
      nextAttemptAt: nil
    )
  }

  @Test func `each remedy names the rows that it is for`() throws {
    let missing = { FailureCause.file(.missing, path: $0, field: "photo") }
    let causes = [
      cause(missing("/a"), first: 4), cause(.file(.changed, path: "/b", field: "photo"), first: 7),
      cause(.rejected(code: "BAD_REQUEST", message: "no"), first: 8), cause(missing("/c"), first: 9),
    ]
    let (gone, changed) = (try #require(causes[0].cause.remedy), try #require(causes[1].cause.remedy))

    #expect(causes.remedies == ["FIRST 4, 9: \(gone)", "FIRST 7: \(changed)"])
  }
}
