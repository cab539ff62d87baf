import CloudKitEmulator
import Foundation
import Testing

@Suite(.serialized) struct ChangesTests {
  func page(_ answer: Answer) throws -> (names: [String], token: String, moreComing: Bool) {
    let zone = try #require(answer.zones.first)
    let records = try #require(zone["records"] as? [[String: Any]], "\(zone)")
    return (
      records.compactMap { $0["recordName"] as? String }, try #require(zone["syncToken"] as? String),
      zone["moreComing"] as? Bool ?? false
    )
  }

  @Test func `a token brings what happened since, each record once, deletions as tombstones`() throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.modify(Fixture.save("a"), Fixture.save("b"), Fixture.save("c"))
    let first = try page(try fixture.changes())

    _ = try fixture.modify(Fixture.delete("a"))
    _ = try fixture.modify(Fixture.save("b", #""n":{"value":1}"#))
    _ = try fixture.modify(Fixture.save("b", #""n":{"value":2}"#))
    let answer = try fixture.changes(first.token)
    let second = try page(answer)

    #expect(first.names == ["a", "b", "c"])
    #expect(second.names == ["a", "b"])
    let records = try #require(answer.zones[0]["records"] as? [[String: Any]])
    #expect(records[0]["deleted"] as? Bool == true && records[0]["fields"] == nil)
    #expect(records[1].value("n") as? Int == 2)
    #expect(try page(try fixture.changes(second.token)) == ([], second.token, false))
  }

  @Test func `450 records come in pages of 200, whatever the limit asked for`() throws {
    let fixture = try Fixture.withZone()
    try fixture.fill(450)

    var names: [String] = []
    var sizes: [Int] = []
    var token: String?
    var moreComing = true
    while moreComing {
      let page = try page(try fixture.changes(token, #","resultsLimit":1000"#))
      names += page.names
      sizes.append(page.names.count)
      (token, moreComing) = (page.token, page.moreComing)
    }

    #expect(sizes == [200, 200, 50])
    #expect(Set(names).count == 450)
  }

  @Test func `writes between pages are not lost`() throws {
    let fixture = try Fixture.withZone()
    try fixture.fill(250)
    let first = try page(try fixture.changes())

    _ = try fixture.modify(Fixture.save("n000", #""n":{"value":-1}"#), Fixture.delete("n249"))
    let second = try page(try fixture.changes(first.token))

    #expect(second.names.suffix(2) == ["n000", "n249"])
    #expect(!second.moreComing)
  }

  @Test func `tokens that are broken, foreign, of a database, or of a deleted namesake are refused by the zone`() throws
  {
    let fixture = try Fixture.withZone()
    _ = try fixture.modify(Fixture.save("a"))
    let old = try page(try fixture.changes()).token
    let ofDatabase = try #require(try fixture.post("changes/database").object["syncToken"] as? String)
    _ = try fixture.deleteZone("notes")
    try fixture.createZone("notes")
    for name in ["a", "b", "c"] { _ = try fixture.modify(Fixture.save(name)) }

    let reasons = try [old, ofDatabase, String(old.prefix(8)), ""].map { token in
      let answer = try fixture.changes(token)
      #expect(answer.status == 200 && answer.zones[0]["serverErrorCode"] as? String == "BAD_REQUEST")
      return answer.zones[0]["reason"] as? String
    }

    let (unknown, invalid) = ("Unknown sync continuation type", "Invalid continuation format")
    #expect(reasons == [unknown, unknown, invalid, invalid])
  }

  @Test func `missing zones and the default zone fail alone`() throws {
    let fixture = try Fixture.withZone()

    let answer = try fixture.post(
      "changes/zone",
      #"{"zones":[{"zoneID":{"zoneName":"gone"}},{"zoneID":{"zoneName":"_defaultZone"}},{"zoneID":{"zoneName":"notes"}}]}"#
    )

    #expect(answer.zones.map { $0["serverErrorCode"] as? String } == ["ZONE_NOT_FOUND", "BAD_REQUEST", nil])
    #expect(answer.zones[1]["reason"] as? String == "cannot get changes in default zone")
  }

  @Test func `the database feed names changed zones and tombstones of deleted ones`() throws {
    let fixture = try Fixture.withZone()
    try fixture.createZone("old")
    let first = try fixture.post("changes/database")
    let token = try #require(first.object["syncToken"] as? String)

    _ = try fixture.modify(Fixture.save("a"))
    _ = try fixture.deleteZone("old")
    let second = try fixture.post("changes/database", #"{"syncToken":"\#(token)"}"#)

    let names = { (answer: Answer) in answer.zones.map { ($0["zoneID"] as? [String: Any])?["zoneName"] as? String } }
    #expect(names(first) == ["notes", "old"])
    #expect(names(second) == ["notes", "old"])
    #expect(second.zones.map { $0["deleted"] as? Bool } == [nil, true])
    let next = try #require(second.object["syncToken"] as? String)
    #expect(try fixture.post("changes/database", #"{"syncToken":"\#(next)"}"#).zones.isEmpty)
    #expect(try fixture.changes(zone: "old").zones[0]["serverErrorCode"] as? String == "ZONE_NOT_FOUND")
  }

  @Test func `the database feed pages too`() throws {
    let fixture = try Fixture()
    for name in ["a", "b", "c"] { try fixture.createZone(name) }

    let first = try fixture.post("changes/database", #"{"resultsLimit":2}"#)
    let token = try #require(first.object["syncToken"] as? String)
    let second = try fixture.post("changes/database", #"{"resultsLimit":2,"syncToken":"\#(token)"}"#)

    #expect(first.zones.count == 2 && first.object["moreComing"] as? Bool == true)
    #expect(second.zones.count == 1 && second.object["moreComing"] as? Bool == false)
  }

  @Test func `the deprecated zones/changes reads metaSyncToken and ignores syncToken`() throws {
    let fixture = try Fixture.withZone()
    let token = try #require(try fixture.post("zones/changes").object["metaSyncToken"] as? String)

    #expect(try fixture.post("zones/changes", #"{"metaSyncToken":"\#(token)"}"#).zones.isEmpty)
    #expect(try fixture.post("zones/changes", #"{"syncToken":"\#(token)"}"#).zones.count == 1)
  }

  @Test func `the deprecated records/changes serves one zone and refuses the default one`() throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.modify(Fixture.save("a"))

    let answer = try fixture.post("records/changes", #"{"zoneID":{"zoneName":"notes"}}"#)
    let refused = try fixture.post("records/changes", #"{"zoneID":{"zoneName":"_defaultZone"}}"#)

    #expect(answer.names == ["a"] && answer.object["syncToken"] is String)
    #expect(refused.status == 400 && refused.reason == "cannot get changes in default zone")
  }

  @Test func `tombstones disappear when the name is used again`() throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.modify(Fixture.save("a"))
    let token = try page(try fixture.changes()).token

    _ = try fixture.modify(Fixture.delete("a"))
    _ = try fixture.modify(Fixture.save("a", type: "create"))

    let records = try #require(try fixture.changes(token).zones[0]["records"] as? [[String: Any]])
    #expect(records.map { $0["deleted"] as? Bool } == [false])
  }
}
