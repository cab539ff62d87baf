import CloudKit
import Foundation
import Testing

// Code in the style of an app whose model is bound to the main actor, with an engine for each database of the user, and
// with state in JSON files.

private struct Photo: Codable, Equatable, Sendable {
  var title: String
  var rating = 0
}

@MainActor private final class PhotoLibrary {
  static let albumZone = CKRecordZone(zoneName: "Albums")

  private(set) var photos: [CKRecord.ID: Photo] = [:]
  private(set) var statusLines: [String] = []
  private(set) var fetchedZones: [CKRecordZone.ID] = []
  private var lastKnown: [CKRecord.ID: CKRecord] = [:]
  private var currentZoneID: CKRecordZone.ID?
  private let folder: URL
  private let container: CKContainer
  private var engines: [CKDatabase.Scope: CKSyncEngine] = [:]

  init(container: CKContainer, folder: URL) {
    self.container = container
    self.folder = folder
  }

  func start() throws {
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for database in [container.privateCloudDatabase, container.sharedCloudDatabase] {
      var configuration = CKSyncEngine.Configuration(
        database: database,
        stateSerialization: loadState(for: database.databaseScope),
        delegate: self
      )
      configuration.automaticallySync = false
      engines[database.databaseScope] = CKSyncEngine(configuration)
    }
  }

  func engine(for scope: CKDatabase.Scope) -> CKSyncEngine { engines[scope]! }

  func show(_ zoneID: CKRecordZone.ID?) { currentZoneID = zoneID }

  func put(_ photo: Photo, named name: String, in zoneID: CKRecordZone.ID = albumZone.zoneID) {
    let id = CKRecord.ID(recordName: name, zoneID: zoneID)
    photos[id] = photo
    let state = engine(for: .private).state
    if !state.pendingRecordZoneChanges.contains(.saveRecord(id)) {
      state.add(pendingRecordZoneChanges: [.saveRecord(id)])
    }
  }

  func remove(named name: String) {
    let id = CKRecord.ID(recordName: name, zoneID: Self.albumZone.zoneID)
    photos[id] = nil
    engine(for: .private).state.add(pendingRecordZoneChanges: [.deleteRecord(id)])
  }

  // MARK: - State

  private func stateURL(for scope: CKDatabase.Scope) -> URL {
    folder.appendingPathComponent("state-\(scope.rawValue)").appendingPathExtension("json")
  }

  private func loadState(for scope: CKDatabase.Scope) -> CKSyncEngine.State.Serialization? {
    guard let data = try? Data(contentsOf: stateURL(for: scope)) else { return nil }
    return try? JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: data)
  }

  private func save(_ state: CKSyncEngine.State.Serialization, for scope: CKDatabase.Scope) {
    do {
      let data = try JSONEncoder().encode(state)
      try data.write(to: stateURL(for: scope), options: [.atomic])
    } catch {
      statusLines.append("The state was not saved: \(error)")
    }
  }

  // MARK: - Events

  private func process(_ event: CKSyncEngine.Event, from scope: CKDatabase.Scope, state: CKSyncEngine.State) {
    statusLines.append(event.description)
    switch event {
    case .stateUpdate(let update): save(update.stateSerialization, for: scope)
    case .accountChange(let event):
      switch event.changeType {
      case .signIn: if scope == .private { state.add(pendingDatabaseChanges: [.saveZone(Self.albumZone)]) }
      case .signOut, .switchAccounts: (photos, lastKnown) = ([:], [:])
      @unknown default: break
      }
    case .fetchedDatabaseChanges(let event):
      for deletion in event.deletions {
        switch deletion.reason {
        case .deleted, .purged: photos = photos.filter { $0.key.zoneID != deletion.zoneID }
        case .encryptedDataReset: state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: deletion.zoneID))])
        @unknown default: break
        }
      }
    case .willFetchRecordZoneChanges(let event): fetchedZones.append(event.zoneID)
    case .fetchedRecordZoneChanges(let event):
      event.modifications.forEach { take($0.record) }
      event.deletions.forEach { deletion in photos.removeValue(forKey: deletion.recordID) }
    case .sentRecordZoneChanges(let event): process(event, state: state)
    case .sentDatabaseChanges(let event):
      statusLines += event.failedZoneSaves.map { "\($0.zone.zoneID.zoneName): \($0.error.localizedDescription)" }
    case .willFetchChanges, .didFetchRecordZoneChanges, .didFetchChanges, .willSendChanges, .didSendChanges: break
    @unknown default: break
    }
  }

  private func process(_ event: CKSyncEngine.Event.SentRecordZoneChanges, state: CKSyncEngine.State) {
    for record in event.savedRecords { lastKnown[record.recordID] = record }
    var newRecordChanges = [CKSyncEngine.PendingRecordZoneChange]()
    var newDatabaseChanges = [CKSyncEngine.PendingDatabaseChange]()
    for failedRecordSave in event.failedRecordSaves {
      let failedRecord = failedRecordSave.record
      switch failedRecordSave.error.code {
      case .serverRecordChanged:
        guard let serverRecord = failedRecordSave.error.serverRecord else { continue }
        // The higher rating wins; the title is the user's.
        let rating = max(serverRecord["rating"] as? Int ?? 0, photos[failedRecord.recordID]?.rating ?? 0)
        photos[failedRecord.recordID]?.rating = rating
        lastKnown[failedRecord.recordID] = serverRecord
        newRecordChanges.append(.saveRecord(failedRecord.recordID))
      case .zoneNotFound, .userDeletedZone:
        newDatabaseChanges.append(.saveZone(CKRecordZone(zoneID: failedRecord.recordID.zoneID)))
        newRecordChanges.append(.saveRecord(failedRecord.recordID))
        lastKnown[failedRecord.recordID] = nil
      case .unknownItem:
        newRecordChanges.append(.saveRecord(failedRecord.recordID))
        lastKnown[failedRecord.recordID] = nil
      case .networkFailure, .networkUnavailable, .zoneBusy, .serviceUnavailable, .notAuthenticated,
        .operationCancelled, .requestRateLimited, .accountTemporarilyUnavailable, .batchRequestFailed:
        statusLines.append("later: \(failedRecordSave.error)")
      default: statusLines.append("Unhandled error: \(failedRecordSave.error)")
      }
    }
    state.add(pendingDatabaseChanges: newDatabaseChanges)
    state.add(pendingRecordZoneChanges: newRecordChanges)
  }

  private func take(_ record: CKRecord) {
    lastKnown[record.recordID] = record
    guard record.recordType == "Photo" else { return }
    photos[record.recordID] = Photo(title: record["title"] as? String ?? "", rating: record["rating"] as? Int ?? 0)
  }

  private func recordToSave(for id: CKRecord.ID) -> CKRecord? {
    guard let photo = photos[id] else { return nil }
    let record = lastKnown[id] ?? CKRecord(recordType: "Photo", recordID: id)
    record["title"] = photo.title
    record["rating"] = photo.rating
    return record
  }
}

extension PhotoLibrary: CKSyncEngineDelegate {
  nonisolated func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    let scope = syncEngine.database.databaseScope
    await MainActor.run { process(event, from: scope, state: syncEngine.state) }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    guard syncEngine.database.databaseScope == .private else { return nil }
    let changes = syncEngine.state.pendingRecordZoneChanges.filter { context.options.scope.contains($0) }
    return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { [weak self] recordID in
      guard let record = await self?.recordToSave(for: recordID) else {
        syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
        return nil
      }
      return record
    }
  }

  func nextFetchChangesOptions(
    _ context: CKSyncEngine.FetchChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.FetchChangesOptions {
    var options = context.options
    options.prioritizedZoneIDs = [currentZoneID].compactMap(\.self)
    return options
  }
}

@MainActor struct SyncEngineLibraryTests {
  private let container: CKContainer
  private let folder = FileManager.default.temporaryDirectory.appendingPathComponent("library-\(UUID().uuidString)")

  init() throws { container = try emulatedContainer() }

  private func library(_ name: String) throws -> PhotoLibrary {
    let library = PhotoLibrary(container: container, folder: folder.appendingPathComponent(name))
    try library.start()
    return library
  }

  private func id(_ name: String) -> CKRecord.ID {
    CKRecord.ID(recordName: name, zoneID: PhotoLibrary.albumZone.zoneID)
  }

  @Test func `a library restarted from its JSON files sends what was pending and fetches what is new`() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let first = try library("first")
    first.put(Photo(title: "Lake"), named: "lake")
    // The sign-in adds the zone.
    try await first.engine(for: .private).sendChanges()
    first.put(Photo(title: "Hill"), named: "hill")
    try await first.engine(for: .private).sendChanges(.init(scope: .recordIDs([])))

    let restarted = try library("first")
    #expect(restarted.engine(for: .private).state.pendingRecordZoneChanges == [.saveRecord(id("hill"))])
    restarted.put(Photo(title: "Hill", rating: 2), named: "hill")
    try await restarted.engine(for: .private).sendChanges()
    let second = try library("second")
    for scope in [CKDatabase.Scope.private, .shared] { try await second.engine(for: scope).fetchChanges() }

    #expect(second.photos == [id("lake"): Photo(title: "Lake"), id("hill"): Photo(title: "Hill", rating: 2)])
    #expect(second.statusLines.allSatisfy { !$0.isEmpty })
  }

  @Test func `a conflict, a deleted record and a deleted zone are solved by the app`() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let (first, second) = (try library("first"), try library("second"))
    first.put(Photo(title: "Lake", rating: 1), named: "lake")
    try await first.engine(for: .private).sendChanges()
    try await second.engine(for: .private).fetchChanges()
    second.put(Photo(title: "Lake", rating: 5), named: "lake")
    try await second.engine(for: .private).sendChanges()
    first.put(Photo(title: "Blue lake", rating: 2), named: "lake")
    await #expect(throws: CKError.self) { try await first.engine(for: .private).sendChanges() }
    try await first.engine(for: .private).sendChanges()
    try await second.engine(for: .private).fetchChanges()
    #expect(second.photos == [id("lake"): Photo(title: "Blue lake", rating: 5)])

    first.remove(named: "lake")
    try await first.engine(for: .private).sendChanges()
    second.put(Photo(title: "Lake again"), named: "lake")
    await #expect(throws: CKError.self) { try await second.engine(for: .private).sendChanges() }
    try await second.engine(for: .private).sendChanges()
    try await container.privateCloudDatabase.deleteRecordZone(withID: PhotoLibrary.albumZone.zoneID)
    second.put(Photo(title: "Lake for ever"), named: "lake")
    await #expect(throws: CKError.self) { try await second.engine(for: .private).sendChanges() }
    try await second.engine(for: .private).sendChanges()

    #expect(try await container.privateCloudDatabase.record(for: id("lake"))["title"] == "Lake for ever")
  }

  @Test func `the zone on screen is fetched first, and others only when they are asked for`() async throws {
    defer { try? FileManager.default.removeItem(at: folder) }
    let zones = ["One", "Two", "Three"].map { CKRecordZone(zoneName: $0) }
    _ = try await container.privateCloudDatabase.modifyRecordZones(saving: zones, deleting: [])
    let library = try library("first")
    library.show(zones[2].zoneID)

    let engine = library.engine(for: .private)
    try await engine.fetchChanges(CKSyncEngine.FetchChangesOptions(scope: .allExcluding([zones[0].zoneID])))
    #expect(library.fetchedZones == [zones[2].zoneID, zones[1].zoneID])
    #expect(engine.state.zoneIDsWithUnfetchedServerChanges == [zones[0].zoneID])
    await engine.cancelOperations()
    try await engine.fetchChanges(.init(scope: .zoneIDs([zones[0].zoneID])))

    #expect(library.fetchedZones.last == zones[0].zoneID)
    #expect(engine.state.zoneIDsWithUnfetchedServerChanges.isEmpty)
  }
}
