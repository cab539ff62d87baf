import Foundation
import Synchronization
import Testing

@testable import CloudKit

/// Shares and those who take part, in archives with Apple's class names and layout.
@Suite(.serialized) struct AppleShareArchiveTests {
  private typealias Value = AppleArchive.Value

  private static func id(_ name: String) -> Value {
    let zone = Value.object("CKRecordZoneID", ["ZoneName": .string("lists"), "ownerName": .string("__defaultOwner__")])
    return .object("CKRecordID", ["RecordName": .string(name), "ZoneID": zone])
  }

  private static let guest = participant("p2", user: nil, email: "ben@example.org", role: 3, status: 1, permission: 2)
  private static let owner = participant("p1", user: "__defaultOwner__", email: nil, role: 1, status: 2, permission: 3)

  private static func participant(
    _ participantID: String,
    user: String?,
    email: String?,
    role: Int,
    status: Int,
    permission: Int
  ) -> Value {
    let lookup = Value.object(
      "CKUserIdentityLookupInfo",
      ["EmailAddress": email.map(Value.string) ?? .none, "PhoneNumber": .none, "RecordID": user.map(id) ?? .none]
    )
    let identity = Value.object(
      "CKUserIdentity",
      [
        "UserRecordID": user.map(id) ?? .none, "LookupInfo": lookup, "ContactIdentifiers": .array([]),
        "NameComponents": .object("NSPersonNameComponents", ["NS.nameComponentsPrivate": .none]),
        "HasICloudAccount": .bool(user != nil), "IsCached": .bool(false),
      ]
    )
    return .object(
      "CKShareParticipant",
      [
        "ParticipantID": .string(participantID), "InviterID": .none, "UserIdentity": identity, "Type": .int(role),
        "AcceptanceStatus": .int(status), "Permission": .int(permission), "IsCurrentUser": .bool(role == 1),
        "ProtectionInfo": .data(Data([1])), "ShareID": id("share"),
      ]
    )
  }

  private static func share(_ changes: [String: Value] = [:]) -> Data {
    let fields: [String: Value] = [
      "RecordType": .string("cloudkit.share"), "RecordID": id("share"), "ETag": .string("7"),
      "RootRecordID": id("list"), "PublicPermission": .int(1), "ParticipantVisibility": .int(2),
      "Participants": .array([owner, guest]), "LastFetchedParticipants": .array([owner, guest]),
      "AddedParticipantIDs": .set([]), "RemovedParticipantIDs": .set([]),
      "URL": .url(URL(string: "https://www.icloud.com/share/0aBc#Groceries")!),
    ]
    return AppleArchive.data(["root": .object("CKShare", fields.merging(changes) { $1 })])
  }

  private static func read(_ data: Data) throws -> CKShare {
    try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKShare.self, from: data))
  }

  @Test func `a participant that Apple's framework wrote is read`() throws {
    let data = AppleArchive.data(["root": .array([Self.owner, Self.guest])])

    let read = try NSKeyedUnarchiver.unarchivedObject(ofClasses: [NSArray.self, CKShare.Participant.self], from: data)
    let participants = try #require(read as? [CKShare.Participant])

    #expect(participants.map(\.participantID) == ["p1", "p2"])
    #expect(participants.map(\.role) == [.owner, .privateUser])
    #expect(participants.map(\.acceptanceStatus) == [.accepted, .pending])
    #expect(participants.map(\.permission) == [.readWrite, .readOnly])
    #expect(participants[0].userIdentity.userRecordID?.recordName == CKCurrentUserDefaultName)
    #expect(participants[1].userIdentity.lookupInfo?.emailAddress == "ben@example.org")
    #expect(participants.map(\.userIdentity.hasiCloudAccount) == [true, false])
  }

  @Test func `a share that Apple's framework wrote is read with its people and its URL`() throws {
    let share = try Self.read(Self.share())

    #expect(share.recordChangeTag == "7")
    #expect(share.publicPermission == .none)
    #expect(share.participants.map(\.participantID) == ["p1", "p2"])
    #expect(share.currentUserParticipant === share.owner)
    #expect(share.url?.absoluteString == "https://www.icloud.com/share/0aBc")
  }

  @Test func `whom Apple's framework noted to be taken out is out, and is taken out on the server`() throws {
    let share = try Self.read(Self.share(["RemovedParticipantIDs": .set([.string("p2")])]))
    let sent = try #require(share.state.withLock(\.sharing)?.wire(all: false))

    #expect(share.participants.map(\.participantID) == ["p1"])
    #expect(sent.participants == [])
  }

  @Test func `nothing is sent of a share that was not changed but what everybody may do`() throws {
    let share = try Self.read(Self.share())
    let sent = try #require(share.state.withLock(\.sharing)?.wire(all: false))

    #expect(sent.participants == nil)
    #expect(sent.publicPermission == "NONE")
  }

  @Test func `people of whom nothing can be read are left out`() throws {
    let odd: [Value] = [.string("x"), .object("CKShareParticipant", ["ParticipantID": .none]), Self.guest, .none]
    let share = try Self.read(
      Self.share(["Participants": .array(odd), "URL": .string("x"), "PublicPermission": .none])
    )

    #expect(share.participants.last?.participantID == "p2" && share.participants.count == 2)
    #expect(share.url == nil)
    #expect(share.publicPermission == .unknown)
  }
}
