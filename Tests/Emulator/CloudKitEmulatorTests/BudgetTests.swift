import CloudKitEmulator
import Foundation
import Testing

/// How much one client can make the emulator hold or send.
@Suite(.serialized) struct BudgetTests {
  /// Thirty records of 10 kB, and answers of 50 kB.
  private static func filled() throws -> Fixture {
    var configuration = EmulatorConfiguration()
    configuration.answerSizeLimit = 50_000
    let fixture = try Fixture.withZone(configuration)
    let text = String(repeating: "x", count: 10_000)
    let saves = (10..<40).map { Fixture.save("n\($0)", #""text":{"value":"\#(text)"}"#) }
    #expect(try fixture.modify(saves.joined(separator: ",")).outcomes == Array(repeating: "saved", count: 30))
    return fixture
  }

  @Test func `a page of changes ends where the answer is full, and the next one goes on`() throws {
    let fixture = try Self.filled()
    var (names, token): ([String], String?) = ([], nil)
    var moreComing = true
    while moreComing {
      let zone = try #require(try fixture.changes(token).zones.first)
      let records = try #require(zone["records"] as? [[String: Any]])
      #expect((1...5).contains(records.count))
      names += records.compactMap { $0["recordName"] as? String }
      token = zone["syncToken"] as? String
      moreComing = try #require(zone["moreComing"] as? Bool)
    }

    #expect(names == (10..<40).map { "n\($0)" })
  }

  @Test func `zones of one request share its answer, and none comes twice`() throws {
    let fixture = try Self.filled()
    try fixture.createZone("other")
    let text = String(repeating: "x", count: 10_000)
    _ = try fixture.modify(Fixture.save("o", #""text":{"value":"\#(text)"}"#), zone: "other")
    let zones = ["notes", "other", "notes"].map { #"{"zoneID":{"zoneName":"\#($0)"}}"# }.joined(separator: ",")

    let answer = try fixture.post("changes/zone", #"{"zones":[\#(zones)]}"#)

    #expect((answer.zones[0]["records"] as? [Any])?.count == 4)
    #expect((answer.zones[1]["records"] as? [Any])?.isEmpty == true && answer.zones[1]["moreComing"] as? Bool == true)
    #expect(answer.zones[2]["serverErrorCode"] as? String == "BAD_REQUEST")
  }

  @Test(arguments: [true, false]) func `a query's page ends there, too`(isZoneWide: Bool) throws {
    let fixture = try Self.filled()
    var (names, more): ([String], String) = ([], "")
    repeat {
      let place = isZoneWide ? #""zoneWide":true"# : #""zoneID":{"zoneName":"notes"}"#
      let answer = try fixture.post("records/query", #"{\#(place),"query":{"recordType":"Note"}\#(more)}"#)
      try #require((1...5).contains(answer.records.count))
      names += answer.names
      more = (answer.object["continuationMarker"] as? String).map { #","continuationMarker":"\#($0)""# } ?? ""
    } while !more.isEmpty

    #expect(names == (10..<40).map { "n\($0)" })
  }

  @Test func `a lookup refuses what would be too much`() throws {
    let fixture = try Self.filled()
    let items = (0..<6).map { _ in #"{"recordName":"n10"}"# }.joined(separator: ",")

    let answer = try fixture.post("records/lookup", #"{"zoneID":{"zoneName":"notes"},"records":[\#(items)]}"#)

    #expect(answer.outcomes == Array(repeating: "saved", count: 4) + ["BAD_REQUEST", "BAD_REQUEST"])
    #expect((answer.records.last?["reason"] as? String)?.contains("50000 bytes") == true)
  }

  @Test func `a record larger than an answer comes alone`() throws {
    var configuration = EmulatorConfiguration()
    configuration.answerSizeLimit = 1
    let fixture = try Fixture.withZone(configuration)
    _ = try fixture.modify(Fixture.save("a"), Fixture.save("b"))

    #expect((try fixture.changes().zones[0]["records"] as? [Any])?.count == 1)
    #expect(try fixture.query(#""sortBy":[]"#).names == ["a"])
    #expect(try fixture.lookup("b")["recordType"] as? String == "Note")
  }

  @Test func `an address takes one file at a time`() throws {
    let fixture = try Fixture.withZone()
    let url = try fixture.uploadURL("a")
    let send = { (text: String) in
      let answer = Answer(try fixture.open(url, method: "POST", body: Data(text.utf8)))
      let file = try #require(answer.object["singleFile"])
      return String(decoding: try JSONSerialization.data(withJSONObject: file), as: UTF8.self)
    }

    let first = try send("first")
    let again = try send("first")
    #expect(fixture.emulator.assetCount == 1)
    let second = try send("second")

    #expect(fixture.emulator.assetCount == 1)
    #expect(try fixture.modify(Fixture.save("a", Fixture.asset(first))).outcomes == ["BAD_REQUEST"])
    #expect(try fixture.modify(Fixture.save("a", Fixture.asset(again))).outcomes == ["BAD_REQUEST"])
    #expect(try fixture.modify(Fixture.save("a", Fixture.asset(second))).outcomes == ["saved"])
    _ = try send("third")
    #expect(try fixture.open(try fixture.downloadURL("a")).body == Data("second".utf8))
  }

  @Test func `files that no record uses find room only so far`() throws {
    var configuration = EmulatorConfiguration()
    configuration.unusedAssetLimit = 10_000
    let fixture = try Fixture.withZone(configuration)
    let file = try fixture.upload("small", "a")
    _ = try fixture.upload(String(repeating: "x", count: 5000), "b")
    let send = {
      try fixture.open(try fixture.uploadURL("c"), method: "POST", body: Data("more".utf8)).status
    }

    #expect(try send() == 503)
    #expect(fixture.emulator.assetCount == 2)
    #expect(try fixture.modify(Fixture.save("a", Fixture.asset(file))).outcomes == ["saved"])
    #expect(try send() == 200)
    #expect(try send() == 503)
    fixture.pass(3601)
    #expect(try send() == 200)
  }

  @Test func `what is too much to count is as much as there is`() throws {
    var configuration = EmulatorConfiguration()
    configuration.pageLimit = .max
    let fixture = try Fixture.withZone(configuration)
    try fixture.fill(3)

    #expect(try fixture.query(#""sortBy":[]"#).names.count == 3)
    #expect((try fixture.changes().zones[0]["records"] as? [Any])?.count == 3)
    for _ in 0..<3 { fixture.emulator.advance(by: .seconds(Int64.max)) }
    #expect(fixture.emulator.timeAhead > .seconds(1_000_000_000))
    let request = EmulatorRequest(method: "GET", path: "/sign-in")
    #expect(fixture.emulator.handle(request, at: fixture.emulator.time(at: fixture.now)).response?.status == 200)
  }

  @Test func `a secret makes addresses and push tokens another's`() throws {
    let fixtures = try ["", "secret"].map { secret in
      var configuration = EmulatorConfiguration()
      configuration.secret = secret
      return try Fixture.withZone(configuration)
    }
    let urls = try fixtures.map { try $0.uploadURL("a") }
    let couriers = try fixtures.map { try $0.courierURL() }

    #expect(try fixtures[1].open(urls[0], method: "POST", body: Data("x".utf8)).status == 403)
    #expect(try fixtures[1].open(urls[1], method: "POST", body: Data("x".utf8)).status == 200)
    #expect(couriers[0] != couriers[1])
  }
}
