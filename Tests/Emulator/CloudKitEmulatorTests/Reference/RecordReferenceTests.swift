import CloudKitEmulator
import Foundation
import Testing

/// The examples of sections 2.4, 5.1, 5.2 and 5.3, and the values of section 3.
@Suite(.serialized) struct RecordReferenceTests {
  static let zone = #""zoneID":{"zoneName":"notes"}"#

  static func prepared() throws -> Curl {
    let curl = try Curl()
    try curl.fixture.createZone("notes")
    return curl
  }

  func modify(_ curl: Curl, _ operations: String..., more: String = "") throws -> Answer {
    let list = operations.joined(separator: ",")
    return try curl("private/records/modify", #"{\#(Self.zone),"atomic":false\#(more),"operations":[\#(list)]}"#)
  }

  func save(_ curl: Curl, _ fields: String) throws -> Answer { try modify(curl, Fixture.save("a", fields)) }

  @Test func `2_4, a record comes with everything it has`() throws {
    let curl = try Self.prepared()

    let answer = try modify(
      curl,
      #"{"operationType":"create","record":{"recordName":"note-1","recordType":"Note","fields":{"title":{"value":"Milk","type":"STRING"},"when":{"value":1767322800000,"type":"TIMESTAMP"}}}}"#
    )

    let stamp = #"{"timestamp":"*","userRecordName":"*","deviceID":"*"}"#
    let pattern =
      #"{"records":[{"recordName":"note-1","recordType":"Note","recordChangeTag":"*","deleted":false,"fields":{"title":{"value":"Milk","type":"STRING"},"when":{"value":1767322800000,"type":"TIMESTAMP"}},"pluginFields":{},"created":\#(stamp),"modified":\#(stamp),"zoneID":{"zoneName":"notes","ownerRecordName":"*"}}]}"#
    #expect(answer.lacks(pattern) == [])
    #expect((answer.tags[0] ?? "").wholeMatch(of: /[0-9a-z]+/) != nil)
  }

  @Test func `5_1, the example of a query`() throws {
    let curl = try Self.prepared()
    _ = try modify(
      curl,
      Fixture.save("note-1", #""title":{"value":"Milk"},"tag":{"value":"a"}"#),
      Fixture.save("note-2", #""title":{"value":"Tea"},"tag":{"value":"b"}"#),
      Fixture.save("note-3", #""title":{"value":"Salt"},"tag":{"value":"c"}"#)
    )
    let query =
      #"{"zoneID":{"zoneName":"notes"},"resultsLimit":1,"desiredKeys":["title"],"query":{"recordType":"Note","filterBy":[{"comparator":"IN","fieldName":"tag","fieldValue":{"type":"STRING_LIST","value":["a","b"]}},{"comparator":"GREATER_THAN","systemFieldName":"modifiedTimestamp","fieldValue":{"type":"TIMESTAMP","value":1767322800000}}],"sortBy":[{"systemFieldName":"createdTimestamp","ascending":false}]}"#

    let first = try curl("private/records/query", query + "}")
    let marker = try #require(first.object["continuationMarker"] as? String)
    let second = try curl("private/records/query", query + #","continuationMarker":"\#(marker)"}"#)

    let fields = { (answer: Answer) in answer.records.map { ($0["fields"] as? [String: Any])?.keys.sorted() } }
    #expect(Set(first.names + second.names) == ["note-1", "note-2"])
    #expect(fields(first) == [["title"]] && fields(second) == [["title"]])
    #expect(second.object["continuationMarker"] == nil)
  }

  @Test func `5_1, a marker of null is none, and first-party hosts tell the sync token`() throws {
    let curl = try Self.prepared()
    _ = try save(curl, "")
    let body = #"{\#(Self.zone),"continuationMarker":null,"desiredKeys":null,"query":{"recordType":"Note"}}"#

    let plain = try curl("private/records/query", body)
    let asked = try curl("private/records/query", body, query: "getCurrentSyncToken=true&" + Fixture.ana)

    #expect(plain.names == ["a"] && plain.object["syncToken"] == nil)
    let token = try #require(asked.object["syncToken"] as? String)
    let changes = try curl("private/changes/zone", #"{"zones":[{\#(Self.zone),"syncToken":"\#(token)"}]}"#)
    #expect(changes.lacks(#"{"zones":[{"records":[],"moreComing":false}]}"#) == [])
    let looked = try curl(
      "private/records/lookup",
      #"{\#(Self.zone),"records":[]}"#,
      query: "getCurrentSyncToken=true&" + Fixture.ana
    )
    #expect(looked.object["syncToken"] as? String == token)
  }

  @Test func `5_2, the example of a lookup, and desiredKeys of the request and of a record`() throws {
    let curl = try Self.prepared()
    _ = try modify(curl, Fixture.save("note-1", #""title":{"value":"Milk"},"n":{"value":1}"#))
    let fields = { (keys: String, own: String) in
      let body = #"{\#(Self.zone)\#(keys),"records":[{"recordName":"note-1"\#(own)},{"recordName":"gone"}]}"#
      return try curl("private/records/lookup", body)
    }

    #expect(
      try fields("", "").lacks(
        #"{"records":[{"recordName":"note-1","fields":{"title":"*","n":"*"}},{"recordName":"gone","reason":"Record not found","serverErrorCode":"NOT_FOUND"}]}"#
      ) == []
    )
    let keys = { (answer: Answer) in (answer.records[0]["fields"] as? [String: Any])?.keys.sorted() }
    #expect(keys(try fields(#","desiredKeys":["n"]"#, "")) == ["n"])
    #expect(keys(try fields(#","desiredKeys":["n"]"#, #","desiredKeys":["title"]"#)) == ["title"])
    #expect(keys(try fields(#","desiredKeys":[]"#, "")) == [])
    let missing = try curl("private/records/lookup", #"{"zoneID":{"zoneName":"gone"},"records":[]}"#)
    #expect(missing.status == 404 && missing.code == "ZONE_NOT_FOUND")
  }

  @Test func `3_1, values without a tag are taken for what their JSON is`() throws {
    let curl = try Self.prepared()

    let answer = try save(
      curl,
      #""s":{"value":"x"},"i":{"value":3},"d":{"value":3.5},"l":{"value":["x"]},"b":{"value":true},"p":{"value":{"latitude":1,"longitude":2}},"r":{"value":{"recordName":"x"}}"#
    )

    let pattern =
      #"{"s":{"type":"STRING"},"i":{"type":"INT64"},"d":{"type":"DOUBLE"},"l":{"type":"STRING_LIST"},"b":{"type":"INT64","value":1},"p":{"type":"LOCATION"},"r":{"type":"REFERENCE"}}"#
    #expect(answer.lacks(#"{"records":[{"fields":\#(pattern)}]}"#) == [])
  }

  @Test func `3_1, both ways to clear a field, and a list that becomes empty`() throws {
    let curl = try Self.prepared()
    _ = try save(curl, #""s":{"value":"x"},"t":{"value":"x"},"l":{"value":["x"]}"#)

    let answer = try save(curl, #""s":{"value":null},"t":{},"l":{"value":[]}"#)

    #expect((answer.records[0]["fields"] as? [String: Any])?.keys.sorted() == ["l"])
    #expect(answer.lacks(#"{"records":[{"fields":{"l":{"value":[],"type":"UNKNOWN_LIST"}}}]}"#) == [])
    #expect(try save(curl, #""l":{"value":["y"]}"#).outcomes == ["saved"])
  }

  static let refused = [
    #"{"value":"x","type":"INT64"}"#, #"{"value":[1,"x"]}"#, #"{"value":[[1]]}"#,
    #"{"value":{"latitude":91,"longitude":0}}"#, #"{"value":1.5,"type":"TIMESTAMP"}"#,
    #"{"value":"not base64","type":"BYTES"}"#, #"{"value":1,"type":"NUMBER"}"#, #"{"value":{"x":1}}"#,
    #"{"value":{"recordName":"x","action":"CASCADE"},"type":"REFERENCE"}"#, #"{"value":1,"type":"INT64_LIST"}"#,
  ]

  @Test(arguments: refused)
  func `3, a value that is none of its type is an error of the record`(value: String) throws {
    let answer = try save(Self.prepared(), #""f":\#(value)"#)

    #expect(answer.status == 200)
    #expect(answer.lacks(#"{"records":[{"recordName":"a","serverErrorCode":"BAD_REQUEST","reason":"*"}]}"#) == [])
  }

  @Test func `3_2 and 3_3, places and references come back as they went`() throws {
    let curl = try Self.prepared()
    let place =
      #"{"latitude":52.5,"longitude":13.25,"horizontalAccuracy":5,"verticalAccuracy":6,"altitude":34,"speed":1.5,"course":90,"timestamp":1767322800000}"#

    let answer = try save(
      curl,
      #""p":{"value":\#(place),"type":"LOCATION"},"r":{"value":{"recordName":"x","action":"DELETE_SELF"},"type":"REFERENCE"}"#
    )

    let pattern = #"{"p":{"value":\#(place)},"r":{"value":{"recordName":"x","action":"DELETE_SELF"}}}"#
    #expect(answer.lacks(#"{"records":[{"fields":\#(pattern)}]}"#) == [])
  }

  @Test func `3_4, system fields go by both their names`() throws {
    let curl = try Self.prepared()
    _ = try save(curl, "")
    let query = { (key: String, value: String) in
      let filter = #"{"comparator":"EQUALS",\#(key),"fieldValue":\#(value)}"#
      let body = #"{\#(Self.zone),"query":{"recordType":"Note","filterBy":[\#(filter)]}}"#
      return try curl("private/records/query", body).names
    }
    let me = try #require(try curl("public/users/caller").object["userRecordName"] as? String)
    let user = #"{"value":{"recordName":"\#(me)"},"type":"REFERENCE"}"#
    let name = #"{"value":{"recordName":"a"},"type":"REFERENCE"}"#

    for key in [#""systemFieldName":"createdUserRecordName""#, #""fieldName":"___createdBy""#] {
      #expect(try query(key, user) == ["a"])
    }
    for key in [#""systemFieldName":"recordName""#, #""fieldName":"___recordID""#] {
      #expect(try query(key, name) == ["a"])
    }
  }

  @Test func `5_3, forced operations report no difference, and a deletion is short`() throws {
    let curl = try Self.prepared()

    let answer = try modify(curl, Fixture.save("a"), Fixture.delete("b"))

    #expect(answer.records[1].keys.sorted() == ["deleted", "recordName"])
    #expect(answer.lacks(#"{"records":[{"recordName":"a","deleted":false},{"recordName":"b","deleted":true}]}"#) == [])
  }

  @Test func `5_3, desiredKeys of the request and of an operation`() throws {
    let fields = #""n":{"value":1},"t":{"value":"x"}"#
    let own = Fixture.save("b", fields).dropLast() + #","desiredKeys":["t"]}"#

    let answer = try modify(
      Self.prepared(),
      Fixture.save("a", fields),
      String(own),
      more: #","desiredKeys":["n"]"#
    )

    #expect(answer.records.map { ($0["fields"] as? [String: Any])?.keys.sorted() } == [["n"], ["t"]])
  }
}
