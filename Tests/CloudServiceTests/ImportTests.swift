import CloudKit
import CloudKitEmulator
import CloudService
import CloudSync
import Foundation
import Testing

/// Taking over the queue of another library.
@MainActor
@Suite(.serialized, .timeLimit(.minutes(15))) struct ImportTests {
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

  private func save(_ record: CKRecord) throws -> QueuedCloudKitOperation {
    let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
    return QueuedCloudKitOperation(operationType: "save", recordData: data, recordID: record.recordID.recordName)
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

  @Test func `a read-only service takes nothing over`() async throws {
    let queue = OtherQueue()
    queue.operations = [try save(cloud.note("a"))]
    let service = try cloud.service(isReadOnly: true)
    await #expect(throws: CloudKitServiceError.self) { try await service.importQueue(from: queue) }
    #expect(queue.operations.count == 1)
  }
}
