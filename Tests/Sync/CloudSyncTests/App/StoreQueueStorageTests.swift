import CloudKit
import CloudKitEmulator
import Foundation
import TestSupport
import Testing

@testable import CloudSync

/// A store's queue behind the interface of others.
@MainActor @Suite(.serialized, .onFile) struct StoreQueueStorageTests {
  private let world: World
  private let store: SyncStore
  private let storage: any CloudKitQueueStorage

  init() throws {
    world = try World()
    store = try world.open("store")
    storage = StoreQueueStorage(store)
  }

  private func save(_ name: String, _ title: String) throws -> QueuedCloudKitOperation {
    let zone = CKRecordZone.ID(zoneName: "cktop")
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: name, zoneID: zone))
    record["title"] = title
    let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
    return QueuedCloudKitOperation(operationType: "save", recordData: data, recordID: name, recordType: "Note")
  }

  @Test func `what is enqueued comes out in order, with its record`() throws {
    try storage.enqueue(save("a", "first"))
    try storage.enqueue(QueuedCloudKitOperation(operationType: "delete", recordID: "b"))
    #expect(try storage.count() == 2)
    #expect(try storage.getAllOperations().map(\.recordID) == ["a", "b"])
    #expect(try storage.peek()?.id == storage.peek()?.id)

    let first = try #require(try storage.dequeue())
    let data = try #require(first.recordData)
    let record = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data)

    #expect(record?["title"] as? String == "first")
    #expect(first.operationType == "save")
    #expect(try storage.dequeue()?.operationType == "delete")
    #expect(try storage.dequeue() == nil)
    #expect(try store.endings() == ["save a discarded", "delete b discarded"])
  }

  @Test(arguments: [false, true])
  func `what was dequeued is the same change when it is enqueued again`(isKnown: Bool) async throws {
    let device = try world.device("store")
    if isKnown {
      try device.store.accept(world.put("a", ["title": .string("old"), "kept": .int64(1)]))
      try await device.sync()
    }
    let file = URL(fileURLWithPath: world.folder.path("photo"))
    try Data("bytes".utf8).write(to: file)
    let id = world.key("a").recordID
    let edited = try store.current(id) ?? CKRecord(recordType: "Note", recordID: id)
    edited["title"] = "new"
    edited["photo"] = CKAsset(fileURL: file)
    try store.save([edited])
    try FileManager.default.removeItem(at: file)

    let operation = try #require(try storage.dequeue())
    #expect(try storage.count() == 0)
    try storage.enqueue(operation)
    try await device.sync()

    #expect(world.onServer("a")?["title"] == .string("new"))
    #expect(world.onServer("a")?["kept"] == (isKnown ? .int64(1) : nil))
    guard case .asset(let asset)? = world.onServer("a")?["photo"] else {
      Issue.record("there is no file")
      return
    }
    #expect(asset.size == 5)
  }

  @Test func `what is enqueued is there for the next process, and is sent by whoever drives`() async throws {
    try storage.enqueue(save("a", "first"))

    let device = try world.device("store")
    #expect(try StoreQueueStorage(device.store).count() == 1)
    try await device.sync()

    #expect(world.onServer("a")?["title"] != nil)
    #expect(try storage.getAllOperations() == [])
  }

  @Test func `removing what has ended leaves alone what was enqueued for its record since`() async throws {
    try storage.enqueue(save("a", "first"))
    let first = try #require(try storage.peek())
    try await world.device("store").sync()
    try storage.enqueue(save("a", "second"))
    try storage.remove(first)

    #expect(try storage.count() == 1)
  }

  @Test func `an operation is removed by its identifier or by its record, and all by clearing`() throws {
    for name in ["a", "b", "c"] { try storage.enqueue(save(name, name)) }
    let all = try storage.getAllOperations()

    try storage.remove(all[1])
    try storage.remove(QueuedCloudKitOperation(operationType: "save", recordID: "c"))
    #expect(try storage.getAllOperations().map(\.recordID) == ["a"])
    try storage.clear()
    #expect(try storage.count() == 0)
  }

  @Test func `what holds nothing to be sent is refused`() throws {
    for operation in [
      QueuedCloudKitOperation(operationType: "save", recordID: "a"), QueuedCloudKitOperation(operationType: "delete"),
      QueuedCloudKitOperation(operationType: "sync", recordID: "a"),
    ] {
      #expect(throws: CKError.self) { try storage.enqueue(operation) }
    }
    #expect(try storage.count() == 0)
  }

  @Test func `operations are written and read as JSON by their names`() throws {
    let operation = try save("a", "first")
    let decoder = JSONDecoder()

    let json = try JSONEncoder().encode(operation)

    #expect(try decoder.decode(QueuedCloudKitOperation.self, from: json) == operation)
    let keys = try #require(try JSONSerialization.jsonObject(with: json) as? [String: Any]).keys
    #expect(Set(keys).isSuperset(of: ["id", "operationType", "recordData", "recordID", "timestamp", "maxRetries"]))
  }

  @Test func `a delete keeps its zone when it is dequeued and enqueued again`() async throws {
    let device = try world.device("store")
    let zone = CKRecordZone.ID(zoneName: "notes")
    let ids = [CKRecord.ID(recordName: "a", zoneID: zone), world.key("a").recordID]
    try store.save(ids.map { CKRecord(recordType: "Note", recordID: $0) })
    try await device.sync()
    try store.delete([ids[0]])

    let operation = try #require(try storage.getAllOperations().first)
    #expect(operation.zoneName == "notes" && operation.zoneOwner == nil && operation.recordID == "a")
    let text = try JSONEncoder().encode(try storage.dequeue())
    try storage.enqueue(JSONDecoder().decode(QueuedCloudKitOperation.self, from: text))
    try await device.sync()

    #expect(try store.record(RecordKey(ids[0])) == nil)
    #expect(try store.record(RecordKey(ids[1])) != nil)
  }

  @Test func `an operation on a zone can be dequeued and enqueued again`() async throws {
    let device = try world.device("store")
    _ = try store.enqueueZone(ZoneKey(zone: "made"))
    let operation = try #require(try storage.dequeue())
    #expect(operation.operationType == "zoneSave" && operation.zoneName == "made" && operation.recordID == nil)
    #expect(try storage.count() == 0)
    try storage.enqueue(operation)
    try await device.sync()
    #expect(try store.zones().contains { $0.key.zone == "made" && $0.state == "ready" })
  }

  @Test func `what is no change is refused, and nothing is enqueued`() throws {
    for operation in [
      QueuedCloudKitOperation(operationType: "sync"), QueuedCloudKitOperation(operationType: "save", recordID: "a"),
      QueuedCloudKitOperation(operationType: "delete"), QueuedCloudKitOperation(operationType: "zoneDelete"),
    ] {
      let error = #expect(throws: CKError.self) { try storage.enqueue(operation) }
      #expect(error?.code == .invalidArguments)
    }
    #expect(try storage.getAllOperations().isEmpty)
  }

  @Test func `an operation has its own limit of attempts, others have the engine's`() throws {
    let device = try world.device("store")
    var configuration = device.engine.configuration
    configuration.attemptLimit = 2
    _ = SyncEngine(store: device.store, configuration)
    let queue = StoreQueueStorage(device.store)
    var own = try save("own", "x")
    own.maxRetries = 3
    try queue.enqueue(own)
    try device.store.accept(world.put("other", [:]))

    #expect(try queue.getAllOperations().map(\.maxRetries) == [3, 2])
  }

  @Test func `a record of the default zone is deleted and removed there`() async throws {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "apple"))
    let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
    let save = QueuedCloudKitOperation(operationType: "save", recordData: data, recordID: "apple", recordType: "Note")
    try storage.enqueue(save)
    #expect(try store.operations().rows.map(\.key.zone) == ["_defaultZone"])

    try storage.remove(save)
    #expect(try store.operations().rows.isEmpty)
    try storage.enqueue(QueuedCloudKitOperation(operationType: "delete", recordID: "apple"))
    #expect(try store.operations().rows.map(\.key.zone) == ["_defaultZone"])
  }
}
