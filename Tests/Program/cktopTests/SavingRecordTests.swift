import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import CloudService
import CloudSync
import Foundation
import TestSupport
import Testing

/// Records that an app fetched, edited and handed to the queue.
@MainActor
@Suite(.serialized) struct SavingRecordTests {
  private static let container = "iCloud.test"
  private let emulator: Emulator
  private let folder: TemporaryFolder
  private let store: SyncStore
  private let service: CloudKitService
  private let engine: SyncEngine
  private let client: WebServicesClient
  private let zone = CKRecordZone.ID(zoneName: "notes")

  init() throws {
    emulator = try Emulator()
    folder = try TemporaryFolder()
    let scope = SyncStore.Scope(container: Self.container, environment: "development", database: .private)
    store = try SyncStore(path: folder.path("store.sqlite"), scope: scope)
    client = WebServicesClient(
      WebServicesClient.Configuration(
        container: Self.container,
        environment: "development",
        credential: .webAuth(apiToken: "token", webAuthToken: "ana")
      ),
      transport: EmulatorTransport(emulator)
    )
    engine = SyncEngine(store: store, SyncEngine.Configuration(client: client))
    service = try CloudKitService(store: store, engine: nil)
  }

  private func fetch() async throws -> CKRecord {
    let results = try await client.lookup(["a"], zone: WireZoneID(zoneName: "notes"), in: .private)
    guard case .item(let wire)? = results.first else { throw CKError(.unknownItem) }
    return CKRecord(wire: wire, zoneID: zone)
  }

  private func others(_ fields: [String: EmulatorValue]) throws {
    let database = EmulatorDatabase.private(of: "ana", Self.container)
    _ = try emulator.save(in: database, zone: "notes", recordType: "Note", recordName: "a", fields: fields, at: Date())
  }

  private func onServer(_ field: String) -> EmulatorValue? {
    emulator.record("a", in: .private(of: "ana", Self.container), zone: "notes")?.fields[field]
  }

  @Test func `a fetched record that others have changed since overwrites nothing of theirs`() async throws {
    try await service.save(record(["x": 0, "y": 0]))
    _ = try await engine.syncOnce()
    let fetched = try await fetch()
    try others(["x": .int64(1)])
    _ = try await engine.syncOnce()
    fetched["x"] = 2
    fetched["y"] = 2

    try await service.save(fetched)
    _ = try await engine.syncOnce()

    #expect(onServer("x") == .int64(1))
    #expect(onServer("y") == .int64(2))
    #expect(try store.view { try $0.dropped() }.map { $0.changes.names } == [["x"]])
  }

  @Test func `one record saved again and again is no conflict with itself`() async throws {
    let record = record(["x": 0])
    for value in 1...3 {
      try await service.save(record)
      _ = try await engine.syncOnce()
      #expect(record.changedKeys().isEmpty)
      record["x"] = value
    }
    try await service.save(record)
    record["x"] = 9
    try await service.save(record)
    record["x"] = nil
    record["y"] = 1
    try await service.save(record)
    _ = try await engine.syncOnce()

    #expect(onServer("x") == nil)
    #expect(onServer("y") == .int64(1))
    #expect(try store.view { try $0.dropped() }.isEmpty)
    #expect(try store.operations().total == 0)
  }

  @Test func `what others do between two saves of one record is a conflict of the second`() async throws {
    let record = record(["x": 0])
    try await service.save(record)
    _ = try await engine.syncOnce()
    try others(["x": .int64(7)])
    _ = try await engine.syncOnce()
    record["x"] = 1

    try await service.save(record)
    _ = try await engine.syncOnce()

    #expect(onServer("x") == .int64(7))
  }

  private func record(_ fields: [String: Int]) -> CKRecord {
    let record = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "a", zoneID: zone))
    for (name, value) in fields { record[name] = value }
    return record
  }
}
