import CloudKitEmulator
import Foundation
import Testing

/// What development learns from writes, and what it does not.
@Suite(.serialized) struct LearntSchemaTests {
  @Test func `a refused operation leaves neither type nor field behind`() throws {
    let fixture = try Fixture.withZone()
    let refused =
      #"{"operationType":"forceUpdate","record":{"recordName":"r","recordType":"Gone","fields":{"#
      + #""n":{"value":1},"r":{"value":{"recordName":"nobody","action":"VALIDATE"}}}}}"#
    let broken = Fixture.save("s", #""s":{"value":1},"x":{"value":{"recordName":"nobody","action":"VALIDATE"}}"#)

    let outcomes = try fixture.modify(refused, broken, Fixture.save("a", #""s":{"value":2}"#)).outcomes

    #expect(outcomes == ["VALIDATING_REFERENCE_ERROR", "VALIDATING_REFERENCE_ERROR", "saved"])
    let schema = fixture.emulator.exportSchema(container: "iCloud.test")
    #expect(!schema.contains("Gone") && !schema.contains(" x ") && schema.contains("RECORD TYPE Note ("))
    #expect(schema.split(separator: "\n").contains { $0.contains("        s ") && $0.contains("INT64") })
  }

  @Test func `a record with too many fields is refused before anything is learnt`() throws {
    var configuration = EmulatorConfiguration()
    #expect(configuration.fieldLimit == 1000)
    configuration.fieldLimit = 3
    let fixture = try Fixture.withZone(configuration)
    let fields = { (names: String) in names.map { #""\#($0)":{"value":1}"# }.joined(separator: ",") }
    let before = fixture.emulator.exportSchema(container: "iCloud.test")

    #expect(try fixture.modify(Fixture.save("a", fields("dcba"))).outcomes == ["BAD_REQUEST"])
    #expect(fixture.emulator.exportSchema(container: "iCloud.test") == before)
    #expect(try fixture.modify(Fixture.save("a", fields("cba"))).outcomes == ["saved"])
    #expect(try fixture.modify(Fixture.save("a", fields("d"))).outcomes == ["BAD_REQUEST"])
    #expect(try fixture.modify(Fixture.save("a", #""a":null,"d":{"value":1}"#)).outcomes == ["saved"])
  }
}
