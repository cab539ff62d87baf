import CloudKitEmulator
import Foundation
import GRDB
import Testing

/// Snapshots that are written to files and read from them.
@Suite(.serialized) struct SnapshotFileTests {
  @Test func `a snapshot that cannot be written whole leaves nothing behind`() async throws {
    try await withTemporaryDirectory { directory in
      _ = await #expect(processExitsWith: .success) { [directory = directory.path as String] in
        let fixture = try Fixture()
        try fixture.createZone("notes")
        let body = String(repeating: "x", count: 100_000)
        _ = try fixture.modify(Fixture.save("a", "\"body\":{\"value\":\"\(body)\"}"))
        let snapshot = try fixture.emulator.snapshot()
        // The disk is full after some pages.
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit(rlim_cur: 50_000, rlim_max: rlim_t.max)
        guard setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0 else { exit(1) }

        #expect(throws: (any Error).self) { try snapshot.write(to: directory + "/snapshot") }

        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
      }
    }
  }

  @Test func `reading a file leaves it as it is`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      try {
        let fixture = try Fixture(path: path)
        try fixture.createZone("notes")
      }()
      let before = try Data(contentsOf: URL(fileURLWithPath: path))
      let files = try FileManager.default.contentsOfDirectory(atPath: directory.path)

      let snapshot = try EmulatorSnapshot(reading: path)

      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
      #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == files)
      let emulator = try Emulator()
      try emulator.restore(snapshot)
      #expect(emulator.dump().contains("notes"))
    }
  }

  @Test func `what a killed process has left is read, and left as it is`() async throws {
    try await withTemporaryDirectory { directory in
      let fixture = try Fixture(path: directory.appendingPathComponent("data.sqlite").path)
      try fixture.createZone("notes")
      let image = directory.appendingPathComponent("image.sqlite")
      for suffix in ["", "-wal"] {
        try FileManager.default.copyItem(
          atPath: directory.appendingPathComponent("data.sqlite\(suffix)").path,
          toPath: image.path + suffix
        )
      }
      let files = try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: image.path + $0)) }

      let snapshot = try EmulatorSnapshot(reading: image.path)

      #expect(try ["", "-wal"].map { try Data(contentsOf: URL(fileURLWithPath: image.path + $0)) } == files)
      let emulator = try Emulator()
      try emulator.restore(snapshot)
      #expect(emulator.dump() == fixture.emulator.dump())
    }
  }

  @Test func `an empty file is no snapshot, and neither is one in use`() async throws {
    try await withTemporaryDirectory { directory in
      let empty = directory.appendingPathComponent("empty").path
      try Data().write(to: URL(fileURLWithPath: empty))
      let error = #expect(throws: EmulatorFileError.self) { try EmulatorSnapshot(reading: empty) }
      #expect(error?.reason == .foreign)

      let used = directory.appendingPathComponent("used.sqlite").path
      let fixture = try Fixture(path: used)
      let other = #expect(throws: EmulatorFileError.self) { try EmulatorSnapshot(reading: used) }
      #expect(other?.reason == .inUse)
      try fixture.createZone("notes")
    }
  }

  @Test func `what was only asked for is not kept`() async throws {
    let fixture = try Fixture()
    for number in 0..<10 {
      let path = "/database/1/iCloud.test\(number)/development/public/zones/list"
      let request = EmulatorRequest(method: "GET", path: path, query: "ckAPIToken=token")
      #expect(fixture.emulator.handle(request, at: fixture.now).response?.status == 200)
    }
    _ = try fixture.post("zones/list")
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("snapshot.sqlite").path
      try fixture.emulator.snapshot().write(to: path)
      let databases = try DatabaseQueue(path: path).inDatabase { db in
        try String.fetchAll(db, sql: "SELECT path FROM database")
      }
      // Ana's name is kept there.
      #expect(databases == ["iCloud.test/development/public"])
    }
  }

  @Test func `the users of the configuration are known after a restore`() throws {
    var configuration = EmulatorConfiguration()
    configuration.users = ["zoe@example.org"]
    let fixture = try Fixture(configuration)
    let info = #"{"lookupInfos":[{"emailAddress":"zoe@example.org"}]}"#
    let before = try fixture.post("users/discover", info, database: "public").text

    try fixture.emulator.restore(try Emulator().snapshot())

    #expect(before.contains("zoe"))
    #expect(try fixture.post("users/discover", info, database: "public").text == before)
  }
}
