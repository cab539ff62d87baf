import CloudKitEmulator
import Foundation
import Testing

@Suite(.serialized) struct ModifyTests {
  /// The table of section 5.3: type, tag equal, tag differs, no tag, record missing.
  static let table: [(type: String, equal: String, differs: String, none: String, missing: String)] = [
    ("create", "EXISTS", "EXISTS", "EXISTS", "saved"),
    ("update", "saved", "CONFLICT", "BAD_REQUEST", "NOT_FOUND"),
    ("forceUpdate", "saved", "saved", "saved", "saved"),
    ("replace", "saved", "CONFLICT", "BAD_REQUEST", "NOT_FOUND"),
    ("forceReplace", "saved", "saved", "saved", "saved"),
    ("delete", "deleted", "CONFLICT", "deleted", "NOT_FOUND"),
    ("forceDelete", "deleted", "deleted", "deleted", "deleted"),
  ]

  @Test(arguments: table)
  func `each operation type fares as the table says`(
    row: (type: String, equal: String, differs: String, none: String, missing: String)
  ) throws {
    let fixture = try Fixture.withZone()
    for name in ["a", "b", "c"] { _ = try fixture.modify(Fixture.save(name, #""n":{"value":1}"#)) }
    let found = try fixture.post("records/lookup", #"{"zoneID":{"zoneName":"notes"},"records":[{"recordName":"a"}]}"#)
    let tag = try #require(found.tags[0])

    let answer = try fixture.modify(
      Fixture.save("a", type: row.type, more: #","recordChangeTag":"\#(tag)""#),
      Fixture.save("b", type: row.type, more: #","recordChangeTag":"stale""#),
      Fixture.save("c", type: row.type),
      Fixture.save("d", type: row.type)
    )

    #expect(answer.status == 200)
    #expect(answer.outcomes == [row.equal, row.differs, row.none, row.missing])
  }

  @Test func `update keeps what it does not mention and replace clears it`() throws {
    let fixture = try Fixture.withZone()
    let both = #""title":{"value":"Milk"},"n":{"value":1}"#
    _ = try fixture.modify(Fixture.save("a", both), Fixture.save("b", both), Fixture.save("c", both))

    let answer = try fixture.modify(
      Fixture.save("a", #""n":{"value":2}"#),
      Fixture.save("b", #""n":{"value":2}"#, type: "forceReplace"),
      Fixture.save("c", #""n":{"value":null},"title":{}"#)
    )

    #expect(answer.records[0].value("title") as? String == "Milk")
    #expect(answer.records[0].value("n") as? Int == 2)
    #expect(answer.records[1].value("title") == nil)
    #expect((answer.records[2]["fields"] as? [String: Any])?.isEmpty == true)
  }

  @Test func `a tag changes with every write, also after deletion under the same name`() throws {
    let fixture = try Fixture.withZone()
    var tags: [String?] = []

    tags += try fixture.modify(Fixture.save("a")).tags
    tags += try fixture.modify(Fixture.save("a")).tags
    _ = try fixture.modify(Fixture.delete("a"))
    tags += try fixture.modify(Fixture.save("a")).tags
    _ = try fixture.deleteZone("notes")
    try fixture.createZone("notes")
    tags += try fixture.modify(Fixture.save("a")).tags

    #expect(Set(tags.compactMap(\.self)).count == 4)
  }

  @Test func `the example of an atomic batch comes back as documented and changes nothing`() throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.modify(Fixture.save("note-0"), Fixture.save("note-1"))
    let before = fixture.emulator.dump()

    let answer = try fixture.post(
      "records/modify",
      """
      {"zoneID":{"zoneName":"notes"},"atomic":true,"operations":[
       {"operationType":"create","record":{"recordType":"Note","recordName":"note-2","fields":{"title":{"value":"Tea","type":"STRING"}}}},
       {"operationType":"update","record":{"recordName":"note-1","recordChangeTag":"1a","fields":{"title":{"value":"Oat milk","type":"STRING"},"when":{"value":null}}}},
       {"operationType":"forceDelete","record":{"recordName":"note-0"}}]}
      """
    )

    #expect(answer.status == 200)
    #expect(answer.names == ["note-2", "note-1", "note-0"])
    #expect(answer.outcomes == ["ATOMIC_ERROR", "CONFLICT", "ATOMIC_ERROR"])
    #expect(fixture.emulator.dump() == before)
  }

  @Test func `batches are atomic by default in custom zones and never in the default zone`() throws {
    let fixture = try Fixture.withZone()
    let operations = "[\(Fixture.save("a")),\(Fixture.save("gone", type: "update"))]"

    let custom = try fixture.post("records/modify", #"{"zoneID":{"zoneName":"notes"},"operations":\#(operations)}"#)
    let plain = try fixture.post("records/modify", #"{"atomic":true,"operations":\#(operations)}"#)

    #expect(custom.outcomes == ["ATOMIC_ERROR", "NOT_FOUND"])
    #expect(plain.outcomes == ["saved", "NOT_FOUND"])
  }

  @Test func `one bad record does not stop its neighbours outside atomic batches`() throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.modify(Fixture.save("a", #""n":{"value":1},"when":{"value":1,"type":"TIMESTAMP"}"#))

    let answer = try fixture.modify(
      Fixture.save("wrongType", #""n":{"value":"text"}"#),
      Fixture.save("fraction", #""when":{"value":1.5,"type":"TIMESTAMP"}"#),
      Fixture.save("tooLarge", #""title":{"value":"\#(String(repeating: "x", count: 1_000_001))"}"#),
      Fixture.save("badField", #""1n":{"value":1}"#),
      Fixture.save("late", #""l":{"value":{"latitude":1,"longitude":2,"timestamp":9223372036854775807}}"#),
      Fixture.save("fine", #""n":{"value":2}"#)
    )

    #expect(answer.outcomes == Array(repeating: "BAD_REQUEST", count: 5) + ["saved"])
    #expect(answer.records[1]["reason"] as? String == "Invalid value, expected type TIMESTAMP.")
  }

  @Test func `two operations on one record, and more than 200, refuse the whole request`() throws {
    let fixture = try Fixture.withZone()

    let twice = try fixture.modify(Fixture.save("a"), Fixture.delete("a"))
    let many = try fixture.modify((0...200).map { Fixture.save("n\($0)") }.joined(separator: ","))

    #expect(twice.status == 400 && twice.code == "BAD_REQUEST")
    #expect(many.status == 400 && many.code == "BAD_REQUEST")
    #expect(fixture.emulator.recordCount() == 0)
  }

  @Test func `a zone that does not exist is a 404 of the request`() throws {
    let answer = try Fixture().modify(Fixture.save("a"))

    #expect(answer.status == 404 && answer.code == "ZONE_NOT_FOUND")
  }

  @Test func `a create without a name gets one`() throws {
    let fixture = try Fixture.withZone()
    let create = #"{"operationType":"create","record":{"recordType":"Note"}}"#

    let answer = try fixture.modify(create, create)

    #expect(Set(answer.names).count == 2)
    #expect(answer.names.allSatisfy { UUID(uuidString: $0) != nil })
  }

  @Test func `integers survive to the last bit, as numbers and as strings`() throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.modify(
      Fixture.save("a", #""low":{"value":-9223372036854775808},"high":{"value":9223372036854775807}"#),
      Fixture.save("b", #""high":{"value":"9007199254740993","type":"INT64"}"#)
    )
    let lookup = #"{"zoneID":{"zoneName":"notes"},"records":[{"recordName":"a"},{"recordName":"b"}]"#

    let numbers = try fixture.post("records/lookup", lookup + "}").text
    let strings = try fixture.post("records/lookup", lookup + #","numbersAsStrings":true}"#).text

    #expect(numbers.contains(#""low":{"value":-9223372036854775808,"type":"INT64"}"#))
    #expect(numbers.contains(#""high":{"value":9007199254740993,"type":"INT64"}"#))
    #expect(strings.contains(#""high":{"value":"9223372036854775807","type":"INT64"}"#))
  }

  @Test func `every field type comes back with its tag`() throws {
    let fixture = try Fixture.withZone()
    let fields = [
      #""s":{"value":"\u00e9\ud83d\ude00\"\\/\n","type":"STRING"}"#, #""d":{"value":3,"type":"DOUBLE"}"#,
      #""b":{"value":"AAEC","type":"BYTES"}"#, #""t":{"value":-62135596800000,"type":"TIMESTAMP"}"#,
      #""l":{"value":{"latitude":52.5,"longitude":13.4,"altitude":34},"type":"LOCATION"}"#,
      #""r":{"value":{"recordName":"x","action":"NONE"},"type":"REFERENCE"}"#,
      #""sl":{"value":["a","b"],"type":"STRING_LIST"}"#, #""el":{"value":[]}"#,
      #""e":{"value":"secret","type":"STRING","isEncrypted":true}"#,
    ]
    _ = try fixture.modify(Fixture.save("b", #""el":{"value":["x"]}"#))

    let answer = try fixture.modify(Fixture.save("a", fields.joined(separator: ",")))

    let saved = try #require(answer.records[0]["fields"] as? [String: [String: Any]])
    let types = saved.mapValues { $0["type"] as? String }
    #expect(
      types == [
        "s": "STRING", "d": "DOUBLE", "b": "BYTES", "t": "TIMESTAMP", "l": "LOCATION", "r": "REFERENCE",
        "sl": "STRING_LIST", "el": "UNKNOWN_LIST", "e": "STRING",
      ]
    )
    #expect(saved["s"]?["value"] as? String == "é😀\"\\/\n")
    #expect(saved["e"]?["isEncrypted"] as? Bool == true)
  }

  @Test func `an untagged integer is refused where the field is a DOUBLE`() throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.modify(Fixture.save("a", #""price":{"value":2.5}"#))

    let answer = try fixture.modify(
      Fixture.save("a", #""price":{"value":3}"#),
      Fixture.save("b", #""price":{"value":3,"type":"DOUBLE"}"#)
    )

    #expect(answer.outcomes == ["BAD_REQUEST", "saved"])
  }

  @Test func `desiredKeys narrow at three levels, and an empty list leaves system keys only`() throws {
    let fixture = try Fixture.withZone()
    let body = #""n":{"value":1},"title":{"value":"Milk"}"#
    let save = Fixture.save("a", body).dropLast() + #","desiredKeys":[]}"#

    let answer = try fixture.post(
      "records/modify",
      #"{"zoneID":{"zoneName":"notes"},"desiredKeys":["n"],"operations":[\#(save),\#(Fixture.save("b", body))]}"#
    )

    #expect(answer.records.map { ($0["fields"] as? [String: Any])?.keys.sorted() } == [[], ["n"]])
  }

  @Test func `production learns nothing by itself and everything by a deployment`() throws {
    let fixture = try Fixture()
    let save = #"{"operations":[\#(Fixture.save("a", #""n":{"value":1}"#))]}"#
    let send = {
      let request = EmulatorRequest(
        path: "/database/1/iCloud.test/production/private/records/modify",
        query: Fixture.ana,
        body: Data(save.utf8)
      )
      return Answer(try #require(fixture.emulator.handle(request, at: fixture.now).response)).outcomes
    }

    #expect(try send() == ["BAD_REQUEST"])
    _ = try fixture.post("records/modify", save)
    try fixture.emulator.deploySchema(of: "iCloud.test")
    #expect(try send() == ["saved"])
  }
}
