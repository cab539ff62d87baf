import CloudKitEmulator
import Foundation
import GRDB
import Testing

/// What is wrong with a file is said in one line, and a file that is refused stays as it is.
@Suite(.serialized) struct RefusedFileTests {
  @Test(
    arguments: [
      "UPDATE database SET path = 'x' WHERE path LIKE '%private%'", "UPDATE schema SET text = 'x'",
      "UPDATE subscription SET body = CAST('{' AS BLOB)", "UPDATE subscription SET body = CAST('{}' AS BLOB)",
    ]
  )
  func `damage is called damage`(sql: String) async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      try {
        let fixture = try Fixture(path: path)
        try fixture.createZone("notes")
        _ = try fixture.modify(Fixture.save("a"))
        _ = try fixture.subscribe(Fixture.zoneSubscription)
      }()
      try DatabaseQueue(path: path).inDatabase { db in
        try db.execute(sql: sql)
        #expect(db.changesCount > 0)
      }

      let error = #expect(throws: EmulatorFileError.self) { try Emulator(path: path) }

      #expect(error?.reason == .damaged)
      #expect(error?.description == "The data file is damaged.")
    }
  }

  @Test(
    arguments: [
      ("PRAGMA user_version = 99", EmulatorFileError.Reason.foreign), ("CREATE TABLE stranger (a)", .foreign),
      ("CREATE TABLE stranger (a); PRAGMA user_version = 5", .foreign),
      ("CREATE TABLE stranger (a); PRAGMA application_id = 7", .foreign),
      ("CREATE TABLE record (a); CREATE TABLE asset (a); PRAGMA application_id = 7", .foreign),
    ]
  )
  func `a file of another program keeps every byte`(sql: String, reason: EmulatorFileError.Reason) async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      try DatabaseQueue(path: path).inDatabase { try $0.execute(sql: sql) }
      try Self.expect(reason, path)
    }
  }

  @Test(arguments: [0, 4, 6])
  func `a file of another version is refused and left as it is`(version: Int) async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      try { try Fixture(path: path).createZone("notes") }()
      try DatabaseQueue(path: path).inDatabase { try $0.execute(sql: "PRAGMA user_version = \(version)") }
      #expect(try Self.expect(.otherVersion, path)?.description.contains("format \(version)") == true)
    }
  }

  @Test func `a file that does not say whose it is is refused, whatever its tables`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      try { try Fixture(path: path).createZone("notes") }()
      try DatabaseQueue(path: path).inDatabase { try $0.execute(sql: "PRAGMA application_id = 0") }
      try Self.expect(.foreign, path)
    }
  }

  /// What a folder holds: the bytes and the mode of each file.
  private static func contents(of folder: URL) throws -> [String: String] {
    var contents: [String: String] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
      let file = folder.appendingPathComponent(name)
      let mode = try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int
      contents[name] = "\(mode ?? 0) \(try Data(contentsOf: file).base64EncodedString())"
    }
    return contents
  }

  /// Makes what another program leaves behind that dies: a database whose newest rows are only in its log.
  private static func makeForeignFile(_ path: String, journal: String, _ sql: String) throws {
    let source = path + ".source"
    let queue = try DatabaseQueue(path: source)
    try queue.inDatabase { db in
      try db.execute(sql: "PRAGMA journal_mode = \(journal)")
      try db.execute(sql: sql)
      for end in ["", "-wal", "-journal"] where FileManager.default.fileExists(atPath: source + end) {
        try FileManager.default.copyItem(atPath: source + end, toPath: path + end)
      }
      if journal == "DELETE" { try db.execute(sql: "COMMIT") }
    }
    try queue.close()
    for end in ["", "-wal", "-journal", "-shm"] { try? FileManager.default.removeItem(atPath: source + end) }
    for end in ["", "-wal", "-journal"] where FileManager.default.fileExists(atPath: path + end) {
      try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path + end)
    }
  }

  @Test(arguments: [
    ("WAL", "CREATE TABLE stranger (a); INSERT INTO stranger VALUES (1)"),
    ("WAL", "PRAGMA application_id = 7; CREATE TABLE stranger (a)"),
    ("DELETE", "CREATE TABLE stranger (a); BEGIN; PRAGMA cache_spill = 1; INSERT INTO stranger VALUES (1)"),
  ])
  func `a file of another program is not touched, nor is what lies beside it`(journal: String, sql: String) async throws
  {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      try Self.makeForeignFile(path, journal: journal, sql)
      let before = try Self.contents(of: directory)

      let error = #expect(throws: EmulatorFileError.self) { try Emulator(path: path) }

      #expect(error?.reason == .foreign)
      #expect(try Self.contents(of: directory) == before)
      #expect(before["data.sqlite"]?.hasPrefix("\(0o644) ") == true)
    }
  }

  @Test(arguments: ["hello", String(repeating: "all that I own\n", count: 10_000), "SQLite format 3\0 but no more"])
  func `a file that is no database is not touched`(text: String) async throws {
    try await withTemporaryDirectory { directory in
      let file = directory.appendingPathComponent("notes.txt")
      try Data(text.utf8).write(to: file)
      try FileManager.default.setAttributes([.posixPermissions: 0o664], ofItemAtPath: file.path)
      let before = try Self.contents(of: directory)

      let error = #expect(throws: EmulatorFileError.self) { try Emulator(path: file.path) }

      #expect(error?.reason == .foreign)
      #expect(try Self.contents(of: directory) == before)
    }
  }

  @Test(arguments: ["data.sqlite-wal", "data.sqlite-journal"], [false, true])
  func `a file with the name of a log is not deleted`(name: String, isEmptyFileThere: Bool) async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      if isEmptyFileThere { try Data().write(to: URL(fileURLWithPath: path)) }
      try Data(repeating: 65, count: 9000).write(to: directory.appendingPathComponent(name))
      let before = try Self.contents(of: directory)

      let error = #expect(throws: EmulatorFileError.self) { try Emulator(path: path) }

      #expect(error?.reason == .foreign)
      #expect(try Self.contents(of: directory) == before)
    }
  }

  @Test func `a file is known as ours by its header, at the earliest kill`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      let image = directory.appendingPathComponent("image").path
      let fixture = try Fixture(path: path)
      try fixture.createZone("notes")
      let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      #expect(bytes.count == 4096 && Array(bytes[68..<72]) == Array("ckem".utf8))
      for end in ["", "-wal"] { try FileManager.default.copyItem(atPath: path + end, toPath: image + end) }

      #expect(try Emulator(path: image).dump() == fixture.emulator.dump())
    }
  }

  @Test func `an empty file is one to write to`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      try Data().write(to: URL(fileURLWithPath: path))
      try { try Fixture(path: path).createZone("notes") }()
      #expect(try Emulator(path: path).dump().contains("notes"))
    }
  }

  @discardableResult
  private static func expect(_ reason: EmulatorFileError.Reason, _ path: String) throws -> EmulatorFileError? {
    let before = try Data(contentsOf: URL(fileURLWithPath: path))
    let error = #expect(throws: EmulatorFileError.self) { try Emulator(path: path) }
    #expect(error?.reason == reason)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
    return error
  }
}
