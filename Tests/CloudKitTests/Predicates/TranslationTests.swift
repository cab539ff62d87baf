import Foundation
import Testing

@testable import CloudKit

@Suite struct PredicateTests {
  private func filters(_ predicate: NSPredicate) throws -> [WireFilter] {
    try CKQuery(recordType: "Note", predicate: predicate).wire(zoneID: .default).filterBy
  }

  private func refusal(_ predicate: NSPredicate) -> String? {
    do {
      _ = try filters(predicate)
      return nil
    } catch {
      return (error as? CKError)?.code == .invalidArguments ? (error as? CKError)?.localizedDescription : "\(error)"
    }
  }

  @Test func `each operator becomes its filter`() throws {
    let table: [(NSPredicate, String, FieldValue)] = [
      (NSPredicate(format: "age == %d", 3), "EQUALS", .int64(3)),
      (NSPredicate(format: "age = 3"), "EQUALS", .int64(3)),
      (NSPredicate(format: "age != %@", 3), "NOT_EQUALS", .int64(3)),
      (NSPredicate(format: "age <> -3"), "NOT_EQUALS", .int64(-3)),
      (NSPredicate(format: "age < %f", 3.0), "LESS_THAN", .double(3)),
      (NSPredicate(format: "age <= 3.5"), "LESS_THAN_OR_EQUALS", .double(3.5)),
      (NSPredicate(format: "age > %ld", 3), "GREATER_THAN", .int64(3)),
      (NSPredicate(format: "age >= 3"), "GREATER_THAN_OR_EQUALS", .int64(3)),
      (NSPredicate(format: "3 < age"), "GREATER_THAN", .int64(3)),
      (NSPredicate(format: "age == 'x'"), "EQUALS", .string("x")),
      (NSPredicate(format: "age == \"it's \\\" here\""), "EQUALS", .string("it's \" here")),
      (NSPredicate(format: "age == TRUE"), "EQUALS", .int64(1)),
      (NSPredicate(format: "age == %@", true), "EQUALS", .int64(1)),
      (NSPredicate(format: "age == %@", Date(timeIntervalSince1970: 1.5)), "EQUALS", .timestamp(1500)),
      (NSPredicate(format: "age IN %@", [1, 2]), "IN", .list(.int64, [.int64(1), .int64(2)])),
      (NSPredicate(format: "age in {1, 2}"), "IN", .list(.int64, [.int64(1), .int64(2)])),
      (NSPredicate(format: "age IN %@", Set(["a"])), "IN", .list(.string, [.string("a")])),
      (NSPredicate(format: "age BEGINSWITH %@", "a"), "BEGINS_WITH", .string("a")),
      (NSPredicate(format: "ANY age BEGINSWITH %@", "a"), "LIST_MEMBER_BEGINS_WITH", .string("a")),
      (NSPredicate(format: "age CONTAINS %@", "a"), "LIST_CONTAINS", .string("a")),
      (NSPredicate(format: "%@ IN age", "a"), "LIST_CONTAINS", .string("a")),
      (NSPredicate(format: "ANY age == %@", "a"), "LIST_CONTAINS", .string("a")),
      (NSPredicate(format: "ANY age IN %@", ["a"]), "LIST_CONTAINS_ANY", .list(.string, [.string("a")])),
      (NSPredicate(format: "age CONTAINS %@", ["a"]), "LIST_CONTAINS_ALL", .list(.string, [.string("a")])),
      (NSPredicate(format: "%K == %@", "age", "x"), "EQUALS", .string("x")),
      (NSPredicate(format: "%K == %@", argumentArray: ["age", "x"]), "EQUALS", .string("x")),
      (NSPredicate(format: "(age == 1)"), "EQUALS", .int64(1)),
    ]
    for (predicate, comparator, value) in table {
      #expect(try filters(predicate) == [WireFilter(.field("age"), comparator, value)])
    }
  }

  @Test func `AND in text and in compound predicates becomes several filters`() throws {
    let expected = [WireFilter(.field("a"), "EQUALS", .int64(1)), WireFilter(.field("b"), "LESS_THAN", .int64(2))]
    let (a, b) = (NSPredicate(format: "a == 1"), NSPredicate(format: "b < 2"))

    #expect(try filters(NSPredicate(format: "a == 1 AND b < 2")) == expected)
    #expect(try filters(NSPredicate(format: "(a == 1) && (b < 2)")) == expected)
    #expect(try filters(NSCompoundPredicate(andPredicateWithSubpredicates: [a, b])) == expected)
    #expect(try filters(NSCompoundPredicate(type: .and, subpredicates: [NSPredicate(value: true), a, b])) == expected)
    #expect(try filters(NSCompoundPredicate(orPredicateWithSubpredicates: [a])) == [expected[0]])
    #expect(try filters(#require(a.copy() as? NSPredicate)) == [expected[0]])
    #expect(
      try filters(NSPredicate(format: "age BETWEEN {1, 5}")) == [
        WireFilter(.field("age"), "GREATER_THAN_OR_EQUALS", .int64(1)),
        WireFilter(.field("age"), "LESS_THAN_OR_EQUALS", .int64(5)),
      ]
    )
  }

  @Test func `a predicate that is true has no filters`() throws {
    #expect(try filters(NSPredicate(value: true)).isEmpty)
    #expect(try filters(NSPredicate(format: "TRUEPREDICATE")).isEmpty)
  }

  @Test func `the system's fields go by their own names, and records are compared as references`() throws {
    let date = Date(timeIntervalSince1970: 1)
    let id = CKRecord.ID(recordName: "x")
    let reference = FieldValue.reference(WireReference(recordName: "x", action: nil))

    #expect(
      try filters(NSPredicate(format: "creationDate > %@ AND modificationDate < %@", date, date)) == [
        WireFilter(.system("createdTimestamp"), "GREATER_THAN", .timestamp(1000)),
        WireFilter(.system("modifiedTimestamp"), "LESS_THAN", .timestamp(1000)),
      ]
    )
    for predicate in [
      NSPredicate(format: "recordID == %@", id), NSPredicate(format: "recordID.recordName == 'x'"),
      NSPredicate(format: "recordName == %@", "x"),
      NSPredicate(format: "%K == %@", "___recordID", CKRecord.Reference(recordID: id, action: .deleteSelf)),
    ] {
      #expect(try filters(predicate) == [WireFilter(.system("recordName"), "EQUALS", reference)])
    }
    #expect(
      try filters(NSPredicate(format: "recordID IN %@", [id]))
        == [WireFilter(.system("recordName"), "IN", .list(.reference, [reference]))]
    )
    #expect(
      try filters(NSPredicate(format: "recordName BEGINSWITH 'n-'"))
        == [WireFilter(.system("recordName"), "BEGINS_WITH", .string("n-"))]
    )
    #expect(try filters(NSPredicate(format: "owner == %@", id)) == [WireFilter(.field("owner"), "EQUALS", reference)])
  }

  @Test func `a distance becomes NEAR`() throws {
    let place = CLLocation(wire: WireLocation(latitude: 1, longitude: 2))
    let predicate = NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) < %f", place, 500.0)

    let filter = try #require(try filters(predicate).first)
    #expect(filter.comparator == "NEAR")
    #expect(filter.distance == 500)
    guard case .location(let location) = filter.value else {
      Issue.record("expected a place")
      return
    }
    #expect(location.latitude == 1 && location.longitude == 2)
  }

  @Test func `what the server cannot do is refused by name`() {
    let table: [(NSPredicate, String)] = [
      (NSPredicate(format: "a == 1 OR b == 2"), "OR"), (NSPredicate(format: "NOT a == 1"), "NOT"),
      (NSPredicate(format: "!(a == 1)"), "NOT"), (NSPredicate(format: "a LIKE 'x*'"), "LIKE"),
      (NSPredicate(format: "a MATCHES 'x'"), "MATCHES"), (NSPredicate(format: "a ENDSWITH 'x'"), "ENDSWITH"),
      (NSPredicate(format: "a BEGINSWITH[c] 'x'"), "BEGINSWITH[c]"), (NSPredicate(format: "ALL a == 1"), "ALL"),
      (NSPredicate(format: "NONE a == 1"), "NONE"), (NSPredicate(format: "self CONTAINS 'x'"), "SELF"),
      (NSPredicate(format: "a == nil"), "nil"), (NSPredicate(format: "a == %@", NSNull()), "nil"),
      (NSPredicate(format: "a == b"), "two fields"), (NSPredicate(format: "1 == 1"), "two values"),
      (NSPredicate(format: "a IN %@", [String]()), "empty"), (NSPredicate(format: "a IN 'x'"), "no list"),
      (NSPredicate(format: "a == {1, 2}"), "IN"), (NSPredicate(format: "a.b == 1"), "'a.b'"),
      (NSPredicate(format: "a =="), "ends"), (NSPredicate(format: "a == 'x"), "not closed"),
      (NSPredicate(format: "(a == 1"), ")"), (NSPredicate(format: "a == 1 b"), "b was not expected"),
      (NSPredicate(format: "a == %@"), "fewer"), (NSPredicate(format: "a == %@", 1, 2), "more"),
      (NSPredicate(format: "a == %x", 1), "%x"), (NSPredicate(format: "a == %@", NSObject()), "NSObject"),
      (NSPredicate(value: false), "FALSEPREDICATE"), (NSPredicate(block: { _, _ in true }), "block"),
      (NSCompoundPredicate(notPredicateWithSubpredicate: NSPredicate(value: true)), "NOT"),
      (NSCompoundPredicate(orPredicateWithSubpredicates: [.init(value: true), .init(value: true)]), "OR"),
    ]
    for (predicate, part) in table {
      let message = refusal(predicate)
      #expect(message?.contains(part) == true, "\(message ?? "accepted") should name \(part)")
    }
  }

  @Test(arguments: ["a == 1 OR b", "a'", "a b", "", "1a", "a) OR (b", "ä", "a\nb", "TRUEPREDICATE OR a"])
  func `a field name never breaks out of its place`(name: String) {
    #expect(refusal(NSPredicate(format: "%K == %@", name, "x"))?.contains("no field name") == true)
  }

  @Test(arguments: ["in", "and", "NOT", "TRUEPREDICATE", "SELF", "nil"])
  func `a field may be called like a keyword`(name: String) throws {
    #expect(
      try filters(NSPredicate(format: "%K == %@", name, "OR x"))
        == [WireFilter(.field(name), "EQUALS", .string("OR x"))]
    )
  }

  @Test func `sort descriptors by key are read, others refused`() throws {
    let query = CKQuery(recordType: "Note", predicate: NSPredicate(value: true))
    query.sortDescriptors = [
      NSSortDescriptor(key: "title", ascending: true), NSSortDescriptor(key: "creationDate", ascending: false),
    ]

    #expect(
      try query.wire(zoneID: .default).sortBy == [
        WireSort(.field("title"), ascending: true), WireSort(.system("createdTimestamp"), ascending: false),
      ]
    )
    #expect(query.sortDescriptors?.first?.key == "title")
    for descriptor in [
      NSSortDescriptor(keyPath: \String.count, ascending: true), NSSortDescriptor(key: "a b", ascending: true),
    ] {
      query.sortDescriptors = [descriptor]
      #expect(throws: CKError.self) { try query.wire(zoneID: .default) }
    }
  }

  @Test func `records sort by key on this machine too`() {
    let records = [3, 1, 2].map { number in
      let record = CKRecord(recordType: "Note")
      record["n"] = number
      return record
    }

    let sorted = NSArray(array: records).sortedArray(using: [NSSortDescriptor(key: "n", ascending: false)])

    #expect(sorted.compactMap { ($0 as? CKRecord)?["n"] as? Int } == [3, 2, 1])
  }
}
