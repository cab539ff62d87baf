import CloudKit
import Testing

@testable import CloudSync

/// The waits that replies set.
struct ThrottleTests {
  @Test func `a gateway that keeps failing is waited for longer each time`() throws {
    let store = try World().open("store")
    let error = WebServicesError(.unexpectedServerResponse, "502 Bad Gateway")

    let seconds = try store.write { ledger in
      try (0..<4).map { _ in
        try Throttles.set(.network, error, now: 0, random: 1, ledger)
        return try ledger.wait(.network)?.seconds ?? 0
      }
    }

    #expect(zip(seconds, seconds.dropFirst()).allSatisfy { $0 < $1 })
  }

  @Test func `what a reply says of the account outlives the throttle beside it`() throws {
    let store = try World().open("store")
    let waits: [WaitScope: WebServicesError] = [
      .account: WebServicesError(.authenticationFailed, "no"), .database: WebServicesError(.throttled, "slow down"),
    ]

    try store.write { try Throttles.set(waits, now: 0, random: 1, $0) }

    #expect(try store.status().accountProblem?.code == "AUTHENTICATION_FAILED")
  }
}
