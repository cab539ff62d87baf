import CloudKit
import CloudKitEmulator
import CloudService
import CloudSupport
import CloudSync
import Foundation
import Synchronization
import Testing

/// The service as apps use it: from what is public, on the main actor.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct ServiceTests {
  private let cloud: Cloud

  init() throws { cloud = try Cloud() }

  @Test func `what the service shows follows the store by itself`() async throws {
    let service = try cloud.service()
    #expect(!service.isInSync)
    try await service.save(cloud.note("a"))
    await until { service.queuedOperationCount == 1 }
    service.start()
    await until { service.isInSync && service.queuedOperationCount == 0 }

    #expect(service.syncStatus == .complete && service.syncProgress == 1)
    #expect(service.accountStatus == .available)
    #expect(cloud.emulator.recordCount() == 1)
    let other = try cloud.service()
    try await other.save(cloud.note("b"))
    await until { service.isInSync && cloud.emulator.recordCount() == 2 }
    await service.stop()
  }

  @Test func `nothing is sent before syncing starts, and then what was queued`() async throws {
    let requests = Mutex(0)
    let service = try cloud.service(beforeEachRequest: { requests.withLock { $0 += 1 } })
    try await service.save(cloud.note("a"))
    #expect(service.queuedOperationCount == 1)
    // The server answers others meanwhile.
    let theirs = try cloud.service("theirs")
    try await theirs.save(cloud.note("b"))
    try await theirs.sync()
    #expect(requests.withLock { $0 } == 0 && service.syncing == .off && service.status.syncingProcess == nil)
    #expect(service.queuedOperationCount == 1)

    service.start()
    await until { service.isInSync }
    #expect(requests.withLock { $0 } > 0 && cloud.emulator.recordCount() == 2)
    await service.stop()
  }

  @Test func `a service serves the container that it is made for, and no other from its store`() async throws {
    let (mine, other) = (try cloud.service(), try cloud.service("other", container: "iCloud.other"))
    try await mine.save(cloud.note("a"))
    try await mine.sync()
    try await other.sync()
    let databases = ["iCloud.test", "iCloud.other"].map { EmulatorDatabase.private(of: "ana", $0) }
    #expect(databases.map { cloud.emulator.recordCount(in: $0) } == [1, 0])
    #expect(try #require(other.store).operations().total == 0)

    let error = #expect(throws: StoreError.self) { try cloud.service(container: "iCloud.other") }
    #expect(error?.kind == .otherScope)
  }

  @Test func `sync sends and brings, and tells what stopped it`() async throws {
    let (mine, theirs) = (try cloud.service(), try cloud.service("theirs"))
    try await theirs.save(cloud.note("a", "theirs"))
    try await theirs.sync()

    try await mine.sync()

    #expect(try await mine.fetch(recordID: cloud.note("a").recordID)?["text"] as? String == "theirs")
    #expect(mine.lastError == nil)
    cloud.emulator.isOffline = true
    await #expect(throws: CloudKitServiceError.self) { try await mine.sync() }
    guard case CloudKitServiceError.networkUnavailable? = mine.lastError else {
      Issue.record("\(String(describing: mine.lastError))")
      return
    }
    try await mine.save(cloud.note("b"))
    #expect(try await mine.fetch(recordID: cloud.note("b").recordID) != nil)
  }

  @Test func `a read-only service takes no change, and what can never be sent is refused with the reason`() async throws
  {
    let reading = try cloud.service(isReadOnly: true)
    await #expect(throws: CloudKitServiceError.self) { try await reading.save(cloud.note("a")) }
    await #expect(throws: CloudKitServiceError.self) { try await reading.sync() }
    await #expect(throws: CloudKitServiceError.self) { try await reading.clearOfflineQueue() }
    let writing = try cloud.service("other")
    let error = await #expect(throws: CloudKitServiceError.self) {
      try await writing.save([cloud.note("a"), CKShare(recordZoneID: cloud.zone)])
    }

    #expect(error?.errorDescription?.contains("share") == true)
    #expect(try await writing.fetch(recordID: cloud.note("a").recordID) == nil)
  }

  @Test func `the queue is counted, retried and cleared`() async throws {
    cloud.emulator.faults = FaultPlan(rules: [FaultRule(when: FaultCondition(recordName: "bad"), then: .poison)])
    let service = try cloud.service()
    try await service.save([cloud.note("bad"), cloud.note("good")])
    try await service.sync()
    #expect(service.queueStatus.totalCount == 1 && service.queueStatus.pendingCount == 0)
    #expect(service.queueStatus.failedCount == 1 && service.queueStatus.retryableCount == 1)
    #expect(try await service.retryFailedOperations() == 1)
    #expect(service.queueStatus.pendingCount == 1 && service.queueStatus.retryableCount == 0)
    #expect(service.queueStatus.oldestPendingDate != nil)
    #expect(try await service.clearFailedOperations() == 0)
    #expect(try await service.clearOfflineQueue() == 1)
    #expect(service.queueStatus.totalCount == 0 && cloud.emulator.recordCount() == 1)
  }

  @Test func `clearing failed operations removes them alone, and can be undone`() async throws {
    cloud.refuse("bad", "worse")
    let service = try cloud.service()
    try await service.save([cloud.note("bad"), cloud.note("worse")])
    try await service.sync()
    try await service.save(cloud.note("good"))
    #expect(service.queueStatus.failedCount == 2 && service.queueStatus.pendingCount == 1)

    #expect(try await service.clearFailedOperations() == 2)
    #expect(service.queueStatus.failedCount == 0 && service.queueStatus.pendingCount == 1)
    #expect(try await service.failedChanges().isEmpty)
    cloud.refuse()
    for dropped in try await service.undoable() { try await service.undo(dropped) }
    #expect(service.queueStatus.failedCount == 2)
  }

  /// A delegate that accepts records with a text only.
  private final class Approver: SyncEngineDelegate {
    func syncEngine(_ engine: SyncEngine, willSend record: CKRecord) async throws -> CKRecord {
      guard record["text"] as? String != "bad" else { throw CloudKitServiceError.missingRequiredField("text") }
      return record
    }
  }

  @Test func `a delegate that the app has released is asked as long as the service lives`() async throws {
    var delegate: Approver? = Approver()
    weak let released = delegate
    var service: CloudKitService? = try cloud.service(delegate: delegate)
    delegate = nil
    let changes = try await service?.save([cloud.note("a"), cloud.note("b", "bad")])
    try await service?.sync()
    #expect(try await changes?.outcomes.successful == [cloud.id("a")])
    #expect(released != nil)
    service = nil
    while released != nil { await Task.yield() }
  }

  /// Notes the names of what was delivered.
  private final class Listener: SyncEngineDelegate {
    let names = Mutex<[String]>([])

    func syncEngine(_ engine: SyncEngine, didReceive changes: ReceivedChanges) async throws {
      names.withLock { names in
        names += changes.modifications.map(\.recordID.recordName)
        names += changes.deletions.map { "-" + $0.recordID.recordName }
      }
    }
  }

  @Test func `a sync of record types delivers these, and what they refer to, and the next one the others`() async throws
  {
    let theirs = try cloud.service("theirs")
    let list = CKRecord(recordType: "List", recordID: cloud.id("list"))
    let item = CKRecord(recordType: "Item", recordID: cloud.id("item"))
    item["list"] = CKRecord.Reference(record: list, action: .none)
    try await theirs.save([cloud.note("note"), CKRecord(recordType: "Tag", recordID: cloud.id("tag")), item, list])
    try await theirs.sync()
    let listener = Listener()
    let mine = try cloud.service(delegate: listener)

    #expect(try await mine.sync(recordTypes: ["Item"]).fetched == 4)
    #expect(listener.names.withLock { $0 } == ["list", "item"])
    #expect(try await mine.fetch(recordID: cloud.id("note")) != nil)
    try await theirs.delete(cloud.id("tag"))
    try await theirs.sync()
    try await mine.sync(recordTypes: ["Tag"])
    #expect(listener.names.withLock { $0 } == ["list", "item", "-tag"])
    try await mine.sync()
    #expect(listener.names.withLock { $0 } == ["list", "item", "-tag", "note"])
  }
}
