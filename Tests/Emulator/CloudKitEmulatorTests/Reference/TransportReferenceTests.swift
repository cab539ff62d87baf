import CloudKitEmulator
import Foundation
import Testing

/// Sections 1.1 and 1.2, and the first bullets of the checklist: paths, methods, bodies and headers.
@Suite(.serialized) struct TransportReferenceTests {
  static let operations: [(path: String, body: String?)] = [
    ("private/records/query", #"{"query":{"recordType":"Note"}}"#),
    ("private/records/lookup", #"{"records":[]}"#), ("private/records/modify", #"{"operations":[]}"#),
    ("public/records/resolve", #"{"shortGUIDs":[]}"#), ("public/records/accept", #"{"shortGUIDs":[]}"#),
    ("private/records/changes", #"{"zoneID":{"zoneName":"notes"}}"#), ("private/zones/list", nil),
    ("private/zones/lookup", #"{"zones":[]}"#), ("private/zones/modify", #"{"operations":[]}"#),
    ("private/zones/changes", "{}"), ("private/changes/database", "{}"), ("private/changes/zone", #"{"zones":[]}"#),
    ("private/subscriptions/list", nil), ("private/subscriptions/lookup", #"{"subscriptions":[]}"#),
    ("private/subscriptions/modify", #"{"operations":[]}"#), ("private/assets/upload", #"{"tokens":[]}"#),
    ("private/assets/rereference", #"{"assets":[]}"#),
    ("private/tokens/create", #"{"apnsEnvironment":"development"}"#),
    ("private/tokens/register", #"{"apnsEnvironment":"development","apnsToken":"t"}"#), ("public/users/caller", nil),
    ("public/users/current", nil), ("public/users/discover", #"{"lookupInfos":[]}"#),
    ("public/users/lookup/email", #"{"users":[]}"#), ("public/users/lookup/id", #"{"users":[]}"#),
    ("public/users/lookup/contacts", "{}"),
    ("/device/1/iCloud.test/development/tokens/create", #"{"apnsEnvironment":"development"}"#),
    ("/device/1/iCloud.test/development/tokens/register", #"{"apnsEnvironment":"production","apnsToken":"t"}"#),
  ]

  static func prepared(_ configuration: EmulatorConfiguration = EmulatorConfiguration()) throws -> Curl {
    let curl = try Curl(configuration)
    try curl.fixture.createZone("notes")
    _ = try curl.fixture.modify(Fixture.save("a"))
    return curl
  }

  @Test(arguments: operations)
  func `every path of section 5 is served, and every answer names its request`(
    operation: (path: String, body: String?)
  ) throws {
    let curl = try Self.prepared()

    let first = try curl(operation.path, operation.body)
    let second = try curl(operation.path, operation.body)

    #expect(first.status == 200)
    #expect(first.header("Content-Type") == "application/json; charset=UTF-8")
    let uuids = [first, second].map { $0.header("X-Apple-Request-UUID") ?? "" }
    #expect(Set(uuids).count == 2 && uuids.allSatisfy { UUID(uuidString: $0) != nil })
  }

  @Test func `an error tells the UUID of its header, and the code before the reason`() throws {
    let answer = try Curl()("private/records/modify", "{}")

    #expect(answer.status == 400)
    #expect(answer.lacks(#"{"uuid":"*","serverErrorCode":"BAD_REQUEST","reason":"*"}"#) == [])
    #expect(answer.object["uuid"] as? String == answer.header("X-Apple-Request-UUID"))
    #expect(answer.object["redirectURL"] == nil && answer.object["retryAfter"] == nil)
  }

  @Test(arguments: ["private/zones/list", "private/subscriptions/list", "public/users/caller", "public/users/current"])
  func `the lists take POST with an empty object and with nothing, and answer what GET does`(path: String) throws {
    let curl = try Curl()

    let answers = try [curl(path), curl(path, "{}"), curl(path, "")]

    #expect(answers.map(\.status) == [200, 200, 200])
    #expect(Set(answers.map(\.text)).count == 1)
  }

  @Test func `a body may call itself text/plain, as Apple's samples do`() throws {
    let curl = try Self.prepared()
    let body = #"{"zoneID":{"zoneName":"notes"},"records":[{"recordName":"a"}]}"#

    let types = ["application/json", "text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded"]
    let texts = try types.map { try curl("private/records/lookup", body, type: $0).text }

    #expect(Set(texts).count == 1 && texts[0].contains(#""recordName":"a""#))
  }

  @Test func `unknown keys of the query and the body are ignored`() throws {
    let curl = try Self.prepared()

    let answer = try curl(
      "private/records/lookup",
      #"{"zoneID":{"zoneName":"notes"},"records":[{"recordName":"a","nonsense":1}],"desiredKey":["x"]}"#,
      query: "remapEnums=true&clientBuildNumber=1&" + Fixture.ana
    )

    #expect(answer.names == ["a"])
  }

  static let misspelt: [(path: String, body: String, key: String)] = [
    ("private/records/query", #"{"query":{"recordType":"Note","filterby":[]}}"#, "query.filterby"),
    (
      "private/records/query",
      #"{"query":{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldname":"n"}]}}"#,
      "query.filterBy.fieldname"
    ),
    ("private/changes/zone", #"{"zones":[{"zoneID":{"zoneName":"notes"},"syncTokn":"x"}]}"#, "zones.syncTokn"),
    ("private/zones/changes", #"{"syncToken":"x"}"#, "syncToken"),
    (
      "private/records/modify",
      #"{"operations":[{"operationType":"create","record":{"recordType":"N","fields":{"f":{"value":1,"typ":"INT64"}}}}]}"#,
      "operations.record.fields.f.typ"
    ),
    ("public/users/discover", #"{"lookupInfos":[{"email":"a@b"}]}"#, "lookupInfos.email"),
  ]

  @Test(arguments: misspelt)
  func `whoever asks for it is told of keys that nobody knows`(row: (path: String, body: String, key: String)) throws {
    var configuration = EmulatorConfiguration()
    configuration.rejectsUnknownKeys = true

    let answer = try Self.prepared(configuration)(row.path, row.body)

    #expect(answer.status == 400 && answer.reason == "Unknown key '\(row.key)'")
    #expect(try Self.prepared()(row.path, row.body).reason != answer.reason)
  }

  @Test(arguments: operations)
  func `no documented key is unknown`(operation: (path: String, body: String?)) throws {
    var configuration = EmulatorConfiguration()
    configuration.rejectsUnknownKeys = true

    #expect(try Self.prepared(configuration)(operation.path, operation.body).status == 200)
  }

  @Test(arguments: ["numbersAsStrings", "numberAsStrings"])
  func `numbers come as strings in both spellings, wherever they are asked for`(key: String) throws {
    let curl = try Self.prepared()
    let fields = #""i":{"value":7},"d":{"value":1.5},"t":{"value":8,"type":"TIMESTAMP"},"l":{"value":[1,2]}"#
    let zone = #""zoneID":{"zoneName":"notes"}"#
    let expected =
      #"{"i":{"value":"7","type":"INT64"},"d":{"value":"1.5","type":"DOUBLE"},"t":{"value":"8","type":"TIMESTAMP"},"l":{"value":["1","2"],"type":"INT64_LIST"}}"#

    let saved = try curl(
      "private/records/modify",
      #"{\#(zone),"\#(key)":true,"operations":[\#(Fixture.save("b", fields))]}"#
    )
    let found = try curl("private/records/lookup", #"{\#(zone),"\#(key)":true,"records":[{"recordName":"b"}]}"#)
    let queried = try curl(
      "private/records/query",
      #"{\#(zone),"\#(key)":true,"query":{"recordType":"Note","filterBy":[{"comparator":"EQUALS","fieldName":"i","fieldValue":{"value":7,"type":"INT64"}}]}}"#
    )
    let changed = try curl("private/changes/zone", #"{"zones":[{\#(zone)}],"\#(key)":true}"#)
    let alone = try curl("private/changes/zone", #"{"zones":[{\#(zone),"\#(key)":true}]}"#)

    for answer in [saved, found, queried] { #expect(answer.lacks(#"{"records":[{"fields":\#(expected)}]}"#) == []) }
    for answer in [changed, alone] {
      #expect(answer.lacks(#"{"zones":[{"records":["*",{"fields":\#(expected)}]}]}"#) == [])
    }
    #expect(
      try curl("private/records/lookup", #"{\#(zone),"records":[{"recordName":"b"}]}"#).text.contains(#""value":7,"#)
    )
  }

  @Test func `every other method is a 405 that says which are not`() throws {
    let curl = try Curl()

    for method in ["PUT", "DELETE", "PATCH", "HEAD"] {
      let answer = try curl("private/records/modify", "{}", method: method)
      #expect(answer.status == 405 && answer.header("Allow") == "POST")
    }
    #expect(try curl("private/zones/list", "{}", method: "DELETE").header("Allow") == "GET, POST")
  }
}

/// The comparison that the other suites here rest on.
@Suite(.serialized) struct AnswerComparisonTests {
  @Test(arguments: [
    (#"{"zones":[{"zoneID":{"zoneName":"_defaultZone"},"atomic":false}],"moreComing":false}"#, true),
    (#"{"zones":["*"],"syncToken":"*","nothing":null}"#, true), (#"{"zones":[]}"#, false),
    (#"{"zones":[{"zoneID":{"zoneName":"other"}}]}"#, false), (#"{"zones":[{"atomic":true}]}"#, false),
    (#"{"zones":[{"atomic":null}]}"#, false), (#"{"nothing":"*"}"#, false), (#"{"zones":{"0":"*"}}"#, false),
    (#"{"zones":["*","*"]}"#, false), (#"{"zones":"#, false),
  ])
  func `an answer lacks what differs and what is missing`(row: (pattern: String, holds: Bool)) throws {
    let answer = try Curl()("private/zones/list")

    #expect(answer.lacks(row.pattern).isEmpty == row.holds)
  }
}
