import CloudKit
import CloudKitEmulator
import CloudService
import CloudSupport
import CloudSync
import Foundation
import Synchronization
import Testing

/// One service for the user's own records and for those that others share.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct SharedServiceTests {
  private let cloud: Cloud
  private let owner: CKContainer
  private let url: URL

  /// Ana shares a list with an item.
  init() async throws {
    cloud = try Cloud()
    owner = cloud.container(of: "ana")
    try await owner.privateCloudDatabase.save(CKRecordZone(zoneID: cloud.zone))
    let list = CKRecord(recordType: "List", recordID: cloud.id("list"))
    let item = cloud.note("item", "Milk")
    item.setParent(list)
    let share = CKShare(rootRecord: list)
    share.publicPermission = .readWrite
    let saved = try await owner.privateCloudDatabase.modifyRecords(saving: [list, item, share], deleting: [])
    for result in saved.saveResults.values { _ = try result.get() }
    url = try #require(share.url)
  }

  /// Notes the texts that were delivered.
  private final class Delegate: SyncEngineDelegate {
    let texts = Mutex<[String: String]>([:])

    func syncEngine(_ engine: SyncEngine, didReceive changes: ReceivedChanges) async throws {
      texts.withLock { texts in
        for record in changes.modifications { texts[record.recordID.recordName] = record["text"] as? String ?? "" }
      }
    }
  }

  private func metadata() async throws -> CKShare.Metadata {
    try await cloud.container(of: "ben").shareMetadata(for: url)
  }

  private func itemID() async throws -> CKRecord.ID {
    let owner = try await owner.userRecordID().recordName
    return CKRecord.ID(recordName: "item", zoneID: CKRecordZone.ID(zoneName: cloud.zone.zoneName, ownerName: owner))
  }

  private func onServer(_ name: String) async throws -> String? {
    try await owner.privateCloudDatabase.record(for: cloud.id(name))["text"] as? String
  }

  @Test func `an accepted share needs nothing else: its records come, go, and go on after a restart`() async throws {
    let delegate = Delegate()
    do {
      let guest = try cloud.service("ben", user: "ben", delegate: delegate)
      #expect(guest.shared == nil)
      try await guest.accept(metadata())
      #expect(delegate.texts.withLock { ($0["list"], $0["item"]) } == ("", "Milk"))

      let item = try #require(try await guest.fetch(recordID: itemID()))
      item["text"] = "Oat milk"
      let changes = try await guest.save([item, cloud.note("own", "mine")])
      #expect(guest.queuedOperationCount == 1 && guest.shared?.queuedOperationCount == 1)
      let summary = try await guest.sync()
      #expect(summary.sent == 2 && summary.reachedEnd)
      #expect(try await changes.outcomes.successful.map(\.recordName) == ["item", "own"])
    }
    #expect(try await onServer("item") == "Oat milk")
    await #expect(throws: CKError.self) { try await onServer("own") }

    let item = try await owner.privateCloudDatabase.record(for: cloud.id("item"))
    item["text"] = "Rye bread"
    try await owner.privateCloudDatabase.save(item)
    let again = try cloud.service("ben", user: "ben", delegate: delegate)
    try await again.sync()
    #expect(delegate.texts.withLock { $0["item"] } == "Rye bread")
    try await again.delete(itemID())
    try await again.sync()
    await #expect(throws: CKError.self) { try await onServer("item") }
  }

  @Test func `a share that is accepted while the service syncs is synced with the rest, until both are stopped`()
    async throws
  {
    let delegate = Delegate()
    let guest = try cloud.service("ben", user: "ben", delegate: delegate)
    guest.start()
    try await guest.accept(metadata())
    let shared = try #require(guest.shared)
    let item = try #require(try await guest.fetch(recordID: itemID()))
    item["text"] = "Oat milk"
    let change = try await guest.save(item)
    guard case .sent = try await change.outcome else { Issue.record("not sent"); return }
    #expect(try await onServer("item") == "Oat milk")

    await until { guest.status.syncingProcess != nil && shared.status.syncingProcess != nil }
    #expect(await guest.stop())
    await until { guest.status.syncingProcess == nil && shared.status.syncingProcess == nil }
  }

  @Test func `a change of another user's zone goes to the shared database, and one's own zones stay private`()
    async throws
  {
    try await cloud.container(of: "ben").accept(metadata())
    let guest = try cloud.service("ben", user: "ben")
    let item = try #require(try await guest.fetch(recordID: itemID()))
    item["text"] = "Oat milk"
    try await guest.saveAndSend(item)
    #expect(try await onServer("item") == "Oat milk")
    #expect(guest.queuedOperationCount == 0 && guest.shared?.isInSync == true)

    let own = try cloud.service("ana")
    try await own.sync()
    #expect(try await own.fetch(recordID: itemID())?["text"] as? String == "Oat milk" && own.shared == nil)
  }

  @Test func `a zone of another user is paused and resumed in the shared database, and is not deleted`() async throws {
    let guest = try cloud.service("ben", user: "ben")
    try await guest.accept(metadata())
    let id = try await itemID()
    try await guest.pause(id.zoneID)
    let item = try #require(try await guest.fetch(recordID: id))
    item["text"] = "Oat milk"
    try await guest.save(item)
    try await guest.sync()
    #expect(try await onServer("item") == "Milk")
    try await guest.resume(id.zoneID)
    try await guest.sync()
    #expect(try await onServer("item") == "Oat milk")

    await #expect(throws: CloudKitServiceError.self) { try await guest.deleteZone(id.zoneID) }
    #expect(guest.queuedOperationCount == 0)
  }

  @Test func `a pause of everything holds for a share that is accepted meanwhile`() async throws {
    let delegate = Delegate()
    let guest = try cloud.service("ben", user: "ben", delegate: delegate)
    try await guest.pause()
    guest.start()
    try await guest.accept(metadata())
    #expect(guest.shared?.isPaused == true && delegate.texts.withLock { $0.isEmpty })
    await guest.stop()
    try await guest.resume()
    try await guest.sync()
    #expect(delegate.texts.withLock { $0["item"] } == "Milk")
  }

  @Test func `the user's own name stands for the private database, also before the account is known`() async throws {
    let id = try await itemID()
    do {
      let own = try cloud.service("ana")
      try await own.sync()
    }
    cloud.emulator.isOffline = true
    let own = try cloud.service("ana")
    #expect(try await own.fetch(recordID: id)?["text"] as? String == "Milk")
    let note = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "own", zoneID: id.zoneID))
    note["text"] = "mine"
    try await own.save(note)
    try await own.delete(id)
    #expect(try await own.fetch(recordID: cloud.id("own")) != nil)
    #expect(try await own.fetch(recordID: cloud.id("item")) == nil)
    #expect(own.shared == nil && own.queuedOperationCount == 2)
    cloud.emulator.isOffline = false
    try await own.sync()
    #expect(try await onServer("own") == "mine")
  }

  @Test func `a sync is requested of both databases without waiting for it`() async throws {
    let guest = try cloud.service("ben", user: "ben")
    try await guest.accept(metadata())
    let shared = try #require(guest.shared)
    var requested: [CKDatabase.Scope] = []
    guest.received = { if case .requestSync = $0.command, $0.failure == nil { requested.append(.private) } }
    shared.received = { if case .requestSync = $0.command, $0.failure == nil { requested.append(.shared) } }

    guest.requestSync()
    #expect(requested.isEmpty)
    for service in [guest, shared] { await service.drain(within: .seconds(60)) }
    #expect(Set(requested) == [.private, .shared])
  }

  @Test(arguments: [false, true])
  func `reading another user's records creates no store`(_ isReadOnly: Bool) async throws {
    try await cloud.container(of: "ben").accept(metadata())
    let id = try await itemID()
    let guest = try cloud.service("ben", user: "ben", isReadOnly: isReadOnly)
    #expect(try await guest.fetch(recordID: id)?["text"] as? String == "Milk")
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
    #expect(try await guest.query(query, inZoneWith: id.zoneID).map(\.recordID) == [id])
    #expect(guest.shared == nil)
  }

  @Test func `a read-only service accepts nothing, and an offline one neither`() async throws {
    let metadata = try await metadata()
    let reading = try cloud.service("reading", user: "ben", isReadOnly: true)
    await #expect(throws: CloudKitServiceError.self) { try await reading.accept(metadata) }
    #expect(reading.shared == nil)
    let guest = try cloud.service("ben", user: "ben")
    cloud.emulator.isOffline = true
    let error = await #expect(throws: CloudKitServiceError.self) { try await guest.accept(metadata) }
    guard case .networkUnavailable? = error else { Issue.record("\(String(describing: error))"); return }
  }
}
