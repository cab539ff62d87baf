import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization
import Testing

/// Engines of the private database of a zone's owner, and of the shared database of a guest.
@Suite(.timeLimit(.minutes(40))) struct SyncEngineSharedTests {
  private let emulator: Emulator
  private let owner: Device

  init() throws {
    emulator = try Emulator()
    owner = Device(emulator)
  }

  /// Shares the owner's zone, which has one note, with everyone.
  private func share(_ permission: CKShare.ParticipantPermission = .readWrite) async throws -> CKShare {
    try await owner.setUp()
    owner.write("a", "one")
    try await owner.engine.sendChanges()
    let share = CKShare(recordZoneID: Device.zoneID)
    share.publicPermission = permission
    try await owner.database.save(share)
    return share
  }

  private func accept(_ share: CKShare, as guest: Device) async throws -> CKRecordZone.ID {
    let metadata = try await guest.container.shareMetadata(for: try #require(share.url))
    return try await guest.container.accept(metadata).recordID.zoneID
  }

  @Test func `the zone of an accepted share is fetched with its share, and changes go both ways`() async throws {
    let guest = Device(emulator, user: "ben", scope: .shared)
    let zoneID = try await accept(try await share(), as: guest)
    #expect(zoneID.zoneName == "notes" && zoneID.ownerName != CKCurrentUserDefaultName)
    let (first, second) = (
      CKRecord.ID(recordName: "a", zoneID: zoneID), CKRecord.ID(recordName: "b", zoneID: zoneID)
    )

    try await guest.engine.fetchChanges()
    #expect(
      guest.takeEvents() == [
        "sign in", "will fetch, manual", "fetched zones +notes", "will fetch notes",
        "fetched +a +\(CKRecordNameZoneWideShare)", "did fetch notes", "did fetch",
      ]
    )
    #expect(guest.notes == ["a": "one"])
    guest.write(first, "two")
    guest.write(second, "new")
    try await guest.engine.sendChanges()
    #expect(guest.events == ["will send, manual", "sent +a +b", "did send"] && guest.pending.isEmpty)
    try await owner.engine.fetchChanges()
    #expect(owner.notes == ["a": "two", "b": "new"])

    owner.delete("a")
    owner.write("b", "newer")
    try await owner.engine.sendChanges()
    guest.stop()
    guest.start()
    try await guest.engine.fetchChanges()
    #expect(guest.notes == ["b": "newer"])
  }

  @Test func `a conflict in a shared zone reports the three records`() async throws {
    let guest = Device(emulator, user: "ben", scope: .shared, react: Device.keepOwnVersion)
    let zoneID = try await accept(try await share(), as: guest)
    let id = CKRecord.ID(recordName: "a", zoneID: zoneID)
    try await guest.engine.fetchChanges()
    owner.write("a", "two")
    try await owner.engine.sendChanges()
    guest.write(id, "three")

    #expect(await codeThrown { try await guest.engine.sendChanges() } == .partialFailure)

    let error = try #require(guest.content.withLock { $0.errors[id] })
    let records = [error.serverRecord, error.clientRecord, error.ancestorRecord]
    #expect(records.map { $0?["text"] } == ["two", "three", "one"])
    try await guest.engine.sendChanges()
    try await owner.engine.fetchChanges()
    #expect(owner.notes == ["a": "three"])
  }

  @Test func `the end of a share is reported as the deletion of its zone`() async throws {
    let guest = Device(emulator, user: "ben", scope: .shared)
    let share = try await share()
    let zoneID = try await accept(share, as: guest)
    try await guest.engine.fetchChanges()
    guest.write(CKRecord.ID(recordName: "a", zoneID: zoneID), "two")
    try await owner.database.deleteRecord(withID: share.recordID)
    _ = guest.takeEvents()

    #expect(await codeThrown { try await guest.engine.sendChanges() } == .partialFailure)
    try await guest.engine.fetchChanges()

    #expect(
      guest.events == [
        "will send, manual", "sent failed +a zoneNotFound", "did send",
        "will fetch, manual", "fetched zones -notes", "did fetch",
      ]
    )
    #expect(guest.notes.isEmpty && guest.pending.isEmpty)
  }

  @Test func `a guest who may only read is refused, and the change leaves the pending changes`() async throws {
    let guest = Device(emulator, user: "ben", scope: .shared)
    let zoneID = try await accept(try await share(.readOnly), as: guest)
    try await guest.engine.fetchChanges()
    _ = guest.takeEvents()
    guest.write(CKRecord.ID(recordName: "a", zoneID: zoneID), "two")

    #expect(await codeThrown { try await guest.engine.sendChanges() } == .partialFailure)

    #expect(guest.events == ["will send, manual", "sent failed +a permissionFailure", "did send"])
    #expect(guest.pending.isEmpty)
  }

  @Test func `a zone cannot be saved in the shared database, and the records are sent all the same`() async throws {
    let guest = Device(emulator, user: "ben", scope: .shared)
    let zoneID = try await accept(try await share(), as: guest)
    guest.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneName: "own"))])
    guest.write(CKRecord.ID(recordName: "b", zoneID: zoneID), "new")

    #expect(await codeThrown { try await guest.engine.sendChanges() } == .invalidArguments)
    try await guest.engine.sendChanges()

    #expect(
      guest.events == [
        "sign in", "will send, manual", "sent zones failed +own invalidArguments", "did send",
        "will send, manual", "sent +b", "did send",
      ]
    )
    #expect(guest.state.pendingDatabaseChanges.isEmpty)
  }

  @Test func `engines that sync by themselves exchange changes of a shared zone by pushes`() async throws {
    let guest = Device(emulator, user: "ben", scope: .shared, isAutomatic: true)
    await wait { guest.fetches >= 2 }
    let zoneID = try await accept(try await share(), as: guest)
    await wait { guest.notes["a"] == "one" }
    let other = Device(emulator, isAutomatic: true)
    await wait { other.fetches >= 2 }

    guest.write(CKRecord.ID(recordName: "a", zoneID: zoneID), "two")
    await wait { other.notes["a"] == "two" }
    other.write("b", "new")
    await wait { guest.notes["b"] == "new" }

    for device in [guest, other] { device.stop() }
  }
}
