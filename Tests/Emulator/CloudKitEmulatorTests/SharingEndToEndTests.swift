import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Testing

/// Sharing as a program does it, from the owner's first save to the guest's last.
@Suite(.serialized) struct SharingEndToEndTests {
  private let emulator: Emulator
  private let zone = CKRecordZone.ID(zoneName: "lists")

  init() throws { emulator = try Emulator(configuration: EmulatorConfiguration()) }

  private func container(_ user: String) -> CKContainer {
    CKContainer(
      identifier: "iCloud.test",
      credential: .webAuth(apiToken: "token", webAuthToken: user),
      transport: EmulatorTransport(emulator, now: { Date(timeIntervalSince1970: 1_767_322_800) })
    )
  }

  /// A list of the owner's with one item under it, and its share, which is open to nobody yet.
  private func sharedList(_ owner: CKContainer) async throws -> (list: CKRecord, item: CKRecord, share: CKShare) {
    let database = owner.privateCloudDatabase
    try await database.save(CKRecordZone(zoneID: zone))
    let list = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "list", zoneID: zone))
    list["title"] = "Groceries"
    let item = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "item", zoneID: zone))
    item["text"] = "Milk"
    item.setParent(list)
    let share = CKShare(rootRecord: list)
    share[CKShare.SystemFieldKey.title] = "Groceries"
    let results = try await database.modifyRecords(saving: [list, item, share], deleting: []).saveResults
    for result in results.values { _ = try result.get() }
    return (list, item, share)
  }

  @Test func `an invited guest accepts, reads and writes, and leaves`() async throws {
    let (owner, guest) = (container("ana@example.org"), container("ben@example.org"))
    _ = try await guest.userRecordID()
    let (list, _, share) = try await sharedList(owner)
    #expect(list.share?.recordID == share.recordID)
    list["title"] = "Food"
    try await owner.privateCloudDatabase.save(list)

    let participant = try await owner.shareParticipant(forEmailAddress: "ben@example.org")
    participant.permission = .readWrite
    share.addParticipant(participant)
    try await owner.privateCloudDatabase.save(share)
    #expect(share.participants.map(\.acceptanceStatus) == [.accepted, .pending])
    let url = try #require(share.url)

    let metadata = try await guest.shareMetadata(for: url)
    #expect(metadata.participantStatus == .pending)
    #expect(metadata.participantPermission == .readWrite)
    #expect(metadata.hierarchicalRootRecordID?.recordName == "list")
    let accepted = try await guest.accept(metadata)
    #expect(accepted.currentUserParticipant?.acceptanceStatus == .accepted)

    let shared = guest.sharedCloudDatabase
    let zones = try await shared.allRecordZones()
    let zoneID = try #require(zones.first?.zoneID)
    #expect(zoneID.ownerName == metadata.ownerIdentity.userRecordID?.recordName)
    let item = try await shared.record(for: CKRecord.ID(recordName: "item", zoneID: zoneID))
    #expect(item["text"] as? String == "Milk")
    item["text"] = "Oat milk"
    try await shared.save(item)
    let own = try await owner.privateCloudDatabase.record(for: CKRecord.ID(recordName: "item", zoneID: zone))
    #expect(own["text"] as? String == "Oat milk")

    try await shared.deleteRecord(withID: accepted.recordID)
    #expect(try await shared.allRecordZones().isEmpty)
  }

  @Test func `what a guest may do and whether they are in follows the owner's share`() async throws {
    let (owner, guest) = (container("ana@example.org"), container("ben@example.org"))
    let (_, _, share) = try await sharedList(owner)
    share.publicPermission = .readOnly
    try await owner.privateCloudDatabase.save(share)
    let url = try #require(share.url)
    try await guest.accept(try await guest.shareMetadata(for: url))

    let shared = guest.sharedCloudDatabase
    let zoneID = try #require(try await shared.allRecordZones().first?.zoneID)
    let item = try await shared.record(for: CKRecord.ID(recordName: "item", zoneID: zoneID))
    item["text"] = "Cream"
    let error = await #expect(throws: CKError.self) { try await shared.save(item) }
    #expect(error?.code == .permissionFailure)

    let fresh = try #require(try await owner.privateCloudDatabase.record(for: share.recordID) as? CKShare)
    #expect(fresh.participants.map(\.role) == [.owner, .publicUser])
    fresh.publicPermission = .none
    try await owner.privateCloudDatabase.save(fresh)
    #expect(fresh.participants.map(\.role) == [.owner])
    #expect(try await shared.allRecordZones().isEmpty)
  }

  @Test func `deleting a share releases its root, which keeps its URL for the next`() async throws {
    let owner = container("ana@example.org")
    let (list, _, share) = try await sharedList(owner)
    let database = owner.privateCloudDatabase

    list["title"] = "Food"
    _ = try await database.modifyRecords(saving: [list], deleting: [share.recordID])
    #expect(list.share == nil)
    let again = CKShare(rootRecord: list)
    _ = try await database.modifyRecords(saving: [list, again], deleting: [])

    #expect(again.recordChangeTag != nil)
    #expect(again.url == share.url.flatMap { URL(string: $0.absoluteString.replacing("#Groceries", with: "")) })
  }

  @Test func `a zone is shared as a whole, once`() async throws {
    let (owner, guest) = (container("ana@example.org"), container("ben@example.org"))
    let database = owner.privateCloudDatabase
    try await database.save(CKRecordZone(zoneID: zone))
    let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "note", zoneID: zone))
    try await database.save(note)
    let share = CKShare(recordZoneID: zone)
    share.publicPermission = .readWrite
    try await database.save(share)

    let metadata = try await guest.shareMetadata(for: try #require(share.url))
    #expect(metadata.hierarchicalRootRecordID == nil)
    #expect(metadata.share.recordID.recordName == CKRecordNameZoneWideShare)
    try await guest.accept(metadata)
    let id = CKRecord.ID(recordName: "note", zoneID: metadata.share.recordID.zoneID)
    #expect(try await guest.sharedCloudDatabase.record(for: id).recordType == "Note")

    let second = await #expect(throws: CKError.self) { try await database.save(CKShare(recordZoneID: zone)) }
    #expect(second?.code == .serverRecordChanged)
    #expect(second?.serverRecord is CKShare)
  }
}
