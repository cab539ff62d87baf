import CloudKitEmulator
import Foundation
import Testing

/// Section 3.5: fields that are encrypted.
@Suite(.serialized) struct EncryptionReferenceTests {
  static let zone = #""zoneID":{"zoneName":"notes"}"#

  /// A schema with encrypted and plain fields.
  static func prepared() throws -> Curl {
    let curl = try Curl()
    try curl.fixture.createZone("notes")
    try curl.fixture.emulator.importSchema(
      """
      DEFINE SCHEMA RECORD TYPE Note (
        "___recordID" REFERENCE QUERYABLE, secret ENCRYPTED STRING, pin ENCRYPTED INT64, rate ENCRYPTED DOUBLE,
        key ENCRYPTED BYTES, born ENCRYPTED TIMESTAMP, home ENCRYPTED LOCATION, words LIST<ENCRYPTED STRING>,
        title STRING QUERYABLE SORTABLE
      );
      """,
      container: "iCloud.test"
    )
    return curl
  }

  static func save(_ curl: Curl, _ fields: String, database: String = "private", zone: String = zone + ",") throws
    -> Answer
  {
    try curl("\(database)/records/modify", #"{\#(zone)"operations":[\#(Fixture.save("a", fields))]}"#)
  }

  @Test func `values go out and come back with their plain type and a mark, bytes with a type of their own`() throws {
    let fields =
      #"{"secret":{"value":"x","type":"STRING","isEncrypted":true},"pin":{"value":7,"type":"INT64","isEncrypted":true},"rate":{"value":0.5,"type":"DOUBLE","isEncrypted":true},"key":{"value":"AAE=","type":"ENCRYPTED_BYTES"},"born":{"value":5,"type":"TIMESTAMP","isEncrypted":true},"home":{"value":{"latitude":1,"longitude":2},"type":"LOCATION","isEncrypted":true},"words":{"value":["x"],"type":"STRING_LIST","isEncrypted":true}}"#

    let answer = try Self.save(Self.prepared(), String(fields.dropFirst().dropLast()))

    #expect(answer.lacks(#"{"records":[{"fields":\#(fields)}]}"#) == [])
  }

  @Test(arguments: [#"{"value":"x"}"#, #"{"value":"x","type":"STRING"}"#])
  func `a plain value does not go into an encrypted field`(value: String) throws {
    let answer = try Self.save(Self.prepared(), #""secret":\#(value)"#)

    let reason = "invalid attempt to set value type STRING for field 'secret', defined to be: ENCRYPTED_STRING"
    #expect(answer.lacks(#"{"records":[{"serverErrorCode":"BAD_REQUEST","reason":"\#(reason)"}]}"#) == [])
  }

  @Test func `an encrypted value does not go into a plain field`() throws {
    let answer = try Self.save(Self.prepared(), #""title":{"value":"x","type":"STRING","isEncrypted":true}"#)

    let reason = "Attempt to save encrypted data in non encrypted field type for field 'title'"
    #expect(answer.lacks(#"{"records":[{"serverErrorCode":"BAD_REQUEST","reason":"\#(reason)"}]}"#) == [])
  }

  @Test func `the public database has none`() throws {
    let secret = #""secret":{"value":"x","type":"STRING","isEncrypted":true}"#
    let curl = try Curl()

    let answer = try Self.save(curl, secret, database: "public", zone: "")

    #expect(answer.records[0]["reason"] as? String == "encrypted fields are not supported in the public database")
  }

  @Test func `filters are refused by both types, and sorting is let pass`() throws {
    let curl = try Self.prepared()
    _ = try Self.save(curl, #""secret":{"value":"x","type":"STRING","isEncrypted":true}"#)
    let query = { (more: String) in
      try curl("private/records/query", #"{\#(Self.zone),"query":{"recordType":"Note",\#(more)}}"#)
    }

    let filtered = try query(
      #""filterBy":[{"comparator":"EQUALS","fieldName":"secret","fieldValue":{"value":"x","type":"STRING"}}]"#
    )
    let sorted = try query(#""sortBy":[{"fieldName":"secret"}]"#)

    #expect(filtered.status == 400 && filtered.code == "BAD_REQUEST")
    #expect(filtered.reason?.contains("ENCRYPTED_STRING") == true && filtered.reason?.contains("STRING") == true)
    #expect(sorted.names == ["a"])
  }
}
