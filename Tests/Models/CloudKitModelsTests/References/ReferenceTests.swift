import CloudKit
import CloudKitModels
import Foundation
import Testing

/// One property and the field that it becomes.
private struct Row: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let wire: FieldValue?
  /// Whether nil or an empty list is written, which clears the field.
  let clears: Bool
  let encoded: @Sendable () throws -> CKRecord

  init<Value: Codable & Sendable>(_ value: Value, _ wire: FieldValue?, clears: Bool = false) {
    testDescription = "\(Value.self) \(wire == nil ? "without a value" : "")"
    (self.wire, self.clears) = (wire, clears)
    encoded = { try CKRecordEncoder().encode(Box(value: value)) }
  }
}

private func reference(_ name: String, _ action: String = "NONE") -> FieldValue {
  .reference(WireReference(recordName: name, action: action))
}

private let sales = Department(id: "sales")
private let id = CKRecord.ID(recordName: "sales")

private let rows: [Row] = [
  Row(sales, reference("sales")), Row(Department?.some(sales), reference("sales")), Row(Department?.none, nil),
  Row([sales, Department(id: "it")], .list(.reference, [reference("sales"), reference("it")])),
  Row([Department](), nil), Row([Department]?.none, nil),
  Row(Set([sales]), .list(.reference, [reference("sales")])),
  Row(Link(sales), reference("sales")), Row(Link<Department>(to: id), reference("sales")),
  Row(Link<Department>?.none, nil, clears: true),
  Row([Link(sales)], .list(.reference, [reference("sales")])), Row([Link<Department>](), nil, clears: true),
]

/// References as values of fields.
@Suite(.serialized) struct ReferenceTests {
  @Test(arguments: rows) private func `a model, a link and a list of them are references`(row: Row) throws {
    let record = try row.encoded()
    #expect(try record.wireFields()["value"] == row.wire)
    #expect(record.changedKeys().contains("value") == (row.wire != nil || row.clears))
  }

  @Test func `a declared action is that of the reference, and otherwise a link keeps the one it was read with`() throws
  {
    let record = CKRecord.fetched(
      "Employee",
      "ann",
      ["name": .string("Ann"), "department": reference("sales"), "boss": reference("bob", "VALIDATE")]
    )
    var ann = try CKRecordDecoder().decode(Employee.self, from: record)
    ann.department = sales
    let fields = try CKRecordEncoder().encode(ann).wireFields()
    #expect(fields["department"] == reference("sales", "DELETE_SELF"))
    #expect(fields["boss"] == reference("bob", "VALIDATE"))
  }

  @Test func `a link that is not loaded keeps its identity, also in JSON`() throws {
    let record = CKRecord.fetched("Employee", "ann", ["name": .string("Ann"), "boss": reference("bob")])
    let ann = try CKRecordDecoder().decode(Employee.self, from: record)
    let boss = try #require(ann.boss)
    #expect(boss.recordName == "bob" && boss.isSaved && !boss.isLoaded && boss.model == nil)
    #expect(boss == Link(Employee(id: "bob")))

    let coded = try JSONDecoder().decode(Employee.self, from: JSONEncoder().encode(ann))
    #expect(coded.boss?.recordID == boss.recordID)
    let loaded = Employee(id: "cat", boss: Link(ann))
    let again = try JSONDecoder().decode(Employee.self, from: JSONEncoder().encode(loaded))
    #expect(again.boss?.recordName == "ann" && again.boss?.isLoaded == false)
  }

  @Test func `a required model that is not loaded is an error that names model and field`() throws {
    let record = CKRecord.fetched("Desk", "d", ["owner": reference("ann")])
    let error = try #require(throws: CKModelError.self) { try CKRecordDecoder().decode(Desk.self, from: record) }
    #expect(error.model == "Desk" && error.field == "owner")
    #expect(path(of: error) == ["owner"])
  }

  @Test func `an optional model that is not loaded is nil, and a list has the loaded ones`() throws {
    let record = CKRecord.fetched(
      "Team",
      "t",
      ["lead": reference("ann"), "members": .list(.reference, [reference("ann"), reference("bob")])]
    )
    let team = try CKRecordDecoder().decode(Team.self, from: record)
    #expect(team.lead == nil && team.members.isEmpty)
  }

  @Test func `a plain property neither clears nor shortens the field of a record, and a link does`() throws {
    func fetched() -> CKRecord {
      let list = FieldValue.list(.reference, [reference("ann"), reference("bob")])
      return CKRecord.fetched("Team", "t", ["lead": reference("ann"), "members": list, "guests": list])
    }
    func members(_ team: Team) throws -> [FieldValue]? {
      let record = fetched()
      try CKRecordEncoder().encode(team, onto: record)
      #expect(try record.wireFields()["lead"] == reference("ann"))
      #expect(try record.wireFields()["guests"] == nil)
      guard case .list(_, let elements)? = try record.wireFields()["members"] else { return nil }
      return elements
    }
    #expect(try members(Team(id: "t")) == [reference("ann"), reference("bob")])
    #expect(
      try members(Team(id: "t", members: [Employee(id: "cat"), Employee(id: "bob")]))
        == [reference("ann"), reference("bob"), reference("cat")]
    )
  }

  @Test func `a target in another zone is refused with model and field`() throws {
    let other = CKRecord.ID(recordName: "bob", zoneID: CKRecordZone.ID(zoneName: "other"))
    let ann = Employee(id: "ann", boss: Link(to: other))
    let error = try #require(throws: CKModelError.self) { try CKRecordEncoder().encode(ann) }
    #expect(error.model == "Employee" && error.field == "boss")
    let zone = CKRecordZone.ID(zoneName: "other")
    let record = try CKRecordEncoder(zoneID: zone).encode(Employee(id: "ann", department: sales, boss: Link(to: other)))
    #expect((record["department"] as? CKRecord.Reference)?.recordID.zoneID == zone)
  }

  @Test func `a reference that was made without a zone is in the zone of its record`() throws {
    let zone = CKRecordZone.ID(zoneName: "notes")
    let bob = CKRecord.Reference(recordID: CKRecord.ID(recordName: "bob"), action: .deleteSelf)
    let record = try CKRecordEncoder(zoneID: zone).encode(Box(value: bob))
    let list = try CKRecordEncoder(zoneID: zone).encode(Box(value: [bob]))
    let linked = try CKRecordEncoder(zoneID: zone).encode(Employee(boss: Link(to: bob.recordID)))
    let place = CKRecord.ID(recordName: "bob", zoneID: zone)
    #expect(record["value"] == CKRecord.Reference(recordID: place, action: .deleteSelf))
    #expect(list["value"] == [CKRecord.Reference(recordID: place, action: .deleteSelf)])
    #expect(linked["boss"] == CKRecord.Reference(recordID: place, action: .none))
  }

  @Test func `a model makes a reference to its record`() throws {
    let reference = try sales.reference(action: .deleteSelf)
    #expect(reference.recordID == CKRecord.ID(recordName: "sales", zoneID: CKRecordZone.ID(zoneName: "cktop")))
    #expect(reference.action == .deleteSelf)
    #expect(try sales.reference(in: .default).recordID == id)
  }

  @Test func `records are sent after those that they refer to, and one reference of a cycle later`() throws {
    func link(_ name: String, _ boss: Link<Employee>? = nil) -> Link<Employee> {
      Link(Employee(id: name, boss: boss))
    }
    func order(_ models: [Employee], lacking: Set<String>) throws -> ([String], [String: Set<String>]) {
      let order = try ModelGraph(models, CKRecordEncoder()).order(lacking: { lacking.contains($0.recordName) })
      let deferred = order.deferred.map { ($0.key.recordName, $0.value) }
      return (order.ids.map(\.recordName), Dictionary(uniqueKeysWithValues: deferred))
    }
    let chain = [Employee(id: "a", boss: link("b", link("c", link("d"))))]
    #expect(try order(chain, lacking: ["b", "c", "d"]) == (["d", "c", "b", "a"], [:]))
    // What only a record refers to that the server has is not sent.
    #expect(try order(chain, lacking: ["b", "d"]) == (["b", "a"], [:]))
    #expect(try order([Employee(id: "a"), Employee(id: "b", boss: link("a"))], lacking: []) == (["a", "b"], [:]))
    let cycle = [Employee(id: "a", boss: link("b", link("c", link("a"))))]
    #expect(try order(cycle, lacking: ["b", "c"]) == (["c", "b", "a"], ["c": ["boss"]]))
    #expect(try order([Employee(id: "a", boss: link("a"))], lacking: []) == (["a"], ["a": ["boss"]]))
  }

  @Test func `a query compares with a link`() throws {
    let record = CKRecord.fetched("Employee", "ann", ["name": .string("Ann"), "boss": reference("bob")])
    let boss = try #require(try CKRecordDecoder().decode(Employee.self, from: record).boss)
    let query = try Query<Employee>().filter(.boss, equals: boss).query().wire(zoneID: .default)
    #expect(query.filterBy.map(\.value) == [.reference(WireReference(recordName: "bob", action: nil))])
  }
}

struct Department: Codable, Hashable, Identifiable, CKRecordModel {
  var id: String
  var title = ""
}

// Sendable is stated: whether Swift infers it for a type that refers to itself depends on the order of the files.
struct Employee: Codable, Hashable, Identifiable, CKFieldModel, Sendable {
  var id = "ann"
  var name = "Ann"
  var department: Department?
  var boss: Link<Employee>?
  var reports: [Link<Employee>] = []

  enum Fields: String, CKRecordFields { case name, department, boss, reports }
  static let referenceActions: CKReferenceActions = ["department": .deleteSelf]
}

/// A model that reads and writes its fields as the code of `@CKModel` does.
struct Desk: Codable, Identifiable, CKRecordModel {
  var id = "d"
  var owner: Employee
  var guest: Employee?
  var visitors: [Employee] = []

  private enum CodingKeys: CodingKey { case id, owner, guest, visitors }

  init(id: String, owner: Employee) { (self.id, self.owner) = (id, owner) }

  init(from decoder: any Decoder) throws {
    let fields = try CKFieldReader(decoder, keyedBy: CodingKeys.self)
    id = try fields.value(.id)
    owner = try fields.value(.owner)
    guest = try fields.value(.guest)
    visitors = try fields.value(.visitors, default: [])
  }

  func encode(to encoder: any Encoder) throws {
    var fields = CKFieldWriter(encoder, keyedBy: CodingKeys.self)
    try fields.write(id, for: .id)
    try fields.write(owner, for: .owner)
    try fields.write(guest, for: .guest)
    try fields.write(visitors, for: .visitors)
  }
}

struct Team: Codable, Identifiable, CKRecordModel {
  var id = "t"
  var lead: Employee?
  var members: [Employee] = []
  var guests: [Link<Employee>] = []
}
