import CloudKit
import CloudKitEmulator
import CloudService
import CloudSupport
import CloudSync
import Foundation
import OpenCombine
import Testing

/// The code of the page.
@MainActor
enum ServicePage {
  // snippet.delegate
  final class MyCloudKitDelegate: SyncEngineDelegate {
    let isAskedBeforeSending = false

    func syncEngine(_ engine: SyncEngine, validate record: CKRecord) throws {
      guard record["requiredField"] != nil else {
        throw CloudKitServiceError.missingRequiredField("requiredField")
      }
    }

    func syncEngine(_ engine: SyncEngine, willDeliver record: CKRecord) async throws -> CKRecord {
      record["name"] = (record["name"] as? String)?.trimmingCharacters(in: .whitespaces)
      return record
    }
  }
  // snippet.end

  static func service(_ container: CKContainer, _ path: String) throws -> CloudKitService {
    // snippet.service
    var configuration = try SyncEngine.Configuration(container: container, storePath: path)
    configuration.conflictResolver = { conflict in
      guard let remote = conflict.serverRecord, let local = conflict.clientRecord else { return .server }
      remote["name"] = local["name"]
      return .merged(remote)
    }
    let cloudKitService = try CloudKitService(configuration, delegate: MyCloudKitDelegate())
    cloudKitService.start()
    // snippet.end
    return cloudKitService
  }

  static func publicService(_ container: CKContainer, _ path: String) throws -> CloudKitService {
    // snippet.public
    let configuration = try SyncEngine.Configuration(container: container, databaseScope: .public, storePath: path)
    let publicService = try CloudKitService(configuration)
    // snippet.end
    return publicService
  }

  static func use(_ cloudKitService: CloudKitService) async throws -> (CKRecord?, [CKRecord], CKRecord.ID) {
    // snippet.use
    let record = CKRecord(recordType: "MyRecord")
    record["name"] = "Example"
    record["requiredField"] = 1
    try await cloudKitService.save(record)
    let fetched = try await cloudKitService.fetch(recordID: record.recordID)

    let query = CKQuery(recordType: "MyRecord", predicate: NSPredicate(value: true))
    let records = try await cloudKitService.query(query)
    // snippet.end
    return (fetched, records, record.recordID)
  }

  static func delete(_ recordID: CKRecord.ID, _ cloudKitService: CloudKitService) async throws {
    // snippet.delete
    try await cloudKitService.delete(recordID)
    // snippet.end
  }

  static func queue(_ cloudKitService: CloudKitService) async throws -> Int {
    // snippet.queue
    let queuedCount = cloudKitService.queuedOperationCount
    try await cloudKitService.flushOfflineQueue()
    try await cloudKitService.clearOfflineQueue()
    // snippet.end
    return queuedCount
  }

  static func status(_ cloudKitService: CloudKitService) async throws -> QueueStatus {
    // snippet.status
    let status = cloudKitService.queueStatus
    print("\(status.totalCount) operations: \(status.pendingCount) pending, \(status.failedCount) failed")
    print("\(status.retryableCount) can be retried")
    if let oldest = status.oldestPendingDate { print("Oldest pending: \(oldest)") }

    try await cloudKitService.retryFailedOperations()
    try await cloudKitService.clearFailedOperations()
    // snippet.end
    return status
  }

  static func sync(_ cloudKitService: CloudKitService) async throws {
    // snippet.sync
    try await cloudKitService.sync()
    try await cloudKitService.sync(recordTypes: ["MyRecord", "OtherRecord"])
    // snippet.end
  }

  static func follow(_ cloudKitService: CloudKitService) async {
    // snippet.follow
    for await status in cloudKitService.statuses {
      print(status.verdict.sentence, status.progress?.fraction ?? 1, status.queue.total)
    }
    // snippet.end
  }

  static func publish(_ cloudKitService: CloudKitService) -> AnyCancellable {
    // snippet.publish
    let subscription = cloudKitService.statusPublisher.sink { status in print(status.account, status.conflicts) }
    // snippet.end
    return subscription
  }

  static func operation() -> QueuedCloudKitOperation {
    // snippet.operation
    let deletion = QueuedCloudKitOperation(operationType: "delete", recordID: "note1")
    // snippet.end
    return deletion
  }

  static func watch(_ configuration: SyncEngine.Configuration) throws -> CloudKitService {
    // snippet.watch
    let watching = try CloudKitService(configuration, isReadOnly: true)
    // snippet.end
    return watching
  }

  static func facade(_ operation: QueuedCloudKitOperation, _ cloudKitService: CloudKitService) throws {
    // snippet.facade
    if let storage = cloudKitService.queueStorage {
      try storage.enqueue(operation)
      for queued in try storage.getAllOperations() { print(queued.operationType, queued.status) }
    }
    // snippet.end
  }

  static func storage(_ oldQueue: any CloudKitQueueStorage, _ cloudKitService: CloudKitService) async throws -> Int {
    // snippet.storage
    let moved = try await cloudKitService.importQueue(from: oldQueue)
    for refusal in moved.refused { print(refusal.operation.id, refusal.error.localizedDescription) }
    // snippet.end
    return moved.accepted.count
  }

  static func outcome(_ record: CKRecord, _ cloudKitService: CloudKitService) async throws -> String {
    var text = ""
    // snippet.outcome
    switch try await cloudKitService.save(record).outcome {
    case .sent: text = "on the server"
    case .failed(let failure): text = failure.ckError.localizedDescription
    case .conflict(let conflict): text = "both sides changed \(conflict.change.fields)"
    case .merged, .superseded, .discarded: text = "another change took its place"
    }
    // snippet.end
    return text
  }

  static func errors(_ record: CKRecord, _ cloudKitService: CloudKitService) async -> String {
    var text = ""
    // snippet.errors
    do {
      try await cloudKitService.saveAndSend(record)
    } catch CloudKitServiceError.networkUnavailable {
      text = "queued"
    } catch CloudKitServiceError.conflictDetected(let local, let remote) {
      text = "conflict of \(local.recordID.recordName), version \(remote.recordChangeTag ?? "")"
    } catch {
      text = error.localizedDescription
    }
    // snippet.end
    return text
  }
}

@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct ComingFromCloudKitService {
  private let cloud: Cloud

  init() throws { cloud = try Cloud() }

  @Test func `a record is saved, fetched, queried at once, and deleted`() async throws {
    let service = try ServicePage.service(cloud.container, cloud.path("mine"))
    let padded = CKRecord(recordType: "Other", recordID: CKRecord.ID(recordName: "padded"))
    padded["name"] = " Tea "
    try await cloud.container.privateCloudDatabase.save(padded)
    #expect(try await service.fetch(recordID: padded.recordID)?["name"] as? String == "Tea")
    let (fetched, records, id) = try await ServicePage.use(service)
    #expect(fetched?["name"] as? String == "Example" && records.map(\.recordID) == [id])

    try await ServicePage.delete(id, service)
    try await ServicePage.sync(service)
    #expect(try await service.fetch(recordID: id) == nil)
    let record = CKRecord(recordType: "MyRecord", recordID: CKRecord.ID(recordName: "bad"))
    await #expect(throws: CloudKitServiceError.self) { try await service.save(record) }
    cloud.refuse("bad")
    record["requiredField"] = 1
    #expect(try await ServicePage.outcome(record, service).isEmpty == false)
    try await ServicePage.sync(service)
    await service.stop()
    #expect(service.queueStatus.failedCount == 1)
    #expect(try await ServicePage.status(service).totalCount == 1)
    #expect(try await ServicePage.queue(service) == 1)
    #expect(service.queuedOperationCount == 0)
  }

  @Test func `a sync without a network says that changes are queued, and what other queues hold is taken over`()
    async throws
  {
    let service = try ServicePage.publicService(cloud.container, cloud.path("public"))
    let old = try SyncStore(path: cloud.path("old"), containerIdentifier: "iCloud.test", databaseScope: .public)
    let queue = StoreQueueStorage(old)
    try queue.enqueue(QueuedCloudKitOperation(operationType: "delete", recordID: "a"))
    #expect(try await ServicePage.storage(queue, service) == 1)
    try ServicePage.facade(ServicePage.operation(), service)
    let configuration = try SyncEngine.Configuration(
      container: cloud.container,
      databaseScope: .public,
      storePath: cloud.path("public")
    )
    #expect(try ServicePage.watch(configuration).isReadOnly)

    cloud.emulator.isOffline = true
    #expect(await ServicePage.errors(CKRecord(recordType: "MyRecord"), service) == "queued")
    #expect(service.queuedOperationCount == 3)
    ServicePage.publish(service).cancel()
  }
}
