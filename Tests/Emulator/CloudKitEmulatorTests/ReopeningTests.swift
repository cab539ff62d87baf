import CloudKitEmulator
import Foundation
import Testing

/// Whatever requests have brought into a data file, it opens again.
@Suite(.serialized) struct ReopeningTests {
  @Test(
    arguments: [
      #"{"value":{"recordName":"b"},"type":"REFERENCE","isEncrypted":true}"#,
      #"{"value":[{"recordName":"b"}],"type":"REFERENCE_LIST","isEncrypted":true}"#,
      #"{"value":[],"type":"REFERENCE_LIST","isEncrypted":true}"#,
      #"{"value":[],"type":"ASSET_LIST","isEncrypted":true}"#,
      #"{"value":[],"type":"ASSETID_LIST","isEncrypted":true}"#,
    ]
  )
  func `a value that has no encrypted form is refused, and the schema does not learn it`(value: String) async throws {
    try await Self.reopened { fixture throws in
      #expect(try fixture.modify(Fixture.save("a", #""f":\#(value)"#)).outcomes == ["BAD_REQUEST"])
    }
  }

  @Test func `the names of a share's fields are no longer than others`() async throws {
    try await Self.reopened { fixture throws in
      let share = { (field: String) in
        #"{"operationType":"create","record":{"recordName":"cloudkit.zoneshare","recordType":"cloudkit.share","#
          + #""fields":{"\#(field)":{"value":1}},"publicPermission":"NONE","participants":[]}}"#
      }
      let name = "cloudkit." + String(repeating: "x", count: 247)
      #expect(try fixture.modify(share(name)).outcomes == ["BAD_REQUEST"])
      #expect(try fixture.modify(share(String(name.dropLast()))).outcomes == ["saved"])
    }
  }

  @Test(arguments: ["a%00b", "a%0Ab", "a%20b", "a%C3%A9", "a%2Fb", "a%22", String(repeating: "x", count: 249)])
  func `a container has letters, digits and marks, and no more than 255`(name: String) async throws {
    try await Self.reopened { fixture throws in
      let path = "/database/1/iCloud.\(name)/development/private/zones/list"
      let request = EmulatorRequest(method: "GET", path: path, query: Fixture.ana)
      #expect(fixture.emulator.handle(request, at: fixture.now).response?.status == 404)

      let container = "iCloud." + (name.removingPercentEncoding ?? name)
      #expect(throws: EmulatorError.self) { try fixture.emulator.importSchema("DEFINE SCHEMA", container: container) }
      #expect(throws: EmulatorError.self) { try fixture.emulator.deploySchema(of: container) }
      #expect(throws: EmulatorError.self) {
        try fixture.emulator.createZone("z", in: .private(of: "ana", container), at: fixture.now)
      }
    }
    let longest = "iCloud.a-b_c.1" + String(repeating: "x", count: 241)
    #expect(throws: Never.self) { try Emulator().importSchema("DEFINE SCHEMA", container: longest) }
  }

  @Test func `names with control characters get nowhere near the file`() async throws {
    try await Self.reopened { fixture throws in
      _ = try fixture.modify(Fixture.save("a"))
      let stranger = "ckAPIToken=token&ckWebAuthToken=an%00a"
      #expect(try fixture.post("users/caller", database: "public", query: stranger).status == 401)
      let child = Fixture.save("child", more: #","parent":{"recordName":"a\u0000b"}"#)
      #expect(try fixture.modify(child).outcomes == ["BAD_REQUEST"])
      let lookup = #"{"zoneID":{"zoneName":"notes"},"records":[{"recordName":"a\u0000b"}]}"#
      #expect(try fixture.post("records/lookup", lookup).outcomes == ["NOT_FOUND"])
    }
  }

  /// Starts an emulator with a zone `notes`, and once more when the work is done.
  static func reopened(_ work: (Fixture) throws -> Void) async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      let state = { (fixture: Fixture) in
        fixture.emulator.dump() + fixture.emulator.exportSchema(container: "iCloud.test")
      }
      let before = try {
        let fixture = try Fixture(path: path)
        try fixture.createZone("notes")
        try work(fixture)
        return state(fixture)
      }()

      let fixture = try Fixture(path: path)

      #expect(state(fixture) == before)
      #expect(throws: Never.self) {
        let text = fixture.emulator.exportSchema(container: "iCloud.test")
        try Emulator().importSchema(text, container: "iCloud.test")
      }
    }
  }
}
