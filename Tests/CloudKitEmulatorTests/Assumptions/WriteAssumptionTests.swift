import CloudKitEmulator
import Foundation
import Testing

/// Both positions of the switches about writing records and about the schema; the numbers are those of the questions.
@Suite(.serialized) struct WriteAssumptionTests {
  @Test func `1, the shape of an atomic failure`() throws {
    let fail = { (fixture: Fixture) in
      try fixture.modify(Fixture.save("a"), Fixture.save("gone", type: "update"), atomic: true)
    }

    #expect(try fail(.assuming()).outcomes == ["ATOMIC_ERROR", "NOT_FOUND"])
    let refused = try fail(.assuming { $0.atomicFailure = .refusesRequest })
    #expect(refused.status == 400 && refused.code == "ATOMIC_ERROR" && refused.records.isEmpty)
  }

  @Test(arguments: ["update", "replace"])
  func `4, an update without a tag, and of nothing`(type: String) throws {
    let outcomes = { (fixture: Fixture) in
      _ = try fixture.modify(Fixture.save("a"))
      return try fixture.modify(Fixture.save("a", type: type), Fixture.save("gone", type: type)).outcomes
    }

    #expect(try outcomes(.assuming()) == ["BAD_REQUEST", "NOT_FOUND"])
    #expect(try outcomes(.assuming { $0.updateWithoutTag = .conflict }) == ["CONFLICT", "NOT_FOUND"])
    #expect(try outcomes(.assuming { $0.missingUpdate = .conflict }) == ["BAD_REQUEST", "CONFLICT"])
  }

  @Test func `5 and 6, a deletion without a tag, and a forced one of nothing`() throws {
    let outcomes = { (fixture: Fixture) in
      _ = try fixture.modify(Fixture.save("a"))
      return try fixture.modify(#"{"operationType":"delete","record":{"recordName":"a"}}"#, Fixture.delete("gone"))
        .outcomes
    }

    #expect(try outcomes(.assuming()) == ["deleted", "deleted"])
    #expect(try outcomes(.assuming { $0.deletionWithoutTag = .badRequest }) == ["BAD_REQUEST", "deleted"])
    #expect(try outcomes(.assuming { $0.missingForceDelete = .notFound }) == ["deleted", "NOT_FOUND"])
  }

  @Test func `7, two operations on one record`() throws {
    let twice = { (fixture: Fixture) in
      try fixture.modify(Fixture.save("a"), Fixture.save("a", #""n":{"value":1}"#), Fixture.save("b"))
    }

    let refused = try twice(.assuming())
    #expect(refused.status == 400 && refused.code == "BAD_REQUEST")
    let alone = try Fixture.assuming { $0.repeatedRecord = .failsAlone }
    #expect(try twice(alone).outcomes == ["saved", "BAD_REQUEST", "saved"])
    #expect(try alone.lookup("a").value("n") == nil)
  }

  @Test(arguments: [#"{"value":[]}"#, #"{"value":[],"type":"STRING_LIST"}"#, #"{"value":[],"type":"UNKNOWN_LIST"}"#])
  func `15, an empty list of a field that does not exist`(empty: String) throws {
    let outcomes = { (fixture: Fixture) in
      try [#""tags":\#(empty)"#, #""tags":{"value":["x"]}"#, #""tags":\#(empty)"#].map { fields in
        try fixture.modify(Fixture.save("a", fields)).outcomes[0]
      }
    }

    #expect(try outcomes(.assuming()) == ["BAD_REQUEST", "saved", "saved"])
    #expect(try outcomes(.assuming { $0.emptyListsAddFields = true }) == ["saved", "saved", "saved"])
    let fixture = try Fixture.assuming()
    _ = try outcomes(fixture)
    let schema = fixture.emulator.exportSchema(container: "iCloud.test")
    #expect(schema.split(separator: "\n").contains { $0.contains("tags ") && $0.contains("LIST<STRING>") })
  }

  @Test func `8, too much at once`() throws {
    let large = Fixture.save("a", #""t":{"value":"\#(String(repeating: "x", count: 1_000_001))"}"#)
    let many = (0...200).map { Fixture.save("n\($0)") }.joined(separator: ",")
    let codes = { (fixture: Fixture) in try [fixture.modify(large).outcomes[0], fixture.modify(many).code] }

    #expect(try codes(.assuming()) == ["BAD_REQUEST", "BAD_REQUEST"])
    #expect(try codes(.assuming { $0.exceededLimit = .quotaExceeded }) == ["QUOTA_EXCEEDED", "QUOTA_EXCEEDED"])
  }

  @Test(arguments: [EmulatorAssumptions.EncryptedType.plain, .ofItsOwn])
  func `27, the type of an encrypted time or place, which writes may have in either form`(
    answer: EmulatorAssumptions.EncryptedType
  ) throws {
    let prefix = answer == .plain ? "" : "ENCRYPTED_"

    for written in ["", "ENCRYPTED_"] {
      let fixture = try Fixture.assuming { $0.encryptedType = answer }
      let fields =
        #""t":{"value":5,"type":"\#(written)TIMESTAMP","isEncrypted":true},"#
        + #""l":{"value":{"latitude":1,"longitude":2},"type":"\#(written)LOCATION","isEncrypted":true}"#
      #expect(try fixture.modify(Fixture.save("a", fields)).outcomes == ["saved"])
      let saved = try #require(try fixture.lookup("a")["fields"] as? [String: [String: Any]])
      #expect(saved["t"]?["type"] as? String == prefix + "TIMESTAMP")
      #expect(saved["l"]?["type"] as? String == prefix + "LOCATION")
      #expect(saved.values.allSatisfy { $0["isEncrypted"] as? Bool == true })
    }
  }

  @Test func `28, a fraction of a millisecond, in a time, a list and a place`() throws {
    let fields =
      #""t":{"value":-1.5,"type":"TIMESTAMP"},"ts":{"value":[1,2.5],"type":"TIMESTAMP_LIST"},"#
      + #""l":{"value":{"latitude":1,"longitude":2,"timestamp":3.5},"type":"LOCATION"}"#
    let dropping = try Fixture.assuming { $0.timestampFraction = .isDropped }

    #expect(try Fixture.assuming().modify(Fixture.save("a", fields)).outcomes == ["BAD_REQUEST"])
    #expect(try dropping.modify(Fixture.save("a", fields)).outcomes == ["saved"])
    let saved = try #require(try dropping.lookup("a")["fields"] as? [String: [String: Any]])
    #expect(saved["t"]?["value"] as? Int == -2)
    #expect((saved["ts"]?["value"] as? [Any])?.compactMap { $0 as? Int } == [1, 2])
    #expect((saved["l"]?["value"] as? [String: Any])?["timestamp"] as? Int == 3)
  }

  @Test func `24, cascades in the feed, also of a file that was closed`() async throws {
    let gone = { (fixture: Fixture) in
      let reference = #""r":{"value":{"recordName":"a","action":"DELETE_SELF"}}"#
      _ = try fixture.modify(Fixture.save("a"))
      _ = try fixture.modify(Fixture.save("b", reference))
      _ = try fixture.modify(Fixture.delete("a"))
      #expect(try fixture.lookup("b")["serverErrorCode"] as? String == "NOT_FOUND")
      let records = try #require(try fixture.changes().zones[0]["records"] as? [[String: Any]])
      return Set(records.compactMap { $0["recordName"] as? String })
    }

    #expect(try gone(.assuming()) == ["a", "b"])
    #expect(try gone(.assuming { $0.cascadesLeaveTombstones = false }) == ["a"])
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      var configuration = EmulatorConfiguration()
      configuration.assumptions.cascadesLeaveTombstones = false
      try {
        let fixture = try Fixture(configuration, path: path)
        try fixture.createZone("notes")
        #expect(try gone(fixture) == ["a"])
      }()
      let records = try Fixture(path: path).changes().zones[0]["records"] as? [[String: Any]]
      #expect(records?.compactMap { $0["recordName"] as? String } == ["a"])
    }
  }

  @Test func `14, what the schema does not know`() throws {
    let codes = { (change: (inout EmulatorAssumptions) -> Void) in
      let fixture = try Fixture.assuming {
        $0.developmentLearnsSchema = false
        change(&$0)
      }
      try fixture.emulator.importSchema("DEFINE SCHEMA RECORD TYPE Note (n INT64);", container: "iCloud.test")
      let query = try fixture.post("records/query", #"{"query":{"recordType":"Ghost"}}"#)
      return [query.code] + (try fixture.modify(Fixture.save("a", #""x":{"value":1}"#)).outcomes)
    }

    #expect(try codes { _ in } == ["NOT_FOUND", "BAD_REQUEST"])
    #expect(try codes { $0.unknownRecordType = .badRequest } == ["BAD_REQUEST", "BAD_REQUEST"])
    #expect(try codes { $0.unknownField = .notFound } == ["NOT_FOUND", "NOT_FOUND"])
  }

  @Test func `15, whether writes in development add to the schema, and with which indexes`() throws {
    let learning = try Fixture.assuming()
    let locked = try Fixture.assuming { $0.developmentLearnsSchema = false }
    let native = try Fixture.assuming { $0.learntTypesIndexSystemFields = false }

    #expect(try learning.modify(Fixture.save("a")).outcomes == ["saved"])
    #expect(try locked.modify(Fixture.save("a")).outcomes == ["BAD_REQUEST"])
    #expect(try native.modify(Fixture.save("a")).outcomes == ["saved"])
    #expect(try learning.query(#""filterBy":[]"#).names == ["a"])
    #expect(try native.query(#""filterBy":[]"#).reason == "Field 'recordName' is not marked queryable")
  }
}
