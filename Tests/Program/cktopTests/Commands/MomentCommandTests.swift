import Foundation
import Testing

@testable import cktop

/// How it was at a minute of the day, with real processes.
@Suite(.serialized) struct MomentCommandTests {
  private static let paris = TimeZone(identifier: "Europe/Paris") ?? .gmt

  @Test(
    arguments: [
      ("02:47", "2026-01-02T03:04:05Z", "2026-01-02T01:47:00Z"),
      ("4:4", "2026-01-02T03:04:05Z", "2026-01-02T03:04:00Z"),
      ("04:05", "2026-01-02T03:04:05Z", "2026-01-01T03:05:00Z"),
      ("00:00", "2026-01-02T03:04:05Z", "2026-01-01T23:00:00Z"),
      ("02:47", "2026-01-02T01:47:00Z", "2026-01-02T01:47:00Z"),
    ]
  )
  func `a minute of the day is the last one of that name`(_ text: String, _ now: String, _ expected: String) throws {
    let now = try Date(now, strategy: .iso8601).timeIntervalSince1970 * 1000
    let minute = try MinuteOfDay(text).latest(before: Int64(now), in: Self.paris)
    #expect(Date(timeIntervalSince1970: Double(minute) * 60).ISO8601Format() == expected)
  }

  @Test(arguments: ["24:00", "02:60", "2", "02:47:00", "a:b", "-1:00", ""])
  func `what is no minute of the day is refused`(_ text: String) {
    #expect(throws: (any Error).self) { try MinuteOfDay(text) }
  }

  @Test func `a sync is found at its minute, with what it brought and its events`() async throws {
    let cloud = try await Cloud()
    let machine = try Machine(cloud)
    try await machine.succeed("records", "put", "--type", "Task", "--name", "t1", "title=a")
    try await machine.succeed("sync")
    let events = try await machine.run("events", "--json").objects()
    let event = try #require(events.first { $0["kind"] as? String == "sync" })
    let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
    let at = try Date(#require(event["at"] as? String), strategy: style)
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = .current
    let time = calendar.dateComponents([.hour, .minute], from: at)
    let minute = String(format: "%02d:%02d", time.hour ?? 0, time.minute ?? 0)

    let moment = try await machine.run("status", "--at", minute, "--json").object()
    #expect(moment["sent"] as? Int == 1)
    #expect((moment["events"] as? [[String: Any]])?.contains { $0["kind"] as? String == "sync" } == true)
    let verdicts = try #require(moment["verdicts"] as? [[String: Any]])
    #expect(verdicts.contains { $0["verdict"] as? String == "inSync" })
    let text = try await machine.run("status", "--at", minute).output
    #expect(text.contains("1 sent") && text.contains("in sync"))
    try await machine.fail(2, "status", "--at", minute, "--oneline")
    try await machine.fail(2, "status", "--at", "25:00")
    withExtendedLifetime(cloud) {}
  }
}
