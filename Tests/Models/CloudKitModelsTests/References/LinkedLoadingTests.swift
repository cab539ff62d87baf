import CloudKit
import CloudKitModels
import CloudSupport
import Foundation
import Testing

/// Models that refer to each other, loaded from a database.
@Suite(.serialized) struct LinkedLoadingTests {
  private let cloud: Cloud
  private var database: CKDatabase { cloud.container.privateCloudDatabase }

  init() throws { cloud = try Cloud() }

  @Test func `a load follows references as deep as it is asked to`() async throws {
    let cat = Employee(id: "cat", department: Department(id: "it"))
    let bob = Employee(id: "bob", boss: Link(cat))
    try await database.save(Employee(id: "ann", department: Department(id: "sales"), boss: Link(bob)))

    let none = try #require(try await database.load(Employee.self, named: "ann"))
    #expect(none.department == nil && none.boss?.recordName == "bob" && none.boss?.isLoaded == false)
    let one = try #require(try await database.load(Employee.self, named: "ann", following: .depth(1)))
    #expect(one.department?.id == "sales" && one.boss?.model?.boss?.isLoaded == false)
    let all = try #require(try await database.load(Employee.self, named: "ann", following: .all))
    #expect(all.boss?.model?.boss?.model?.department?.id == "it")

    let loaded = try await none.boss?.load(from: database)
    #expect(loaded?.id == "bob")
    #expect(try await database.load(Query<Employee>().filter(.name, equals: "Ann"), following: .all).count == 3)
  }

  @Test func `references are loaded as models, each record once and all in one request`() async throws {
    let zone = database.zoneIDForModels
    func reference(_ name: String) -> CKRecord.Reference {
      CKRecord.Reference(recordID: CKRecord.ID(recordName: name, zoneID: zone), action: .none)
    }
    try await database.save([Employee(id: "ann", boss: Link(Employee(id: "bob"))), Employee(id: "cat")])
    let count = cloud.requests.bodies("records/lookup").count

    let names = ["cat", "ann", "gone", "cat"]
    let results = try await names.map(reference).load(Employee.self, from: database)

    #expect(results.map { try? $0.get().id } == ["cat", "ann", nil, "cat"])
    #expect(await code { try results[2].get() } == .unknownItem)
    #expect(cloud.requests.bodies("records/lookup").count == count + 1)
    let ann: Employee? = try await reference("ann").load(from: database, following: .depth(1))
    #expect(ann?.boss?.model?.id == "bob")
    await #expect(throws: CKModelError.self) { try await reference("ann").load(Department.self, from: database) }
    #expect(try await reference("gone").load(Employee.self, from: database) == nil)
    #expect(try await [CKRecord.Reference]().load(Employee.self, from: database).isEmpty)
  }

  @Test func `many references are loaded in requests of 200`() async throws {
    try await database.save((0..<450).map { Department(id: "d\($0)") })
    let zone = database.zoneIDForModels
    let references = (0..<450).map {
      CKRecord.Reference(recordID: CKRecord.ID(recordName: "d\($0)", zoneID: zone), action: .none)
    }
    let count = cloud.requests.bodies("records/lookup").count

    let departments = try await references.load(Department.self, from: database).map { try $0.get() }

    #expect(departments.map(\.id) == (0..<450).map { "d\($0)" })
    #expect(cloud.requests.bodies("records/lookup").count == count + 3)
  }

  @Test func `a required model is loaded with a depth, and without one the error names the field`() async throws {
    var desk = Desk(id: "d", owner: Employee(id: "ann"))
    (desk.guest, desk.visitors) = (Employee(id: "bob"), [Employee(id: "cat"), Employee(id: "bob")])
    #expect(try await database.save(desk).owner.id == "ann")
    let read = try #require(try await database.load(Desk.self, named: "d", following: .depth(1)))
    #expect(read.owner.id == "ann" && read.guest?.id == "bob" && read.visitors.map(\.id) == ["cat", "bob"])
    let error = try await #require(throws: CKModelError.self) { try await database.load(Desk.self, named: "d") }
    #expect(error.model == "Desk" && error.field == "owner")
  }

  @Test func `a ring ends where it began, whichever of its records is loaded first`() async throws {
    let cat = Employee(id: "cat", boss: Link(to: CKRecord.ID(recordName: "ann", zoneID: database.zoneIDForModels)))
    let bob = Employee(id: "bob", boss: Link(cat))
    try await database.save(Employee(id: "ann", boss: Link(bob)))

    let loaded = try await database.loadWithCycles(Query<Employee>(), following: .all)

    #expect(loaded.cycles.count == 1 && loaded.models.count == 3)
    for model in loaded.models {
      let last = model.boss?.model?.boss?.model
      #expect(last != nil && last?.boss?.recordName == model.id && last?.boss?.isLoaded == false)
    }
  }

  @Test func `a target that cannot be fetched fails the models that lead to it, and no others`() async throws {
    let people = [Employee(id: "ann", boss: Link(Employee(id: "bob"))), Employee(id: "cat")]
    let records = people.map { person in Result<CKRecord, any Error> { try CKRecordEncoder().encode(person) } }
    let loader = LinkLoader(following: .depth(1)) { ids, _ in
      Dictionary(uniqueKeysWithValues: ids.map { ($0, .failure(CKError(.permissionFailure))) })
    }
    let models = try await loader.models(Employee.self, from: records)
    let error = try #require(throws: CKModelError.self) { try models[0].get() }
    #expect(error.model == "Employee" && error.field == "boss" && error.recordID?.recordName == "ann")
    guard case DecodingError.dataCorrupted(let context) = error.underlying else {
      Issue.record("another error")
      return
    }
    #expect((context.underlyingError as? CKError)?.code == .permissionFailure)
    #expect(try models[1].get().id == "cat")
  }

  @Test func `a query finds models by a model that they refer to, and by a link to one`() async throws {
    let bob = Employee(id: "bob", name: "Bob")
    try await database.save(Employee(id: "ann", department: Department(id: "it"), boss: Link(bob)))
    try await database.save(Employee(id: "cat", name: "Cat", boss: Link(Employee(id: "dan"))))

    let byLink = try await database.load(Query<Employee>().filter(.boss, equals: Link(bob)))
    let byModel = try await database.load(Query<Employee>().filter(.department, equals: Department(id: "it")))

    #expect(byLink.map(\.id) == ["ann"] && byModel.map(\.id) == ["ann"])
  }

  @Test func `a target that does not exist is not loaded`() async throws {
    let gone = CKRecord.ID(recordName: "gone", zoneID: database.zoneIDForModels)
    try await database.save(
      Employee(id: "ann", boss: Link(to: gone), reports: [Link(to: gone), Link(Employee(id: "bob"))])
    )
    let ann = try #require(try await database.load(Employee.self, named: "ann", following: .all))
    #expect(ann.boss?.isLoaded == false && ann.reports.map(\.isLoaded) == [false, true])
  }

  @Test func `a cycle ends with the identity and is reported once, and a diamond is none`() async throws {
    let zone = database.zoneIDForModels
    func link(_ name: String) -> Link<Employee> { Link(to: CKRecord.ID(recordName: name, zoneID: zone)) }
    try await database.save([
      Employee(id: "ann", boss: link("bob")), Employee(id: "bob", boss: link("cat")),
      Employee(id: "cat", boss: link("ann")),
      Employee(id: "top"), Employee(id: "left", boss: link("top")), Employee(id: "right", boss: link("top")),
      Employee(id: "base", reports: [link("left"), link("right")]),
    ])

    let loaded = try await database.loadWithCycles(Query<Employee>())

    #expect(loaded.cycles.map { $0.map(\.recordName) } == [["ann", "bob", "cat"]])
    let models = Dictionary(uniqueKeysWithValues: loaded.models.map { ($0.id, $0) })
    let around = models["ann"]?.boss?.model?.boss?.model?.boss
    #expect(around?.recordName == "ann" && around?.isLoaded == false)
    #expect(models["base"]?.reports.map { $0.model?.boss?.isLoaded } == [true, true])
  }

  @Test func `a record that is loaded as another type with fewer fields is fetched again`() async throws {
    try await database.save(Employee(id: "ann"))
    let ann = CKRecord.ID(recordName: "ann", zoneID: database.zoneIDForModels)
    try await database.save(Badge(id: "badge", holder: Link(to: ann)))

    let badges = try await database.all(Badge.self, following: .depth(1))

    #expect(badges.first { $0.id == "badge" }?.holder?.model?.name == "Ann")
  }

  @Test func `10,000 models with one reference each to 500 targets need 53 requests`() async throws {
    try await database.save((0..<500).map { Department(id: "d\($0)") })
    let zone = database.zoneIDForModels
    let people = (0..<10_000).map {
      Worker(id: "w\($0)", department: Link(to: .init(recordName: "d\($0 % 500)", zoneID: zone)))
    }
    try await database.save(people)
    let ends = ["records/query", "records/lookup"]
    let before = ends.reduce(0) { $0 + cloud.requests.bodies($1).count }

    let workers = try await database.all(Worker.self, following: .depth(1))

    #expect(workers.count == 10_000 && workers.allSatisfy { $0.department.model?.id == $0.department.recordName })
    #expect(ends.reduce(0) { $0 + cloud.requests.bodies($1).count } - before <= 53)
  }
}

private struct Worker: Codable, Identifiable, CKRecordModel {
  var id: String
  var department: Link<Department>
}

/// A part of `Employee`.
private struct Badge: Codable, Identifiable, CKFieldModel {
  var id: String
  var holder: Link<Employee>?

  static let recordType = "Employee"
  enum Fields: String, CKRecordFields { case holder }
}
