import CloudKit
import Foundation
import Testing

// Code in the style of a sync library: a protocol in front of the engine, events translated into its own, an actor as
// delegate, batches of its own and property lists for the state.

private protocol SyncEngineProtocol: AnyObject, Sendable {
  var database: CKDatabase { get }
  var state: CKSyncEngine.State { get }
  func fetchChanges(_ options: CKSyncEngine.FetchChangesOptions) async throws
  func sendChanges(_ options: CKSyncEngine.SendChangesOptions) async throws
  func cancelOperations() async
  func recordZoneChangeBatch(
    pendingChanges: [CKSyncEngine.PendingRecordZoneChange],
    recordProvider: @Sendable (CKRecord.ID) async -> CKRecord?
  ) async -> CKSyncEngine.RecordZoneChangeBatch?
}

extension CKSyncEngine: SyncEngineProtocol {
  func recordZoneChangeBatch(
    pendingChanges: [PendingRecordZoneChange],
    recordProvider: @Sendable (CKRecord.ID) async -> CKRecord?
  ) async -> RecordZoneChangeBatch? {
    await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: pendingChanges, recordProvider: recordProvider)
  }
}

private enum SyncEvent: CustomStringConvertible {
  case saved([CKRecord])
  case failed([(record: CKRecord, error: CKError)])
  case deleted([CKRecord.ID], failed: [CKRecord.ID: CKError])
  case fetched([CKRecord], deleted: [(CKRecord.ID, CKRecord.RecordType)])
  case other(String)

  init(_ event: CKSyncEngine.Event) {
    switch event {
    case .sentRecordZoneChanges(let event) where !event.failedRecordSaves.isEmpty:
      self = .failed(event.failedRecordSaves.map { ($0.record, $0.error) })
    case .sentRecordZoneChanges(let event) where event.savedRecords.isEmpty:
      self = .deleted(event.deletedRecordIDs, failed: event.failedRecordDeletes)
    case .sentRecordZoneChanges(let event): self = .saved(event.savedRecords)
    case .fetchedRecordZoneChanges(let event):
      self = .fetched(event.modifications.map(\.record), deleted: event.deletions.map { ($0.recordID, $0.recordType) })
    default: self = .other(String(describing: event))
    }
  }

  var description: String {
    switch self {
    case .saved(let records): return "saved \(records.map(\.recordID.recordName))"
    case .failed(let failures): return "failed \(failures.map { $0.error.code })"
    case .deleted(let ids, let failed): return "deleted \(ids.map(\.recordName)) \(failed.count)"
    case .fetched(let records, let deleted):
      return "fetched \(records.map(\.recordID.recordName)) \(deleted.map(\.0.recordName))"
    case .other(let text): return text
    }
  }
}

private final actor Outbox: CKSyncEngineDelegate {
  private var saves: [CKRecord.ID: CKRecord] = [:]
  private var deletes: Set<CKRecord.ID> = []
  private var archive: Data?
  private var records: [CKRecord.ID: CKRecord] = [:]
  private var lines: [String] = []
  private let database: CKDatabase
  private var engine: (any SyncEngineProtocol)?
  private let zoneID = CKRecordZone.ID(zoneName: "Outbox", ownerName: CKCurrentUserDefaultName)

  init(database: CKDatabase) { self.database = database }

  func launch() throws {
    let state = try archive.map { try PropertyListDecoder().decode(CKSyncEngine.State.Serialization.self, from: $0) }
    var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: state, delegate: self)
    configuration.automaticallySync = false
    let engine = CKSyncEngine(configuration)
    if state == nil { engine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: zoneID))]) }
    self.engine = engine
  }

  func save(_ name: String, _ text: String) {
    let id = CKRecord.ID(recordName: name, zoneID: zoneID)
    let record = records[id] ?? CKRecord(recordType: "Entry", recordID: id)
    record["text"] = text
    saves[id] = record
    engine?.state.hasPendingUntrackedChanges = true
  }

  func delete(_ name: String) {
    deletes.insert(CKRecord.ID(recordName: name, zoneID: zoneID))
    engine?.state.hasPendingUntrackedChanges = true
  }

  func push(_ names: String...) async throws {
    let ids = names.map { CKRecord.ID(recordName: $0, zoneID: zoneID) }
    let scope: CKSyncEngine.SendChangesOptions.Scope = names.isEmpty ? .all : .recordIDs(ids)
    try await engine?.sendChanges(.init(scope: scope))
  }

  func pull() async throws {
    let options = CKSyncEngine.FetchChangesOptions(scope: .zoneIDs([zoneID]), operationGroup: nil)
    try await engine?.fetchChanges(options)
  }

  func stop() async { await engine?.cancelOperations() }

  var log: [String] { lines.filter { !$0.hasPrefix("<") } }
  var texts: [String: String] {
    Dictionary(uniqueKeysWithValues: records.map { ($0.recordName, $1["text"] as? String ?? "") })
  }

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    if case let .stateUpdate(update) = event { archive = try? PropertyListEncoder().encode(update.stateSerialization) }
    let event = SyncEvent(event)
    lines.append(event.description)
    switch event {
    case .saved(let saved):
      for record in saved { (records[record.recordID], saves[record.recordID]) = (record, nil) }
    case .deleted(let ids, _):
      for id in ids { (records[id], _) = (nil, deletes.remove(id)) }
    case .failed(let failures):
      for (record, error) in failures where error.code == CKError.Code.serverRecordChanged {
        guard let server = error.userInfo[CKRecordChangedErrorServerRecordKey] as? CKRecord else { continue }
        server["text"] = record["text"]
        saves[server.recordID] = server
      }
    case .fetched(let fetched, let deleted):
      for record in fetched { records[record.recordID] = record }
      for (id, _) in deleted { records[id] = nil }
    case .other: break
    }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    let records = saves.values.filter { context.options.scope.contains($0.recordID) }
    guard records.isEmpty else { return .init(recordsToSave: records, atomicByZone: true) }
    let ids = deletes.filter(context.options.scope.contains)
    return ids.isEmpty ? nil : CKSyncEngine.RecordZoneChangeBatch(recordIDsToDelete: Array(ids))
  }
}

/// A screen that is its own delegate, on the main actor.
@MainActor private final class NoteList: CKSyncEngineDelegate {
  private(set) var titles: [String] = []

  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    guard case .fetchedRecordZoneChanges(let changes) = event else { return }
    titles += changes.modifications.compactMap { $0.record["title"] as? String }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
    return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { id in
      let note = CKRecord(recordType: "Note", recordID: id)
      note["title"] = id.recordName
      return note
    }
  }
}

@Suite struct SyncEngineProtocolTests {
  @MainActor @Test func `a delegate on the main actor needs no other isolation`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    let (sender, receiver) = (NoteList(), NoteList())
    let engines = [sender, receiver].map { delegate -> CKSyncEngine in
      var configuration = CKSyncEngine.Configuration(database: database, stateSerialization: nil, delegate: delegate)
      configuration.automaticallySync = false
      return CKSyncEngine(configuration)
    }
    let zone = CKRecordZone(zoneName: "Notes")
    engines[0].state.add(pendingDatabaseChanges: [.saveZone(zone)])
    engines[0].state.add(pendingRecordZoneChanges: [.saveRecord(.init(recordName: "tea", zoneID: zone.zoneID))])

    try await engines[0].sendChanges()
    try await engines[1].fetchChanges()

    #expect(receiver.titles == ["tea"])
    withExtendedLifetime(sender) {}
  }

  @Test func `a library with its own outbox sends, merges and restarts from a property list`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    let (first, second) = (Outbox(database: database), Outbox(database: database))
    for outbox in [first, second] { try await outbox.launch() }
    await first.save("a", "one")
    await first.save("b", "two")
    try await first.push("a")
    #expect(await first.log == ["saved [\"a\"]"])
    try await first.push()
    try await second.pull()
    #expect(await second.texts == ["a": "one", "b": "two"])

    await second.save("a", "three")
    try await second.push()
    await first.save("a", "four")
    do {
      try await first.push()
      Issue.record("The conflict was not reported.")
    } catch let error as CKError where error.code == .partialFailure {
      #expect(error.partialErrorsByItemID?.count == 1)
    }
    try await first.push()
    await first.delete("b")
    try await first.launch()
    try await first.push()
    await second.stop()
    try await second.pull()

    #expect(await second.texts == ["a": "four"])
  }

  @Test func `a batch is made through the library's protocol`() async throws {
    let container = try emulatedContainer()
    let outbox = Outbox(database: container.privateCloudDatabase)
    let configuration = CKSyncEngine.Configuration(
      database: container.privateCloudDatabase,
      stateSerialization: nil,
      delegate: outbox
    )
    let engine: any SyncEngineProtocol = CKSyncEngine(configuration)
    let id = CKRecord.ID(recordName: "a")

    let batch = await engine.recordZoneChangeBatch(pendingChanges: [
      .saveRecord(id), .deleteRecord(.init(recordName: "b")),
    ]) {
      CKRecord(recordType: "Entry", recordID: $0)
    }

    #expect(batch?.recordsToSave.map(\.recordID) == [id] && batch?.recordIDsToDelete.count == 1)
    #expect(batch.map { "\($0)".isEmpty } == false)
    await engine.cancelOperations()
  }
}
