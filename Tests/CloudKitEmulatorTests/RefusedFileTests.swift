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
      ("CREATE TABLE stranger (a); PRAGMA user_version = 3", .foreign),
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

  @Test(arguments: [(1, EmulatorFileError.Reason.other, "earlier"), (2, .other, "earlier"), (4, .newer, "newer")])
  func `a file of another version is refused with its name`(
    version: Int,
    reason: EmulatorFileError.Reason,
    word: String
  ) async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      try { try Fixture(path: path).createZone("notes") }()
      try DatabaseQueue(path: path).inDatabase { try $0.execute(sql: "PRAGMA user_version = \(version)") }
      #expect(try Self.expect(reason, path)?.description.contains(word) == true)
    }
  }

  @Test func `a file that does not say whose it is is opened by its tables`() async throws {
    try await withTemporaryDirectory { directory in
      let path = directory.appendingPathComponent("data.sqlite").path
      try { try Fixture(path: path).createZone("notes") }()
      try DatabaseQueue(path: path).inDatabase { db in
        #expect(try Int.fetchOne(db, sql: "PRAGMA application_id") != 0)
        try db.execute(sql: "PRAGMA application_id = 0")
      }
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
