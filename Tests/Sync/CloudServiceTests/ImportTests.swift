import CloudKit
import CloudKitEmulator
import CloudService
import CloudSupport
import Foundation
import Testing

@testable import CloudSync

/// Taking over the queue of another library.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(40))) struct ImportTests {
  /// A queue in memory.
  private final class OtherQueue: CloudKitQueueStorage {
    var operations: [QueuedCloudKitOperation] = []

    func enqueue(_ operation: QueuedCloudKitOperation) { operations.append(operation) }
    func dequeue() -> QueuedCloudKitOperation? { operations.isEmpty ? nil : operations.removeFirst() }
    func peek() -> QueuedCloudKitOperation? { operations.first }
    func remove(_ operation: QueuedCloudKitOperation) { operations.removeAll { $0.id == operation.id } }
    func count() -> Int { operations.count }
    func clear() { operations = [] }
    func getAllOperations() -> [QueuedCloudKitOperation] { operations }
  }

  private let cloud: Cloud

  init() throws { cloud = try Cloud() }

  private func save(_ record: CKRecord, at time: Date = Date()) throws -> QueuedCloudKitOperation {
    let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
    let name = record.recordID.recordName
    return QueuedCloudKitOperation(operationType: "save", recordData: data, recordID: name, timestamp: time)
  }

  @Test func `what can be sent is taken over in order, and the rest stays with the reason`() async throws {
    let service = try cloud.service()
    let queue = OtherQueue()
    let nameless = QueuedCloudKitOperation(operationType: "save", recordID: "lost")
    queue.operations = try [
      save(cloud.note("a", "1")), nameless, save(cloud.note("b")), save(cloud.note("a", "2")),
      QueuedCloudKitOperation(operationType: "delete", recordID: "b", zoneName: "notes"),
      QueuedCloudKitOperation(operationType: "sync"),
    ]
    let all = queue.operations

    let result = try await service.importQueue(from: queue)
    #expect(result.accepted.map(\.id) == [0, 2, 3, 4].map { all[$0].id })
    #expect(result.refused.map(\.operation.id) == [all[1].id, all[5].id])
    #expect(result.refused.allSatisfy { $0.error.ckError?.code == .invalidArguments })
    #expect(queue.operations.map(\.id) == [all[1].id, all[5].id])

    try await service.sync()
    #expect(try await service.fetch(recordID: cloud.id("a"))?["text"] as? String == "2")
    #expect(cloud.emulator.recordCount() == 1)
  }

  @Test func `a zone that can be neither created nor deleted stays in its queue`() async throws {
    let service = try cloud.service()
    let queue = OtherQueue()
    queue.operations = ["zoneSave", "zoneDelete"].map {
      QueuedCloudKitOperation(operationType: $0, zoneName: CKRecordZone.ID.defaultZoneName)
    }

    let result = try await service.importQueue(from: queue)
    #expect(result.accepted.isEmpty && result.refused.map(\.operation.operationType) == ["zoneSave", "zoneDelete"])
    #expect(queue.operations.count == 2)
  }

  @Test func `a delete finds a record that was queued just before it`() async throws {
    let service = try cloud.service()
    let queue = OtherQueue()
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a"))
    queue.operations = [try save(record), QueuedCloudKitOperation(operationType: "delete", recordID: "a")]
    #expect(try await service.importQueue(from: queue).refused.isEmpty)
    #expect(try #require(service.store).operations().rows.isEmpty)
  }

  @Test func `a store's own queue is not imported into it`() async throws {
    let (service, same) = (try cloud.service(), try cloud.service())
    try await service.save(cloud.note("a"))
    for store in [service.store, same.store] {
      let queue = StoreQueueStorage(try #require(store))
      await #expect(throws: StoreError.self) { try await service.importQueue(from: queue) }
      #expect(try queue.count() == 1)
    }
  }

  @Test func `what another store is sending is refused and stays there`() async throws {
    let (service, other) = (try cloud.service(), try #require(try cloud.service("other").store))
    let changes = try other.save(["a", "b"].map { cloud.note($0) })
    let id = try #require(changes[0].id)
    try other.write { ledger in
      var operation = try #require(try ledger.operation(id))
      operation.apply(.sent(as: .save))
      try ledger.update(operation)
    }

    let result = try await service.importQueue(from: StoreQueueStorage(other))
    #expect(result.accepted.map(\.recordID) == ["b"] && result.refused.map(\.operation.recordID) == ["a"])
    #expect(try other.operations().rows.map(\.key.name) == ["a"])
    #expect(try #require(service.store).operations().rows.map(\.key.name) == ["b"])
  }

  @Test func `an old change does not win over a newer one on the server`() async throws {
    let (mine, theirs) = (try cloud.service { $0.policy = .newest }, try cloud.service("theirs"))
    try await theirs.save(cloud.note("a", "old"))
    try await theirs.sync()
    try await mine.sync()
    let queue = OtherQueue()
    for text in ["mine", "mine again"] {
      let record = try #require(try await mine.fetch(recordID: cloud.id("a")))
      record["text"] = text
      queue.operations.append(try save(record, at: Date(timeIntervalSinceNow: -7 * 86_400)))
    }
    let record = try #require(try await theirs.fetch(recordID: cloud.id("a")))
    record["text"] = "theirs"
    try await theirs.save(record)
    try await theirs.sync()

    #expect(try await mine.importQueue(from: queue).accepted.count == 2)
    try await mine.sync()
    #expect(try await mine.fetch(recordID: cloud.id("a"))?["text"] as? String == "theirs")
  }

  @Test func `damaged data is refused, and the rest is imported`() async throws {
    let service = try cloud.service()
    let queue = OtherQueue()
    let whole = try #require(try save(cloud.note("a")).recordData)
    let list: [String: Any] = ["$archiver": "NSKeyedArchiver", "$version": 100_000, "$objects": ["$null"]]
    let plists: [Any] = [[String: Any](), [1], list, list.merging(["$top": [String: Any]()]) { $1 }]
    let damaged = try plists.map {
      try PropertyListSerialization.data(fromPropertyList: $0, format: .binary, options: 0)
    }
    for data in [Data(), Data("no record".utf8), whole.prefix(whole.count / 2)] + damaged + [whole] {
      queue.operations.append(QueuedCloudKitOperation(operationType: "save", recordData: data, recordID: "a"))
    }
    let result = try await service.importQueue(from: queue)
    #expect(result.accepted.count == 1 && result.refused.count == 7)
    #expect(result.refused.allSatisfy { $0.error.ckError?.code == .invalidArguments })
  }

  @Test func `a read-only service takes nothing over`() async throws {
    let queue = OtherQueue()
    queue.operations = [try save(cloud.note("a"))]
    let service = try cloud.service(isReadOnly: true)
    await #expect(throws: CloudKitServiceError.self) { try await service.importQueue(from: queue) }
    #expect(queue.operations.count == 1)
  }

  /// Code that knows the protocol only, around the queue of a store.
  private final class Facade: CloudKitQueueStorage {
    private let inner: any CloudKitQueueStorage

    init(_ inner: any CloudKitQueueStorage) { self.inner = inner }

    func enqueue(_ operation: QueuedCloudKitOperation) throws { try inner.enqueue(operation) }
    func dequeue() throws -> QueuedCloudKitOperation? { try inner.dequeue() }
    func peek() throws -> QueuedCloudKitOperation? { try inner.peek() }
    func remove(_ operation: QueuedCloudKitOperation) throws { try inner.remove(operation) }
    func count() throws -> Int { try inner.count() }
    func clear() throws { try inner.clear() }
    func getAllOperations() throws -> [QueuedCloudKitOperation] { try inner.getAllOperations() }
  }

  @Test func `code for the protocol of storages works on the service's queue`() async throws {
    let service = try cloud.service()
    let storage = Facade(try #require(service.queueStorage))
    try storage.enqueue(save(cloud.note("a", "1")))
    try storage.enqueue(save(cloud.note("b")))
    try storage.enqueue(save(cloud.note("c")))
    #expect(try storage.count() == 3 && storage.peek()?.recordID == "a")
    let first = try #require(try storage.dequeue())
    try storage.enqueue(first)
    try storage.remove(#require(storage.getAllOperations().first { $0.recordID == "b" }))
    await until { service.queuedOperationCount == 2 }

    try await service.sync()
    #expect(cloud.emulator.recordCount() == 2 && service.queuedOperationCount == 0)
    #expect(try await service.fetch(recordID: cloud.id("a"))?["text"] as? String == "1")
    try storage.enqueue(save(cloud.note("d")))
    try storage.clear()
    #expect(try storage.count() == 0)
  }

  @Test func `operations in a back-off are pending, wherever they are counted, and none that has to be retried`()
    async throws
  {
    let service = try cloud.service()
    let change = try await service.save(cloud.note("a"))
    try await service.save(cloud.note("b"))
    let (store, id) = (try #require(service.store), try #require(change.id))
    try store.write { ledger in
      var operation = try #require(try ledger.operation(id))
      operation.apply(.backedOff(WebServicesError(.internalError, "oops"), now: store.now(), random: 1))
      try ledger.update(operation)
    }
    await until { service.status.queue.retrying == 1 }

    let storage = try #require(service.queueStorage)
    #expect(service.queueStatus.pendingCount == 2 && service.queueStatus.totalCount == 2)
    #expect(try storage.count() == 2 && storage.getAllOperations().count { $0.status == "pending" } == 2)
    #expect(service.queueStatus.retryableCount == 0)
    #expect(try await service.retryFailedOperations() == 0)
    #expect(try storage.peek()?.recordID == "a")
    var dequeued: [String?] = []
    while try storage.count() > 0, let next = try storage.dequeue() { dequeued.append(next.recordID) }
    #expect(try dequeued == ["a", "b"] && storage.count() == 0)
  }
}
