import CloudKitEmulator
import Foundation
import Testing

@Suite(.serialized) struct SharedDatabaseTests {
  @Test func `a participant sees the hierarchy, its share and nothing else`() throws {
    let shared = try Shared().accepted()

    #expect(
      try shared.look("list", "milk", "oats", "share-1", "secret") == ["list", "milk", "oats", "share-1", "NOT_FOUND"]
    )
    let zones = try shared.fixture.post("zones/list", database: "shared", query: Shared.berta).zones
    let zoneID = try #require(zones.first?["zoneID"] as? [String: Any])
    #expect(zones.count == 1 && zoneID["ownerRecordName"] as? String == shared.owner)
    for (body, count) in [(#""zoneID":\#(shared.zoneID)"#, 3), (#""zoneWide":true"#, 3)] {
      let answer = try shared.fixture.post(
        "records/query",
        #"{\#(body),"query":{"recordType":"Note"}}"#,
        database: "shared",
        query: Shared.berta
      )
      #expect(answer.names.sorted() == ["list", "milk", "oats"] && answer.names.count == count)
    }
    #expect(try shared.feed().there == ["list", "milk", "oats", "share-1"])
    // Without an owner a zone of the shared database is none.
    let bare = #"{"zoneID":{"zoneName":"notes"},"records":[{"recordName":"list"}]}"#
    #expect(
      try shared.fixture.post("records/lookup", bare, database: "shared", query: Shared.berta).code == "ZONE_NOT_FOUND"
    )
    #expect(try shared.look("list", query: Fixture.ana) == ["ZONE_NOT_FOUND"])
  }

  @Test func `who may write writes below the root alone`() throws {
    let shared = try Shared().accepted()

    #expect(
      try shared.modify(
        Shared.item("rice", of: "new", type: "create"),
        Shared.item("new", of: "list", type: "create"),
        Fixture.save("orphan", type: "create"),
        Shared.item("milk", of: "secret"),
        Fixture.save("secret"),
        Fixture.delete("oats")
      )
      .outcomes == ["saved", "saved", "ACCESS_DENIED", "ACCESS_DENIED", "ACCESS_DENIED", "deleted"]
    )
    let rice = try shared.fixture.lookup("rice")
    #expect((rice["created"] as? [String: Any])?["userRecordName"] as? String != shared.owner)
    #expect(try shared.feed().there == ["list", "milk", "new", "rice", "share-1"])
  }

  @Test func `who may only read writes nothing, and uploads nothing`() throws {
    let shared = try Shared().accepted("READ_ONLY")

    #expect(
      try shared.modify(Fixture.save("milk"), Shared.item("x", of: "list", type: "create"), Fixture.delete("oats"))
        .outcomes == ["ACCESS_DENIED", "ACCESS_DENIED", "ACCESS_DENIED"]
    )
    let tokens = #"{"zoneID":\#(shared.zoneID),"tokens":[{"recordType":"Note","fieldName":"photo"}]}"#
    #expect(
      try shared.fixture.post("assets/upload", tokens, database: "shared", query: Shared.berta).code == "ACCESS_DENIED"
    )
    #expect(try shared.look("milk") == ["milk"])
  }

  @Test func `a zone comes, changes and goes in the shared database's changes`() throws {
    let shared = try Shared()
    let start = try shared.zones().token
    _ = try shared.accepted()

    let came = try shared.zones(start)
    #expect(came.names == ["notes"])
    #expect(try shared.zones(came.token).names == [])
    _ = try shared.fixture.modify(Fixture.save("milk"))
    let changed = try shared.zones(came.token)
    #expect(changed.names == ["notes"])
    _ = try shared.modify(Fixture.delete("share-1"))
    let gone = try shared.zones(changed.token)
    #expect(gone.names == ["-notes"])
    #expect(try shared.zones(gone.token).names == [])
    let foreign = #"{"syncToken":"AQAAAAAA"}"#
    #expect(
      try shared.fixture.post("changes/database", foreign, database: "shared", query: Shared.berta).code
        == "BAD_REQUEST"
    )
  }

  @Test func `leaving keeps the share for the others`() throws {
    let shared = try Shared().accepted("READ_ONLY")

    #expect(try shared.modify(Fixture.delete("share-1")).outcomes == ["deleted"])

    #expect(try shared.look("list") == ["ZONE_NOT_FOUND"])
    let participants = try #require(try shared.fixture.lookup("share-1")["participants"] as? [[String: Any]])
    #expect(participants.map { $0["type"] as? String } == ["OWNER"])
    #expect(try shared.fixture.lookup("list")["share"] != nil)
  }

  @Test func `what moves into and out of a hierarchy comes and goes, with everything below`() throws {
    let shared = try Shared().accepted()
    let token = try shared.feed().token

    _ = try shared.fixture.modify(Fixture.save("milk", more: #","parent":null"#), Fixture.save("other"))
    let out = try shared.feed(token)
    #expect(out.there == [] && out.gone == ["milk", "oats"])

    _ = try shared.fixture.modify(Shared.item("milk", of: "list"))
    let back = try shared.feed(out.token)
    #expect(back.there == ["milk", "oats"] && back.gone == [])

    _ = try shared.fixture.modify(Fixture.delete("oats"), Fixture.delete("secret"))
    let deleted = try shared.feed(back.token)
    #expect(deleted.there == [] && deleted.gone == ["oats"])
  }

  @Test func `a second share of a followed zone is announced, and its end too`() throws {
    let shared = try Shared().accepted()
    _ = try shared.fixture.modify(Shared.item("note", of: "secret"))
    let token = try shared.feed().token
    _ = try shared.share("secret", named: "share-2")
    let before = try shared.feed(token)
    #expect(before.there == [] && before.gone == [])

    _ = try shared.ask("accept", try shared.guid("share-2"))
    let came = try shared.feed(before.token)
    #expect(came.there == ["note", "secret", "share-2"])

    _ = try shared.fixture.modify(Fixture.delete("share-2"))
    #expect(try shared.feed(came.token).gone == ["note", "secret", "share-2"])

    _ = try shared.share("secret", named: "share-3")
    let third = try shared.feed(came.token).token
    _ = try shared.ask("accept", try shared.guid("share-3"))
    let again = try shared.feed(third)
    #expect(again.there == ["note", "secret", "share-3"])
    _ = try shared.modify(Fixture.delete("share-3"))
    #expect(try shared.feed(again.token).gone == ["note", "secret", "share-3"])
  }

  @Test func `files are shared with the records`() throws {
    let shared = try Shared().accepted()
    let token = #"{"recordName":"milk","recordType":"Note","fieldName":"photo"}"#
    let body = #"{"zoneID":\#(shared.zoneID),"tokens":[\#(token)]}"#
    let answer = try shared.fixture.post("assets/upload", body, database: "shared", query: Shared.berta)
    let url = try #require((answer.object["tokens"] as? [[String: Any]])?.first?["url"] as? String)
    let upload = Answer(try shared.fixture.open(url, method: "POST", body: Data("milk".utf8)))
    let file = String(
      decoding: try JSONSerialization.data(withJSONObject: try #require(upload.object["singleFile"])),
      as: UTF8.self
    )

    #expect(try shared.modify(Fixture.save("milk", Fixture.asset(file))).outcomes == ["saved"])
    #expect(try shared.fixture.open(try shared.fixture.downloadURL("milk")).body == Data("milk".utf8))
  }

  @Test func `participants are told what concerns them`() throws {
    let shared = try Shared().accepted()
    let url = try shared.fixture.courierURL(query: Shared.berta)
    let zone = #"{"subscriptionID":"z","subscriptionType":"zone","zoneID":\#(shared.zoneID)}"#
    let database = #"{"subscriptionID":"d","subscriptionType":"database"}"#
    #expect(try shared.fixture.subscribe(zone, database: "shared", query: Shared.berta).subscriptionIDs == ["z"])
    #expect(try shared.fixture.subscribe(database, database: "shared", query: Shared.berta).subscriptionIDs == ["d"])

    _ = try shared.fixture.modify(Fixture.save("secret"))
    #expect(try shared.fixture.poll(url) == nil)
    _ = try shared.fixture.modify(Fixture.save("oats"))
    #expect(try shared.fixture.poll(url)?.content("met")["dbs"] as? Int == 3)
    let push = try #require(try shared.fixture.poll(url)).content("fet")
    #expect(push["zid"] as? String == "notes" && push["zoid"] as? String == shared.owner && push["dbs"] as? Int == 3)
    _ = try shared.fixture.modify(Fixture.delete("share-1"))
    #expect(try shared.fixture.poll(url)?.content("met")["sid"] as? String == "d")
  }
}
