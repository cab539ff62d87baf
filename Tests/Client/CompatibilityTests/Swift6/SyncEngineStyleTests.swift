import CloudKit
import Foundation
import Testing
import os

// Code in the style of an app with a sync engine: an actor that owns its data, its file and the engine.

private struct Note: Codable, Hashable, Sendable {
  static let zoneName = "Notes"
  static let recordType: CKRecord.RecordType = "Note"

  var id = UUID().uuidString
  var text = ""
  var systemFields: Data?

  var recordID: CKRecord.ID { CKRecord.ID(recordName: id, zoneID: CKRecordZone.ID(zoneName: Note.zoneName)) }

  /// The record as the server knows it, with the text as the user wrote it.
  func record() -> CKRecord {
    let record = known() ?? CKRecord(recordType: Note.recordType, recordID: recordID)
    record.encryptedValues["text"] = text
    return record
  }

  private func known() -> CKRecord? {
    guard let systemFields, let coder = try? NSKeyedUnarchiver(forReadingFrom: systemFields) else { return nil }
    coder.requiresSecureCoding = true
    return CKRecord(coder: coder)
  }

  mutating func keepSystemFields(of record: CKRecord) {
    let coder = NSKeyedArchiver(requiringSecureCoding: true)
    record.encodeSystemFields(with: coder)
    systemFields = coder.encodedData
  }
}

private actor NoteStore {
  struct Saved: Codable {
    var notes: [String: Note] = [:]
    var state: CKSyncEngine.State.Serialization?
  }

  private static let logger = Logger(subsystem: "org.example.notes", category: "sync")

  private let database: CKDatabase
  private var saved = Saved()
  private(set) var log: [String] = []
  private var started: CKSyncEngine?

  init(database: CKDatabase) { self.database = database }

  var engine: CKSyncEngine {
    if let started { return started }
    var configuration = CKSyncEngine.Configuration(
      database: database,
      stateSerialization: saved.state,
      delegate: self
    )
    configuration.automaticallySync = false
    configuration.subscriptionID = "notes-changes"
    let engine = CKSyncEngine(configuration)
    Self.logger.log("Started \(engine)")
    started = engine
    return engine
  }

  var texts: [String] { saved.notes.values.map(\.text).sorted() }

  func save(_ notes: Note...) {
    for note in notes {
      var note = note
      note.systemFields = saved.notes[note.id]?.systemFields
      saved.notes[note.id] = note
    }
    engine.state.add(pendingRecordZoneChanges: notes.map { .saveRecord($0.recordID) })
  }

  func delete(_ note: Note) {
    saved.notes[note.id] = nil
    engine.state.add(pendingRecordZoneChanges: [.deleteRecord(note.recordID)])
  }

  func sync() async throws {
    try await engine.fetchChanges()
    try await engine.sendChanges()
  }

  /// Ends the engine and starts another from the file.
  func relaunch() throws {
    started = nil
    saved = try JSONDecoder().decode(Saved.self, from: JSONEncoder().encode(saved))
  }
}

extension NoteStore: CKSyncEngineDelegate {
  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    log.append("\(event)")
    switch event {
    case .stateUpdate(let update): saved.state = update.stateSerialization
    case .accountChange(let change): handle(change)
    case .fetchedDatabaseChanges(let changes):
      for deletion in changes.deletions where deletion.zoneID.zoneName == Note.zoneName { saved.notes = [:] }
    case .fetchedRecordZoneChanges(let changes): apply(changes)
    case .sentDatabaseChanges(let changes):
      for failure in changes.failedZoneSaves { Self.logger.error("\(failure.zone.zoneID): \(failure.error)") }
    case .sentRecordZoneChanges(let changes): apply(changes, syncEngine)
    case .willFetchChanges, .willFetchRecordZoneChanges, .didFetchRecordZoneChanges, .didFetchChanges,
      .willSendChanges, .didSendChanges:
      break
    @unknown default: Self.logger.info("Unknown event: \(event)")
    }
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    let scope = context.options.scope
    let changes = syncEngine.state.pendingRecordZoneChanges.filter { scope.contains($0) }
    let notes = saved.notes
    return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
      guard let note = notes[recordID.recordName] else {
        syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
        return nil
      }
      return note.record()
    }
  }

  private func handle(_ change: CKSyncEngine.Event.AccountChange) {
    switch change.changeType {
    case .signIn:
      let zone = CKRecordZone(zoneName: Note.zoneName)
      engine.state.add(pendingDatabaseChanges: [.saveZone(zone)])
      engine.state.add(pendingRecordZoneChanges: saved.notes.values.map { .saveRecord($0.recordID) })
    case .switchAccounts(previousUser: _, currentUser: _), .signOut: saved.notes = [:]
    @unknown default: break
    }
  }

  private func apply(_ changes: CKSyncEngine.Event.FetchedRecordZoneChanges) {
    for modification in changes.modifications { keep(modification.record) }
    for deletion in changes.deletions where deletion.recordType == Note.recordType || deletion.recordType.isEmpty {
      saved.notes[deletion.recordID.recordName] = nil
    }
  }

  private func keep(_ record: CKRecord) {
    var note = saved.notes[record.recordID.recordName] ?? Note(id: record.recordID.recordName)
    note.text = record.encryptedValues["text"] ?? ""
    note.keepSystemFields(of: record)
    saved.notes[note.id] = note
  }

  private func apply(_ changes: CKSyncEngine.Event.SentRecordZoneChanges, _ syncEngine: CKSyncEngine) {
    for record in changes.savedRecords { saved.notes[record.recordID.recordName]?.keepSystemFields(of: record) }
    for failure in changes.failedRecordSaves {
      let (id, error) = (failure.record.recordID, failure.error)
      switch error.code {
      case .serverRecordChanged:
        guard let server = error.serverRecord else { continue }
        keep(server)
      case .zoneNotFound:
        syncEngine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: id.zoneID))])
        again(id, syncEngine)
      case .unknownItem: again(id, syncEngine)
      case .networkFailure, .networkUnavailable, .zoneBusy, .serviceUnavailable, .notAuthenticated,
        .operationCancelled:
        Self.logger.debug("Sent again by the engine: \(id), \(error)")
      default: Self.logger.fault("Cannot be sent: \(id), \(error)")
      }
    }
    for (id, error) in changes.failedRecordDeletes { Self.logger.error("\(id): \(error)") }
  }

  private func again(_ id: CKRecord.ID, _ syncEngine: CKSyncEngine) {
    saved.notes[id.recordName]?.systemFields = nil
    syncEngine.state.add(pendingRecordZoneChanges: [.saveRecord(id)])
  }
}

struct SyncEngineStyleTests {
  @Test func `two devices with a sync engine come to the same notes`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    let (first, second) = (NoteStore(database: database), NoteStore(database: database))
    var note = Note(text: "milk")
    await first.save(note, Note(text: "bread"))

    try await first.sync()
    try await second.sync()
    #expect(await second.texts == ["bread", "milk"])
    note.text = "oat milk"
    await second.save(note)
    try await second.sync()
    try await first.relaunch()
    try await first.sync()
    #expect(await first.texts == ["bread", "oat milk"])
    await first.delete(note)
    try await first.sync()
    try await second.sync()

    #expect(await second.texts == ["bread"])
    #expect(await second.log.allSatisfy { !$0.isEmpty })
  }

  @Test func `a zone that another device deleted is made again`() async throws {
    let database = try emulatedContainer().privateCloudDatabase
    let store = NoteStore(database: database)
    var note = Note(text: "milk")
    await store.save(note)
    try await store.sync()
    try await database.deleteRecordZone(withID: note.recordID.zoneID)
    note.text = "oat milk"
    await store.save(note)

    await #expect(throws: CKError.self) { try await store.engine.sendChanges() }
    try await store.engine.sendChanges()

    #expect(try await database.record(for: note.recordID).encryptedValues["text"] == "oat milk")
  }
}
