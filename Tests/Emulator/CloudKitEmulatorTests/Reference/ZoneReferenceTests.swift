import CloudKitEmulator
import Foundation
import Testing

/// The examples of sections 5.5, 5.6, 5.7 and of the deprecated 5.12.
@Suite(.serialized) struct ZoneReferenceTests {
  @Test func `5_5, the example of a new zone`() throws {
    let curl = try Curl()

    let answer = try curl(
      "private/zones/modify",
      #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"notes"}}}]}"#
    )

    let zone =
      #"{"zoneID":{"zoneName":"notes","ownerRecordName":"*","zoneType":"REGULAR_CUSTOM_ZONE"},"syncToken":"*","atomic":true,"deleted":false}"#
    #expect(answer.lacks(#"{"zones":[\#(zone)]}"#) == [])
    let fallback = #"{"zoneID":{"zoneName":"_defaultZone","zoneType":"DEFAULT_ZONE"},"atomic":false,"syncToken":null}"#
    #expect(try curl("private/zones/list").lacks(#"{"zones":[\#(fallback),\#(zone)]}"#) == [])
    let looked = try curl("private/zones/lookup", #"{"zones":[{"zoneName":"gone"},{"zoneName":"notes"}]}"#)
    let missing = #"{"zoneID":{"zoneName":"gone"},"serverErrorCode":"ZONE_NOT_FOUND","reason":"*"}"#
    #expect(looked.lacks(#"{"zones":[\#(missing),\#(zone)]}"#) == [])
  }

  @Test func `2_1, a zone of somebody else is none of the private database`() throws {
    let curl = try Curl()
    let zone = { (owner: String) in #"{"zones":[{"zoneName":"_defaultZone","\#(owner)"}]}"# }
    let me = try #require(try curl("public/users/caller").object["userRecordName"] as? String)

    let code = { (owner: String) in
      try curl("private/zones/lookup", zone(owner)).zones[0]["serverErrorCode"] as? String
    }

    #expect(try code(#"ownerRecordName":"\#(me)"#) == nil)
    #expect(try code(#"ownerName":"\#(me)"#) == nil)
    #expect(try code(#"ownerRecordName":"_0f"#) == "ZONE_NOT_FOUND")
  }

  @Test func `5_6, the example of a database's changes`() throws {
    let curl = try Curl()
    try curl.fixture.createZone("old")
    let first = try #require(try curl("private/changes/database", "{}").object["syncToken"] as? String)
    try curl.fixture.createZone("notes")
    _ = try curl.fixture.deleteZone("old")

    let answer = try curl("private/changes/database", #"{"syncToken":"\#(first)","resultsLimit":100}"#)

    let pattern =
      #"{"zones":[{"zoneID":{"zoneName":"notes","ownerRecordName":"*"},"syncToken":"*"},{"zoneID":{"zoneName":"old","ownerRecordName":"*"},"deleted":true}],"syncToken":"*","moreComing":false}"#
    #expect(answer.lacks(pattern) == [])
    let next = try #require(answer.object["syncToken"] as? String)
    let quiet = try curl("private/changes/database", #"{"syncToken":"\#(next)"}"#)
    #expect(quiet.lacks(#"{"zones":[],"syncToken":"\#(next)","moreComing":false}"#) == [])
  }

  @Test func `5_7, the example of a zone's changes, with the narrowing of the request and of a zone`() throws {
    let curl = try Curl()
    try curl.fixture.createZone("notes")
    let start = try #require(try curl.fixture.changes().zones[0]["syncToken"] as? String)
    _ = try curl.fixture.modify(Fixture.save("note-0"), Fixture.save("note-1", #""n":{"value":1},"t":{"value":"x"}"#))
    _ = try curl.fixture.modify(Fixture.delete("note-0"))
    let ask = { (own: String, more: String) in
      try curl(
        "private/changes/zone",
        #"{"zones":[{"zoneID":{"zoneName":"notes"},"syncToken":"\#(start)"\#(own)}]\#(more)}"#
      )
    }

    let tombstone = #"{"recordName":"note-0","deleted":true,"zoneID":{"zoneName":"notes"},"fields":null}"#
    let record =
      #"{"recordName":"note-1","recordType":"Note","recordChangeTag":"*","deleted":false,"fields":{"n":"*","t":"*"},"created":"*","modified":"*"}"#
    let pattern =
      #"{"zones":[{"zoneID":{"zoneName":"notes","ownerRecordName":"*"},"syncToken":"*","moreComing":false,"records":[\#(record),\#(tombstone)]}]}"#
    #expect(try ask("", #","resultsLimit":200"#).lacks(pattern) == [])
    let fields = { (answer: Answer) in
      ((answer.zones[0]["records"] as? [[String: Any]])?.first?["fields"] as? [String: Any])?.keys.sorted()
    }
    #expect(fields(try ask("", #","desiredKeys":["n"]"#)) == ["n"])
    #expect(fields(try ask(#","desiredKeys":["t"]"#, #","desiredKeys":["n"]"#)) == ["t"])
    #expect(try ask(#","resultsLimit":1"#, "").lacks(#"{"zones":[{"records":[\#(record)],"moreComing":true}]}"#) == [])
    let others = #"{"zones":[{"records":[\#(tombstone)],"moreComing":false}]}"#
    #expect(try ask(#","desiredRecordTypes":["Other"]"#, "").lacks(others) == [])
    let newest = #"{"zones":[{"records":[\#(tombstone),\#(record)],"moreComing":false}]}"#
    #expect(try ask("", #","reverse":true"#).lacks(newest) == [])
  }

  @Test func `5_12, the deprecated feeds`() throws {
    let curl = try Curl()
    #expect(try curl("private/zones/changes", "{}").status == 400)
    try curl.fixture.createZone("notes")
    _ = try curl.fixture.modify(Fixture.save("a"))

    let zones = try curl("private/zones/changes", #"{"resultsLimit":10}"#)
    let records = try curl("private/records/changes", #"{"zoneID":{"zoneName":"notes"},"resultsLimit":10}"#)

    #expect(
      zones.lacks(
        #"{"zones":[{"zoneID":{"zoneName":"notes"}}],"metaSyncToken":"*","moreComing":false,"syncToken":null}"#
      )
        == []
    )
    #expect(records.lacks(#"{"records":[{"recordName":"a"}],"syncToken":"*","moreComing":false}"#) == [])
    let refused = try curl("private/records/changes", "{}")
    #expect(refused.status == 400 && refused.reason == "cannot get changes in default zone")
  }
}
