import CloudKit
import Foundation

// Code in the style of Apple's sample for the sync engine: models that read and write records, and an actor that owns
// them, the engine and its state.

/// A book on the list.
struct Book: Codable, Equatable, Identifiable, Sendable {
  static let zoneID = CKRecordZone.ID(zoneName: "Books")
  static let recordType: CKRecord.RecordType = "Book"

  private(set) var id = UUID().uuidString
  var title: String
  var isRead = false
  /// The time of the last edit by a person, which decides a conflict.
  var edited: Date
  private var systemFields: Data?

  init(title: String, edited: Date) {
    self.title = title
    self.edited = edited
  }

  init(_ record: CKRecord) {
    self.init(title: "", edited: .distantPast)
    id = record.recordID.recordName
    merge(record)
  }

  var recordID: CKRecord.ID { CKRecord.ID(recordName: id, zoneID: Book.zoneID) }

  /// The record that the server is known to have, without its fields.
  var lastKnownRecord: CKRecord? {
    get {
      guard let systemFields, let coder = try? NSKeyedUnarchiver(forReadingFrom: systemFields) else { return nil }
      coder.requiresSecureCoding = true
      return CKRecord(coder: coder)
    }
    set {
      systemFields = newValue.map { record in
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        record.encodeSystemFields(with: coder)
        return coder.encodedData
      }
    }
  }

  func record() -> CKRecord {
    let record = lastKnownRecord ?? CKRecord(recordType: Book.recordType, recordID: recordID)
    record.encryptedValues["title"] = title
    record["isRead"] = isRead ? 1 : 0
    record["edited"] = edited
    return record
  }

  /// Takes the server's record: the title of the later edit, and a book that was read once stays read.
  mutating func merge(_ record: CKRecord) {
    lastKnownRecord = record
    isRead = isRead || record["isRead"] as? Int == 1
    guard let theirs = record["edited"] as? Date, theirs > edited else { return }
    title = record.encryptedValues["title"] as? String ?? ""
    edited = theirs
  }
}

final actor ReadingList {
  /// What the app keeps on disk.
  struct Content: Codable {
    var books: [Book.ID: Book] = [:]
    var state: CKSyncEngine.State.Serialization?
  }

  private var content = Content()
  private var madeEngine: CKSyncEngine?
  private let database: CKDatabase
  private let automaticallySync: Bool
  private(set) var accountChanges: [CKSyncEngine.Event.AccountChange.ChangeType] = []
  /// The number of saved books in each batch.
  private(set) var batches: [Int] = []

  init(database: CKDatabase, automaticallySync: Bool = true, stored: Data? = nil) throws {
    self.database = database
    self.automaticallySync = automaticallySync
    if let stored { content = try JSONDecoder().decode(Content.self, from: stored) }
  }

  /// The engine, which is made when it is first needed.
  var engine: CKSyncEngine {
    if madeEngine == nil { makeEngine() }
    return madeEngine!
  }

  func makeEngine() {
    var configuration = CKSyncEngine.Configuration(
      database: database,
      stateSerialization: content.state,
      delegate: self
    )
    configuration.automaticallySync = automaticallySync
    madeEngine = CKSyncEngine(configuration)
  }

  func stored() throws -> Data { try JSONEncoder().encode(content) }

  var books: [Book.ID: Book] { content.books }
  var titles: [String] { content.books.values.map(\.title).sorted() }

  func save(_ books: [Book]) {
    for book in books { content.books[book.id] = book }
    engine.state.add(pendingRecordZoneChanges: books.map { .saveRecord($0.recordID) })
  }

  func edit(_ id: Book.ID, _ change: (inout Book) -> Void) {
    guard var book = content.books[id] else { return }
    change(&book)
    save([book])
  }

  func delete(_ book: Book) {
    content.books.removeValue(forKey: book.id)
    engine.state.add(pendingRecordZoneChanges: [.deleteRecord(book.recordID)])
  }
}

extension ReadingList: CKSyncEngineDelegate {
  func handleEvent(_ event: CKSyncEngine.Event, syncEngine: CKSyncEngine) async {
    switch event {
    case .stateUpdate(let event): content.state = event.stateSerialization
    case .accountChange(let event): handle(event, syncEngine)
    case .fetchedDatabaseChanges(let event):
      for deletion in event.deletions where deletion.zoneID == Book.zoneID { content.books = [:] }
    case .fetchedRecordZoneChanges(let event):
      for modification in event.modifications { take(modification.record) }
      for deletion in event.deletions { content.books[deletion.recordID.recordName] = nil }
    case .sentRecordZoneChanges(let event): handle(event, syncEngine)
    case .sentDatabaseChanges, .willFetchChanges, .willFetchRecordZoneChanges, .didFetchRecordZoneChanges,
      .didFetchChanges, .willSendChanges, .didSendChanges:
      break
    @unknown default: break
    }
  }

  private func handle(_ event: CKSyncEngine.Event.AccountChange, _ syncEngine: CKSyncEngine) {
    accountChanges.append(event.changeType)
    switch event.changeType {
    case .signIn:
      syncEngine.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Book.zoneID))])
      syncEngine.state.add(pendingRecordZoneChanges: content.books.values.map { .saveRecord($0.recordID) })
    case .signOut, .switchAccounts: content.books = [:]
    @unknown default: break
    }
  }

  private func take(_ record: CKRecord) {
    let id = record.recordID.recordName
    if content.books[id] == nil { content.books[id] = Book(record) } else { content.books[id]?.merge(record) }
  }

  private func handle(_ event: CKSyncEngine.Event.SentRecordZoneChanges, _ syncEngine: CKSyncEngine) {
    if !event.savedRecords.isEmpty { batches.append(event.savedRecords.count) }
    for record in event.savedRecords { content.books[record.recordID.recordName]?.lastKnownRecord = record }
    var zones: [CKSyncEngine.PendingDatabaseChange] = []
    var records: [CKSyncEngine.PendingRecordZoneChange] = []
    for failure in event.failedRecordSaves {
      let id = failure.record.recordID
      switch failure.error.code {
      case .serverRecordChanged:
        guard let server = failure.error.serverRecord else { continue }
        take(server)
        records.append(.saveRecord(id))
      case .zoneNotFound:
        content.books[id.recordName]?.lastKnownRecord = nil
        zones.append(.saveZone(CKRecordZone(zoneID: id.zoneID)))
        records.append(.saveRecord(id))
      case .unknownItem:
        content.books[id.recordName]?.lastKnownRecord = nil
        records.append(.saveRecord(id))
      default: break
      }
    }
    syncEngine.state.add(pendingDatabaseChanges: zones)
    syncEngine.state.add(pendingRecordZoneChanges: records)
  }

  func nextRecordZoneChangeBatch(
    _ context: CKSyncEngine.SendChangesContext,
    syncEngine: CKSyncEngine
  ) async -> CKSyncEngine.RecordZoneChangeBatch? {
    let scope = context.options.scope
    let changes = syncEngine.state.pendingRecordZoneChanges.filter { scope.contains($0) }
    let books = content.books
    return await CKSyncEngine.RecordZoneChangeBatch(pendingChanges: changes) { recordID in
      if let book = books[recordID.recordName] { return book.record() }
      syncEngine.state.remove(pendingRecordZoneChanges: [.saveRecord(recordID)])
      return nil
    }
  }
}
