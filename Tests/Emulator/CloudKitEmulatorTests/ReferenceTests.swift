import CloudKitEmulator
import Testing

@Suite(.serialized) struct ReferenceTests {
  static func child(_ name: String, of parent: String, _ action: String) -> String {
    Fixture.save(name, #""parent":{"value":{"recordName":"\#(parent)","action":"\#(action)"},"type":"REFERENCE"}"#)
  }

  @Test func `deleting a target deletes what refers to it with DELETE_SELF, one tombstone each`() throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.modify(
      Fixture.save("root"),
      Self.child("child", of: "root", "DELETE_SELF"),
      Self.child("grandchild", of: "child", "DELETE_SELF"),
      Self.child("friend", of: "root", "NONE")
    )

    _ = try fixture.modify(Fixture.delete("root"))

    let page = try #require(try fixture.changes().zones[0]["records"] as? [[String: Any]])
    #expect(page.map { $0["recordName"] as? String } == ["friend", "root", "child", "grandchild"])
    #expect(page.map { $0["deleted"] as? Bool } == [false, true, true, true])
  }

  @Test func `VALIDATE wants its target, at the end of the batch`() throws {
    let fixture = try Fixture.withZone()

    let missing = try fixture.modify(Self.child("a", of: "nowhere", "VALIDATE"))
    let later = try fixture.modify(Self.child("b", of: "root", "VALIDATE"), Fixture.save("root"))

    #expect(missing.outcomes == ["VALIDATING_REFERENCE_ERROR"])
    #expect(later.outcomes == ["saved", "saved"])
  }

  @Test func `a target stays while a VALIDATE reference holds it`() throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.modify(Fixture.save("root"), Self.child("a", of: "root", "VALIDATE"))

    #expect(try fixture.modify(Fixture.delete("root")).outcomes == ["VALIDATING_REFERENCE_ERROR"])
    #expect(try fixture.modify(Fixture.delete("root"), Fixture.delete("a")).outcomes == ["deleted", "deleted"])
  }

  @Test func `a chain of VALIDATE references fails with its first link`() throws {
    let fixture = try Fixture.withZone()

    let answer = try fixture.modify(
      Self.child("c", of: "b", "VALIDATE"),
      Self.child("b", of: "a", "VALIDATE"),
      Self.child("a", of: "nowhere", "VALIDATE")
    )

    #expect(answer.outcomes == Array(repeating: "VALIDATING_REFERENCE_ERROR", count: 3))
    #expect(fixture.emulator.recordCount() == 0)
  }

  @Test func `a circle of DELETE_SELF references goes all at once`() throws {
    let fixture = try Fixture.withZone()
    _ = try fixture.modify(Self.child("a", of: "b", "DELETE_SELF"), Self.child("b", of: "a", "DELETE_SELF"))

    #expect(try fixture.modify(Fixture.delete("a")).outcomes == ["deleted"])
    #expect(fixture.emulator.recordCount() == 0)
  }

  @Test func `only so many records may refer to one target`() throws {
    var configuration = EmulatorConfiguration()
    configuration.referrerLimit = 2
    let fixture = try Fixture.withZone(configuration)

    _ = try fixture.modify(Self.child("a", of: "root", "DELETE_SELF"), Self.child("b", of: "root", "DELETE_SELF"))

    #expect(try fixture.modify(Self.child("c", of: "root", "DELETE_SELF")).outcomes == ["BAD_REQUEST"])
  }
}
