import CloudKitEmulator
import Foundation
import Testing

@Suite(.serialized) struct SnapshotTests {
  private static let ana = EmulatorDatabase.private(of: "ana", "iCloud.test")

  /// A shared list with an asset, a query subscription and a deleted zone.
  private static func world() throws -> Shared {
    let shared = try Shared()
    _ = try shared.share()
    let asset = try shared.fixture.emulator.upload(Data("picture".utf8), at: shared.fixture.now)
    _ = try shared.fixture.emulator.save(
      in: ana,
      zone: "notes",
      recordType: "Note",
      recordName: "milk",
      fields: ["picture": .asset(asset), "n": .int64(7)],
      at: shared.fixture.now
    )
    try shared.fixture.createZone("gone")
    _ = try shared.fixture.deleteZone("gone")
    _ = try shared.fixture.post(
      "subscriptions/modify",
      #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"s","subscriptionType":"zone","#
        + #""zoneID":{"zoneName":"notes"}}}]}"#
    )
    return shared
  }

  /// What is answered, but for tokens: those begin anew.
  private static func answers(_ fixture: Fixture) throws -> [String] {
    try [
      fixture.post("zones/list"), fixture.changes(), fixture.post("subscriptions/list"),
      fixture.query(#""filterBy":[{"comparator":"EQUALS","fieldName":"n","fieldValue":{"value":7}}]"#),
      fixture.post("zones/list", database: "shared", query: Shared.berta),
    ].map { $0.text.replacing(/"syncToken":"[^"]*"/, with: "") }
  }

  @Test func `a restored state is the one that was kept, down to every answer`() throws {
    let fixture = try Self.world().fixture
    let now = fixture.now
    let (dump, answers) = (fixture.emulator.dump(), try Self.answers(fixture))
    let snapshot = try fixture.emulator.snapshot()
    for round in 0..<2 {
      _ = try fixture.modify(
        Fixture.save("new\(round)", #""m":{"value":1}"#),
        Fixture.delete("milk"),
        Fixture.delete("list")
      )
      fixture.pass(10_000)
      _ = try fixture.deleteZone("notes")
      _ = try fixture.post("subscriptions/list")
      #expect(fixture.emulator.dump() != dump && fixture.emulator.assetCount == 0)

      try fixture.emulator.restore(snapshot)

      #expect(fixture.emulator.dump() == dump)
      fixture.pass(now.timeIntervalSince(fixture.now))
      #expect(try Self.answers(fixture) == answers)
      guard case .asset(let asset)? = fixture.emulator.record("milk", in: Self.ana, zone: "notes")?.fields["picture"]
      else {
        Issue.record("The asset is gone.")
        return
      }
      #expect(fixture.emulator.bytes(of: asset) == Data("picture".utf8))
    }
  }

  @Test func `a snapshot in a file starts an emulator, and is restored in one of either kind`() async throws {
    let fixture = try Self.world().fixture
    _ = try Self.answers(fixture)
    let dump = fixture.emulator.dump()
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("snapshot.sqlite").path
      let answers = try {
        try fixture.emulator.snapshot().write(to: path)
        let opened = try Fixture(path: path)
        #expect(opened.emulator.dump() == dump && opened.emulator.assetCount == 1)
        return try Self.answers(opened)
      }()
      let snapshot = try EmulatorSnapshot(reading: path)

      for other in [try Fixture(), try Fixture(path: directory.appendingPathComponent("other.sqlite").path)] {
        try other.createZone("in the way")
        try other.emulator.restore(snapshot)

        other.pass(Fixture.start.timeIntervalSince(other.now))
        #expect(other.emulator.dump() == dump)
        #expect(try Self.answers(other) == answers)
        _ = try other.modify(Fixture.save("later"))
      }
      #expect(throws: (any Error).self) { try snapshot.write(to: path) }
    }
  }

  @Test func `tokens and tags of a history that was given up do not come again`() throws {
    let fixture = try Fixture()
    try fixture.createZone("notes")
    let snapshot = try fixture.emulator.snapshot()
    let lost = try fixture.modify(Fixture.save("one"))
    let zone = try #require(try fixture.changes().zones.first?["syncToken"] as? String)
    let database = try #require(try fixture.post("changes/database", "{}").object["syncToken"] as? String)

    try fixture.emulator.restore(snapshot)
    let kept = try fixture.modify(Fixture.save("two"))
    let tag = { (answer: Answer) in (answer.records.first?["recordChangeTag"] as? String) ?? "" }

    #expect(tag(lost) != tag(kept) && !tag(kept).isEmpty)
    #expect(try fixture.changes(zone).text.contains("Unknown sync continuation type"))
    let since = try fixture.post("changes/database", #"{"syncToken":"\#(database)"}"#)
    #expect(since.text.contains("Unknown sync continuation type"))
  }

  @Test func `a server in memory does not know the tokens of another one`() throws {
    let tokens = try [UInt64(1), 2].map { seed in
      var configuration = EmulatorConfiguration()
      configuration.seed = seed
      let fixture = try Fixture(configuration)
      try fixture.createZone("notes")
      return try #require(try fixture.post("changes/database", "{}").object["syncToken"] as? String)
    }

    #expect(tokens[0] != tokens[1])
  }

  @Test func `a database that was only asked for is written to as any other, also after others and a restore`() throws {
    let fixture = try Fixture()
    let beginning = try fixture.emulator.snapshot()
    let berta = "ckAPIToken=token&ckWebAuthToken=berta"
    let body = #"{"operations":[\#(Fixture.save("p"))]}"#
    let lookup = #"{"records":[{"recordName":"p"}]}"#
    for _ in 0..<2 {
      #expect(try fixture.post("records/lookup", lookup, query: berta).outcomes == ["NOT_FOUND"])
      try fixture.createZone("notes")
      #expect(try fixture.modify(Fixture.save("a", type: "create")).outcomes == ["saved"])
      #expect(try fixture.post("records/modify", body, query: berta).outcomes == ["saved"])
      #expect(try fixture.post("records/lookup", lookup, query: berta).outcomes == ["saved"])
      _ = try fixture.deleteZone("notes")
      try fixture.createZone("notes")
      #expect(try fixture.modify(Fixture.save("a", type: "create")).outcomes == ["saved"])

      try fixture.emulator.restore(beginning)

      #expect(fixture.emulator.dump().isEmpty && fixture.emulator.recordCount() == 0)
    }
  }

  @Test func `what is restored on file is there after a restart`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      let world = try Self.world().fixture
      let snapshot = try world.emulator.snapshot()
      try {
        let fixture = try Fixture(path: path)
        try fixture.createZone("in the way")
        try fixture.emulator.restore(snapshot)
        _ = try fixture.modify(Fixture.save("after"))
        try world.emulator.restore(snapshot)
        _ = try world.modify(Fixture.save("after"))
      }()

      #expect(try Emulator(path: path).dump() == world.emulator.dump())
    }
  }

  @Test func `a snapshot of a file leaves nothing behind`() async throws {
    try await withTemporaryDirectory { directory in
      _ = await #expect(processExitsWith: .success) { [directory = directory.path as String] in
        setenv("TMPDIR", directory, 1)
        let fixture = try Fixture(path: directory + "/data.sqlite")
        try fixture.createZone("notes")
        try withExtendedLifetime(try fixture.emulator.snapshot()) { snapshot in
          try fixture.emulator.restore(snapshot)
        }

        #expect(
          try FileManager.default.contentsOfDirectory(atPath: directory).allSatisfy { $0.hasPrefix("data.sqlite") }
        )
      }
    }
  }
}
