import CloudKit
import CloudKitModels
import Testing

/// Cycles of models and of their types.
struct CycleTests {
  private let bob = Link(Employee(id: "bob", department: Department(id: "it")))
  /// The end of a cycle, which is not loaded.
  private let ann = Link<Employee>(to: CKRecord.ID(recordName: "ann", zoneID: CKRecordZone.ID(zoneName: "cktop")))

  @Test func `models that lead back to themselves are a cycle, and a chain and a diamond are none`() throws {
    let ring = Employee(id: "ann", boss: Link(Employee(id: "bob", boss: ann)))
    #expect(try ring.hasCycle())
    // The cycle is entered from outside, and is one model.
    #expect(try Employee(id: "cat", boss: Link(ring)).hasCycle())
    #expect(try Employee(id: "ann", boss: ann).hasCycle())
    let chain = try Employee(id: "cat", boss: bob).hasCycle()
    let diamond = try Employee(id: "cat", department: Department(id: "it"), boss: bob, reports: [bob, bob]).hasCycle()
    #expect(!chain && !diamond)
  }

  @Test func `objects that refer to each other are a cycle`() throws {
    let (first, second) = (Person("first"), Person("second"))
    (first.friend, second.friend) = (second, first)
    defer { second.friend = nil }
    #expect(try first.hasCycle())
  }

  @Test func `a type that leads back to itself has a cycle`() {
    #expect(Employee.hasCycle() && Person.hasCycle() && Team.hasCycle())
    #expect(!Department.hasCycle() && !Note.hasCycle())
  }
}

private final class Person: Codable, Identifiable, CKRecordModel {
  var id: String
  var friend: Person?

  init(_ id: String) { self.id = id }
}
