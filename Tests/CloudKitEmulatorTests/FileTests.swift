import CloudKitEmulator
import Foundation
import Testing

@Suite struct FileTests {
  static func write(_ path: String) throws -> (Fixture, token: String) {
    let fixture = try Fixture(path: path)
    try fixture.createZone("notes")
    try fixture.createZone("old")
    let fields = [
      #""s":{"value":"é😀"},"d":{"value":0.1},"i":{"value":9007199254740993},"b":{"value":"AAEC","type":"BYTES"}"#,
      #""t":{"value":5,"type":"TIMESTAMP"},"l":{"value":{"latitude":1.5,"longitude":2.5,"timestamp":7}},"e":{"value":[]}"#,
      #""r":{"value":{"recordName":"b","action":"DELETE_SELF"}},"x":{"value":["a"]},"z":{"value":"q","type":"STRING","isEncrypted":true}"#,
    ]
    _ = try fixture.modify(Fixture.save("b"), Fixture.save("gone"))
    _ = try fixture.modify(
      Fixture.save("a", fields.joined(separator: ","), more: #","parent":{"recordName":"b"},"createShortGUID":true"#)
    )
    let token = try #require(try fixture.changes().zones[0]["syncToken"] as? String)
    _ = try fixture.modify(Fixture.delete("gone"))
    _ = try fixture.deleteZone("old")
    _ = try fixture.post("records/modify", #"{"operations":[\#(Fixture.save("p"))]}"#, database: "public")
    return (fixture, token)
  }

  @Test func `everything is there after a restart, and goes on where it was`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      let (dump, token, lookup): (String, String, String) = try {
        let (fixture, token) = try Self.write(path)
        return (fixture.emulator.dump(), token, try Self.lookup(fixture))
      }()

      let fixture = try Fixture(path: path)

      #expect(fixture.emulator.dump() == dump)
      #expect(try Self.lookup(fixture) == lookup)
      let page = try #require(try fixture.changes(token).zones[0]["records"] as? [[String: Any]])
      #expect(page.map { $0["recordName"] as? String } == ["gone"])
      #expect(try fixture.modify(Fixture.save("c", #""i":{"value":"text"}"#)).outcomes == ["BAD_REQUEST"])
      _ = try fixture.modify(Fixture.delete("b"))
      #expect(fixture.emulator.record("a", in: .private(of: "ana", "iCloud.test"), zone: "notes") == nil)
    }
  }

  static func lookup(_ fixture: Fixture) throws -> String {
    try fixture.post("records/lookup", #"{"zoneID":{"zoneName":"notes"},"records":[{"recordName":"a"}]}"#).text
  }

  @Test func `a copy of the files taken at any moment holds every answered write`() async throws {
    try await withTemporaryDirectory { directory in
      let fixture = try Fixture(path: directory.appendingPathComponent("data.sqlite").path)
      try fixture.createZone("notes")
      for round in 0..<10 {
        _ = try fixture.modify(Fixture.save("a\(round)"), Fixture.save("b\(round)"), atomic: true)
        // What a process leaves behind that is killed right now.
        let image = directory.appendingPathComponent("image\(round)")
        try FileManager.default.createDirectory(at: image, withIntermediateDirectories: true)
        for name in ["data.sqlite", "data.sqlite-wal"] {
          let source = directory.appendingPathComponent(name)
          guard FileManager.default.fileExists(atPath: source.path) else { continue }
          try FileManager.default.copyItem(at: source, to: image.appendingPathComponent(name))
        }

        let survivor = try Emulator(path: image.appendingPathComponent("data.sqlite").path)

        #expect(survivor.dump() == fixture.emulator.dump())
      }
    }
  }

  @Test func `a process killed after an answer leaves that write behind`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String] in
        let (fixture, _) = try Self.write(path)
        _ = try fixture.modify(Fixture.save("last"))
        kill(getpid(), SIGKILL)
      }

      let survivor = try Emulator(path: path)

      #expect(survivor.record("last", in: .private(of: "ana", "iCloud.test"), zone: "notes") != nil)
    }
  }

  @Test func `a file serves one emulator at a time`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      let first = try Fixture(path: path)

      #expect(throws: (any Error).self) { try Emulator(path: path) }
      #expect(try first.post("zones/list").status == 200)
    }
  }
}
