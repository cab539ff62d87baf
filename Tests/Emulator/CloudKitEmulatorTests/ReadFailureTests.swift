import CloudKitEmulator
import Foundation
import GRDB
import Testing

/// A read that fails is told to whoever wanted to read, and to nobody else.
@Suite(.serialized) struct ReadFailureTests {
  private static let ana = EmulatorDatabase.private(of: "ana", "iCloud.test")

  @Test func `what is looked at from outside costs no request anything`() async throws {
    try await Self.damaged("UPDATE record SET body = x'' WHERE name = 'a'") { fixture, _ throws in
      let looks: [(Emulator) -> Bool] = [
        { $0.dump().contains("cannot be read") }, { $0.record("a", in: Self.ana, zone: "notes") == nil },
        { $0.records(in: Self.ana, zone: "notes").map(\.recordName) == ["b"] },
      ]
      for look in looks {
        #expect(look(fixture.emulator))
        #expect(try fixture.post("zones/list").status == 200)
      }
    }
  }

  @Test func `a count that fails costs no request anything`() async throws {
    try await Self.damaged("ALTER TABLE record RENAME COLUMN deleted TO gone") { fixture, _ throws in
      #expect(fixture.emulator.recordCount() == 0)
      #expect(try fixture.post("zones/list").status == 200)
    }
  }

  @Test func `a download that fails says so, and no other request does`() async throws {
    try await Self.damaged("DROP TABLE content") { fixture, url throws in
      #expect(try fixture.open(url).status == 500)
      #expect(try fixture.post("zones/list").status == 200)
    }
  }

  /// Fills a file, damages it, and opens it again; the URL is that of a file in a record.
  private static func damaged(_ sql: String, _ work: (Fixture, String) throws -> Void) async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      let url = try {
        let fixture = try Fixture(path: path)
        try fixture.createZone("notes")
        let asset = try fixture.upload("picture", "b")
        _ = try fixture.modify(
          Fixture.save("a", #""n":{"value":1}"#),
          Fixture.save("b", #""photo":{"value":\#(asset)}"#)
        )
        return try fixture.downloadURL("b")
      }()
      try DatabaseQueue(path: path).inDatabase { db in try db.execute(sql: sql) }
      try work(try Fixture(path: path), url)
    }
  }
}
