import CloudKit
import Foundation
import JSONText
import Testing

@Suite(.serialized) struct WireRoundTripTests {
  private let everything: [String: FieldValue] = [
    "string": .string("Milk"), "int": .int64(.max), "double": .double(3), "bytes": .bytes(Data([0, 255])),
    "timestamp": .timestamp(-62_135_596_800_000), "empty": .list(.timestamp, []),
    "location": .location(WireLocation(latitude: 1, longitude: 2)),
    "reference": .reference(WireReference(recordName: "target", action: "VALIDATE")),
    "references": .list(.reference, [.reference(WireReference(recordName: "one", action: "DELETE_SELF"))]),
    "asset": .asset(WireAsset(fileChecksum: "abc", size: 3)),
    "unknown": .other(type: "FUTURE", .object(["a": .array([.int(1), .null])])),
    "doubles": .list(.double, [.double(1), .double(2.5)]),
  ]

  @Test func `every field type comes back as it was`() throws {
    let record = CKRecord(wire: WireRecord(recordName: "n", recordType: "Note", fields: everything), zoneID: .default)

    #expect(try record.wireFields() == everything)
    #expect(record.changedKeys().isEmpty)
  }

  @Test func `values carried to another record keep what only the wire knows`() throws {
    let record = CKRecord(wire: WireRecord(recordName: "n", recordType: "Note", fields: everything), zoneID: .default)
    let other = CKRecord(recordType: "Note")

    for key in ["unknown", "reference", "references", "asset"] { other[key] = record[key] }

    let expected = everything.filter { ["unknown", "reference", "references", "asset"].contains($0.key) }
    #expect(try other.wireFields() == expected)
  }

  @Test func `Swift values become the wire's types`() throws {
    let record = CKRecord(recordType: "Note")
    record["flag"] = true
    record["whole"] = 3.0
    record["int"] = UInt8(7)
    record["when"] = Date(timeIntervalSince1970: 1.5)
    record["mixed"] = NSArray(array: [NSNumber(value: 1), NSNumber(value: 1.5)])
    record["empty"] = [String]()
    record["friend"] = CKRecord.Reference(recordID: CKRecord.ID(recordName: "f"), action: .deleteSelf)

    #expect(
      try record.wireFields() == [
        "flag": .int64(1), "whole": .double(3), "int": .int64(7), "when": .timestamp(1500),
        "mixed": .list(.double, [.double(1), .double(1.5)]), "empty": .list(.unknown, []),
        "friend": .reference(WireReference(recordName: "f", action: "DELETE_SELF")),
      ]
    )
  }

  @Test func `only what was set or cleared counts as changed`() throws {
    let wire = WireRecord(recordName: "n", recordType: "Note", fields: ["a": .string("1"), "b": .string("2")])
    let record = CKRecord(wire: wire, zoneID: .default)

    record["a"] = "3"
    record["b"] = nil
    record["never"] = nil

    let changes = try record.changedFields()
    #expect(changes.set == ["a": .string("3")])
    #expect(changes.cleared == ["b", "never"])
  }

  @Test func `what the wire cannot carry is refused with the field's name`() {
    let values: [any CKRecordValue] = [
      Double.nan, Double.infinity, UInt64.max, [[1]], NSArray(array: ["a", 1]),
      Date(timeIntervalSince1970: .infinity), CKAsset(fileURL: URL(fileURLWithPath: "/no/such/file")),
    ]
    for value in values {
      let record = CKRecord(recordType: "Note")
      record["field"] = value

      let error = #expect(throws: CKError.self) { try record.wireFields() }
      #expect(error?.code == .invalidArguments)
      #expect(error?.localizedDescription.contains("field") == true)
    }
  }

  @Test func `a reference into the same zone does not name it`() throws {
    let zone = CKRecordZone.ID(zoneName: "notes")
    let fields: [String: FieldValue] = [
      "same": .reference(
        WireReference(recordName: "a", zoneID: WireZoneID(zoneName: "notes", ownerRecordName: "_0f"), action: "NONE")
      )
    ]
    let record = CKRecord(wire: WireRecord(recordName: "n", recordType: "Note", fields: fields), zoneID: zone)

    let reference = record["same"] as? CKRecord.Reference
    #expect(reference?.recordID == CKRecord.ID(recordName: "a", zoneID: zone))
    let other = CKRecord(recordType: "Note", zoneID: zone)
    other["same"] = reference
    #expect(try other.wireFields() == ["same": .reference(WireReference(recordName: "a"))])
  }

  @Test func `system values are read from the answer`() {
    var wire = WireRecord(recordName: "n", recordType: "Note", recordChangeTag: "2f")
    wire.created = WireStamp(timestamp: 1000, userRecordName: "_a")
    wire.modified = WireStamp(timestamp: 2500, userRecordName: "_b")
    wire.parent = WireRecordName(recordName: "list")
    let record = CKRecord(wire: wire, zoneID: CKRecordZone.ID(zoneName: "notes"))

    #expect(record.recordChangeTag == "2f")
    #expect(record.creationDate == Date(timeIntervalSince1970: 1))
    #expect(record.modificationDate == Date(timeIntervalSince1970: 2.5))
    #expect(record.creatorUserRecordID?.recordName == "_a")
    #expect(record.lastModifiedUserRecordID?.recordName == "_b")
    #expect(record.parent?.recordID.recordName == "list")
    #expect(record.parent?.recordID.zoneID.zoneName == "notes")
  }

  @Test func `identifiers are compared by value`() {
    let zone = CKRecordZone.ID(zoneName: "z", ownerName: "o")
    let ids: Set = [CKRecord.ID(recordName: "a", zoneID: zone), CKRecord.ID(recordName: "a", zoneID: zone)]

    #expect(ids.count == 1)
    #expect(CKRecord.ID(recordName: "a") != CKRecord.ID(recordName: "a", zoneID: zone))
    #expect(CKRecord.ID() != CKRecord.ID())
  }
}
