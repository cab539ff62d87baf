import CloudKit
import CloudKitModels
import Foundation
import JSONText
import Testing

/// One Swift value and what the wire carries for it.
private struct Row: Sendable, CustomTestStringConvertible {
  let testDescription: String
  let wire: FieldValue?
  let encoded: @Sendable () throws -> FieldValue?
  /// Whether a record off the wire with this field reads as the value.
  let isReadBack: @Sendable () throws -> Bool
  let read: @Sendable (CKRecord) throws -> Void

  init<Value: Codable & Equatable & Sendable>(_ value: Value, _ wire: FieldValue?) {
    testDescription = "\(Value.self) \(value)"
    self.wire = wire
    encoded = { try CKRecordEncoder().encode(Box(value: value)).wireFields()["value"] }
    isReadBack = {
      let record = CKRecord.fetched("Box", "box", wire.map { ["value": $0] } ?? [:])
      return try CKRecordDecoder().decode(Box<Value>.self, from: record) == Box(value: value)
    }
    read = { _ = try CKRecordDecoder().decode(Box<Value>.self, from: $0) }
  }
}

private let uuid = UUID(uuidString: "8B0B5C0E-6E2D-4B43-9F2B-0D6E5B3D7A11")!
private let url = URL(string: "https://example.com/a?b=c")!
private let reference = CKRecord.Reference(recordID: CKRecord.ID(recordName: "list"), action: .deleteSelf)
private let wireReference = FieldValue.reference(WireReference(recordName: "list", action: "DELETE_SELF"))

private let scalars: [Row] = [
  Row("Milk", .string("Milk")), Row("nil", .string("nil")), Row("", .string("")),
  Row(true, .int64(1)), Row(false, .int64(0)),
  Row(Int.min, .int64(.min)), Row(Int8.min, .int64(-128)), Row(Int16.max, .int64(32767)),
  Row(Int32.min, .int64(-2_147_483_648)), Row(Int64.max, .int64(.max)),
  Row(UInt(7), .int64(7)), Row(UInt8.max, .int64(255)), Row(UInt16.max, .int64(65535)),
  Row(UInt32.max, .int64(4_294_967_295)), Row(UInt64(Int64.max), .int64(.max)),
  Row(3.0, .double(3)), Row(0.1, .double(0.1)), Row(Float(0.1), .double(Double(Float(0.1)))),
  Row(Date(timeIntervalSinceReferenceDate: 789_015_600.123), .timestamp(1_767_322_800_123)),
  Row(Data([0, 255]), .bytes(Data([0, 255]))), Row(Data(#"{"a":1}"#.utf8), .bytes(Data(#"{"a":1}"#.utf8))),
  Row(url, .string(url.absoluteString)), Row(uuid, .string(uuid.uuidString)),
  Row(reference, wireReference),
  Row(Priority.high, .string("high")), Row(Level.second, .int64(2)), Row(Tag("a"), .string("a")),
  Row(Int?.none, nil), Row(Int?.some(1), .int64(1)), Row(Priority?.none, nil), Row(URL?.some(url), .string("\(url)")),
]

private let lists: [Row] = [
  Row(["a", "b"], .list(.string, [.string("a"), .string("b")])),
  Row([true, false], .list(.int64, [.int64(1), .int64(0)])),
  Row([1, 2], .list(.int64, [.int64(1), .int64(2)])), Row([1, 2.5], .list(.double, [.double(1), .double(2.5)])),
  Row([Date(timeIntervalSince1970: 1.5)], .list(.timestamp, [.timestamp(1500)])),
  Row([Data([1])], .list(.bytes, [.bytes(Data([1]))])),
  Row([url], .list(.string, [.string(url.absoluteString)])), Row([uuid], .list(.string, [.string(uuid.uuidString)])),
  Row([reference], .list(.reference, [wireReference])),
  Row([Priority.low], .list(.string, [.string("low")])), Row([Level.first], .list(.int64, [.int64(1)])),
  Row([Tag("a")], .list(.string, [.string("a")])),
  Row(Set(["c", "a", "b"]), .list(.string, [.string("a"), .string("b"), .string("c")])),
  Row(Set([10, 9]), .list(.int64, [.int64(9), .int64(10)])),
  Row([String](), nil), Row(Set<Int>(), nil), Row([String]?.none, nil), Row([Place](), nil),
]

private let nested: [Row] = [
  Row(Place(), json(#"{"city":"Bern","floors":[1,2],"street":"A/B"}"#)),
  Row(Place(city: nil), json(#"{"floors":[1,2],"street":"A/B"}"#)),
  Row([Place(city: nil, floors: [])], json(#"[{"floors":[],"street":"A/B"}]"#)),
  Row(["b": 1, "a": 2], json(#"{"a":2,"b":1}"#)), Row([String: Int](), json("{}")),
  Row([[1], [], [2, 3]], json("[[1],[],[2,3]]")),
  Row(Decimal(string: "12.5")!, json("12.5")),
  Row(
    ["to": reference],
    json(
      #"{"to":{"deletesWithTarget":true,"ownerName":"__defaultOwner__","recordName":"list","zoneName":"_defaultZone"}}"#
    )
  ),
]

private func json(_ text: String) -> FieldValue { .bytes(Data(text.utf8)) }

@Suite(.serialized) struct ValueTests {
  @Test(arguments: scalars + lists + nested)
  private func `a value goes to the wire in its type and comes back as it was`(row: Row) throws {
    #expect(try row.encoded() == row.wire)
    #expect(try row.isReadBack())
  }

  @Test func `a value is stored in the same way by a model, a record and a predicate`() throws {
    func expectSame<Value: CKNativeField & Codable>(_ value: Value) throws {
      let wire = try CKRecordEncoder().encode(Box(value: value)).wireFields()["value"]
      let query = CKQuery(recordType: "Box", predicate: NSPredicate(format: "value IN %@", argumentArray: [[value]]))
      try #expect(query.wire(zoneID: .default).filterBy.map(\.value.elements) == [wire.map { [$0] }], "\(value)")
      guard let value = value as? any CKRecordValue else { return }
      let record = CKRecord(recordType: "Box")
      record["value"] = value
      #expect(try record.wireFields()["value"] == wire, "\(value)")
    }

    let values: [any CKNativeField & Codable] = [
      "Milk", true, 7, Int8(-1), Int16(1), Int32(-1), Int64.max, UInt(7), UInt8(255), UInt16(1), UInt32.max, UInt64(1),
      0.1, Float(0.1), Date(timeIntervalSince1970: 1.2345), Data([0, 255]), url, uuid,
    ]
    for value in values { try expectSame(value) }
  }

  @Test func `a field of any type read as any other throws with its name or gives a value, and never traps`() {
    let odd: [FieldValue] = [
      .location(WireLocation(latitude: 1, longitude: 2)), .asset(WireAsset(size: 1)), .list(.unknown, []),
      .other(type: "FUTURE", .null), .double(.greatestFiniteMagnitude), .double(1.5), .int64(2), .string("{"),
    ]
    let rows = scalars + lists + nested

    for field in rows.compactMap(\.wire) + odd {
      for row in rows {
        do {
          try row.read(.fetched("Box", "box", ["value": field]))
        } catch {
          #expect(path(of: error)?.first == "value", "\(row.testDescription) from \(field)")
        }
      }
    }
  }

  @Test func `a number off the wire is a Bool only if it is 0 or 1`() throws {
    let read = { try CKRecordDecoder().decode(Box<Bool>.self, from: .fetched("Box", "box", ["value": $0])).value }

    #expect(try read(.int64(1)) == true)
    #expect(try read(.int64(0)) == false)
    for field: FieldValue in [.int64(2), .int64(-1), .double(0.5), .string("true")] {
      #expect(path(of: #expect(throws: CKModelError.self) { try read(field) }) == ["value"])
    }
  }

  @Test func `what a record cannot hold throws with the field's path`() {
    func error(_ value: some Encodable) -> [String]? {
      path(of: #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(Box(value: value)) })
    }

    #expect(error(UInt64.max) == ["value"])
    #expect(error(Double.nan) == ["value"])
    #expect(error(-Float.infinity) == ["value"])
    #expect(error(Date(timeIntervalSince1970: .infinity)) == ["value"])
    #expect(error([1, UInt64.max]) == ["value", "Index 1"])
    #expect(error(["a", nil]) == ["value", "Index 1"])
    #expect(error(["a": Double.nan]) == ["value", "a"])
  }

  @Test func `a number that is too large for the model's type throws`() {
    let record = CKRecord.fetched("Box", "box", ["value": .int64(300)])

    let error = #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Box<UInt8>.self, from: record) }

    #expect(path(of: error) == ["value"])
  }

  @Test func `an unknown raw value throws with the field's path`() {
    let one = CKRecord.fetched("Box", "box", ["value": .string("urgent")])
    let many = CKRecord.fetched("Box", "box", ["value": .list(.string, [.string("low"), .string("urgent")])])

    let error = #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Box<Priority>.self, from: one) }
    let listError = #expect(throws: CKModelError.self) {
      try CKRecordDecoder().decode(Box<[Priority]>.self, from: many)
    }

    #expect(path(of: error) == ["value"])
    #expect(path(of: listError) == ["value", "Index 1"])
  }

  @Test func `an error within JSON is told from the root of the record`() {
    let record = CKRecord.fetched("Box", "box", ["value": json(#"{"street":"A","floors":[1,"x"]}"#)])

    let error = #expect(throws: CKModelError.self) { try CKRecordDecoder().decode(Box<Place>.self, from: record) }

    #expect(path(of: error)?.prefix(2) == ["value", "floors"])
    #expect(path(of: error)?.count == 3)
  }

  @Test func `a reference keeps what only the server knows about it`() throws {
    let wire: [String: FieldValue] = ["value": .reference(WireReference(recordName: "list", action: "VALIDATE"))]

    let model = try CKRecordDecoder().decode(Box<CKRecord.Reference>.self, from: .fetched("Box", "box", wire))

    #expect(try CKRecordEncoder().encode(model).wireFields() == wire)
  }

  @Test func `a record over a megabyte throws and names the largest field`() throws {
    let large = Box(value: Data(count: 1_000_000))

    let error = #expect(throws: CKModelError.self) { try CKRecordEncoder().encode(large) }

    #expect(path(of: error) == ["value"])
    #expect(throws: Never.self) { try CKRecordEncoder().encode(Box(value: Data(count: 999_000))) }
  }
}

extension FieldValue {
  /// The elements of a list; nil for other values.
  fileprivate var elements: [FieldValue]? { if case .list(_, let elements) = self { elements } else { nil } }
}
