import CloudKit
import Testing

@testable import CloudSync
@testable import cktop

/// What `status` says of the queue's parts.
@Suite(.serialized) struct StatusOutputTests {
  private func object(_ parts: [QueuePart]) -> StatusObject {
    var status = StoreStatus(generatedAt: 0)
    status.queue.parts = parts
    let scope = SyncStore.Scope(container: "iCloud.a", environment: "development", database: .shared)
    return StatusObject(
      status: status,
      storePath: "/s",
      scope: scope,
      account: AccountState(status, credential: "apiToken")
    )
  }

  private static let mine = ZoneKey(zone: "Notes")
  private static let hers = ZoneKey(zone: "Notes", owner: "_ana")

  @Test func `the queue is told by state, zone and type, and what is unknown is null`() {
    let parts = [
      QueuePart(state: .failed, zone: Self.hers, type: "Note", count: 2, bytes: 50),
      QueuePart(state: .pending, zone: Self.mine, type: "", count: 1, bytes: 0),
    ]

    #expect(
      object(parts).json.line.contains(
        #""parts": [{"state": "failed", "zone": "Notes", "owner": "_ana", "recordType": "Note", "count": 2, "#
          + #""bytes": 50}, {"state": "pending", "zone": "Notes", "owner": null, "recordType": null, "count": 1, "#
          + #""bytes": 0}]"#
      )
    )
    #expect(object([]).json.line.contains(#""parts": []"#))
  }

  private typealias Change = @Sendable (inout StoreStatus) -> Void
  private static let problem = StoreStatus.Failure(code: "QUOTA_EXCEEDED", message: "full", at: 1)

  /// What is wrong, the verdict about it, and the exit code.
  private static let standing: [(Change, String, CommandStatus)] = [
    ({ $0.queue.pending = 1 }, "neverSynced", .done), ({ $0.canSendLater = true }, "notSyncing", .personNeeded),
    ({ $0.quotaProblem = problem }, "blocked", .personNeeded),
    ({ $0.accountProblem = problem }, "blocked", .personNeeded),
    ({ ($0.lastError, $0.errorStands) = (problem, true) }, "blocked", .personNeeded),
    (
      { $0.throttles = [.init(scope: "zone:n", until: 9, error: problem.code, message: "", isOwn: true)] }, "blocked",
      .personNeeded
    ),
    (
      { $0.throttles = [.init(scope: "database", until: 9, error: "THROTTLED", message: "", isOwn: false)] },
      "throttled", .done
    ),
    ({ $0.isRefused = true }, "wrongAccount", .personNeeded),
    ({ $0.queue.conflicts = 1 }, "conflicts", .personNeeded), ({ $0.queue.failed = 1 }, "failed", .itemsFailed),
    ({ ($0.queue.failed, $0.queue.conflicts) = (1, 1) }, "failed", .personNeeded),
    ({ $0.savesForApp = 1 }, "waitingForApp", .personNeeded),
    ({ ($0.queue.conflicts, $0.conflictsForApp) = (1, 1) }, "waitingForApp", .personNeeded),
    ({ $0.errorStands = true }, "neverSynced", .itemsFailed),
  ]

  @Test func `the exit code is that of everything in the way, and the verdict is the first of it`() {
    for (place, (change, verdict, code)) in Self.standing.enumerated() {
      var status = StoreStatus(generatedAt: 0)
      change(&status)
      #expect(status.verdict(hasCredential: true).name == verdict, "\(place)")
      #expect(status.code(hasCredential: true, failedForPerson: 0) == code, "\(place)")
    }
  }

  @Test func `without a credential, unsent changes need a person`() {
    var status = StoreStatus(generatedAt: 0)
    status.canSendLater = true

    #expect(status.verdict(hasCredential: false).name == "signedOut")
    #expect(status.code(hasCredential: false, failedForPerson: 0) == .personNeeded)
    #expect(status.code(hasCredential: true, failedForPerson: 1) == .personNeeded)
  }

  @Test func `zones and types are summed up for people where there are several`() {
    let parts = [
      QueuePart(state: .failed, zone: Self.hers, type: "Note", count: 2, bytes: 50),
      QueuePart(state: .pending, zone: Self.hers, type: "Note", count: 3, bytes: 60),
      QueuePart(state: .pending, zone: Self.mine, type: "", count: 1, bytes: 0),
    ]
    let lines = StatusText(object(parts)).lines
    #expect(lines.contains("  by zone         Notes 1 (0 B), Notes of _ana 5 (110 B)"))
    #expect(lines.contains("  by type         (no type) 1 (0 B), Note 5 (110 B)"))

    let one = StatusText(object(Array(parts.prefix(2)))).lines
    #expect(!one.contains { $0.hasPrefix("  by") })
  }
}
