import CloudKitEmulator
import Foundation
import TestSupport
import Testing

@Suite(.serialized) struct ProtocolTests {
  @Test(arguments: [
    "/", "/database/1/iCloud.test/development/private/subscriptions/get",
    "/device/1/iCloud.test/development/zones/list",
    "/database/2/iCloud.test/development/private/zones/list", "/database/1/iCloud.test/Development/private/zones/list",
    "/database/1/%FF/development/private/zones/list",
  ])
  func `paths that lead nowhere are a 404 in the envelope`(path: String) throws {
    let reply = try Emulator().handle(
      EmulatorRequest(path: path, query: Fixture.ana),
      at: Date(timeIntervalSince1970: 0)
    )

    let answer = Answer(try #require(reply.response))
    #expect(answer.status == 404 && answer.code == "NOT_FOUND")
    #expect(answer.object["uuid"] as? String == answer.header("X-Apple-Request-UUID"))
  }

  @Test func `an endpoint in the wrong database is told so`() throws {
    let fixture = try Fixture()

    #expect(try fixture.post("users/caller").reason == "endpoint not applicable in the database type 'privatedb'")
    #expect(try fixture.post("changes/zone", database: "public").status == 400)
    #expect(try fixture.post("zones/modify", database: "shared").status == 400)
  }

  @Test func `lists take GET and POST, everything else POST alone`() throws {
    let fixture = try Fixture()

    #expect(try fixture.post("zones/list", method: "GET").status == 200)
    #expect(try fixture.post("zones/list").status == 200)
    let refused = try fixture.post("records/query", method: "GET")
    #expect(refused.status == 405 && refused.header("Allow") == "POST")
  }

  @Test func `zones are listed, looked up, made and deleted`() throws {
    let fixture = try Fixture.withZone()
    let zones = #"{"zones":[{"zoneName":"notes"},{"zoneName":"gone"}]}"#
    let names = { (answer: Answer) in answer.zones.map { ($0["zoneID"] as? [String: Any])?["zoneName"] as? String } }

    #expect(names(try fixture.post("zones/list")) == ["_defaultZone", "notes"])
    #expect(names(try fixture.post("zones/list", database: "public")) == ["_defaultZone"])
    #expect(names(try fixture.post("zones/list", database: "shared")) == [])
    #expect(
      try fixture.post("zones/lookup", zones).zones.map { $0["serverErrorCode"] as? String } == [nil, "ZONE_NOT_FOUND"]
    )
    #expect(try fixture.deleteZone("notes").zones[0]["deleted"] as? Bool == true)
    #expect(try fixture.deleteZone("notes").zones[0]["serverErrorCode"] as? String == "ZONE_NOT_FOUND")
    #expect(try fixture.deleteZone("_defaultZone").zones[0]["serverErrorCode"] as? String == "BAD_REQUEST")
  }

  @Test func `preflights succeed and allowed origins are echoed`() throws {
    var configuration = EmulatorConfiguration()
    configuration.allowedOrigins = ["https://app.example"]
    let fixture = try Fixture(configuration)
    let headers = [
      EmulatorHeader("Origin", "https://app.example"), EmulatorHeader("Access-Control-Request-Headers", "content-type"),
    ]

    let preflight = try fixture.post("zones/list", method: "OPTIONS", headers: headers)
    let answer = try fixture.post("zones/list", headers: headers)

    #expect(preflight.status == 200 && preflight.header("Allow") == "GET, POST, PUT, DELETE")
    #expect(preflight.header("Access-Control-Allow-Headers") == "content-type")
    #expect(answer.header("Access-Control-Allow-Origin") == "https://app.example")
    #expect(answer.header("Access-Control-Expose-Headers")?.contains("X-Apple-CloudKit-Web-Auth-Token") == true)
  }

  @Test func `a body beyond the limit is a 413 without JSON`() throws {
    let answer = try Fixture().post("records/modify", String(repeating: " ", count: 2_000_001))

    #expect(answer.status == 413 && answer.object.isEmpty && answer.text.hasPrefix("<html>"))
  }

  @Test(arguments: [
    "", "{", "[]", "null", "{\"a\":01}", "{\"a\":1e999}", "{\"a\":\"\\ud800\"}", "{\"a\":tru}", "{\"a\":1}x",
    "{\"a\":\"\u{1}\"}", "\u{FEFF}{}",
  ])
  func `malformed JSON is a BAD_REQUEST`(body: String) throws {
    let answer = try Fixture().post("records/modify", body)

    #expect(answer.status == 400 && answer.code == "BAD_REQUEST")
  }

  @Test func `deep nesting and invalid UTF-8 are a BAD_REQUEST`() throws {
    let fixture = try Fixture()
    let bodies = [
      Data(String(repeating: "[", count: 1_000_000).utf8), Data(String(repeating: "{\"a\":", count: 200_000).utf8),
      Data([0x7B, 0x22, 0xFF, 0x22, 0x3A, 0x31, 0x7D]), Data([0x7B, 0x22, 0xC0, 0x80, 0x22, 0x3A, 0x31, 0x7D]),
    ]

    for body in bodies {
      let request = EmulatorRequest(
        path: "/database/1/iCloud.test/development/private/records/modify",
        query: Fixture.ana,
        body: body
      )
      #expect(fixture.emulator.handle(request, at: fixture.now).response?.status == 400)
    }
  }

  @Test(arguments: 0..<300)
  func `no damaged request traps`(seed: UInt64) throws {
    let fixture = try Fixture.withZone()
    let operations = [
      "records/modify", "records/query", "records/lookup", "changes/zone", "zones/modify", "users/discover",
      "changes/database", "subscriptions/modify", "subscriptions/lookup", "assets/upload", "assets/rereference",
      "tokens/create", "records/resolve", "records/accept", "users/lookup/email",
    ]
    let whole = Array(
      #"{"zoneID":{"zoneName":"notes"},"zones":[{"zoneID":{"zoneName":"notes"},"syncToken":"AQAAAAAA"}],"query":{"recordType":"Note","filterBy":[{"comparator":"IN","fieldName":"n","fieldValue":{"value":[1],"type":"INT64_LIST"}}],"sortBy":[{"fieldName":"n"}]},"operations":[{"operationType":"create","record":{"recordType":"Note","fields":{"n":{"value":1},"w":{"value":1.5,"type":"TIMESTAMP"},"p":{"value":{"receipt":"a.b","size":1},"type":"ASSETID"}}},"subscription":{"subscriptionID":"s","subscriptionType":"query","firesOn":["create"],"query":{"recordType":"Note"},"zoneID":{"zoneName":"notes"}}},{"operationType":"create","record":{"recordType":"cloudkit.share","recordName":"cloudkit.zoneshare","publicPermission":"READ_ONLY","participants":[{"permission":"READ_WRITE","userIdentity":{"lookupInfo":{"emailAddress":"a@b"}}}]}}],"records":[{"recordName":"a"}],"lookupInfos":[{"emailAddress":"a@b"}],"resultsLimit":99999999999,"tokens":[{"recordType":"Note","fieldName":"f","recordName":"a"}],"assets":[{"recordName":"a","fieldName":"f"}],"shortGUIDs":[{"value":"x"}],"users":[{"emailAddress":"a"}],"subscriptions":[{"subscriptionID":"s"}],"apnsEnvironment":"development","syncToken":"e30="}"#
        .utf8
    )
    var random = SplitMix64(seed: seed)
    var body = whole
    for _ in 0...(seed % 8) {
      let place = random.below(body.count)
      switch random.below(3) {
      case 0: body[place] = UInt8(random.below(256))
      case 1: body.remove(at: place)
      default: body.insert(whole[random.below(whole.count)], at: place)
      }
    }

    for operation in operations {
      let request = EmulatorRequest(
        path: "/database/1/iCloud.test/development/private/\(operation)",
        query: Fixture.ana,
        body: Data(body)
      )
      #expect(fixture.emulator.handle(request, at: fixture.now).response != nil)
      for database in ["public", "shared"] {
        let other = EmulatorRequest(
          path: "/database/1/iCloud.test/development/\(database)/\(operation)",
          query: Fixture.ana,
          body: Data(body)
        )
        #expect(fixture.emulator.handle(other, at: fixture.now).response != nil)
      }
    }
  }

  @Test func `equal requests at equal times give equal bytes`() throws {
    let run = {
      let fixture = try Fixture.withZone()
      return try [
        fixture.modify(
          #"{"operationType":"create","record":{"recordType":"Note","fields":{"b":{"value":1},"a":{"value":2}}}}"#
        ).text,
        fixture.changes().text, fixture.query(#""filterBy":[]"#).text, fixture.post("nowhere").text,
      ]
    }

    #expect(try run() == run())
  }

  @Test func `statistics count requests by operation and outcome`() throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.modify(Fixture.save("a"), Fixture.save("b", type: "update"))
    _ = try fixture.modify(Fixture.delete("a"))

    let statistics = fixture.emulator.statistics

    #expect(statistics.requestsByOperation == ["zones/modify": 1, "records/modify": 2])
    #expect(statistics.recordsSaved == 1 && statistics.recordsDeleted == 1 && statistics.itemErrors == 1)
  }

  @Test func `another device edits through the direct interface`() throws {
    let fixture = try Fixture.withZone()
    let database = EmulatorDatabase.private(of: "ana", "iCloud.test")

    let saved = try fixture.emulator.save(
      in: database,
      zone: "notes",
      recordType: "Note",
      recordName: "a",
      fields: ["title": .string("Milk"), "when": .timestamp(5), "gone": nil],
      at: fixture.now
    )

    #expect(saved.fields == ["title": .string("Milk"), "when": .timestamp(5)])
    #expect(try fixture.query(#""filterBy":[]"#).names == ["a"])
    #expect(throws: EmulatorError.self) {
      try fixture.emulator.save(
        in: database,
        zone: "nowhere",
        recordType: "Note",
        recordName: "a",
        fields: [:],
        at: fixture.now
      )
    }
    try fixture.emulator.delete(recordName: "a", in: database, zone: "notes", at: fixture.now)
    #expect(fixture.emulator.records(in: database, zone: "notes").isEmpty)
  }

  @Test func `a request with a mistake in it does nothing at all`() throws {
    let fixture = try Fixture.withZone()
    let before = fixture.emulator.dump()

    let zones = try fixture.post(
      "zones/modify",
      #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"new"}}},{"operationType":"create"}]}"#
    )
    let subscriptions = try fixture.post(
      "subscriptions/modify",
      #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"z","subscriptionType":"zone","zoneID":{"zoneName":"notes"}}},{"operationType":"create"}]}"#
    )

    #expect(zones.status == 400 && subscriptions.status == 400)
    #expect(fixture.emulator.dump() == before)
    let list = try fixture.post("subscriptions/list").object["subscriptions"] as? [Any]
    #expect(list?.isEmpty == true)
  }
}
