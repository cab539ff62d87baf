import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Testing

@testable import CloudSync

/// A guest's store of what others share.
@Suite(.serialized) struct SharedDatabaseTests {
  private let world: World
  private let mine: TestDevice
  private let owner: CKContainer
  private let share: CKShare
  /// The zone as the guest sees it.
  private let zone: ZoneKey

  init() async throws {
    let world = try World(.shared, user: "ben")
    func container(_ user: String) -> CKContainer {
      CKContainer(
        identifier: World.container,
        credential: .webAuth(apiToken: "token", webAuthToken: user),
        transport: EmulatorTransport(world.emulator, now: { [clock = world.clock] in clock.date })
      )
    }
    let (owner, guest) = (container("ana"), container("ben"))
    let zoneID = CKRecordZone.ID(zoneName: "lists")
    try await owner.privateCloudDatabase.save(CKRecordZone(zoneID: zoneID))
    let list = CKRecord(recordType: "List", recordID: CKRecord.ID(recordName: "list", zoneID: zoneID))
    let item = CKRecord(recordType: "Item", recordID: CKRecord.ID(recordName: "item", zoneID: zoneID))
    item["text"] = "Milk"
    item.setParent(list)
    let share = CKShare(rootRecord: list)
    share.publicPermission = .readWrite
    let saved = try await owner.privateCloudDatabase.modifyRecords(saving: [list, item, share], deleting: [])
    for result in saved.saveResults.values { _ = try result.get() }
    let metadata = try await guest.shareMetadata(for: try #require(share.url))
    try await guest.accept(metadata)
    zone = ZoneKey(zone: "lists", owner: try await owner.userRecordID().recordName)
    (self.world, self.owner, self.share) = (world, owner, share)
    mine = try world.device("mine")
    try await mine.sync()
  }

  private func edit(_ name: String, _ text: String) -> Change {
    Change(RecordKey(zone, name), .save(type: "Item", FieldChanges(values: ["text": .string(text)])))
  }

  private func onServer(_ name: String) async throws -> CKRecord {
    let zoneID = CKRecordZone.ID(zoneName: "lists")
    return try await owner.privateCloudDatabase.record(for: CKRecord.ID(recordName: name, zoneID: zoneID))
  }

  @Test func `what is shared comes, with its zone's owner`() throws {
    let keys = try mine.store.records().rows.map(\.record.key)

    #expect(keys.contains(RecordKey(zone, "item")) && keys.contains(RecordKey(zone, "list")))
    #expect(try mine.store.mirror("item")?["text"] == .string("Milk"))
    #expect(try mine.store.status().isInSync)
  }

  @Test func `edits go both ways, and so do creations and deletions`() async throws {
    try mine.store.accept(edit("item", "Oat milk"))
    let parent = FieldValue.reference(WireReference(recordName: "list"))
    let creation = FieldChanges(values: ["text": .string("Bread"), FieldChanges.parent: parent])
    try mine.store.accept(Change(RecordKey(zone, "bread"), .save(type: "Item", creation)))
    try await mine.sync()
    #expect(try mine.store.queue() == [])
    #expect(try await onServer("item")["text"] as? String == "Oat milk")

    let bread = try await onServer("bread")
    #expect(bread.parent?.recordID.recordName == "list")
    bread["text"] = "Rye bread"
    try await owner.privateCloudDatabase.save(bread)
    try mine.store.accept(Change(RecordKey(zone, "item"), .delete))
    try await mine.sync()

    #expect(try mine.store.mirror("bread")?["text"] == .string("Rye bread"))
    await #expect(throws: CKError.self) { try await onServer("item") }
    #expect(try mine.store.status().isInSync)
  }

  @Test func `what may only be read is a dead letter, and stays as the server has it`() async throws {
    let share = try #require(try await owner.privateCloudDatabase.record(for: share.recordID) as? CKShare)
    share.publicPermission = .readOnly
    try await owner.privateCloudDatabase.save(share)

    let id = try mine.store.accept(edit("item", "Cream"))
    try await mine.sync()

    #expect(try mine.store.operation(id).errorCode == "ACCESS_DENIED")
    #expect(try mine.store.operation(id).state == .failed)
    #expect(try mine.store.mirror("item")?["text"] == .string("Milk"))
    #expect(try await onServer("item")["text"] as? String == "Milk")
  }

  @Test func `what is no longer shared is held back with the edits that were made on it`() async throws {
    let id = try mine.store.accept(edit("item", "Cream"))
    try await owner.privateCloudDatabase.deleteRecord(withID: share.recordID)

    try await mine.sync()

    #expect(try mine.store.heldDeletions().map(\.zone) == [zone])
    #expect(try mine.store.mirror("item")?["text"] == .string("Milk"))
    #expect(try mine.store.operation(id).changes == FieldChanges(values: ["text": .string("Cream")]))
  }

  // MARK: - Zones that this database does not have

  @Test func `a change to a zone that no other user shares is refused`() throws {
    let scope = mine.store.scope
    for zone in [ZoneKey.defaultZone, ZoneKey(zone: "lists")] {
      let problem = try #require(scope.problem(of: zone))
      let changes = [
        Change(RecordKey(zone, "a"), .save(type: "Item", FieldChanges(values: [:]))),
        Change(RecordKey(zone, "b"), .delete),
      ]

      #expect(try mine.store.enqueue(changes) == [.refused(problem), .refused(problem)])
    }

    #expect(scope.problem(of: zone) == nil)
    #expect(try mine.store.queue() == [])
  }

  @Test func `a new store has no default zone`() async throws {
    #expect(try mine.store.zones().map(\.key) == [zone])
  }

  @Test func `what is for a zone that is no longer shared fails, and no retry creates that zone here`() async throws {
    let id = try mine.store.accept(edit("item", "Cream"))
    try await owner.privateCloudDatabase.deleteRecord(withID: share.recordID)
    try await mine.sync()
    _ = try mine.store.acceptDeletions(in: zone, actor: "test")

    #expect(try mine.store.operation(id).cause == .failed(.zoneUnavailable(zone: zone.title, code: "ZONE_NOT_FOUND")))
    #expect(try mine.store.perform(.retry, on: .all, actor: "test").recreated == [])
    try await mine.sync()

    #expect(mine.transport.count("zones/modify") == 0)
    #expect(try mine.store.operation(id).state == .failed)
  }
}
