import CloudKit
import CloudKitModelMacros
import CloudKitSchema
import CloudSync
import CloudSyncModels
import Foundation
import OpenCombine
import Synchronization

// The code of the articles about models. `ArticleTests` compares it with them.

struct Note: Codable, Identifiable, CKRecordModel {
  var id = UUID()
  var title: String
  var isDone = false
  var due: Date?
  var list: CKRecord.Reference?
}

struct Invoice: Codable, CKRecordModel {
  let recordName: String
  var total: Double

  init(total: Double, name: () -> String) {
    recordName = name()
    self.total = total
  }
}

/// The list of notes of an app.
actor NoteList {
  private var notes: [String: Note] = [:]

  func show(_ note: Note) { notes[note.recordName] = note }
  func remove(_ name: String) { notes[name] = nil }
}

enum Settings {
  @TaskLocal static var isTrial = false
}

struct Memo: Identifiable {
  let id: String
  var text: String
  var due: Date?
}

extension Memo: CKCodable {
  static let RecordType = "Memo"

  enum Fields: String, RecordFields {
    case text, due
  }

  init(record: CKRecord) throws {
    id = record.recordID.recordName
    text = try Self.extract(.text, from: record)
    due = try Self.extract(.due, from: record)
  }

  func value(for field: Fields) -> (any CKRecordValueProtocol)? {
    switch field {
    case .text: text
    case .due: due
    }
  }
}

struct Reading: Codable, Identifiable, CKRecordModel {
  static var recordType: String { Settings.isTrial ? "TrialReading" : "Reading" }
  let id: Int
  var celsius: Double
}

@CKModel
struct Article {
  let id: UUID
  var title: String
  @CKField("done") var isDone = false
  @CKField(asset: true) var drawing: Data?
  @CKSystem(.creationDate) var createdAt: Date?
  var topics: [String] = []
  var due: Date?
}

struct Photo: Codable, Identifiable, CKRecordModel {
  static let assetKeys: Set<String> = ["thumbnail"]
  let id: UUID
  var thumbnail: Data?
  var original: CKAsset?
}

enum Priority: String, CKFallbackCase, CaseIterable { case normal, low, high }

struct Page: Codable, Identifiable, CKRecordModel {
  static let systemKeys: [String: CKSystemValue] = ["createdAt": .creationDate, "version": .changeTag]
  var id = UUID()
  var text: String
  var createdAt: Date?
  var version: String?
}

struct Person: Codable, Identifiable, CKRecordModel {
  static let systemKeys: [String: CKSystemValue] = ["cloudKitSystemFields": .archive]
  var id = UUID()
  var name: String
  var cloudKitSystemFields: Data?
}

struct Post: Codable, Identifiable, CKRecordModel {
  static let mergeRules: [String: MergeRule] = ["topics": .elements]
  var id = UUID()
  var topics: [String] = []
}

struct Department: Codable, Identifiable, CKRecordModel {
  var id = UUID()
  var title: String
}

struct Employee: Codable, Identifiable, CKRecordModel {
  var id = UUID()
  var name: String
  var department: Department?
  var boss: Link<Employee>?
  var reports: [Link<Employee>] = []

  static let referenceActions: CKReferenceActions = ["department": .deleteSelf]
}

struct Team: Codable, Identifiable, CKRecordModel {
  var id = UUID()
  var members: [Employee] = []
}

private enum ArticleExamples {
  static func assets(_ photo: Photo) async throws {
    let file = try await photo.original?.download()
    show(file)
  }

  static func systemValues(_ database: CKDatabase, _ name: String) async throws {
    guard var page = try await database.load(Page.self, named: name) else { return }
    page.text = "Second draft"
    page = try await database.save(page)
  }

  static func readingAndWriting(_ owner: String) async throws {
    let container = CKContainer.default()
    let database = container.database(for: Note.self)
    let saved = try await database.insert(Note(title: "Milk"))
    if let loaded = try await database.load(Note.self, named: saved.recordName) {
      try await database.delete(loaded)
    }

    let shopping = [Note(title: "Bread"), Note(title: "Butter")]
    do {
      try await database.save(shopping)
    } catch let error as CKModelBatchError {
      for failure in error.failures { report(shopping[failure.index], failure.error) }
    }

    for try await page in database.pages(of: Query<Note>()) {
      show(page.models)
      report(page.failures)
    }

    database.save(Note(title: "Milk")) { result in
      if case .failure(let error) = result { report(error) }
    }

    let zoneID = CKRecordZone.ID(zoneName: "notes", ownerName: owner)
    try await container.database(for: Note.self, in: zoneID).save(Note(title: "Tea"), in: zoneID)

    let notes = database.in(zoneID)
    let tea = try await notes.save(Note(title: "Tea"))
    try await notes.delete(tea)
  }

  static func references(_ database: CKDatabase, _ name: String) async throws {
    let boss = Link<Employee>(to: CKRecord.ID(recordName: name, zoneID: database.zoneIDForModels))

    let loaded = try await database.loadWithCycles(Query<Employee>())
    for cycle in loaded.cycles { print(cycle.map(\.recordName)) }
    show((boss, loaded))
  }

  static func following(_ database: CKDatabase, _ name: String) async throws {
    let employees = try await database.all(Employee.self, following: .depth(1))
    let title = employees[0].department?.title

    let alone = try await database.load(Employee.self, named: name)
    let boss = try await alone?.boss?.load(from: database)

    let leadsToCycle = try employees[0].hasCycle()
    let canLeadToCycle = Employee.hasCycle()
    show((title, boss, leadsToCycle, canLeadToCycle))
  }

  static func savingReferences(_ database: CKDatabase, _ team: Team) async throws {
    let lead = Employee(name: "Ann", department: Department(title: "Sales"))
    try await database.save(Employee(name: "Bob", boss: Link(lead)))

    try await database.save(team, replacing: ["members"])
  }

  static func cascade(_ database: CKDatabase, _ team: Team) async throws {
    let plan = try await database.plan(deleting: team, cascade: .children)
    for record in plan.records { print(record.recordType, record.recordID.recordName, record.reason) }
    let report = try await database.delete(plan)
    for (record, outcome) in report.results { print(record.recordID.recordName, outcome) }
    if let error = report.error { show(error) }
  }

  static func queuedReferences(_ store: SyncStore, _ lead: Employee, _ team: Team) async throws {
    try await store.save(Employee(name: "Bob", boss: Link(lead)))
    let employees = try await store.all(Employee.self, following: .depth(1))
    let boss = try await employees[0].boss?.load(from: store)
    try await store.delete(team, cascade: .children)
    show(boss)
  }

  static func sharing(_ note: Note, _ database: CKDatabase) async throws {
    let share = try await database.share(note, title: "Shopping")
    show(share.url)
  }

  static func records(_ note: Note, _ zoneID: CKRecordZone.ID) throws {
    let encoder = CKRecordEncoder(zoneID: zoneID)
    let record = try encoder.encode(note)
    var copy = try CKRecordDecoder().decode(Note.self, from: record)
    copy.isDone = true
    try encoder.encode(copy, onto: record)
  }

  static func queries(_ database: CKDatabase) async throws {
    let query = Query<Article>()
      .filter(\.isDone, equals: false)
      .filter(\.topics, .containsAny(of: ["swift", "linux"]))
      .excluding(\.title, .begins(with: "Draft"))
      .sorted(by: \.createdAt, ascending: false)
      .limit(20)
    let articles = try await database.load(query)
    let mine = Query<Article>().filter(.title, equals: "Milk").sorted(by: [.isDone, .title])
    show((articles, mine))
  }

  static func storedQueries(_ store: SyncStore) async throws {
    let open = Query<Article>().filter(#Predicate { !$0.isDone && $0.title != "Draft" }).sorted(by: \.title)
    let first = try await store.load(open.limit(20))
    let count = try await store.count(open)
    let (page, cursor) = try await store.page(open.limit(50))
    show((first, count, page, cursor))
  }

  static func errors(_ note: Note, _ database: CKDatabase) async throws {
    do {
      try await database.save(note)
    } catch let error as CKModelError {
      log("\(error.model), \(error.field ?? "whole model"): \(error.failureReason ?? "")")
    } catch let error as CKError where error.code == .serverRecordChanged {
      merge(note, error.serverRecord)
    }
  }

  static func queue(_ note: Note, _ notes: [Note], _ old: Note, _ zoneID: CKRecordZone.ID) async throws {
    let store = try SyncStore(
      path: "/var/lib/notes/store.sqlite",
      containerIdentifier: "iCloud.org.example.notes",
      databaseScope: .private
    )
    try await store.save(note)
    let known = try await store.load(Note.self, named: note.recordName)
    try await store.delete(note)
    show(known)

    var edited = note
    edited.title = "Oats"
    try await store.save(edited, changedFrom: note)

    var changes = CKModelChanges(in: zoneID)
    for note in notes { try changes.save(note) }
    try changes.delete(old)
    try await store.enqueue(changes, atomically: true)

    let shelf = store.in(zoneID)
    try await shelf.save(note)
    let stored = try await shelf.all(Note.self)
    show(stored)
  }

  static func delivery(_ container: CKContainer, _ list: NoteList) throws -> SyncEngine {
    let delegate = ModelDelegate(
      .of(
        Note.self,
        didReceive: { note in await list.show(note) },
        didDelete: { recordID in await list.remove(recordID.recordName) },
        didFail: { note, _ in
          note == nil ? .keep : .retry
        }
      )
    )
    let engine = try SyncEngine(SyncEngine.Configuration(container: container), delegate: delegate)
    return engine
  }

  private static func show(_ value: Any?) {}
  private static func report(_ value: Any?) {}
  private static func report(_ note: Note, _ error: any Error) {}
  private static func log(_ text: String) {}
  private static func merge(_ note: Note, _ record: CKRecord?) {}
}

private func show(_ value: Any?) {}

enum Observing {
  @CKModel struct Note: Equatable {
    var id = UUID()
    var title: String
    var isDone = false
  }

  final class NoteList: Sendable {
    private let observation = Mutex<CKModelObservation?>(nil)

    func start(_ container: CKContainer) async throws {
      let observation = try await Note.observe(in: container) { [weak self] in self?.receive($0) }
      self.observation.withLock { $0 = observation }
      show(try await container.database(for: Note.self).all(Note.self))
    }
  }

  static func loop(_ container: CKContainer) async throws {
    var notes: [String: Note] = [:]
    for try await change in Note.changes(in: container) {
      switch change {
      case .inserted(let note), .updated(let note): notes[note.recordName] = note
      case .deleted(let id): notes[id.recordName] = nil
      case .failed(let id, let error): report(error, id)
      }
    }
  }

  static func publisher(_ container: CKContainer) -> AnyCancellable {
    let cancellable = Note.changes(in: container).publisher
      .sink(receiveCompletion: { end($0) }, receiveValue: { show($0) })
    return cancellable
  }

  static func subscribe(_ container: CKContainer) async throws {
    let database = container.database(for: Note.self)
    try await database.subscribe(to: Note.self, where: Query().filter(\.isDone, equals: false)) {
      $0.alertBody = "There is a new note."
    }
  }

  static func results(_ store: SyncStore) async throws {
    let open = store.observe(Query<Note>().filter(\.isDone, equals: false))
    for try await notes in open { show(notes) }

    for try await changes in open.changes {
      add(changes.inserted + changes.updated)
      remove(changes.removed.map(\.recordName))
    }
  }

  private static func add(_ notes: [Note]) {}
  private static func remove(_ names: [String]) {}
  private static func report(_ error: any Error, _ id: CKRecord.ID?) {}
  private static func end(_ completion: Any) {}
}

extension Observing.NoteList {
  fileprivate func receive(_ change: Any) {}
}

enum Shop {
  @CKModel
  struct Customer {
    let id: UUID
    var name: String
  }

  @CKModel
  struct Order {
    let id: UUID
    var customer: Link<Customer>?
    var total: Double
    var placed: Date
    var tags: [String] = []
    @CKField(asset: true) var invoice: Data?
  }

  static let schema = """
    DEFINE SCHEMA

        RECORD TYPE Customer (
            name STRING,
            GRANT WRITE TO "_creator",
            GRANT CREATE TO "_icloud",
            GRANT READ TO "_world"
        );

        RECORD TYPE Order (
            customer REFERENCE,
            invoice  ASSET,
            placed   TIMESTAMP,
            tags     LIST<STRING>,
            total    DOUBLE,
            GRANT WRITE TO "_creator",
            GRANT CREATE TO "_icloud",
            GRANT READ TO "_world"
        );

    """

  static func schemas() throws -> [CKSchema.Change] {
    print(CKSchema(Order.self, Customer.self))
    let deployed = try CKSchema(parsing: String(contentsOfFile: "production.ckdb", encoding: .utf8))
    let refused = deployed.changes(to: CKSchema(Order.self, Customer.self)).filter(\.isRefused)
    return refused
  }
}
