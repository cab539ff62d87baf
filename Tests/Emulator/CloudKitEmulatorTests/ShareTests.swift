import CloudKitEmulator
import Foundation
import Testing

@Suite(.serialized) struct ShareTests {
  @Test func `a share tells its owner, its participants and the root that it is for`() throws {
    let shared = try Shared()
    let before = try Shared.tag(shared.fixture.lookup("list"))

    let share = try shared.share()

    #expect(share["publicPermission"] as? String == "NONE" && share.value("cloudkit.title") as? String == "Groceries")
    let participants = try #require(share["participants"] as? [[String: Any]])
    #expect(participants.map { $0["type"] as? String } == ["OWNER", "USER"])
    #expect(participants.map { $0["acceptanceStatus"] as? String } == ["ACCEPTED", "INVITED"])
    #expect(participants.map { $0["permission"] as? String } == ["READ_WRITE", "READ_WRITE"])
    #expect(Set(participants.compactMap { $0["participantId"] as? String }).count == 2)
    let own = share["currentUserParticipant"] as? [String: Any]
    #expect((own?["userIdentity"] as? [String: Any])?["userRecordName"] as? String == shared.owner)
    #expect((share["owner"] as? [String: Any])?["type"] as? String == "OWNER")
    let root = try shared.fixture.lookup("list")
    #expect((root["share"] as? [String: Any])?["recordName"] as? String == "share-1")
    #expect(root["shortGUID"] as? String == share["shortGUID"] as? String && share["shortGUID"] != nil)
    #expect(try Shared.tag(root) != before)
    #expect(try shared.fixture.lookup("milk")["share"] == nil)
  }

  @Test func `what makes no share is refused`() throws {
    let shared = try Shared()
    let share = { (more: String, type: String) in
      try shared.fixture.modify(
        #"{"operationType":"create","record":{"recordType":"\#(type)"\#(more)}}"#
      )
      .records[0]
    }
    let tag = try Shared.tag(shared.fixture.lookup("list"))
    let root = #","forRecord":{"recordName":"list","recordChangeTag":"\#(tag)"}"#
    let missing = #","forRecord":{"recordName":"nothing","recordChangeTag":"1"}"#
    let stale = #","forRecord":{"recordName":"list","recordChangeTag":"zz"}"#
    let reason = "Cannot share - no such record exists to share"

    #expect(try share(root, "cloudKit.share")["reason"] as? String == reason)
    #expect(try share(missing, "cloudkit.share")["reason"] as? String == reason)
    #expect(try share("", "cloudkit.share")["reason"] as? String == reason)
    #expect(try share(stale, "cloudkit.share")["serverErrorCode"] as? String == "CONFLICT")
    #expect(
      try share(root + #","participants":[{"permission":"READ_WRITE"}]"#, "cloudkit.share")["serverErrorCode"]
        as? String
        == "BAD_REQUEST"
    )
    _ = try shared.share()
    #expect(try shared.share(named: "share-2")["serverErrorCode"] as? String == "BAD_REQUEST")
    #expect(try shared.share("oats", named: "share-3")["serverErrorCode"] as? String == "BAD_REQUEST")
    let publicly = try shared.fixture.post(
      "records/modify",
      #"{"operations":[{"operationType":"create","record":{"recordType":"cloudkit.share"}}]}"#,
      database: "public"
    )
    #expect(publicly.outcomes == ["BAD_REQUEST"])
  }

  @Test func `the invited resolve and accept, others do not learn of the share`() throws {
    let shared = try Shared()
    _ = try shared.share()
    let guid = try shared.guid()
    let more = #","shouldFetchRootRecord":true,"rootRecordDesiredKeys":["title"]"#

    let result = try shared.ask("resolve", guid, more)
    #expect(result["databaseScope"] as? String == "SHARED" && result["environment"] as? String == "DEVELOPMENT")
    #expect(result["containerIdentifier"] as? String == "iCloud.test" && result["rootRecordName"] as? String == "list")
    #expect((result["rootRecord"] as? [String: Any])?.value("title") as? String == "Groceries")
    #expect((result["zoneID"] as? [String: Any])?["ownerRecordName"] as? String == shared.owner)
    #expect((result["shortGUID"] as? [String: Any])?["value"] as? String == guid)
    #expect(
      result["participantType"] as? String == "USER" && result["participantPermission"] as? String == "READ_WRITE"
    )
    #expect(result["participantStatus"] as? String == "INVITED")
    #expect((result["ownerIdentity"] as? [String: Any])?["userRecordName"] as? String == shared.owner)
    #expect(try shared.zones().names == [])

    #expect(try shared.ask("resolve", guid, query: Fixture.ana)["databaseScope"] as? String == "PRIVATE")
    for (operation, query) in [("resolve", Shared.carl), ("accept", Shared.carl), ("resolve", "ckAPIToken=token")] {
      #expect(try shared.ask(operation, guid, query: query)["serverErrorCode"] as? String == "NOT_FOUND")
    }
    #expect(try shared.ask("resolve", "none")["serverErrorCode"] as? String == "NOT_FOUND")

    let saved = shared.fixture.emulator.statistics.recordsSaved
    for _ in 0..<2 { #expect(try shared.ask("accept", guid)["participantStatus"] as? String == "ACCEPTED") }
    // The first acceptance saves the share, the second changes nothing.
    #expect(shared.fixture.emulator.statistics.recordsSaved == saved + 1)
    #expect(try shared.zones().names == ["notes"])
    let participants = try #require(try shared.fixture.lookup("share-1")["participants"] as? [[String: Any]])
    #expect(participants.map { $0["acceptanceStatus"] as? String } == ["ACCEPTED", "ACCEPTED"])
  }

  @Test func `a share open to everybody takes in whoever has its URL`() throws {
    let shared = try Shared()
    _ = try shared.share("list", "", publicPermission: "READ_ONLY")
    let guid = try shared.guid()

    #expect(try shared.ask("accept", guid, query: Shared.carl)["participantType"] as? String == "PUBLIC_USER")
    #expect(try shared.look("milk", query: Shared.carl) == ["milk"])
    #expect(try shared.look("milk") == ["ZONE_NOT_FOUND"])

    _ = try shared.fixture.modify(
      #"{"operationType":"forceUpdate","record":{"recordName":"share-1","recordType":"cloudkit.share","publicPermission":"NONE"}}"#
    )
    #expect(try shared.look("milk", query: Shared.carl) == ["ZONE_NOT_FOUND"])
  }

  @Test func `the owner changes who takes part, and nobody else does`() throws {
    let shared = try Shared().accepted()
    let update = { (participants: String) in
      #"{"operationType":"forceUpdate","record":{"recordName":"share-1","recordType":"cloudkit.share","participants":[\#(participants)]}}"#
    }

    #expect(try shared.modify(update(""), query: Shared.berta).outcomes == ["ACCESS_DENIED"])
    let carl = try #require(
      try shared.fixture.post("users/caller", database: "public", query: Shared.carl).object["userRecordName"]
        as? String
    )
    let both =
      Shared.invitation("READ_ONLY")
      + #",{"userIdentity":{"lookupInfo":{"userRecordName":"\#(carl)"}},"acceptanceStatus":"ACCEPTED"}"#
    let saved = try shared.fixture.modify(update(both)).records[0]
    let participants = try #require(saved["participants"] as? [[String: Any]])
    #expect(participants.map { $0["permission"] as? String } == ["READ_WRITE", "READ_ONLY", "READ_ONLY"])
    // Nobody accepts for somebody else.
    #expect(participants.map { $0["acceptanceStatus"] as? String } == ["ACCEPTED", "ACCEPTED", "INVITED"])
    #expect(try shared.modify(Fixture.save("milk")).outcomes == ["ACCESS_DENIED"])
    _ = try shared.fixture.modify(update(""))
    #expect(try shared.look("milk") == ["ZONE_NOT_FOUND"])
  }

  @Test func `deleting the share ends it, and deleting the root deletes the share`() throws {
    let shared = try Shared().accepted()
    _ = try shared.fixture.modify(Fixture.delete("share-1"))
    #expect(try shared.fixture.lookup("list")["share"] == nil)
    #expect(try shared.look("list") == ["ZONE_NOT_FOUND"])

    _ = try shared.share(named: "share-2")
    _ = try shared.fixture.modify(Fixture.delete("list"))
    #expect(try shared.fixture.lookup("share-2")["serverErrorCode"] as? String == "NOT_FOUND")
    #expect(try shared.fixture.lookup("milk")["recordName"] as? String == "milk")
  }

  @Test func `a zone is shared as a whole`() throws {
    let shared = try Shared()
    let share =
      #"{"operationType":"create","record":{"recordName":"cloudkit.zoneshare","recordType":"cloudkit.share","participants":[\#(Shared.invitation())]}}"#
    #expect(try shared.fixture.modify(share).outcomes == ["saved"])
    #expect(try shared.share()["serverErrorCode"] as? String == "BAD_REQUEST")

    let result = try shared.ask("accept", try shared.guid("cloudkit.zoneshare"))
    #expect(result["rootRecordName"] == nil && result["participantStatus"] as? String == "ACCEPTED")
    #expect(try shared.look("secret", "list", "cloudkit.zoneshare") == ["secret", "list", "cloudkit.zoneshare"])
    #expect(try shared.modify(Fixture.save("anything")).outcomes == ["saved"])
    let share0 = try shared.fixture.lookup("anything")["share"] as? [String: Any]
    #expect(share0?["recordName"] as? String == "cloudkit.zoneshare")
    #expect(try shared.feed().there == ["anything", "cloudkit.zoneshare", "list", "milk", "oats", "secret"])
  }

  @Test func `shares survive a restart`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      let (dump, zone) = try {
        let shared = try Shared(path: path).accepted()
        _ = try shared.modify(Fixture.delete("oats"))
        return (shared.fixture.emulator.dump(), shared.zoneID)
      }()

      let fixture = try Fixture(path: path)

      #expect(fixture.emulator.dump() == dump)
      let body = #"{"zoneID":\#(zone),"records":[{"recordName":"milk"},{"recordName":"secret"}]}"#
      let answer = try fixture.post("records/lookup", body, database: "shared", query: Shared.berta)
      #expect(answer.outcomes == ["saved", "NOT_FOUND"])
    }
  }
}
