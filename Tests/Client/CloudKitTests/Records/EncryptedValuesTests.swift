import CloudKit
import Foundation
import JSONText
import Testing

@Suite(.serialized) struct EncryptedValuesTests {
  private func read(_ json: String) throws -> [String: FieldValue] { try [String: FieldValue](json: Data(json.utf8)) }
  private func text(_ value: FieldValue) throws -> String { String(decoding: try value.json(), as: UTF8.self) }

  @Test func `encrypted fields keep their tags from the wire and back`() throws {
    let fields = try read(
      #"""
      {"a":{"value":"x","type":"STRING","isEncrypted":true},"b":{"value":"AQ==","type":"ENCRYPTED_BYTES"},
       "c":{"value":1,"type":"INT64","isEncrypted":false},"d":{"value":[],"type":"ENCRYPTED_FUTURE"}}
      """#
    )

    #expect(fields["a"] == .encrypted(.string("x")))
    #expect(fields["b"] == .encrypted(.bytes(Data([1]))))
    #expect(fields["c"] == .int64(1))
    #expect(fields["d"] == .other(type: "ENCRYPTED_FUTURE", .array([])))
    for (name, value) in fields {
      #expect(try read("{\"\(name)\":\(text(value))}") == [name: value])
    }
    #expect(try text(.encrypted(.string("x"))).contains(#""isEncrypted":true"#))
    #expect(try text(.encrypted(.bytes(Data([1])))).contains("ENCRYPTED_BYTES"))
  }

  @Test func `encrypted values and fields are kept apart`() throws {
    let record = CKRecord(recordType: "Note")
    record["title"] = "Milk"
    record.encryptedValues["secret"] = "x"
    record.encryptedValues["pin"] = 7

    #expect(record.encryptedValues["secret"] as? String == "x")
    let pin: Int? = record.encryptedValues["pin"]
    #expect(pin == 7)
    #expect(record["secret"] == nil && record.encryptedValues["title"] == nil)
    #expect(record.allKeys() == ["title"] && record.changedKeys() == ["title"])
    #expect(record.encryptedValues.allKeys() == ["pin", "secret"])
    #expect(record.encryptedValues.changedKeys() == ["pin", "secret"])
    #expect(
      try record.wireFields() == [
        "title": .string("Milk"), "secret": .encrypted(.string("x")), "pin": .encrypted(.int64(7)),
      ]
    )
  }

  @Test func `archives keep encrypted values what they are`() throws {
    let record = CKRecord(
      wire: WireRecord(recordName: "n", recordType: "Note", fields: ["old": .encrypted(.string("o"))]),
      zoneID: .default
    )
    record.encryptedValues["new"] = Data([1])

    let data = try NSKeyedArchiver.archivedData(withRootObject: record, requiringSecureCoding: true)
    let copy = try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: CKRecord.self, from: data))

    #expect(try copy.wireFields() == record.wireFields())
    #expect(copy.encryptedValues.allKeys() == ["new", "old"])
    copy.encryptedValues["old"] = nil
    #expect(copy.encryptedValues.changedKeys() == ["new", "old"] && copy.changedKeys().isEmpty)
  }

  @Test func `a record is a sequence of its fields`() {
    let record = CKRecord(recordType: "Note")
    record["b"] = 2
    record["a"] = "x"
    record.encryptedValues["c"] = 3

    var names: [String] = []
    for (key, value) in record {
      names.append(key)
      #expect(value is NSString || value is NSNumber)
    }

    #expect(names == ["a", "b"])
  }
}
