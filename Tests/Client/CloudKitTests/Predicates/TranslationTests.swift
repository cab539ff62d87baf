import Foundation
import JSONText
import Testing

@testable import CloudKit

@Suite(.serialized) struct TranslationTests {
  @Test func `each operator becomes its filter`() throws {
    let table: [(NSPredicate, String, FieldValue)] = [
      (NSPredicate(format: "age == %d", 3), "EQUALS", .int64(3)),
      (NSPredicate(format: "age = 3"), "EQUALS", .int64(3)),
      (NSPredicate(format: "age != %@", NSNumber(value: 3)), "NOT_EQUALS", .int64(3)),
      (NSPredicate(format: "age <> -3"), "NOT_EQUALS", .int64(-3)),
      (NSPredicate(format: "age < %f", 3.0), "LESS_THAN", .double(3)),
      (NSPredicate(format: "age <= 3.5"), "LESS_THAN_OR_EQUALS", .double(3.5)),
      (NSPredicate(format: "age > %ld", 3), "GREATER_THAN", .int64(3)),
      (NSPredicate(format: "age >= 3"), "GREATER_THAN_OR_EQUALS", .int64(3)),
      (NSPredicate(format: "3 < age"), "GREATER_THAN", .int64(3)),
      (NSPredicate(format: "age =< 3"), "LESS_THAN_OR_EQUALS", .int64(3)),
      (NSPredicate(format: "age => 3"), "GREATER_THAN_OR_EQUALS", .int64(3)),
      (NSPredicate(format: "age == TRUE"), "EQUALS", .int64(1)),
      (NSPredicate(format: "age == %@", true), "EQUALS", .int64(1)),
      (NSPredicate(format: "age == %@", Date(timeIntervalSince1970: 1.5)), "EQUALS", .timestamp(1500)),
      (NSPredicate(format: "age == %@", Data([1])), "EQUALS", .bytes(Data([1]))),
      (NSPredicate(format: "age IN %@", [1, 2]), "IN", .list(.int64, [.int64(1), .int64(2)])),
      (NSPredicate(format: "age IN %@", [1, 2.5]), "IN", .list(.double, [.double(1), .double(2.5)])),
      (NSPredicate(format: "age in {1, 2}"), "IN", .list(.int64, [.int64(1), .int64(2)])),
      (NSPredicate(format: "age IN %@", Set(["a"])), "IN", .list(.string, [.string("a")])),
      (NSPredicate(format: "ANY {1, 2} = age"), "IN", .list(.int64, [.int64(1), .int64(2)])),
      (NSPredicate(format: "age BEGINSWITH %@", "a"), "BEGINS_WITH", .string("a")),
      (NSPredicate(format: "age BEGINSWITH[n] %@", "a"), "BEGINS_WITH", .string("a")),
      (NSPredicate(format: "ANY age BEGINSWITH %@", "a"), "LIST_MEMBER_BEGINS_WITH", .string("a")),
      (NSPredicate(format: "age CONTAINS %@", "a"), "LIST_CONTAINS", .string("a")),
      (NSPredicate(format: "%@ IN age", "a"), "LIST_CONTAINS", .string("a")),
      (NSPredicate(format: "ANY age == %@", "a"), "LIST_CONTAINS", .string("a")),
      (NSPredicate(format: "SOME age == %@", "a"), "LIST_CONTAINS", .string("a")),
      (NSPredicate(format: "ANY %@ = age", "a"), "LIST_CONTAINS", .string("a")),
      (NSPredicate(format: "NONE %@ = age", "a"), "NOT_LIST_CONTAINS", .string("a")),
      (NSPredicate(format: "ANY age IN %@", ["a"]), "LIST_CONTAINS_ANY", .list(.string, [.string("a")])),
      (NSPredicate(format: "ANY %@ IN age", ["a"]), "LIST_CONTAINS_ANY", .list(.string, [.string("a")])),
      (NSPredicate(format: "age CONTAINS %@", ["a"]), "LIST_CONTAINS_ALL", .list(.string, [.string("a")])),
      (NSPredicate(format: "age TOKENMATCHES[cdl] %@", "a b"), "CONTAINS_ALL_TOKENS", .string("a b")),
      (NSPredicate(format: "%K == %@", "age", "x"), "EQUALS", .string("x")),
      (NSPredicate(format: "%K == %@", argumentArray: ["age", "x"]), "EQUALS", .string("x")),
      (NSPredicate(format: "(age == 1)"), "EQUALS", .int64(1)),
      (NSPredicate(format: "((age)) == (1)"), "EQUALS", .int64(1)),
      (NSPredicate(format: "SELF.age == 1"), "EQUALS", .int64(1)),
    ]
    for (predicate, comparator, value) in table {
      #expect(try filters(predicate) == [WireFilter(.field("age"), comparator, value)], "\(predicate)")
    }
  }

  @Test func `NOT around one comparison becomes the comparator that denies it`() throws {
    let table: [(String, String)] = [
      ("NOT age == 1", "NOT_EQUALS"), ("!(age == 1)", "NOT_EQUALS"), ("NOT (age != 1)", "EQUALS"),
      ("NOT NOT age == 1", "EQUALS"), ("NOT age < 1", "GREATER_THAN_OR_EQUALS"),
      ("NOT age <= 1", "GREATER_THAN"), ("NOT age > 1", "LESS_THAN_OR_EQUALS"), ("NOT age >= 1", "LESS_THAN"),
      ("NOT 1 < age", "LESS_THAN_OR_EQUALS"), ("NOT age IN {1}", "NOT_IN"),
      ("NOT (age BEGINSWITH 'a')", "NOT_BEGINS_WITH"), ("NOT age CONTAINS 1", "NOT_LIST_CONTAINS"),
      ("NOT age CONTAINS {1}", "NOT_LIST_CONTAINS_ALL"), ("NOT ANY age == 1", "NOT_LIST_CONTAINS"),
      ("NONE age == 1", "NOT_LIST_CONTAINS"), ("NOT NONE age == 1", "LIST_CONTAINS"),
      ("NOT ANY age IN {1}", "NOT_LIST_CONTAINS_ANY"), ("NONE age IN {1}", "NOT_LIST_CONTAINS_ANY"),
      ("NONE age BEGINSWITH 'a'", "NOT_LIST_MEMBER_BEGINS_WITH"), ("NOT 1 IN age", "NOT_LIST_CONTAINS"),
    ]
    for (format, comparator) in table {
      let filters = try filters(NSPredicate(format: format))
      #expect(filters.map(\.comparator) == [comparator], "\(format)")
      let inner = NSPredicate(format: format)
      let outer = NSCompoundPredicate(
        notPredicateWithSubpredicate: NSCompoundPredicate(notPredicateWithSubpredicate: inner)
      )
      #expect(try CloudKitTests.filters(outer) == filters)
    }
  }

  @Test func `a filter of a subscription becomes a predicate with the same meaning`() throws {
    let (text, texts) = (FieldValue.string("a"), FieldValue.list(.string, [.string("a"), .string("b")]))
    let zone = CKRecordZone.ID(zoneName: "notes")
    var filters = [
      "EQUALS", "NOT_EQUALS", "LESS_THAN", "LESS_THAN_OR_EQUALS", "GREATER_THAN", "GREATER_THAN_OR_EQUALS",
      "BEGINS_WITH", "NOT_BEGINS_WITH", "LIST_CONTAINS", "NOT_LIST_CONTAINS", "LIST_MEMBER_BEGINS_WITH",
      "NOT_LIST_MEMBER_BEGINS_WITH", "CONTAINS_ALL_TOKENS",
    ].map { WireFilter(.field("f"), $0, text) }
    filters += [
      "IN", "NOT_IN", "LIST_CONTAINS_ALL", "NOT_LIST_CONTAINS_ALL", "LIST_CONTAINS_ANY", "NOT_LIST_CONTAINS_ANY",
    ].map { WireFilter(.field("f"), $0, texts) }
    let reference = FieldValue.reference(WireReference(recordName: "x", action: nil))
    filters += [
      WireFilter(.system("recordName"), "EQUALS", reference), WireFilter(.wholeRecord, "CONTAINS_ALL_TOKENS", text),
      WireFilter(.field("f"), "NEAR", .location(WireLocation(latitude: 1, longitude: 2)), distance: 3),
      WireFilter(.field("f"), "IN", .list(.reference, [reference])),
    ]

    for filter in filters {
      let node = try #require(PredicateNode(filter, in: zone.wire), "\(filter)")
      #expect(try node.filters(zoneID: zone) == [filter])
    }
    for unknown in [
      WireFilter(.field("f"), "SOUNDS_LIKE", text), WireFilter(.wholeRecord, "EQUALS", text),
      WireFilter(.field("f"), "NEAR", text),
    ] {
      #expect(PredicateNode(unknown, in: zone.wire) == nil)
    }
  }

  @Test func `equalities of one field joined by OR become IN`() throws {
    let expected = [WireFilter(.field("a"), "IN", .list(.int64, [.int64(1), .int64(2), .int64(3)]))]
    let (one, two) = (NSPredicate(format: "a == 1"), NSPredicate(format: "a == 2 OR a == 3"))

    #expect(try filters(NSPredicate(format: "a == 1 OR a == 2 OR a == 3")) == expected)
    #expect(try filters(NSPredicate(format: "a == 1 || (a IN {2} OR a == 3)")) == expected)
    #expect(try filters(NSCompoundPredicate(orPredicateWithSubpredicates: [one, two])) == expected)
    #expect(try filters(NSPredicate(format: "NOT (a == 1 OR a == 2)")).map(\.comparator) == ["NOT_IN"])
    #expect(try filters(NSPredicate(format: "ANY a == 1 OR ANY a == 2")).map(\.comparator) == ["LIST_CONTAINS_ANY"])
    for other in [
      "a == 1 OR b == 2", "a == 1 OR a > 2", "a == 1 OR ANY a == 2", "a == 1 OR a ==[c] 'x'", "a == 1 OR a == 'x'",
    ] {
      #expect(refusal(NSPredicate(format: other))?.contains("OR") == true, "\(other)")
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
    #expect(try filters(NSCompoundPredicate(format: "a == 1 AND b < 2")) == expected)
    #expect(try filters(#require(a.copy() as? NSPredicate)) == [expected[0]])
    #expect(
      try filters(NSPredicate(format: "age BETWEEN %@", [1, 5])) == [
        WireFilter(.field("age"), "GREATER_THAN_OR_EQUALS", .int64(1)),
        WireFilter(.field("age"), "LESS_THAN_OR_EQUALS", .int64(5)),
      ]
    )
  }

  @Test func `a predicate that is true has no filters`() throws {
    #expect(try filters(NSPredicate(value: true)).isEmpty)
    #expect(try filters(NSPredicate(format: "TRUEPREDICATE")).isEmpty)
    #expect(try filters(NSPredicate(format: "NOT FALSEPREDICATE")).isEmpty)
  }

  @Test func `a predicate that is false has filters that contradict each other`() throws {
    let expected = ["a", "b"].map { name in
      WireFilter(.system("recordName"), "EQUALS", .reference(WireReference(recordName: name, action: nil)))
    }
    for predicate in [
      NSPredicate(format: "FALSEPREDICATE"), NSPredicate(value: false),
      NSCompoundPredicate(notPredicateWithSubpredicate: NSPredicate(value: true)),
    ] {
      #expect(try filters(predicate) == expected)
    }
  }

  @Test(arguments: ["due < now()", "now() > due", "NOT due >= now()"])
  func `now is the time when the filters are made`(format: String) throws {
    let predicate = NSPredicate(format: format)
    let start = try #require(Milliseconds.since1970(reference: Date().timeIntervalSinceReferenceDate))
    let filter = try #require(try filters(predicate).first)
    let end = try #require(Milliseconds.since1970(reference: Date().timeIntervalSinceReferenceDate))

    #expect(filter.name == .field("due") && filter.comparator == "LESS_THAN")
    guard case .timestamp(let time) = filter.value else {
      Issue.record("expected a time")
      return
    }
    #expect(time >= start && time <= end)
  }

  @Test func `the system's fields go by their own names, and records are compared as references`() throws {
    let date = Date(timeIntervalSince1970: 1)
    let id = CKRecord.ID(recordName: "x")
    let reference = FieldValue.reference(WireReference(recordName: "x", action: nil))

    #expect(
      try filters(NSPredicate(format: "creationDate > %@ AND modificationDate < %@", date, date as NSDate)) == [
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
    for owner: any CVarArg in [
      id, CKRecord(recordType: "User", recordID: id), CKRecord.Reference(recordID: id, action: .none),
    ] {
      #expect(
        try filters(NSPredicate(format: "owner == %@", owner)) == [WireFilter(.field("owner"), "EQUALS", reference)]
      )
    }
    let elsewhere = try filters(NSPredicate(format: "owner == %@", id), zoneID: CKRecordZone.ID(zoneName: "notes"))
    #expect(
      elsewhere.map(\.value) == [.reference(WireReference(recordName: "x", zoneID: .defaultZone, action: nil))]
    )
  }

  @Test func `a search for words speaks of the record as a whole`() throws {
    let expected = [WireFilter(.wholeRecord, "CONTAINS_ALL_TOKENS", .string("red fox"))]

    for format in [
      "self CONTAINS %@", "SELF contains[cd] %@", "allTokens TOKENMATCHES[cdl] %@", "self TOKENMATCHES %@",
    ] {
      #expect(try filters(NSPredicate(format: format, "red fox")) == expected)
    }
    let json = try expected.json()
    #expect(!String(decoding: json, as: UTF8.self).contains("ieldName"))
  }

  @Test func `a distance becomes NEAR`() throws {
    let place = CLLocation(latitude: 1, longitude: 2)
    for predicate in [
      NSPredicate(format: "distanceToLocation:fromLocation:(place, %@) < %f", place, 500.0),
      NSPredicate(format: "distanceToLocation:fromLocation:(%K, %@) <= 500", "place", place),
      NSPredicate(format: "distanceToLocation:fromLocation:(%@, place) < 500", place),
    ] {
      let filter = try #require(try filters(predicate).first)
      #expect(filter.comparator == "NEAR" && filter.name == .field("place") && filter.distance == 500)
      guard case .location(let location) = filter.value else {
        Issue.record("expected a place")
        return
      }
      #expect(location.latitude == 1 && location.longitude == 2)
    }
  }

  @Test func `what the server cannot do is refused by name, and values stay out of the message`() {
    let place = CLLocation(latitude: 1, longitude: 2)
    let near = "distanceToLocation:fromLocation:(p, %@)"
    let table: [(NSPredicate, String)] = [
      (NSPredicate(format: "a == 'secret' OR b == 2"), "a == … OR b == …: OR"),
      (NSPredicate(format: "NOT (a == 'secret' AND b == 2)"), "NOT (a == … AND b == …): NOT"),
      (NSPredicate(format: "x == 1 AND NOT (a == 1 OR b == 2)"), "NOT (a == … OR b == …): NOT"),
      (NSPredicate(format: "NOT a BETWEEN {1, 2}"), "NOT a BETWEEN …"),
      (NSPredicate(format: "NOT self CONTAINS 'secret'"), "NOT SELF CONTAINS …"),
      (NSPredicate(format: "NOT " + near + " < 1", place), "NOT distanceToLocation"),
      (NSPredicate(format: near + " > 1", place), "nearer"), (NSPredicate(format: near + " < -1", place), "negative"),
      (NSPredicate(format: near + " < 'secret'", place), "metres"),
      (NSPredicate(format: "a LIKE 'secret*'"), "a LIKE …"), (NSPredicate(format: "a MATCHES 'x'"), "MATCHES"),
      (NSPredicate(format: "a ENDSWITH 'x'"), "ENDSWITH"),
      (NSPredicate(format: "a BEGINSWITH[c] 'x'"), "a BEGINSWITH[c] …"),
      (NSPredicate(format: "a ==[cd] 'x'"), "a ==[cd] …"), (NSPredicate(format: "ALL a == 1"), "ALL"),
      (NSPredicate(format: "ANY a != 1"), "ANY a != …"), (NSPredicate(format: "self == 'x'"), "SELF"),
      (NSPredicate(format: "a == nil"), "nil"), (NSPredicate(format: "a == %@", NSNull()), "nil"),
      (NSPredicate(format: "a == b"), "two fields"), (NSPredicate(format: "1 == 1"), "two values"),
      (NSPredicate(format: "a IN %@", [String]()), "empty"), (NSPredicate(format: "a IN 'x'"), "not a list"),
      (NSPredicate(format: "a == {1, 2}"), "IN"), (NSPredicate(format: "a BETWEEN {1}"), "two bounds"),
      (NSPredicate(format: "a BEGINSWITH 1"), "a string"), (NSPredicate(format: "a == %@", place), "distance"),
      (NSPredicate(format: "a < %@", Data()), "order"), (NSPredicate(format: "creationDate == 1"), "TIMESTAMP"),
      (NSPredicate(format: "recordID CONTAINS 'x'"), "not a list"),
      (NSPredicate(format: "a TOKENMATCHES 1"), "a string"),
      (NSPredicate(format: "'x' BEGINSWITH a"), "field must come first"),
      (NSPredicate(block: { _, _ in true }), "block"),
      (NSCompoundPredicate(orPredicateWithSubpredicates: [.init(value: true), .init(value: true)]), "OR"),
    ]
    for (predicate, part) in table {
      let message = refusal(predicate)
      #expect(message?.contains(part) == true, "\(message ?? "accepted") should name \(part)")
      #expect(message?.contains("secret") == false)
    }
  }

  @Test func `conditions that lie too deep are refused before they exhaust the stack`() {
    var compound: NSPredicate = NSPredicate(format: "a == 1")
    for _ in 0..<100 { compound = NSCompoundPredicate(notPredicateWithSubpredicate: compound) }
    #expect(refusal(compound)?.contains("deep") == true)
    #expect(!compound.evaluate(with: CKRecord(recordType: "Note")))
    for format in [
      String(repeating: "(", count: 10_000), String(repeating: "NOT ", count: 10_000) + "a == 1",
      "a IN " + String(repeating: "{", count: 10_000), "a == " + String(repeating: "(", count: 10_000),
    ] {
      #expect(refusal(NSPredicate(format: format))?.contains("deep") == true)
    }
    // Each of these once was simplified twice, and what lies in it four times.
    let denials = try? filters(NSPredicate(format: String(repeating: "NOT ", count: 61) + "a IN {1}"))
    #expect(denials?.map(\.comparator) == ["NOT_IN"])
    let long = (0..<2000).map { "f\($0) == \($0)" }.joined(separator: " AND ")
    #expect(try! filters(NSPredicate(format: long)).count == 2000)
  }
}
