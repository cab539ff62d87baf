import CloudKit
import CloudKitModelMacros
import CloudSupport
import Foundation
import JSONFiles
import Testing

/// The code of the page.
enum MagicCRUDPage {
  // snippet.model
  struct MyModel: Codable, CKRecordModel {
    static let recordType = "MyModel"
    static let databaseScope: CKDatabase.Scope = .public
    static let systemKeys: [String: CKSystemValue] = [
      "createdBy": .creatorUserRecordName, "createdAt": .creationDate, "changeTag": .changeTag,
    ]
    var recordName = UUID().uuidString
    var createdBy: String?
    var createdAt: Date?
    var changeTag: String?
    var title: String
    var description: String
    var isCompleted: Bool
  }
  // snippet.end

  // snippet.names
  struct Reading: Codable, CKRecordModel {
    var recordName = "custom-\(Date().timeIntervalSince1970)"
    var celsius: Double
  }

  struct Country: Codable, Identifiable, CKRecordModel {
    let id: String
    var name: String
  }
  // snippet.end

  // snippet.coding
  struct Path: RawRepresentable, Codable {
    var steps: [String]
    var rawValue: String { steps.joined(separator: "/") }
    init(rawValue: String) { steps = rawValue.split(separator: "/").map { String($0) } }
  }
  // snippet.end

  struct Route: Codable, Identifiable, CKRecordModel {
    var id = UUID()
    var path: Path
  }

  // snippet.references
  struct Department: Codable, Identifiable, CKRecordModel {
    var id = UUID()
    var name: String
    var employees: [Link<Employee>] = []
  }

  struct Employee: Codable, Identifiable, CKRecordModel {
    var id = UUID()
    var name: String
    var department: Link<Department>?
  }
  // snippet.end

  // snippet.fields
  @CKModel struct Article {
    static let databaseScope: CKDatabase.Scope = .public
    var id = UUID()
    var category: String
    @CKSystem(.creationDate) var createdAt: Date?
  }
  // snippet.end

  static func oldRecords(_ container: CKContainer) async throws {
    // snippet.zone
    let database = container.privateCloudDatabase
    for country in try await database.all(Country.self, in: .default) {
      try await database.upsert(country)
    }
    // snippet.end
  }

  static func verbs(_ container: CKContainer, _ myObject: MyModel) async throws -> [MyModel] {
    // snippet.verbs
    let database = container.database(for: MyModel.self)
    let saved = try await database.save(myObject)
    let loaded = try await database.load(MyModel.self, named: saved.recordName)
    let all = try await database.all(MyModel.self)
    if let loaded { try await database.delete(loaded) }
    // snippet.end
    return all
  }

  static func handlers(_ database: CKDatabase, _ myObject: MyModel) {
    // snippet.handlers
    database.save(myObject) { result in
      switch result {
      case .success(let saved): print("Record saved: \(saved.recordName)")
      case .failure(let error): print("Error: \(error.localizedDescription)")
      }
    }
    // snippet.end
  }

  static func cached(_ old: CKContainerConfiguration) -> CKContainer {
    var configuration = old
    // snippet.cache
    configuration.cache = CKRecordCacheSettings(maximumAge: .seconds(120), maximumCount: 500)
    let container = CKContainer(configuration: configuration)
    // snippet.end
    return container
  }

  static func quiet(_ old: CKContainerConfiguration) -> CKContainerConfiguration {
    var configuration = old
    // snippet.logging
    configuration.logsReasons = false
    // snippet.end
    return configuration
  }

  static func fresh(_ country: Country, _ database: CKDatabase) async throws -> Country? {
    // snippet.forget
    try database.forget(country)
    let fresh = try await database.load(Country.self, named: country.id)
    // snippet.end
    return fresh
  }

  static func explicit(_ database: CKDatabase, _ myObject: MyModel) async throws -> MyModel {
    // snippet.explicit
    let new = try await database.insert(myObject)
    let changed = try await database.update(new)
    let newest = try await database.upsert(changed)
    // snippet.end
    return newest
  }

  static func saveLinked(_ database: CKDatabase) async throws -> Department {
    // snippet.saveLinked
    var department = try await database.save(Department(name: "Engineering"))
    department.employees = ["Alice", "Bob"].map { Link(Employee(name: $0, department: Link(department))) }
    department = try await database.save(department)
    // snippet.end
    return department
  }

  static func loadLinked(_ database: CKDatabase, _ id: String) async throws -> [String] {
    var names: [String] = []
    // snippet.loadLinked
    let department = try await database.load(Department.self, named: id, following: .depth(1))
    for employee in department?.employees ?? [] {
      names.append(employee.model?.name ?? "not loaded: \(employee.recordName)")
    }
    // snippet.end
    return names
  }

  static func cycles(_ database: CKDatabase) async throws -> LoadedModels<Department> {
    // snippet.cycles
    let loaded = try await database.loadWithCycles(Query<Department>())
    for cycle in loaded.cycles { print("Cycle: \(cycle.map(\.recordName))") }
    let isCycle = try loaded.models.contains { try $0.hasCycle() }
    let canBeCycle = Department.hasCycle()
    // snippet.end
    #expect(isCycle && canBeCycle)
    return loaded
  }

  static func follow(_ record: CKRecord, _ database: CKDatabase) async throws -> (Employee?, [Employee]) {
    // snippet.follow
    let references: [CKRecord.Reference] = record["employees"] ?? []
    let first = try await references.first?.load(Employee.self, from: database)
    let employees = try await references.load(Employee.self, from: database)
    // snippet.end
    return (first, try employees.map { try $0.get() })
  }

  static func deleteLinked(_ department: Department, _ database: CKDatabase) async throws -> CKDeletionReport {
    // snippet.cascade
    let report = try await database.delete(department, cascade: .targets)
    if let error = report.error { print("Not all were deleted: \(error.localizedDescription)") }
    // snippet.end
    return report
  }

  static func subscribe(_ database: CKDatabase) async throws -> CKSubscription {
    // snippet.subscription
    let subscription = try await database.subscribe(to: Article.self)
    // snippet.end
    return subscription
  }

  static func changes(_ container: CKContainer) async throws {
    // snippet.changes
    for try await change in Article.changes(in: container) {
      switch change {
      case .inserted(let article), .updated(let article): print(article.category)
      case .deleted(let id): print("Deleted: \(id.recordName)")
      case .failed(let id, let error): print("\(id?.recordName ?? ""): \(error.localizedDescription)")
      }
    }
    // snippet.end
  }

  static func notifications(_ container: CKContainer) async throws {
    // snippet.notifications
    for try await notification in container.notifications {
      if let recordID = (notification as? CKQueryNotification)?.recordID {
        print("Changed: \(recordID.recordName)")
      }
    }
    // snippet.end
  }

  static func queries(_ database: CKDatabase) async throws -> ([Article], [Article]) {
    // snippet.queries
    let important = NSPredicate(format: "category == %@", "important")
    let found = try await database.load(Query<Article>().filter(important))
    let newest = Query<Article>()
      .filter(\.category, equals: "important")
      .sorted(by: \.createdAt, ascending: false)
      .limit(20)
    let latest = try await database.load(newest)
    // snippet.end
    return (found, latest)
  }

  static func pages(_ database: CKDatabase) async throws -> [Article] {
    // snippet.pages
    let query = Query<Article>().limit(50)
    let first = try await database.page(of: query)
    var articles = first.models
    if let cursor = first.cursor {
      articles += try await database.page(of: query, after: cursor).models
    }
    // snippet.end
    return articles
  }

  static func batch(_ database: CKDatabase, _ models: [MyModel]) async throws {
    // snippet.batch
    do {
      try await database.save(models)
    } catch let error as CKModelBatchError {
      for failure in error.failures {
        print("\(models[failure.index].title): \(failure.error.localizedDescription)")
      }
    }
    // snippet.end
  }

  static func errors(_ database: CKDatabase, _ myObject: MyModel) async {
    // snippet.errors
    do {
      try await database.upsert(myObject)
    } catch let error as CKError {
      switch error.code {
      case .networkFailure, .networkUnavailable: print("The server cannot be reached.")
      case .quotaExceeded: print("The storage is full.")
      default: print(error.localizedDescription)
      }
    } catch let error as CKModelError where error.cause == .tooLarge {
      print("\(error.model) is larger than 1 MB.")
    } catch let error as CKModelError {
      print("\(error.model).\(error.field ?? ""): \(error.failureReason ?? "")")
    } catch {
      print(error.localizedDescription)
    }
    // snippet.end
  }

  struct Settings: Codable, Equatable {
    var theme = "dark"
    var size = 12
  }

  static func files(_ settings: Settings) throws -> (Settings, String?, [String: Any]?) {
    // snippet.files
    try settings.save()
    try settings.save(in: "backup")
    let restored = try Settings.load(from: "backup")

    let text = settings.asString
    let properties = settings.asDictionary
    // snippet.end
    return (restored, text, properties)
  }

  static func untyped() throws -> Date? {
    // snippet.untyped
    let untyped = CertifiedCodableData(["title": "Milk", "due": Date.now, "isDone": true])
    let copy = try CertifiedCodableData.load(from: untyped.jsonData ?? Data())
    let due = copy.dictionary["due"] as? Date
    // snippet.end
    return due
  }

  static func container() -> CKContainer {
    // snippet.container
    let container = CKContainer(identifier: "iCloud.My.CloudContainer")
    // snippet.end
    return container
  }
}

@Suite(.serialized) struct ComingFromCloudKitMagicCRUD {
  private let cloud: Cloud
  private var database: CKDatabase { cloud.container.publicCloudDatabase }

  init() throws { cloud = try Cloud() }

  private func model(_ title: String) -> MagicCRUDPage.MyModel {
    MagicCRUDPage.MyModel(title: title, description: "d", isCompleted: false)
  }

  @Test func `a model is saved, changed, loaded and deleted in the default zone of the public database`() async throws {
    let model = model("a")
    let all = try await MagicCRUDPage.verbs(cloud.container, model)

    #expect(all.map(\.recordName) == [model.recordName] && all[0].description == "d")
    #expect(all[0].createdAt != nil && all[0].createdBy != nil && all[0].changeTag != nil)
    #expect(try await database.all(MagicCRUDPage.MyModel.self).isEmpty)

    let newest = try await MagicCRUDPage.explicit(database, model)
    try await MagicCRUDPage.batch(database, [newest, self.model("b")])
    await MagicCRUDPage.errors(database, newest)
    let records = try await database.records(for: [CKRecord.ID(recordName: newest.recordName)])
    #expect(records.values.compactMap { try? $0.get().recordType } == ["MyModel"])
  }

  @Test func `records of a private default zone are found there, and copied to the zone for models`() async throws {
    let database = cloud.container.privateCloudDatabase
    try await database.save(MagicCRUDPage.Country(id: "fr", name: "France"), in: .default)
    #expect(try await database.all(MagicCRUDPage.Country.self).isEmpty)

    try await MagicCRUDPage.oldRecords(cloud.container)

    #expect(try await database.load(MagicCRUDPage.Country.self, named: "fr")?.name == "France")
  }

  @Test func `a cached record is loaded again after it was forgotten`() async throws {
    let elsewhere = cloud.container.privateCloudDatabase
    let database = MagicCRUDPage.cached(cloud.configuration(of: "ana")).privateCloudDatabase
    let country = MagicCRUDPage.Country(id: "ch", name: "Suisse")
    try await database.save(country)
    try await elsewhere.save(MagicCRUDPage.Country(id: "ch", name: "Schweiz"))

    #expect(try await database.load(MagicCRUDPage.Country.self, named: "ch")?.name == "Suisse")
    #expect(try await MagicCRUDPage.fresh(country, database)?.name == "Schweiz")
  }

  @Test func `names and coding are the model's own`() throws {
    #expect(MagicCRUDPage.Reading(celsius: 1).recordName.hasPrefix("custom-"))
    let route = MagicCRUDPage.Route(path: MagicCRUDPage.Path(rawValue: "a/b"))
    let record = try CKRecordEncoder().encode(route)
    #expect(record["path"] as? String == "a/b")
    #expect(try CKRecordDecoder().decode(MagicCRUDPage.Route.self, from: record).path.steps == ["a", "b"])
  }

  @Test func `models that refer to each other are saved, loaded to a depth, and deleted together`() async throws {
    let database = cloud.container.privateCloudDatabase
    let department = try await MagicCRUDPage.saveLinked(database)

    #expect(try await MagicCRUDPage.loadLinked(database, department.recordName) == ["Alice", "Bob"])
    #expect(try await MagicCRUDPage.cycles(database).cycles.count == 2)
    let employees = try await database.all(MagicCRUDPage.Employee.self)
    #expect(employees.map { $0.department?.recordName } == [department.recordName, department.recordName])

    let record = try await database.record(for: department.reference(in: database.zoneIDForModels).recordID)
    let (first, all) = try await MagicCRUDPage.follow(record, database)
    #expect(first?.name == "Alice" && all.map(\.name) == ["Alice", "Bob"])

    #expect(try await MagicCRUDPage.deleteLinked(department, database).deleted.count == 3)
    #expect(try await database.all(MagicCRUDPage.Employee.self).isEmpty)
  }

  @Test func `a value is saved in the file of its type and in a named one, and is text and a dictionary`() throws {
    try DefaultFile.$folder.withValue(URL(filePath: cloud.path("documents"))) {
      let settings = MagicCRUDPage.Settings(size: 14)
      let (restored, text, properties) = try MagicCRUDPage.files(settings)
      #expect(restored == settings && text == #"{"size":14,"theme":"dark"}"# && properties?["size"] as? Int == 14)
      #expect(try MagicCRUDPage.Settings.load() == settings)
    }
    #expect(try MagicCRUDPage.untyped() != nil)
    #expect(MagicCRUDPage.quiet(cloud.configuration(of: "ana")).logsReasons == false)
  }

  @Test func `articles are found by their fields, and page by page`() async throws {
    try await database.save([MagicCRUDPage.Article(category: "important"), MagicCRUDPage.Article(category: "other")])

    let (found, latest) = try await MagicCRUDPage.queries(database)
    #expect(found.count == 1 && latest.map(\.id) == found.map(\.id))
    #expect(try await MagicCRUDPage.pages(database).count == 2)
  }

  @Test func `a model that is subscribed to again has one subscription`() async throws {
    try await database.save(MagicCRUDPage.Article(category: "important"))
    let subscription = try await MagicCRUDPage.subscribe(database)
    let again = try await MagicCRUDPage.subscribe(database)

    #expect(again.subscriptionID == subscription.subscriptionID)
    #expect(try await database.allSubscriptions().count == 1)
  }
}
