import CloudKit
import Foundation
import Testing

@Suite(.serialized) struct CastingTests {
  private func record(_ fields: [String: FieldValue]) -> CKRecord {
    CKRecord(wire: WireRecord(recordName: "n", recordType: "Note", fields: fields), zoneID: .default)
  }

  @Test func `an INT64 off the wire casts to every number that it fits`() {
    let record = record(["age": .int64(1)])

    #expect(record["age"] as? Int == 1)
    #expect(record["age"] as? Int64 == 1)
    #expect(record["age"] as? Int32 == 1)
    #expect(record["age"] as? Bool == true)
    #expect(record["age"] as? Double == 1)
    #expect(record["age"] as? NSNumber == 1)
    #expect(record["age"] as? String == nil)
  }

  @Test func `scalars off the wire cast to Swift's types`() {
    let record = record([
      "title": .string("Milk"), "price": .double(1.5), "data": .bytes(Data([1, 2])),
      "when": .timestamp(1_767_322_800_123), "tags": .list(.string, [.string("a"), .string("b")]),
      "counts": .list(.int64, [.int64(1), .int64(2)]),
    ])

    #expect(record["title"] as? String == "Milk")
    #expect(record["price"] as? Double == 1.5)
    #expect(record["data"] as? Data == Data([1, 2]))
    #expect(record["when"] as? Date == Date(timeIntervalSinceReferenceDate: 789_015_600.123))
    #expect(record["tags"] as? [String] == ["a", "b"])
    #expect(record["counts"] as? [Int] == [1, 2])
    #expect(record["tags"] as? [any CKRecordValue] != nil)
  }

  @Test func `the three subscripts take and give literals, existentials and typed values`() {
    let record = CKRecord(recordType: "Note")
    let erased: (any CKRecordValueProtocol)? = "b"

    record["a"] = "text"
    record["b"] = erased
    record["n"] = 1

    #expect(record["a"] == "text")
    #expect(record["n"] == 1)
    let typed: String? = record["b"]
    #expect(typed == "b")
    #expect(record.value(forKey: "n") as? Int == 1)
    #expect(record.object(forKey: "a") as? NSString == "text")
  }

  @Test func `values set here read like values off the wire`() {
    let record = CKRecord(recordType: "Note")

    record["flag"] = true
    record["count"] = 3
    record["half"] = Float(0.5)
    record["tags"] = ["a", "b"]
    record["flags"] = [true, false]
    record.setValue(7, forKey: "seven")
    record.setObject("x" as NSString, forKey: "x")

    #expect(record["flag"] as? Bool == true)
    #expect(record["flag"] as? Int == 1)
    #expect(record["count"] as? Int64 == 3)
    #expect(record["half"] as? Double == 0.5)
    #expect(record["tags"] as? [String] == ["a", "b"])
    #expect(record["seven"] as? Int == 7)
    #expect(record["x"] as? String == "x")
  }

  @Test func `a date reads back as it was set, and is sent in whole milliseconds`() throws {
    let record = CKRecord(recordType: "Note")
    let date = Date(timeIntervalSinceReferenceDate: 789_012_345.123_456_789)
    record["when"] = date
    record["dates"] = [date, date + 1]
    record.encryptedValues["secret"] = date

    for _ in 0..<10 { record["when"] = record["when"] as? Date }

    #expect(record["when"] as? Date == date)
    #expect(record["dates"] as? [Date] == [date, date + 1])
    #expect(record.encryptedValues["secret"] as? Date == date)
    let fields = try record.wireFields()
    #expect(fields["when"] == .timestamp(1_767_319_545_123))
    #expect(fields["dates"] == .list(.timestamp, [.timestamp(1_767_319_545_123), .timestamp(1_767_319_546_123)]))
    #expect(fields["secret"] == .encrypted(.timestamp(1_767_319_545_123)))
  }

  @Test func `a nil inside an Any clears the field`() {
    let record = record(["title": .string("Milk")])

    record.setValue(Optional<String>.none as Any, forKey: "title")

    #expect(record.allKeys().isEmpty)
    #expect(record.changedKeys() == ["title"])
  }
}
