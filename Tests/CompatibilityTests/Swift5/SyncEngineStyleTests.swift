import CloudKit
import Foundation
import Testing

// Code in the style of an app with a sync engine in a class, with batches, options and descriptions of its own.

private protocol EngineState: AnyObject {
  var pendingRecordZoneChanges: [CKSyncEngine.PendingRecordZoneChange] { get }
  var pendingDatabaseChanges: [CKSyncEngine.PendingDatabaseChange] { get }
  var hasPendingUntrackedChanges: Bool { get set }
  var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] { get }
  func add(pendingRecordZoneChanges: [CKSyncEngine.PendingRecordZoneChange])
  func remove(pendingRecordZoneChanges: [CKSyncEngine.PendingRecordZoneChange])
  func add(pendingDatabaseChanges: [CKSyncEngine.PendingDatabaseChange])
  func remove(pendingDatabaseChanges: [CKSyncEngine.PendingDatabaseChange])
}

extension CKSyncEngine.State: EngineState {}

private final class SyncController: CKSyncEngineDelegate, @unchecked Sendable {
  private let lock = NSLock()
  private var outbox: [CKRecord] = []
  private(set) var lines: [String] = []
  private(set) var reasons: Set<CKSyncEngine.SyncReason> = []
  lazy var engine: CKSyncEngine = {
    var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: self)
    configuration.automaticallySync = false
    return CKSyncEngine(configuration)
  }()
  private let database: CKDatabase

  init(_ database: CKDatabase) { self.database = database }

  func put(_ record: CKRecord) {
    lock.withLock { outbox.append(record) }
    engine.state.hasPendingUntrackedChanges = true
  }

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    lock.withLock { lines.append(String(describing: event)) }
    switch event {
    case .didFetchChanges(let event): lock.withLock { _ = reasons.insert(event.context.reason) }
    case .didFetchRecordZoneChanges(let event): assert(event.error == nil || event.error?.code == .zoneNotFound)
    case .sentRecordZoneChanges(let event):
      let saved = Set(event.savedRecords.map(\.recordID))
      lock.withLock { outbox.removeAll { saved.contains($0.recordID) } }
    default: break
    }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    let records = lock.withLock { outbox.filter { context.options.scope.contains(.saveRecord($0.recordID)) } }
    guard !records.isEmpty else { return nil }
    var batch = CKSyncEngine.RecordZoneChangeBatch(recordsToSave: records, recordIDsToDelete: [], atomicByZone: true)
    batch.recordsToSave.sort { $0.recordID.recordName < $1.recordID.recordName }
    return batch
  }

  func nextFetchChangesOptions(
    _ context: CKSyncEngine.FetchChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.FetchChangesOptions {
    var options = context.options
    options.prioritizedZoneIDs = [CKRecordZone.ID(zoneName: "Articles")]
    return options
  }
}

@Suite struct SyncEngineClassStyleTests {
  @Test func `an app that keeps its own outbox sends it in atomic batches`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    let controller = SyncController(database)
    let engine = controller.engine
    XCTSame(engine.database, database)
    let zone = CKRecordZone(zoneName: "Articles")
    engine.state.add(pendingDatabaseChanges: [.saveZone(zone)])
    for name in ["b", "a"] {
      controller.put(CKRecord(recordType: "Article", recordID: CKRecord.ID(recordName: name, zoneID: zone.zoneID)))
    }

    let group = CKOperationGroup()
    group.name = "outbox"
    try await engine.sendChanges(CKSyncEngine.SendChangesOptions(scope: .zoneIDs([zone.zoneID]), operationGroup: group))
    try await engine.fetchChanges(CKSyncEngine.FetchChangesOptions(scope: .all, operationGroup: group))
    await engine.cancelOperations()

    #expect(try await database.records(for: [CKRecord.ID(recordName: "a", zoneID: zone.zoneID)]).count == 1)
    #expect(engine.state.pendingDatabaseChanges.isEmpty && engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
    #expect(controller.reasons == [.manual] && !controller.lines.contains(""))
    #expect(!"\(engine)".isEmpty)
  }

  private func XCTSame(_ one: CKDatabase, _ other: CKDatabase) { #expect(one === other) }
}
