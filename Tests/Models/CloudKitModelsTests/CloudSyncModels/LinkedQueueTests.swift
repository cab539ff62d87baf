import CloudKit
import CloudKitEmulator
import CloudKitModels
import CloudSupport
import CloudSync
import CloudSyncModels
import Foundation
import Testing

/// Models that refer to each other, saved through the queue.
@Suite(.serialized) struct LinkedQueueTests {
  private let cloud: Cloud

  init() throws { cloud = try Cloud() }

  private func queued(_ store: SyncStore) throws -> [String] { try store.operations().rows.map(\.key.name) }

  @Test func `targets that are not known are queued before the model in one transaction`() async throws {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    try await phone.store.save(Department(id: "sales"))
    let bob = Employee(id: "bob", department: Department(id: "it"))

    let change = try await phone.store.save(Employee(id: "ann", department: Department(id: "sales"), boss: Link(bob)))

    #expect(change.recordID.recordName == "ann")
    #expect(try queued(phone.store) == ["sales", "it", "bob", "ann"])
    _ = try await phone.sync()
    _ = try await tablet.sync()
    #expect(try await tablet.store.load(Department.self, named: "it")?.id == "it")

    // What the local copy has is not queued, whatever was edited.
    try await tablet.store.save(Employee(id: "cat", department: Department(id: "it", title: "edited")))
    #expect(try queued(tablet.store) == ["cat"])
  }

  @Test func `a target that cannot be stored refuses the model, and nothing is queued`() async throws {
    let phone = try cloud.device("phone")
    let bob = Employee(id: "bob", name: String(repeating: "x", count: 1_000_001))
    await #expect(throws: CKModelError.self) { try await phone.store.save(Employee(boss: Link(bob))) }
    #expect(try queued(phone.store).isEmpty)
  }

  @Test func `models that refer to each other reach the server`() async throws {
    let phone = try cloud.device("phone")
    let ann = Employee(id: "ann", boss: Link(Employee(id: "bob")))
    try await phone.store.save(Employee(id: "bob", boss: Link(ann)))
    _ = try await phone.sync()
    #expect(cloud.onServer("ann", zone: "cktop")?["boss"] != nil)
    #expect(cloud.onServer("bob", zone: "cktop")?["boss"] != nil)
    #expect(try phone.store.operations().total == 0)
  }

  @Test func `a list of models adds to the local copy, and an edit removes what it knew`() async throws {
    let phone = try cloud.device("phone")
    let (ann, bob, cat) = (Employee(id: "ann"), Employee(id: "bob"), Employee(id: "cat"))
    func members() async throws -> [String]? {
      _ = try await phone.sync()
      let database = cloud.container.privateCloudDatabase
      return try await database.load(Team.self, named: "t", following: .depth(1))?.members.map(\.id)
    }
    try await phone.store.save(Team(members: [ann, bob]))
    #expect(try await members() == ["ann", "bob"])
    try await phone.store.save(Team())
    #expect(try phone.store.operations().total == 0)
    try await phone.store.save(Team(members: [cat]))
    #expect(try await members() == ["ann", "bob", "cat"])

    try await phone.store.save(Team(members: [bob]), changedFrom: Team(members: [ann, bob]))
    #expect(try await members() == ["bob", "cat"])
    try await phone.store.save(Team(members: [cat]), replacing: ["members"])
    #expect(try await members() == ["cat"])
  }

  @Test func `a device that does not know the record adds to the list of another`() async throws {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    try await phone.store.save(Team(members: [Employee(id: "ann")]))
    try await tablet.store.save(Team(members: [Employee(id: "bob")]))
    _ = try await phone.sync()
    _ = try await tablet.sync()
    let database = cloud.container.privateCloudDatabase
    let team = try #require(try await database.load(Team.self, named: "t", following: .depth(1)))
    #expect(Set(team.members.map(\.id)) == ["ann", "bob"])
  }

  @Test func `a target that the server turns out to have is left as it is, and can be restored`() async throws {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    try await tablet.store.save(Department(id: "it", title: "theirs"))
    try await tablet.sync()

    try await phone.store.save(Employee(id: "ann", department: Department(id: "it", title: "ours")))
    try await phone.sync()

    #expect(cloud.onServer("it", zone: "cktop")?["title"] == .string("theirs"))
    #expect(cloud.onServer("ann", zone: "cktop")?["department"] != nil)
    #expect(try await phone.store.load(Department.self, named: "it")?.title == "theirs")
    #expect(try phone.store.operations().total == 0)
    let dropped = try #require(phone.store.view { try $0.dropped() }.first)
    #expect(try dropped.key.name == "it" && dropped.isSeen && phone.store.status().dropped.unseen == 0)

    _ = try phone.store.undo(dropped.operation, actor: "test")
    try await phone.sync()
    #expect(cloud.onServer("it", zone: "cktop")?["title"] == .string("ours"))
  }

  @Test func `a target that is saved by itself later is merged as any save is`() async throws {
    let (phone, tablet) = try (cloud.device("phone"), cloud.device("tablet"))
    try await tablet.store.save(Employee(id: "bob", reports: [Link(Employee(id: "dan"))]))
    try await tablet.sync()

    let bob = Employee(id: "bob", department: Department(id: "it"))
    try await phone.store.save(Employee(id: "ann", boss: Link(bob)))
    try await phone.store.save(bob)
    try await phone.sync()

    #expect(cloud.onServer("bob", zone: "cktop")?["department"] != nil)
  }

  @Test func `a model that another refers to can be inserted after it in the same changes`() async throws {
    let phone = try cloud.device("phone")
    var changes = CKModelChanges()
    let bob = Employee(id: "bob", name: "Bob")
    try changes.insert(Employee(id: "ann", boss: Link(bob)))
    try changes.insert(bob)
    try await phone.store.enqueue(changes)
    #expect(try queued(phone.store).sorted() == ["ann", "bob"])
    try await phone.sync()
    #expect(cloud.onServer("ann", zone: "cktop")?["boss"] != nil && cloud.onServer("bob", zone: "cktop") != nil)
  }

  @Test func `a load from the local copy follows references as deep as it is asked to`() async throws {
    let phone = try cloud.device("phone")
    let bob = Employee(id: "bob", department: Department(id: "it"))
    try await phone.store.save(Employee(id: "ann", department: Department(id: "it"), boss: Link(bob)))
    try await phone.store.save(Desk(id: "d", owner: bob))

    let employees = try await phone.store.all(Employee.self, following: .depth(1))
    #expect(employees.first?.department?.id == "it" && employees.first?.boss?.model?.id == "bob")
    #expect(employees.first?.boss?.model?.department == nil)
    let alone = try await phone.store.load(Employee.self, named: "ann")
    let loaded = try await alone?.boss?.load(from: phone.store)
    #expect(alone?.department == nil && alone?.boss?.isLoaded == false && loaded?.id == "bob")
    // A required model is loaded only by a load that follows it.
    #expect(try await phone.store.load(Desk.self, named: "d", following: .all)?.owner.department?.id == "it")
    await #expect(throws: CKModelError.self) { try await phone.store.load(Desk.self, named: "d") }
  }
}
