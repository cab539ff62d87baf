import CloudKit
import CloudService
import Dashboard
import Facts
import Foundation
import Testing

@testable import CloudSync
@testable import cktop

/// What people read has local times; what programs read has them in UTC.
struct LocalTimeOutputTests {
  private static let format = Format(timeZone: TimeZone(secondsFromGMT: 19_800) ?? .gmt)
  /// 2026-01-02T03:04:05.250Z.
  private static let now: Int64 = 1_767_323_045_250

  @Test func `an ended operation and its attempts are shown in local time`() {
    let entry = HistoryEntry(
      id: 4,
      kind: .save,
      key: RecordKey(ZoneKey(zone: "Shop"), "order-4"),
      type: "Order",
      ending: .discarded,
      cause: .discarded(by: "ana"),
      enqueuedAt: Self.now - 86_400_000,
      endedAt: Self.now
    )
    let attempt = Attempt(number: 1, at: Self.now - 60_000, seconds: 0.1, code: nil, message: nil, response: nil)
    let detail = OperationDetail(operation: nil, server: nil, attempts: [attempt], history: entry)

    let lines = OperationFacts(detail, Self.format, now: Self.now).lines

    #expect(lines.contains("State             discarded 08:34:05: discarded by ana"))
    #expect(lines.contains("  1  08:33:05  0.1 s  ok"))
    #expect(detail.json?.line.contains("2026-01-02T03:04:05.250Z") == true)
  }

  @Test func `the log has local times with their offset`() {
    #expect(Journal.line(Self.now, "error", "cut", Self.format) == "2026-01-02T08:34:05.250+05:30 error cut")
  }

  @Test func `an account that has to sign in says where`() {
    var error = WebServicesError(.authenticationRequired, "sign in")
    error.redirectURL = "https://example.org/sign-in"

    let account = AccountState(.failure(error), credential: "apiToken", database: .private)

    #expect(AccountState.longFields.object(account).line.contains(#""signInURL": "https://example.org/sign-in""#))
  }
}
