import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Testing

@Suite(.serialized) struct FaultTests {
  static func fixture(_ rules: FaultRule...) throws -> Fixture {
    let fixture = try Fixture.withZone()
    fixture.emulator.faults = FaultPlan(rules: rules)
    return fixture
  }

  @Test func `offline drops every request before it takes effect`() throws {
    let fixture = try Fixture.withZone()
    fixture.emulator.isOffline = true

    let reply = fixture.reply("records/modify", #"{"operations":[\#(Fixture.save("a"))]}"#)

    guard case .offline = reply.outcome else { return #expect(Bool(false), "\(reply.outcome)") }
    fixture.emulator.isOffline = false
    #expect(fixture.emulator.recordCount() == 0)
    #expect(try fixture.modify(Fixture.save("a")).outcomes == ["saved"])
  }

  @Test func `throttling names its end, in the body and the header, and then it is over`() throws {
    let fixture = try Fixture.withZone()
    fixture.emulator.throttle(until: fixture.now.addingTimeInterval(2.5))

    let answer = try fixture.post("zones/list")

    #expect(answer.status == 429 && answer.code == "THROTTLED")
    #expect(answer.object["retryAfter"] as? Int == 2 && answer.header("Retry-After") == "2")
    #expect(answer.header("X-Apple-CloudKit-Web-Auth-Token") != nil)
    fixture.pass(2)
    #expect(try fixture.post("zones/list").status == 200)
  }

  @Test func `an answer is lost after the commit`() throws {
    let fixture = try Self.fixture(
      FaultRule(when: FaultCondition(operation: "records/modify", limit: 1), then: .dropAfterCommit)
    )

    let reply = fixture.reply(
      "records/modify",
      #"{"zoneID":{"zoneName":"notes"},"operations":[\#(Fixture.save("a", type: "create"))]}"#
    )

    guard case .drop(committed: true) = reply.outcome else { return #expect(Bool(false), "\(reply.outcome)") }
    #expect(try fixture.modify(Fixture.save("a", type: "create")).outcomes == ["EXISTS"])
  }

  @Test func `a poisoned record is always refused, and takes only an atomic batch down with it`() throws {
    let fixture = try Self.fixture(FaultRule(when: FaultCondition(recordName: "bad"), then: .poison))

    #expect(try fixture.modify(Fixture.save("a"), Fixture.save("bad")).outcomes == ["saved", "BAD_REQUEST"])
    #expect(
      try fixture.modify(Fixture.save("a"), Fixture.save("bad"), atomic: true).outcomes == [
        "ATOMIC_ERROR", "BAD_REQUEST",
      ]
    )
  }

  @Test func `server errors come as the service and as a proxy send them`() throws {
    let fixture = try Self.fixture(
      FaultRule(when: FaultCondition(limit: 1), then: .internalError),
      FaultRule(when: FaultCondition(after: 1, limit: 1), then: .badGateway()),
      FaultRule(when: FaultCondition(after: 2, limit: 1), then: .tryAgainLater(retryAfter: 1.5))
    )

    let answers = try (0..<4).map { _ in try fixture.post("zones/list") }

    #expect(answers.map(\.status) == [500, 502, 503, 200])
    #expect(answers.map(\.code) == ["INTERNAL_ERROR", nil, "TRY_AGAIN_LATER", nil])
    #expect(answers[1].header("Content-Type") == "text/html" && answers[1].text.hasPrefix("<html>"))
    #expect(answers[2].object["retryAfter"] as? Double == 1.5)
  }

  @Test func `empty pages promise more, and expired tokens are unknown`() throws {
    let fixture = try Self.fixture(FaultRule(when: FaultCondition(zone: "notes", limit: 1), then: .emptyPageMoreComing))
    fixture.emulator.faults.rules[0].when.operation = "changes/zone"
    _ = try fixture.modify(Fixture.save("a"))

    let empty = try #require(try fixture.changes().zones.first)
    let token = try #require(empty["syncToken"] as? String)
    let full = try #require(try fixture.changes(token).zones.first)
    fixture.emulator.faults = FaultPlan(rules: [FaultRule(then: .expiredToken)])
    let expired = try #require(try fixture.changes(token).zones.first)

    #expect((empty["records"] as? [Any])?.isEmpty == true && empty["moreComing"] as? Bool == true)
    #expect((full["records"] as? [Any])?.count == 1 && full["moreComing"] as? Bool == false)
    #expect(expired["reason"] as? String == "Unknown sync continuation type")
    #expect((try fixture.changes().zones[0]["records"] as? [Any])?.count == 1)
  }

  @Test func `every Nth request is struck, and chances replay from their seed`() throws {
    let fixture = try Self.fixture(FaultRule(when: FaultCondition(every: 3), then: .throttled(retryAfter: 1)))
    let statuses = { try (0..<30).map { _ in try fixture.post("zones/list").status } }

    #expect(try statuses().enumerated().allSatisfy { ($0 + 1) % 3 == 0 ? $1 == 429 : $1 == 200 })
    let plan = FaultPlan(seed: 7, rules: [FaultRule(when: FaultCondition(probability: 0.5), then: .internalError)])
    fixture.emulator.faults = plan
    let first = try statuses()
    fixture.emulator.faults = plan
    #expect(try statuses() == first)
    #expect(Set(first) == [200, 500])
  }

  @Test func `delays are handed to whoever can wait`() throws {
    let fixture = try Self.fixture(FaultRule(then: .delay(milliseconds: 250)))

    #expect(fixture.reply("zones/list").delay == .milliseconds(250))
  }

  @Test func `a plan reads from friendly keys and survives coding`() throws {
    let json = """
      {"seed": 7, "rules": [
        {"when": {"operation": "records/modify", "every": 5}, "then": {"action": "throttled", "retryAfter": 3}},
        {"when": {"recordName": "note-13"}, "then": "poison"},
        {"then": {"action": "delay", "milliseconds": 20}}]}
      """

    let plan = try JSONDecoder().decode(FaultPlan.self, from: Data(json.utf8))

    #expect(
      plan
        == FaultPlan(
          seed: 7,
          rules: [
            FaultRule(when: FaultCondition(operation: "records/modify", every: 5), then: .throttled(retryAfter: 3)),
            FaultRule(when: FaultCondition(recordName: "note-13"), then: .poison),
            FaultRule(then: .delay(milliseconds: 20)),
          ]
        )
    )
    #expect(try JSONDecoder().decode(FaultPlan.self, from: JSONEncoder().encode(plan)) == plan)
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(FaultRule.self, from: Data(#"{"then": "explode"}"#.utf8))
    }
  }

  @Test func `the transport tells a request that never left from one whose answer is lost`() async throws {
    let fixture = try Fixture.withZone()
    let transport = EmulatorTransport(fixture.emulator, now: { fixture.now }, sleep: { _ in })
    let request = CKTransportRequest(
      method: "GET",
      path: "/database/1/iCloud.test/development/private/zones/list",
      query: Fixture.ana
    )

    #expect(try await transport.send(request).status == 200)
    fixture.emulator.faults = FaultPlan(rules: [FaultRule(then: .dropAfterCommit)])
    await #expect { try await transport.send(request) } throws: { ($0 as? CKTransportError)?.delivery == .unknown }
    fixture.emulator.isOffline = true
    await #expect { try await transport.send(request) } throws: { ($0 as? CKTransportError)?.delivery == .notSent }
  }
}
