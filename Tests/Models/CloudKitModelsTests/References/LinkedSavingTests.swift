import CloudKit
import CloudKitEmulator
import CloudKitModels
import CloudSupport
import Foundation
import Testing

/// Models that refer to each other, saved to a database.
@Suite(.serialized) struct LinkedSavingTests {
  private let cloud: Cloud
  private var database: CKDatabase { cloud.container.privateCloudDatabase }

  init() throws { cloud = try Cloud() }

  private func fields(_ name: String) -> [String: EmulatorValue]? { cloud.onServer(name, zone: "cktop") }

  private func requests() -> [Int] {
    ["records/lookup", "records/modify"].map { cloud.requests.bodies($0).count }
  }

  @Test func `new targets are sent before their record in the same request, and known ones are not sent`() async throws
  {
    try await database.save(Department(id: "it"))
    let before = requests()
    let ann = Employee(id: "ann", department: Department(id: "sales"), boss: Link(Employee(id: "bob")))
    let saved = try await database.save(ann)
    #expect(saved == ann && saved.boss?.isSaved == true && saved.department?.id == "sales")
    #expect(requests() == [before[0] + 1, before[1] + 1])
    let sent = cloud.requests.bodies("records/modify").last?["operations"] as? [[String: Any]]
    let names = sent?.compactMap { ($0["record"] as? [String: Any])?["recordName"] as? String }
    #expect(names == ["sales", "bob", "ann"])

    // The target exists, so its edits are not saved.
    try await database.save(Employee(id: "cat", department: Department(id: "sales", title: "edited")))
    #expect(fields("sales")?["title"] == .string(""))
    // A target from the server is not looked up.
    let lookups = requests()[0]
    try await database.upsert(Employee(id: "dan", boss: saved.boss))
    #expect(requests()[0] == lookups)
  }

  @Test func `models that refer to each other are saved with one link in a second request`() async throws {
    let (first, second) = (Person("first"), Person("second"))
    (first.friend, second.friend) = (second, first)
    defer { second.friend = nil }

    try await database.save(first)

    let zone = database.zoneIDForModels
    for (name, friend) in [("first", "second"), ("second", "first")] {
      let record = try await database.record(for: CKRecord.ID(recordName: name, zoneID: zone))
      #expect((record["friend"] as? CKRecord.Reference)?.recordID.recordName == friend)
    }
    #expect(requests()[1] == 3)  // The first request creates the zone.
  }

  @Test func `a target that cannot be saved keeps its dependants from being sent, and they name it`() async throws {
    let zone = try await database.save(CKRecordZone(zoneName: "cktop")).zoneID
    let typed = CKRecord(recordType: "Department", recordID: CKRecord.ID(recordName: "typed", zoneID: zone))
    typed["title"] = 1
    try await database.save(typed)

    let people = [
      Employee(id: "ann", department: Department(id: "sales")), Employee(id: "bob"),
      Employee(id: "cat", boss: Link(Employee(id: "dan", department: Department(id: "sales")))),
    ]
    let refused = try await #require(throws: CKModelBatchError.self) { try await database.save(people) }

    #expect(refused.failures.map(\.index) == [0, 2])
    let errors = refused.failures.compactMap { $0.error as? CKModelError }
    #expect(errors.map { $0.recordID?.recordName } == ["sales", "dan"])
    #expect(errors.map(\.field) == ["department", "boss"])
    #expect(refused.saved.map(\.recordID.recordName) == ["bob"])
    #expect(fields("bob") != nil && fields("ann") == nil && fields("cat") == nil && fields("dan") == nil)
  }

  @Test func `in a zone without atomic requests a record is sent after its targets are saved`() async throws {
    let typed = CKRecord(recordType: "Department", recordID: CKRecord.ID(recordName: "typed"))
    typed["title"] = 1
    try await database.save(typed)
    let bob = Employee(id: "bob")
    try await database.save(Employee(id: "ann", boss: Link(bob)), in: .default)
    #expect(requests()[1] == 3)

    let team = Team(id: "t", members: [Employee(id: "cat", department: Department(id: "sales")), bob])
    let error = try await #require(throws: CKModelError.self) { _ = try await database.save(team, in: .default) }
    #expect(error.model == "Team" && error.recordID?.recordName == "cat")
    #expect(requests()[1] == 4)
  }

  @Test func `targets that are too large for one atomic request are saved`() async throws {
    let large = (0..<5).map { Link(Employee(id: "e\($0)", name: String(repeating: "x", count: 400_000))) }
    let boss = try await database.save(Employee(id: "boss", reports: large))
    #expect(boss.reports.allSatisfy { $0.isSaved })
    #expect(fields("e4") != nil)
  }

  @Test func `a target is saved with each verb, and an insert over a record changes nothing`() async throws {
    try await database.insert(Employee(id: "ann", boss: Link(Employee(id: "bob"))))
    try await database.update(Employee(id: "ann", boss: Link(Employee(id: "cat"))))
    try await database.upsert(Employee(id: "ann", boss: Link(Employee(id: "dan"))))
    #expect(fields("bob") != nil && fields("cat") != nil && fields("dan") != nil)
    let before = fields("ann")
    #expect(
      await code { try await database.insert(Employee(id: "ann", boss: Link(Employee(id: "bob")))) }
        == .serverRecordChanged
    )
    #expect(fields("ann") == before)
    #expect(
      await code { try await database.update(Employee(id: "eve", boss: Link(Employee(id: "fay")))) } == .unknownItem
    )
    #expect(fields("fay") == nil)
  }

  @Test(arguments: [LinkDepth.none, .depth(1)])
  func `saving what was loaded neither clears nor shortens references`(depth: LinkDepth) async throws {
    let members = ["ann", "bob"].map { Employee(id: $0) }
    let team = Team(id: "t", lead: members[0], members: members, guests: members.map { Link($0) })
    try await database.save(team)
    try await database.save(Ledger(id: "l", team: team, members: members))
    let before = (fields("t"), fields("l"))

    try await database.save(try #require(try await database.load(Team.self, named: "t", following: depth)))
    try await database.save(try #require(try await database.load(Ledger.self, named: "l", following: depth)))

    #expect(fields("t") == before.0 && fields("l") == before.1)
  }

  @Test func `a list of models adds to the server's, and replaces it where the save says so`() async throws {
    func members(_ name: String) async throws -> [String]? {
      let id = CKRecord.ID(recordName: name, zoneID: database.zoneIDForModels)
      return (try await database.record(for: id)["members"] as? [CKRecord.Reference])?.map(\.recordID.recordName)
    }
    let (ann, bob, cat) = (Employee(id: "ann"), Employee(id: "bob"), Employee(id: "cat"))
    try await database.save(Team(id: "t", lead: ann, members: [ann, bob]))
    try await database.save(Team(id: "t", members: [cat]))
    #expect(try await members("t") == ["ann", "bob", "cat"])

    // A model with a version does not overwrite the list of that version.
    var ledger = try await database.save(Ledger(id: "l", members: [ann, bob]))
    ledger.members = [cat]
    ledger = try await database.save(ledger)
    #expect(try await members("l") == ["ann", "bob", "cat"])

    try await database.save(Team(id: "t", members: [bob]), replacing: ["members", "lead"])
    #expect(try await members("t") == ["bob"])
    #expect(fields("t")?["lead"] == nil)
    await #expect(throws: CKModelError.self) { try await database.save(Team(), replacing: ["leader"]) }
  }

  @Test func `models with known versions that refer to each other are saved outside an atomic zone, too`() async throws
  {
    var first = try await database.save(Node(id: "a"), in: .default)
    var second = try await database.save(Node(id: "b"), in: .default)
    var third = try await database.save(Node(id: "c"), in: .default)
    (first.next, second.next, third.next) = (Link(second), Link(first), Link(third))

    let saved = try await database.save([first, second, third], in: .default)

    #expect(saved.map { $0.next?.recordName } == ["b", "a", "c"])
  }

  @Test func `two models of different types cannot have the same record name`() async throws {
    await #expect(throws: CKModelError.self) {
      _ = try await database.save(Employee(id: "1", department: Department(id: "1")))
    }
    try await database.save(Department(id: "2"))
    let boss = Employee(id: "3", boss: Link(Employee(id: "2")))
    await #expect(throws: (any Error).self) { _ = try await database.save(boss) }
    let server = try await database.record(
      for: CKRecord.ID(recordName: "2", zoneID: database.zoneIDForModels)
    )
    #expect(server.recordType == "Department")
  }

  @Test func `more targets than a request holds are sent before their records`() async throws {
    let people = (0..<300).map { Employee(id: "p\($0)", department: Department(id: "d\($0 / 2)")) }
    try await database.save(CKRecordZone(zoneName: "cktop"))
    try await database.save(people)
    #expect(requests() == [1, 3])
    #expect(try await database.all(Department.self).count == 150)
  }
}

/// A class that can refer to itself without a link.
private final class Person: Codable, Identifiable, CKRecordModel {
  var id: String
  var friend: Person?

  init(_ id: String) { self.id = id }
}

/// A model that knows its version.
private struct Ledger: Codable, Identifiable, CKRecordModel {
  var id: String
  var team: Team?
  var members: [Employee] = []
  var tag: String?
  static let systemKeys: [String: CKSystemValue] = ["tag": .changeTag]
}

/// A model that can refer to itself, and knows its version.
private struct Node: Codable, Identifiable, CKRecordModel {
  var id: String
  var next: Link<Node>?
  var tag: String?
  static let systemKeys: [String: CKSystemValue] = ["tag": .changeTag]
}
