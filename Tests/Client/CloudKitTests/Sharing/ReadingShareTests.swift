import CloudKit
import Foundation
import Testing

@Suite(.serialized) struct ReadingShareTests {
  @Test func `a share comes as a share from lookups, queries and changes`() async throws {
    let records = #""records":[\#(ShareFixtures.share(others: [ShareFixtures.guest]))]"#
    let server = ScriptedServer(
      .json("{\(records)}"),
      .json("{\(records)}"),
      .json(#"{"zones":[{"zoneID":{"zoneName":"notes"},\#(records),"syncToken":"t","moreComing":false}]}"#)
    )
    let database = server.container().privateCloudDatabase
    let id = CKRecord.ID(recordName: "share-1", zoneID: ShareFixtures.zone)

    let looked = try await database.record(for: id)
    let query = CKQuery(recordType: "cloudkit.share", predicate: NSPredicate(value: true))
    let queried = try await database.records(matching: query, inZoneWith: ShareFixtures.zone).matchResults
    let changed = try await database.recordZoneChanges(inZoneWith: ShareFixtures.zone, since: nil)
      .modificationResultsByID

    for record in [looked, try queried.first?.1.get(), try changed[id]?.get().record] {
      let share = try #require(record as? CKShare)
      #expect(share.owner.userIdentity.nameComponents?.givenName == "Max")
      #expect(share.owner === share.participants.first)
      #expect(share.currentUserParticipant == share.owner)
      #expect(share.publicPermission == CKShare.ParticipantPermission.none)
      #expect(share.participants.map(\.acceptanceStatus) == [.accepted, .pending])
      #expect(share[CKShareTitleKey] as? String == "Groceries")
    }
  }

  @Test func `a copy of a share is a share with participants of its own`() async throws {
    let share = try #require(try await ScriptedServer.fetchedShare(others: [ShareFixtures.guest]))
    let copy = try #require(share.copy() as? CKShare)

    copy.participants.last?.permission = .readOnly
    copy.publicPermission = .readWrite

    #expect(share.participants.last?.permission == .readWrite)
    #expect(share.publicPermission == CKShare.ParticipantPermission.none)
    #expect(copy.url == share.url)
    #expect(copy.currentUserParticipant === copy.owner)
  }

  @Test func `adding somebody twice changes what they may do`() async throws {
    let share = try #require(try await ScriptedServer.fetchedShare(others: [ShareFixtures.guest]))
    let server = ScriptedServer(.json(#"{"users":[]}"#))
    let ana = try await server.userContainer().shareParticipant(forEmailAddress: "ana@example.org")

    share.addParticipant(ana)

    #expect(share.participants.count == 2)
    #expect(share.participants.last?.permission == .readOnly)
  }

  @Test func `words that nobody documented are unknown, and lists that are missing are empty`() async throws {
    let odd = """
      {"recordName":"share-1","recordType":"cloudkit.share","publicPermission":"FUTURE",
       "participants":[{"type":"ROBOT","permission":"FLY","acceptanceStatus":"PENDING"}]}
      """
    let server = ScriptedServer(
      ShareFixtures.records(odd),
      ShareFixtures.records(#"{"recordName":"share-1","recordType":"cloudkit.share"}"#)
    )
    let database = server.container().sharedCloudDatabase
    let zone = CKRecordZone.ID(zoneName: "notes", ownerName: "_0f")
    let id = CKRecord.ID(recordName: "share-1", zoneID: zone)

    let share = try #require(try await database.record(for: id) as? CKShare)
    #expect(share.publicPermission == .unknown)
    #expect(share.participants.map(\.role) == [.unknown])
    #expect(share.participants.map(\.permission) == [.unknown])
    #expect(share.participants.map(\.acceptanceStatus) == [.pending])
    #expect(share.owner.userIdentity.userRecordID?.recordName == "_0f")

    let bare = try #require(try await database.record(for: id) as? CKShare)
    #expect(bare.participants.isEmpty)
    #expect(bare.url == nil)
  }
}
