import Foundation
import JSONText
import Testing

@testable import CloudKit

@Suite(.serialized) struct SavingShareTests {
  private let zone = ShareFixtures.zone

  private func code(_ result: Result<some Any, any Error>?) -> CKError.Code? {
    if case .failure(let error as CKError) = result { error.code } else { nil }
  }

  @Test func `a root and its new share saved in one call are two requests, the second naming the root's tag`()
    async throws
  {
    let server = ScriptedServer(
      ShareFixtures.records(ShareFixtures.root(tag: "3c")),
      ShareFixtures.records(ShareFixtures.share(others: [ShareFixtures.guest])),
      ShareFixtures.records(ShareFixtures.root(tag: "3d", share: "share-1"))
    )
    let root = ShareFixtures.newRoot()
    let share = ShareFixtures.newShare(of: root)
    #expect(root.share?.recordID == share.recordID)
    #expect(share.url == nil)
    let guest = CKShareParticipant(inviting: .emailAddress("ana@example.org"))
    guest.permission = .readWrite
    share.addParticipant(guest)

    let results = try await server.container().privateCloudDatabase.modifyRecords(saving: [root, share], deleting: [])
      .saveResults

    #expect(try results[root.recordID]?.get() === root)
    #expect(try results[share.recordID]?.get() === share)
    #expect(root.share?.recordID == share.recordID)
    #expect(root.recordChangeTag == "3d")
    #expect(root.changedKeys().isEmpty)
    #expect(share.recordChangeTag == "1")
    #expect(share.url?.absoluteString == "https://www.icloud.com/share/0AbC#Groceries")
    #expect(share.participants.count == 2)
    #expect(share.participants.last === guest)
    #expect(guest.participantID == "P2")
    #expect(
      server.texts == [
        #"{"atomic":true,"operations":[{"operationType":"create","record":{"fields":{"title":{"type":"STRING","#
          + #""value":"Groceries"}},"recordName":"list-1","recordType":"List","createShortGUID":true}}],"#
          + #""zoneID":{"zoneName":"notes"}}"#,
        #"{"atomic":true,"operations":[{"operationType":"create","record":{"fields":{"cloudkit.title":"#
          + #"{"type":"STRING","value":"Groceries"}},"recordName":"share-1","recordType":"cloudkit.share","#
          + #""forRecord":{"recordChangeTag":"3c","recordName":"list-1"},"participants":[{"acceptanceStatus":"INVITED","#
          + #""permission":"READ_WRITE","type":"USER","userIdentity":{"lookupInfo":{"emailAddress":"ana@example.org"}}}],"#
          + #""publicPermission":"NONE"}}],"zoneID":{"zoneName":"notes"}}"#,
        #"{"records":[{"recordName":"list-1"}],"zoneID":{"zoneName":"notes"}}"#,
      ]
    )
  }

  @Test func `a share whose root cannot be saved is not sent`() async throws {
    let server = ScriptedServer(
      .json(#"{"records":[{"recordName":"list-1","reason":"no","serverErrorCode":"ACCESS_DENIED"}]}"#)
    )
    let root = ShareFixtures.newRoot()
    let share = ShareFixtures.newShare(of: root)

    let results = try await server.container().privateCloudDatabase.modifyRecords(saving: [share, root], deleting: [])
      .saveResults

    #expect(code(results[root.recordID]) == .permissionFailure)
    #expect(code(results[share.recordID]) == .batchRequestFailed)
    #expect(server.operations.count == 1)
  }

  @Test func `a root stays saved and unshared when its share is refused`() async throws {
    let server = ScriptedServer(
      ShareFixtures.records(ShareFixtures.root(tag: "3c")),
      .json(#"{"records":[{"recordName":"share-1","reason":"oplock","serverErrorCode":"CONFLICT"}]}"#)
    )
    let root = ShareFixtures.newRoot()
    let share = ShareFixtures.newShare(of: root)

    let results = try await server.container().privateCloudDatabase.modifyRecords(saving: [root, share], deleting: [])
      .saveResults

    #expect(try results[root.recordID]?.get().recordChangeTag == "3c")
    #expect(code(results[share.recordID]) == .serverRecordChanged)
    #expect(root.share == nil)
    #expect(server.operations.count == 2)
  }

  @Test func `nothing is asked after a refusal to take more requests`() async throws {
    let conflict = #"{"recordName":"n","reason":"oplock","serverErrorCode":"CONFLICT"}"#
    let server = ScriptedServer(
      ShareFixtures.records(ShareFixtures.root(tag: "3c"), conflict),
      ShareFixtures.records(ShareFixtures.share()),
      .json(#"{"serverErrorCode":"THROTTLED","reason":"slow"}"#, status: 429)
    )
    let root = ShareFixtures.newRoot()
    let share = ShareFixtures.newShare(of: root)
    let other = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "n", zoneID: zone))

    let results = try await server.container().privateCloudDatabase
      .modifyRecords(saving: [root, other, share], deleting: [], atomically: false).saveResults

    // The look at the root is refused; the server's version of the other record is not asked for any more.
    #expect(server.operations.map { $0.split(separator: "/").last } == ["modify", "modify", "lookup"])
    #expect(code(results[other.recordID]) == .serverRecordChanged)
    #expect(try results[share.recordID]?.get() === share)
    #expect(root.share?.recordID == share.recordID)
  }

  @Test func `a throttled look at one root is the last request`() async throws {
    let server = ScriptedServer(.json(#"{"serverErrorCode":"THROTTLED","reason":"slow"}"#, status: 429))
    let shares = ["a", "b"].map { name in
      let root = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: name, zoneID: zone))
      return CKShare(rootRecord: root, shareID: CKRecord.ID(recordName: "share-\(name)", zoneID: zone))
    }

    let results = try await server.container().privateCloudDatabase.modifyRecords(saving: shares, deleting: [])
      .saveResults

    #expect(server.operations.count == 1)
    #expect(results.values.map { code($0) } == [.requestRateLimited, .requestRateLimited])
  }

  @Test func `a share of a root that was saved before asks for the root's present tag`() async throws {
    let server = ScriptedServer(
      ShareFixtures.records(ShareFixtures.root(tag: "7")),
      ShareFixtures.records(ShareFixtures.share())
    )
    let share = ShareFixtures.newShare(of: ShareFixtures.newRoot())

    try await server.container().privateCloudDatabase.save(share)

    #expect(server.operations.map { $0.split(separator: "/").last } == ["lookup", "modify"])
    let record = try server.bodies()[1]["operations"]?.elements.first?["record"]
    #expect(record?["forRecord"]?["recordChangeTag"] == .string("7"))
    #expect(share.url != nil)
  }

  @Test func `a share of a whole zone names no root and is made whatever the save policy`() async throws {
    let server = ScriptedServer(ShareFixtures.records(ShareFixtures.share(CKRecordNameZoneWideShare)))
    let share = CKShare(recordZoneID: zone)
    share.publicPermission = .readOnly

    _ = try await server.container().privateCloudDatabase.modifyRecords(
      saving: [share],
      deleting: [],
      savePolicy: .allKeys
    )

    #expect(share.recordID.recordName == "cloudkit.zoneshare")
    #expect(share.url != nil)
    let operation = try server.bodies()[0]["operations"]?.elements.first
    #expect(operation?["operationType"] == .string("create"))
    #expect(operation?["record"]?["publicPermission"] == .string("READ_ONLY"))
    #expect(operation?["record"]?["forRecord"] == nil)
    #expect(operation?["record"]?["participants"] == nil)
  }

  @Test func `an update of a share sends what was changed and nothing that others may have changed`() async throws {
    let server = ScriptedServer(
      ShareFixtures.records(ShareFixtures.share(tag: "2", others: [ShareFixtures.guest])),
      ShareFixtures.records(ShareFixtures.share(tag: "3", others: [ShareFixtures.guest])),
      ShareFixtures.records(ShareFixtures.share(tag: "4"))
    )
    let database = server.container().privateCloudDatabase
    let share = try #require(try await ScriptedServer.fetchedShare(others: [ShareFixtures.guest]))
    func sent() throws -> JSON? { try server.bodies().last?["operations"]?.elements.first?["record"] }

    share[CKShare.SystemFieldKey.title] = "Food"
    try await database.save(share)
    #expect(try sent()?["participants"] == nil)
    #expect(try sent()?["publicPermission"] == nil)
    #expect(try sent()?["recordChangeTag"] == .string("1"))

    share.participants.last?.permission = .readOnly
    try await database.save(share)
    #expect(try sent()?["fields"] == nil)
    #expect(
      try sent()?["participants"]?.elements.map { $0["permission"] } == [.string("READ_WRITE"), .string("READ_ONLY")]
    )

    let guest = try #require(share.participants.last)
    share.removeParticipant(guest)
    share.removeParticipant(share.owner)
    try await database.save(share)
    #expect(try sent()?["participants"]?.elements.map { $0["participantId"] } == [.string("P1")])
    #expect(share.participants.map(\.role) == [.owner])
  }

  @Test func `who was let in and what was changed while a save was under way is not forgotten`() throws {
    let wire = try WireRecord(json: Data(ShareFixtures.share(others: [ShareFixtures.guest]).utf8))
    let share = CKShare(received: wire, zoneID: zone)
    share.publicPermission = .readOnly
    let sent = share.snapshot
    let late = CKShareParticipant(inviting: .emailAddress("late@example.org"))
    share.addParticipant(late)
    let guest = share.participants[1]
    guest.permission = .none
    share.publicPermission = .readWrite

    var answer = wire
    answer.recordChangeTag = "2"
    answer.sharing?.publicPermission = "READ_ONLY"
    share.accept(answer, sent: sent)

    #expect(share.recordChangeTag == "2")
    #expect(share.participants.count == 3)
    #expect(share.participants[1] === guest)
    #expect(guest.permission == .none)
    #expect(share.participants.last === late)
    #expect(share.publicPermission == .readWrite)
    #expect(share.snapshot.sharing?.wire(all: false)?.publicPermission == "READ_WRITE")
    #expect(share.snapshot.sharing?.wire(all: false)?.participants?.count == 3)
  }

  @Test func `deleting a share ends the sharing of a root that is saved in the same call`() async throws {
    let server = ScriptedServer(
      .json(
        #"{"records":[\#(ShareFixtures.root(tag: "4", share: "share-1")),{"recordName":"share-1","deleted":true}]}"#
      ),
      ShareFixtures.records(ShareFixtures.root(tag: "5", title: "Food"))
    )
    let wire = try WireRecord(json: Data(ShareFixtures.root(tag: "3", share: "share-1").utf8))
    let root = CKRecord(wire: wire, zoneID: zone)
    let shareID = try #require(root.share?.recordID)
    root["title"] = "Food"

    let results = try await server.container().privateCloudDatabase.modifyRecords(saving: [root], deleting: [shareID])

    #expect(throws: Never.self) { try results.deleteResults[shareID]?.get() }
    #expect(root.share == nil)
    #expect(root.recordChangeTag == "5")
  }
}

extension WireUserIdentity {
  static func emailAddress(_ address: String) -> WireUserIdentity {
    var identity = WireUserIdentity()
    identity.lookupInfo = CKUserIdentityLookupInfo(emailAddress: address).wire
    return identity
  }
}
