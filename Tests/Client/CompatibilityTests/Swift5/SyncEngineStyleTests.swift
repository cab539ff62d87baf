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

/// An actor that screens bind to, which makes its engine when it is first needed.
private final actor ObservedDatabase: Sendable, ObservableObject {
  @MainActor @Published var names: [String] = []
  private var made: CKSyncEngine?
  private let database: CKDatabase
  private var state: CKSyncEngine.State.Serialization?

  init(_ database: CKDatabase) { self.database = database }

  var syncEngine: CKSyncEngine {
    if made == nil { initializeSyncEngine() }
    return made!
  }

  private func initializeSyncEngine() {
    var configuration = CKSyncEngine.Configuration(
      database: self.database,
      stateSerialization: self.state,
      delegate: self
    )
    configuration.automaticallySync = false
    made = CKSyncEngine(configuration)
  }
}

extension ObservedDatabase: CKSyncEngineDelegate {
  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    switch event {
    case .stateUpdate(let event): self.state = event.stateSerialization
    case .fetchedRecordZoneChanges(let event):
      let names = event.modifications.map(\.record.recordID.recordName)
      await MainActor.run { self.names += names }
    case .accountChange, .fetchedDatabaseChanges, .sentRecordZoneChanges, .sentDatabaseChanges: break
    case .willFetchChanges, .willFetchRecordZoneChanges, .didFetchRecordZoneChanges, .didFetchChanges,
      .willSendChanges, .didSendChanges:
      break
    @unknown default: break
    }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    nil
  }
}

@Suite struct SyncEngineClassStyleTests {
  @Test func `an actor that screens bind to gets what was fetched`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    let zone = try await database.save(CKRecordZone(zoneName: "Articles"))
    let id = CKRecord.ID(recordName: "a", zoneID: zone.zoneID)
    _ = try await database.save(CKRecord(recordType: "Article", recordID: id))
    let observed = ObservedDatabase(database)

    try await observed.syncEngine.fetchChanges()

    #expect(await observed.names == ["a"])
  }

  @Test func `an app that keeps its own outbox sends it in atomic batches`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    let controller = SyncController(database)
    let engine = controller.engine
    #expect(engine.database === database)
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
}
