import CloudKitEmulator
import Foundation
import Testing

/// An emulator is never taken for another one.
struct IdentityTests {
  /// The sync tokens of the database and of a zone, and the change tag of a record, of an emulator that did the same as
  /// others.
  private static func marks(_ emulator: Emulator) throws -> [String] {
    func post(_ operation: String, _ body: String) -> Answer? {
      let path = "/database/1/iCloud.test/development/private/\(operation)"
      let request = EmulatorRequest(path: path, query: Fixture.ana, body: Data(body.utf8))
      guard case .respond(let response) = emulator.handle(request, at: Fixture.start).outcome else { return nil }
      return Answer(response)
    }
    _ = post("zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"notes"}}}]}"#)
    let zone = #""zoneID":{"zoneName":"notes"}"#
    let saved = post("records/modify", #"{\#(zone),"operations":[\#(Fixture.save("a"))]}"#)
    let database = post("changes/database", "{}")?.object["syncToken"] as? String
    let changes = post("changes/zone", #"{"zones":[{\#(zone)}]}"#)?.zones.first?["syncToken"] as? String
    let tag = saved?.records.first?["recordChangeTag"] as? String
    return try [database, changes, tag].map { try #require($0) }
  }

  private static func emulator(_ seed: UInt64?, path: String? = nil) throws -> Emulator {
    var configuration = EmulatorConfiguration()
    configuration.seed = seed
    return try Emulator(configuration: configuration, path: path)
  }

  @Test func `two emulators have no token or tag in common, unless they have the same seed`() throws {
    let (one, other) = (try Self.marks(Self.emulator(nil)), try Self.marks(Self.emulator(nil)))
    #expect(Set(one).isDisjoint(with: other))
    #expect(try Self.marks(Self.emulator(7)) == Self.marks(Self.emulator(7)))
  }

  @Test func `a sync token of another emulator is unknown`() throws {
    let other = try Self.marks(Self.emulator(nil))
    let fixture = try Fixture(EmulatorConfiguration())
    try fixture.createZone("notes")
    #expect(try fixture.changes(other[1]).text.contains("Unknown sync continuation type"))
    let since = try fixture.post("changes/database", #"{"syncToken":"\#(other[0])"}"#)
    #expect(since.text.contains("Unknown sync continuation type"))
  }

  @Test func `a data file keeps its identity and its secret, for its user alone`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      var emulator: Emulator? = try Self.emulator(nil, path: path)
      let first = emulator?.configuration
      emulator = nil
      emulator = try Self.emulator(nil, path: path)
      #expect(emulator?.configuration.seed == first?.seed && emulator?.configuration.secret == first?.secret)
      let other = try Self.emulator(nil, path: directory.appendingPathComponent("other.sqlite").path)
      #expect(other.configuration.seed != first?.seed && other.configuration.secret != first?.secret)

      // The contents of another emulator do not change who this one is.
      try emulator?.restore(other.snapshot())
      emulator = nil
      emulator = try Self.emulator(nil, path: path)
      #expect(emulator?.configuration.seed == first?.seed && emulator?.configuration.secret == first?.secret)

      for name in try FileManager.default.contentsOfDirectory(atPath: directory.path) {
        let file = directory.appendingPathComponent(name).path
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600, "\(name)")
      }
    }
  }

  @Test func `a file that others may read is closed to them, and a secret is drawn once where none was kept`()
    async throws
  {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      _ = try Self.emulator(3, path: path)
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
      let secrets = try (0..<2).map { _ in try Self.emulator(nil, path: path).configuration.secret }
      #expect(secrets[0] == secrets[1] && !secrets[0].isEmpty)
      #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    }
  }

  @Test func `a data file is not created through a link`() async throws {
    try await withTemporaryDirectory { directory in
      let (link, target) = (directory.appendingPathComponent("link"), directory.appendingPathComponent("target"))
      try FileManager.default.createSymbolicLink(at: link, withDestinationURL: target)
      #expect(throws: EmulatorFileError.self) { try Self.emulator(nil, path: link.path) }
      #expect(!FileManager.default.fileExists(atPath: target.path))
    }
  }
}
