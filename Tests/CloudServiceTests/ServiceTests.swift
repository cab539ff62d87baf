import CloudKit
import CloudKitEmulator
import CloudService
import CloudSync
import Foundation
import Observation
import Testing

/// The service as apps use it: from what is public, on the main actor.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(15))) struct ServiceTests {
  private let emulator: Emulator
  private let folder: TemporaryFolder
  private let zone = CKRecordZone.ID(zoneName: "notes")

  init() throws {
    emulator = try Emulator()
    folder = try TemporaryFolder()
  }

  private func service(
    _ name: String = "mine",
    delegate: (any SyncEngineDelegate)? = nil,
    isReadOnly: Bool = false
  ) throws -> CloudKitService {
    let container = CKContainer(
      identifier: "iCloud.test",
      credential: .webAuth(apiToken: "token", webAuthToken: "ana"),
      transport: EmulatorTransport(emulator, now: { Date() })
    )
    let configuration = try SyncEngine.Configuration(container: container, storePath: folder.path("\(name).sqlite"))
    return try CloudKitService(configuration, delegate: delegate, isReadOnly: isReadOnly)
  }

  private func note(_ name: String, _ text: String = "x") -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
    record["text"] = text
    return record
  }

  /// Waits for a fact that the service publishes, looking when something that it was read from changes.
  private func until(_ isTrue: @escaping @MainActor () -> Bool) async {
    while !Task.isCancelled {
      let (changes, continuation) = AsyncStream.makeStream(of: Void.self)
      let isDone = withObservationTracking(isTrue) { continuation.yield() }
      if isDone { return }
      for await _ in changes { break }
    }
  }

  @Test func `what the service shows follows the store by itself`() async throws {
    let service = try service()
    #expect(!service.isInSync)
    try await service.save(note("a"))
    await until { service.queuedOperationCount == 1 }
    service.start()
    await until { service.isInSync && service.queuedOperationCount == 0 }

    #expect(service.syncStatus == .complete && service.syncProgress == 1)
    #expect(service.accountStatus == .available)
    #expect(emulator.recordCount() == 1)
    let other = try self.service()
    try await other.save(note("b"))
    await until { service.isInSync && self.emulator.recordCount() == 2 }
    await service.stop()
  }

  @Test func `sync sends and brings, and tells what stopped it`() async throws {
    let (mine, theirs) = (try service(), try service("theirs"))
    try await theirs.save(note("a", "theirs"))
    try await theirs.sync()

    try await mine.sync()

    #expect(try await mine.fetch(recordID: note("a").recordID)?["text"] as? String == "theirs")
    #expect(mine.lastError == nil)
    emulator.isOffline = true
    await #expect(throws: CloudKitServiceError.self) { try await mine.sync() }
    guard case CloudKitServiceError.networkUnavailable? = mine.lastError else {
      Issue.record("\(String(describing: mine.lastError))")
      return
    }
    try await mine.save(note("b"))
    #expect(try await mine.fetch(recordID: note("b").recordID) != nil)
  }

  @Test func `a read-only service takes no change, and what can never be sent is refused with the reason`() async throws
  {
    let reading = try service(isReadOnly: true)
    await #expect(throws: CloudKitServiceError.self) { try await reading.save(note("a")) }
    await #expect(throws: CloudKitServiceError.self) { try await reading.sync() }
    await #expect(throws: CloudKitServiceError.self) { try await reading.clearOfflineQueue() }
    let writing = try service("other")
    let error = await #expect(throws: CloudKitServiceError.self) {
      try await writing.save([note("a"), CKShare(recordZoneID: zone)])
    }

    #expect(error?.errorDescription?.contains("share") == true)
    #expect(try await writing.fetch(recordID: note("a").recordID) == nil)
  }

  @Test func `the queue is counted, retried and cleared`() async throws {
    emulator.faults = FaultPlan(rules: [FaultRule(when: FaultCondition(recordName: "bad"), then: .poison)])
    let service = try service()
    try await service.save([note("bad"), note("good")])
    try await service.sync()
    await until { service.queueStatus.failedCount == 1 }
    #expect(service.queueStatus.totalCount == 1 && service.queueStatus.retryableCount == 1)
    #expect(try await service.retryFailedOperations() == 1)
    await until { service.queueStatus.pendingCount == 1 }
    #expect(service.queueStatus.oldestPendingDate != nil)
    #expect(try await service.clearFailedOperations() == 0)
    #expect(try await service.clearOfflineQueue() == 1)

    await until { service.queueStatus.totalCount == 0 }
    #expect(emulator.recordCount() == 1)
  }

  @Test func `a periodic sync goes on until it is stopped`() async throws {
    let (mine, theirs) = (try service(), try service("theirs"))
    mine.startPeriodicSync(interval: 1)
    try await theirs.save(note("a"))
    try await theirs.sync()
    while try await mine.fetch(recordID: note("a").recordID) == nil { await Task.yield() }

    mine.stopPeriodicSync()
    await mine.stop()
  }
}
