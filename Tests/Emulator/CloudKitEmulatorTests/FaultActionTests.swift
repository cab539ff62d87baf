import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Testing

@Suite(.serialized) struct FaultActionTests {
  private static let save = #"{"zoneID":{"zoneName":"notes"},"operations":[\#(Fixture.save("a"))]}"#

  @Test func `a connection breaks before the commit, after it, in the middle of the answer, or never comes about`()
    throws
  {
    let fixture = try FaultTests.fixture(
      FaultRule(when: FaultCondition(limit: 1), then: .offline),
      FaultRule(when: FaultCondition(after: 1, limit: 1), then: .dropBeforeCommit),
      FaultRule(when: FaultCondition(after: 2, limit: 1), then: .truncateAnswer)
    )
    var counts: [Int] = []

    let results = (0..<4).map { _ in
      let result = fixture.reply("records/modify", Self.save).summary.result
      counts.append(fixture.emulator.recordCount())
      return result
    }

    #expect(results == ["offline", "dropped", "200 truncated", "200"])
    #expect(counts == [0, 0, 1, 1])
    #expect(fixture.emulator.statistics.outcomes["200 truncated"] == 1)
  }

  @Test func `refusals come as the service and as a proxy word them`() throws {
    let fixture = try FaultTests.fixture(
      FaultRule(when: FaultCondition(limit: 1), then: .tooLarge),
      FaultRule(when: FaultCondition(after: 1, limit: 1), then: .quotaExceeded),
      FaultRule(when: FaultCondition(after: 2, limit: 1), then: .badGateway(status: 504)),
      FaultRule(when: FaultCondition(after: 3, limit: 1), then: .authExpired)
    )

    let answers = try (0..<5).map { _ in try fixture.post("records/modify", Self.save) }

    #expect(answers.map(\.status) == [413, 413, 504, 421, 200])
    #expect(answers.map(\.code) == [nil, "QUOTA_EXCEEDED", nil, "AUTHENTICATION_REQUIRED", nil])
    #expect(answers[2].text.hasPrefix("<html>"))
    #expect(answers[3].object["redirectURL"] != nil && answers[3].header("X-Apple-CloudKit-Web-Auth-Token") == nil)
  }

  @Test func `a stalled marker brings the same page for ever`() throws {
    let fixture = try Fixture.withZone()
    try fixture.fill(5)
    let first = try fixture.query(#""filterBy":[]"#, #","resultsLimit":2"#)
    let marker = try #require(first.object["continuationMarker"] as? String)
    fixture.emulator.faults = FaultPlan(rules: [FaultRule(when: FaultCondition(limit: 3), then: .stalledMarker)])

    let pages = try (0..<2).map { _ in
      try fixture.query(#""filterBy":[]"#, #","resultsLimit":2,"continuationMarker":"\#(marker)""#)
    }
    let changes = try #require(try fixture.changes().zones.first)
    let healed = try fixture.query(#""filterBy":[]"#, #","resultsLimit":2,"continuationMarker":"\#(marker)""#)

    #expect(pages.map(\.names) == [["n002", "n003"], ["n002", "n003"]])
    #expect(pages.allSatisfy { $0.object["continuationMarker"] as? String == marker })
    #expect(changes["moreComing"] as? Bool == true && (changes["records"] as? [Any])?.count == 5)
    #expect(healed.object["continuationMarker"] as? String != marker)
  }

  @Test func `an index that lags hides from queries what is new, and from nobody else`() throws {
    let fixture = try FaultTests.fixture(FaultRule(then: .indexDelay(milliseconds: 10_000)))
    _ = try fixture.modify(Fixture.save("a"))

    #expect(try fixture.query(#""filterBy":[]"#).names == [])
    #expect(try fixture.changes().zones[0]["records"] as? [Any] != nil)
    fixture.pass(10)
    #expect(try fixture.query(#""filterBy":[]"#).names == ["a"])
  }

  @Test func `a zone is purged under the feet of its reader`() throws {
    let fixture = try FaultTests.fixture(
      FaultRule(when: FaultCondition(operation: "changes/zone", limit: 1), then: .zonePurged)
    )
    let database = try #require(try fixture.post("changes/database").object["syncToken"] as? String)

    let page = try #require(try fixture.changes().zones.first)
    let zones = try fixture.post("changes/database", #"{"syncToken":"\#(database)"}"#).zones

    #expect(page["serverErrorCode"] as? String == "ZONE_NOT_FOUND")
    #expect(zones.count == 1 && zones[0]["deleted"] as? Bool == true)
  }

  @Test func `after the account was switched the new token is another user's`() throws {
    let fixture = try FaultTests.fixture(
      FaultRule(when: FaultCondition(user: "ana", limit: 1), then: .accountSwitched(user: "bob"))
    )
    let bob = try fixture.post("users/caller", database: "public", query: "ckAPIToken=t&ckWebAuthToken=bob")

    let answer = try fixture.post("users/caller", database: "public")
    let token = try #require(answer.header("X-Apple-CloudKit-Web-Auth-Token"))
    let next = try fixture.post("users/caller", database: "public", query: "ckAPIToken=t&ckWebAuthToken=\(token)")

    #expect(answer.object["userRecordName"] as? String == bob.object["userRecordName"] as? String)
    #expect(next.object["userRecordName"] as? String == bob.object["userRecordName"] as? String)
  }

  @Test func `each rule counts what it saw and what it struck, and the log names it`() throws {
    let fixture = try FaultTests.fixture(
      FaultRule(when: FaultCondition(every: 2), then: .throttled(retryAfter: 1)),
      FaultRule(then: .delay(milliseconds: 5)),
      FaultRule(when: FaultCondition(every: 2), then: .internalError)
    )

    let replies = (0..<4).map { _ in fixture.reply("zones/list") }

    #expect(
      replies.map(\.summary.faults) == [
        ["rule 2: delay"], ["rule 1: throttled", "rule 2: delay"], ["rule 2: delay"],
        ["rule 1: throttled", "rule 2: delay"],
      ]
    )
    #expect(fixture.emulator.faultCounts.map(\.matched) == [4, 4, 4])
    #expect(fixture.emulator.faultCounts.map(\.applied) == [2, 4, 0])
  }

  @Test func `every action survives coding`() throws {
    let actions: [FaultAction] = [
      .offline, .dropBeforeCommit, .dropAfterCommit, .truncateAnswer, .throttled(retryAfter: 2.5),
      .tryAgainLater(retryAfter: nil), .internalError, .badGateway(status: 503), .tooLarge, .quotaExceeded,
      .authExpired,
      .accountSwitched(user: "bob"), .delay(milliseconds: 7), .poison, .emptyPageMoreComing, .stalledMarker,
      .expiredToken, .indexDelay(milliseconds: 9), .zonePurged,
    ]
    let plan = FaultPlan(rules: actions.map { FaultRule(when: FaultCondition(user: "ana", every: 2), then: $0) })

    #expect(try FaultPlan(json: JSONEncoder().encode(plan)) == plan)
  }

  @Test(arguments: [
    (
      #"{"rules": [{"then": "offline"}, {"when": {"evry": 2}, "then": "poison"}]}"#, "rules[2].when: unknown key 'evry'"
    ),
    (#"{"rules": [{"then": "explode"}]}"#, "rules[1].then: unknown action 'explode'; known actions: accountSwitched"),
    (#"{"rules": [{"then": "delay"}]}"#, "rules[1].then: 'delay' needs a table with action and milliseconds"),
    (#"{"rules": [{"then": {"action": "poison", "retryAfter": 3}}]}"#, "rules[1].then: unknown key 'retryAfter'"),
    (#"{"rules": [{"then": {"action": "delay", "milliseconds": -1}}]}"#, "milliseconds must be between 0 and 3600000"),
    (
      #"{"rules": [{"when": {"operation": "records/modfy"}, "then": "poison"}]}"#,
      "unknown operation 'records/modfy'"
    ),
    (#"{"rules": [{"when": {"every": 0}, "then": "poison"}]}"#, "rules[1].when: every must be 1 or more"),
    (#"{"rules": [{"when": {"probability": 7}, "then": "poison"}]}"#, "rules[1].when: probability must be from 0 to 1"),
    (#"{"rules": [{"when": {"limit": "two"}, "then": "poison"}]}"#, "rules[1].when.limit: expected a number"),
    (#"{"rules": [{"when": {}}]}"#, "rules[1]: 'then' is missing"),
    (#"{"rulez": []}"#, "unknown key 'rulez'; known keys: rules, seed"),
    (#"{"rules": ["#, "at byte 11"),
    ("[]", "expected a table"),
  ])
  func `a wrong plan is one line that names the place`(json: String, words: String) throws {
    let error = try #require(throws: FaultPlan.Invalid.self) { try FaultPlan(json: Data(json.utf8)) }

    #expect(error.description.contains(words))
    #expect(!error.description.contains("\n"))
  }

  @Test func `a client in the same process learns whether its request left`() async throws {
    let fixture = try Fixture.withZone()
    let transport = EmulatorTransport(fixture.emulator, now: { fixture.now }, sleep: { _ in })
    let request = CKTransportRequest(
      method: "GET",
      path: "/database/1/iCloud.test/development/private/zones/list",
      query: Fixture.ana
    )
    for (action, delivery) in [
      (FaultAction.offline, CKTransportError.Delivery.notSent), (.dropBeforeCommit, .unknown),
      (.truncateAnswer, .unknown),
    ] {
      fixture.emulator.faults = FaultPlan(rules: [FaultRule(then: action)])
      await #expect { try await transport.send(request) } throws: { ($0 as? CKTransportError)?.delivery == delivery }
    }
  }
}
