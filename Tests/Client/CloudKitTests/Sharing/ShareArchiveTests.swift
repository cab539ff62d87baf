import CloudKit
import Foundation
import JSONText
import Testing

@Suite(.serialized) struct ShareArchiveTests {
  private func archived<Object: NSObject & NSSecureCoding>(_ object: Object) throws -> Object? {
    let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
    return try NSKeyedUnarchiver.unarchivedObject(ofClass: Object.self, from: data)
  }

  @Test func `a share comes back whole, by its own class and by a record's`() async throws {
    let share = try #require(try await ScriptedServer.fetchedShare(others: [ShareFixtures.guest]))
    share.publicPermission = .readOnly
    share.participants.last?.permission = .readOnly

    let data = try NSKeyedArchiver.archivedData(withRootObject: share, requiringSecureCoding: true)
    let asRecord = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)

    for copy in [try archived(share), asRecord as? CKShare] {
      let copy = try #require(copy)
      #expect(copy.recordID == share.recordID)
      #expect(copy.recordChangeTag == "1")
      #expect(copy.url == share.url)
      #expect(copy.publicPermission == .readOnly)
      #expect(copy.participants == share.participants)
      #expect(copy.participants.map(\.permission) == [.readWrite, .readOnly])
      #expect(copy.currentUserParticipant === copy.owner)
      #expect(copy[CKShareTitleKey] as? String == "Groceries")
    }
  }

  @Test func `an archived share still sends only what was changed`() async throws {
    let share = try #require(try await ScriptedServer.fetchedShare(others: [ShareFixtures.guest]))
    let copy = try #require(try archived(share))
    copy.publicPermission = .readWrite
    let server = ScriptedServer(ShareFixtures.records(ShareFixtures.share(tag: "2")))

    try await server.container().privateCloudDatabase.save(copy)

    let record = try server.bodies()[0]["operations"]?.elements.first?["record"]
    #expect(record?["publicPermission"] == .string("READ_WRITE"))
    #expect(record?["participants"] == nil)
  }

  @Test func `a new share keeps its root through an archive`() async throws {
    let share = try #require(try archived(ShareFixtures.newShare(of: ShareFixtures.newRoot())))
    let server = ScriptedServer(
      ShareFixtures.records(ShareFixtures.root(tag: "7")),
      ShareFixtures.records(ShareFixtures.share())
    )

    try await server.container().privateCloudDatabase.save(share)

    let record = try server.bodies()[1]["operations"]?.elements.first?["record"]
    #expect(record?["forRecord"]?["recordName"] == .string("list-1"))
  }

  @Test func `system fields alone make a share that still knows its URL and people`() async throws {
    let share = try #require(try await ScriptedServer.fetchedShare(others: [ShareFixtures.guest]))
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    share.encodeSystemFields(with: archiver)
    archiver.finishEncoding()

    let unarchiver = try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData)
    unarchiver.requiresSecureCoding = true
    let copy = CKShare(coder: unarchiver)

    #expect(copy.url?.absoluteString == "https://www.icloud.com/share/0AbC")
    #expect(copy.participants.count == 2)
    #expect(copy.allKeys().isEmpty)
  }

  @Test func `metadata, participants, identities and lookups come back equal`() async throws {
    let server = ScriptedServer(
      .json(
        #"""
        {"results":[{"shortGUID":{"value":"0AbC"},"databaseScope":"SHARED",
        "zoneID":{"zoneName":"notes","ownerRecordName":"_0f"},"rootRecordName":"list-1",
        "rootRecord":\#(ShareFixtures.root(tag: "1")),"share":\#(ShareFixtures.share()),
        "ownerIdentity":{"userRecordName":"_0f","nameComponents":{"givenName":"Max"}},
        "participantType":"ADMINISTRATOR","participantPermission":"READ_ONLY","participantStatus":"REMOVED"}]}
        """#
      )
    )
    let url = try #require(URL(string: "https://www.icloud.com/share/0AbC"))
    let metadata = try await server.userContainer().shareMetadata(for: url)

    let copy = try #require(try archived(metadata))

    #expect(copy.containerIdentifier == "iCloud.test")
    #expect(copy.share.participants == metadata.share.participants)
    #expect(copy.hierarchicalRootRecordID == metadata.hierarchicalRootRecordID)
    #expect(copy.rootRecord?["title"] as? String == "Groceries")
    #expect(copy.participantRole == .administrator)
    #expect(copy.participantPermission == .readOnly)
    #expect(copy.participantStatus == .removed)
    #expect(copy.ownerIdentity == metadata.ownerIdentity)
    #expect(copy.ownerIdentity.nameComponents?.givenName == "Max")

    let participant = metadata.share.owner
    #expect(try archived(participant) == participant)
    for lookup in CKUserIdentity.LookupInfo.lookupInfos(withEmails: ["a@b"])
      + CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: ["+1"])
      + CKUserIdentity.LookupInfo.lookupInfos(with: [CKRecord.ID(recordName: "_1")])
    {
      #expect(try archived(lookup) == lookup)
    }
  }

  @Test func `archives without the wanted give nil, not a crash`() throws {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.encode("nothing" as NSString, forKey: "Other")
    archiver.finishEncoding()
    func coder() throws -> NSKeyedUnarchiver { try NSKeyedUnarchiver(forReadingFrom: archiver.encodedData) }

    let damaged = CKShare(coder: try coder())
    #expect(damaged.url == nil && damaged.participants.map(\.role) == [.owner])
    #expect(CKShare.Metadata(coder: try coder()) == nil)
    #expect(CKShare.Participant(coder: try coder()) == nil)
    #expect(CKUserIdentity(coder: try coder()) == nil)
    #expect(CKUserIdentity.LookupInfo(coder: try coder()) == nil)
  }
}
