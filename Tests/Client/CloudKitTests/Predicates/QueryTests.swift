import Foundation
import JSONText
import Testing

@testable import CloudKit

@Suite(.serialized) struct QueryTests {
  private let place = CLLocation(wire: WireLocation(latitude: 1, longitude: 2))

  private func query() -> CKQuery {
    let query = CKQuery(
      recordType: "Note",
      predicate: NSPredicate(
        format: "title == %@ AND at > %@ AND owner == %@ AND d IN %@ AND data != %@",
        "private",
        Date(timeIntervalSince1970: 1.001),
        CKRecord.ID(recordName: "ana"),
        [3.0, 4.0],
        Data([1])
      )
    )
    query.sortDescriptors = [
      NSSortDescriptor(key: "title", ascending: false), CKLocationSortDescriptor(key: "place", relativeLocation: place),
    ]
    return query
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
    #expect((query.sortDescriptors?.first?.reversedSortDescriptor as? NSSortDescriptor)?.key == "title")
    for descriptor in [
      NSSortDescriptor(keyPath: \String.count, ascending: true), NSSortDescriptor(key: nil, ascending: true),
    ] {
      query.sortDescriptors = [descriptor]
      #expect(throws: CKError.self) { try query.wire(zoneID: .default) }
    }
  }

  @Test func `a sort by distance names its place`() throws {
    let sort = try #require(try query().wire(zoneID: .default).sortBy.last)
    let json = try JSON(json: sort.json())

    #expect(json["fieldName"] == .string("place"))
    #expect(
      json["relativeLocation"]?["value"]?["latitude"] == .int(1)
        || json["relativeLocation"]?["value"]?["latitude"] == .double(1)
    )
    #expect(json["relativeLocation"]?["type"] == .string("LOCATION"))
  }

  @Test func `a cursor comes back from an archive with its query and its place`() throws {
    let zone = CKRecordZone.ID(zoneName: "notes")
    for query in [try query().wire(zoneID: zone), WireQuery(recordType: "Note")] {
      for zoneID in [zone, nil] {
        let cursor = CKQueryOperation.Cursor(query: query, zoneID: zoneID, marker: "m")
        let data = try NSKeyedArchiver.archivedData(withRootObject: cursor, requiringSecureCoding: true)

        let copy = try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQueryOperation.Cursor.self, from: data)

        #expect(copy?.query == query)
        #expect(copy?.zoneID == zoneID)
        #expect(copy?.marker == "m")
      }
    }
  }

  @Test func `records sort by key and by distance on this machine too`() {
    let records = [3, 1, 2].map { number in
      let record = CKRecord(recordType: "Note")
      record["n"] = number
      record["place"] = CLLocation(latitude: Double(number), longitude: 2)
      return record
    }
    func numbers(_ descriptor: NSSortDescriptor) -> [Int] {
      NSArray(array: records).sortedArray(using: [descriptor]).compactMap { ($0 as? CKRecord)?["n"] as? Int }
    }

    #expect(numbers(NSSortDescriptor(key: "n", ascending: false)) == [3, 2, 1])
    #expect(numbers(CKLocationSortDescriptor(key: "place", relativeLocation: place)) == [1, 2, 3])
  }

  @Test func `a query survives its archive`() throws {
    let query = query()
    let data = try NSKeyedArchiver.archivedData(withRootObject: query, requiringSecureCoding: true)
    let read = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQuery.self, from: data))

    #expect(read == query)
    #expect(try read.wire(zoneID: .default) == query.wire(zoneID: .default))
    #expect((read.sortDescriptors?.last as? CKLocationSortDescriptor)?.relativeLocation.coordinate == place.coordinate)
    let sort = try NSKeyedArchiver.archivedData(
      withRootObject: CKLocationSortDescriptor(key: "place", relativeLocation: place),
      requiringSecureCoding: true
    )
    #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKLocationSortDescriptor.self, from: sort)?.key == "place")
  }

  @Test func `compound predicates are archived, blocks are not`() throws {
    func read(_ predicate: NSPredicate) throws -> CKQuery? {
      let query = CKQuery(recordType: "Note", predicate: predicate)
      let data = try NSKeyedArchiver.archivedData(withRootObject: query, requiringSecureCoding: true)
      return try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQuery.self, from: data)
    }
    let parts = [NSPredicate(format: "a == 1"), NSPredicate(value: true)]
    let compound = NSCompoundPredicate(andPredicateWithSubpredicates: parts)

    #expect(try read(compound) == CKQuery(recordType: "Note", predicate: compound))
    #expect(try read(NSPredicate(value: true))?.wire(zoneID: .default).filterBy == [])
    #expect((try? read(NSPredicate { _, _ in true })) == nil)
    #expect((try? read(NSPredicate(format: "a ="))) == nil)
  }

  private func archived(_ predicate: (NSKeyedArchiver) throws -> Void) throws -> CKQuery? {
    let archiver = NSKeyedArchiver(requiringSecureCoding: true)
    archiver.encode("Note" as NSString, forKey: "RecordType")
    try predicate(archiver)
    archiver.finishEncoding()
    return CKQuery(coder: try #require(NSKeyedUnarchiver.reading(archiver.encodedData)))
  }

  @Test func `a predicate that an earlier version archived as a format is read`() throws {
    let arguments: [FieldValue] = [
      .string("x"), .list(.reference, [.reference(WireReference(recordName: "ana", action: nil))]),
    ]
    func read(_ format: String) throws -> CKQuery? {
      try archived { archiver in
        archiver.encode(NSString(string: format), forKey: "Predicate")
        archiver.encode(wire: arguments, forKey: "PredicateArguments")
      }
    }

    let expected = NSPredicate(format: "title == %@ AND NOT owner IN %@", argumentArray: arguments)
    let query = try #require(try read("title == %@ AND NOT owner IN %@"))
    #expect(query == CKQuery(recordType: "Note", predicate: expected))
    #expect(try query.wire(zoneID: .default).filterBy.map(\.comparator) == ["EQUALS", "NOT_IN"])
    #expect(try read("title == %@ AND") == nil)
    #expect(try read("title == %@") == nil)
  }

  @Test func `a damaged predicate in an archive makes no query, and a deep one does not exhaust the stack`() throws {
    func read(_ json: String) throws -> CKQuery? {
      try archived { $0.encode(NSData(data: Data(json.utf8)), forKey: "Predicate") }
    }
    func comparison(_ field: String, _ value: String) -> String {
      #"{"comparison":{"_0":{"comparator":"==","left":{"field":{"_0":"\#(field)"}},"options":0,"#
        + #""right":{"value":{"_0":"{\"type\":\"INT64\",\"value\":\#(value)}"}}}}}"#
    }
    func nested(_ depth: Int) -> String {
      String(repeating: #"{"not":{"_0":"#, count: depth) + comparison("a", "1") + String(repeating: "}}", count: depth)
    }

    #expect(try read(comparison("a", "1")) == CKQuery(recordType: "Note", predicate: NSPredicate(format: "a == 1")))
    #expect(try read(nested(64))?.wire(zoneID: .default).filterBy.map(\.comparator) == ["EQUALS"])
    for damage in [
      "", "{", "[]", "{}", "null", #"{"xor":{"_0":[]}}"#, #"{"and":{}}"#, #"{"unusable":{"_0":"x"}}"#, nested(10_000),
      comparison("a", #"\"x\"}"#), comparison("a", "").replacing("==", with: "~"), comparison("a OR b", "1"),
    ] {
      #expect(try read(damage) == nil, "\(damage.prefix(80))")
    }
  }

  @Test func `a predicate is archived as deep as formats and compound predicates may be`() throws {
    var predicate = NSPredicate(
      format: String(repeating: "NOT (a == 1 OR ", count: 30) + "b == 2" + String(repeating: ")", count: 30)
    )
    for _ in 0..<60 { predicate = NSCompoundPredicate(notPredicateWithSubpredicate: predicate) }

    let query = CKQuery(recordType: "Note", predicate: predicate)
    let data = try NSKeyedArchiver.archivedData(withRootObject: query, requiringSecureCoding: true)

    #expect(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKQuery.self, from: data) == query)
  }

  @Test func `queries are equal by their parts, and copies go their own way`() throws {
    let copy = try #require(query().copy() as? CKQuery)
    #expect(copy == query() && copy.hash == query().hash)

    let original = query()
    let other = try #require(original.copy() as? CKQuery)
    other.sortDescriptors = nil
    #expect(original == query() && other != original)
    #expect(original != CKQuery(recordType: "Other", predicate: original.predicate))
    let (one, two) = (NSPredicate { _, _ in true }, NSPredicate { _, _ in true })
    #expect(CKQuery(recordType: "Note", predicate: one) == CKQuery(recordType: "Note", predicate: one))
    #expect(CKQuery(recordType: "Note", predicate: one) != CKQuery(recordType: "Note", predicate: two))
  }

  @Test func `a description hides the values, a debug description shows them`() {
    #expect(
      query().description
        == "<CKQuery Note where title == … AND at > … AND owner == … AND d IN … AND data != … sorted by title descending, "
        + "place by distance>"
    )
    #expect(query().debugDescription.contains(#"title == "private""#))
    #expect(query().debugDescription.contains(#"<reference to "ana">"#))
  }
}
