import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import GRDB
import Testing

@testable import CloudSync

extension TestFolder {
  /// Copies the store that schema 28 wrote here: records, changes in every state, a pause, dropped changes and history.
  func formerStore(_ name: String) throws -> String {
    let stored = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("version-28.sqlite")
    try FileManager.default.copyItem(atPath: stored.path, toPath: path("\(name).sqlite"))
    return path("\(name).sqlite")
  }
}

/// A store of schema 28 is opened, migrated and synced with nothing lost.
@Suite(.serialized, .onFile) struct MigrationTests {
  private let folder = TestFolder()

  @Test func `a store of schema 28 is migrated and synced with nothing lost`() async throws {
    let world = try World()
    let other = try world.device("other")
    for name in ["kept", "edited", "removed", "disputed", "held", "acknowledged", "unconfirmed"] {
      try other.store.accept(world.put(name, ["x": .int64(1), "y": .int64(1)]))
    }
    try await other.sync()
    _ = try world.folder.formerStore("old")

    let device = try world.device("old", policy: .manual)
    let before = try device.store.queue()
    let endings = try device.store.endings()
    try await device.sync()

    #expect(
      before == [
        "save disputed conflict", "save failed failed", "save new pending", "save edited pending",
        "delete removed pending", "save paused paused", "save grouped1 pending", "save grouped2 pending",
        "save draft pending", "save sent inFlight",
      ]
    )
    #expect(
      endings == [
        "save acknowledged acknowledged", "delete lost acknowledged", "save kept merged",
        "save unconfirmed acknowledged", "save discarded discarded",
      ]
    )
    #expect(
      try device.store.queue() == [
        "save disputed conflict", "save failed failed", "save paused paused", "save draft pending",
      ]
    )
    for name in ["new", "edited", "grouped1", "grouped2", "sent"] {
      #expect(world.onServer(name)?["x"] == .int64(2), "\(name)")
    }
    #expect(world.onServer("removed") == nil)
    #expect(try device.store.pauses().map(\.rule) == [.type("Draft")])
    #expect(try await device.engine.verify().allSatisfy(\.isEmpty))

    let discarded = try #require(try device.store.dropped().first { $0.cause == .discarded(by: "ana") })
    _ = try device.store.undo(discarded.operation, actor: "ana")
    try await device.sync()
    #expect(world.onServer("discarded")?["x"] == .int64(2))
  }

  @Test func `a field that an earlier version merged as a counter is merged by the policy`() async throws {
    let world = try World()
    let other = try world.device("other")
    for (name, x) in [("edited", 5), ("disputed", 1)] as [(String, Int64)] {
      try other.store.accept(world.put(name, ["x": .int64(x), "y": .int64(1)]))
    }
    try await other.sync()
    let queue = try DatabaseQueue(path: try world.folder.formerStore("old"))
    try await queue.write {
      try $0.execute(
        sql: """
          UPDATE meta SET value = replace(value, '"mergeRules":{}', '"mergeRules":{"Note":{"x":"counter"}}');
          UPDATE operations SET changes = replace(changes, '[]', '[],"rules":{"x":"counter"}') WHERE name = 'edited';
          UPDATE operations SET reason = replace(reason, 'fields', 'counters') WHERE name = 'disputed';
          """
      )
    }
    try queue.close()

    let device = try world.device("old", policy: .manual, replacesStored: false)
    try await device.sync()

    let conflicts = try device.store.conflicts().filter { $0.key.name == "edited" || $0.key.name == "disputed" }
    #expect(conflicts.map(\.cause) == [.conflict(.fields(["x"])), .conflict(.fields(["x"]))])
    let edited = try #require(conflicts.first { $0.key.name == "edited" }?.fields.first)
    #expect([edited.base, edited.local, edited.server] == [.int64(1), .int64(2), .int64(5)])
    #expect(world.onServer("edited")?["x"] == .int64(5))
  }

  @Test func `a migrated store has the schema of a new one`() throws {
    func schema(_ storage: SQLiteStorage) throws -> [Row] {
      try storage.writer.read {
        try Row.fetchAll($0, sql: "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")
      }
    }

    let new = try SQLiteStorage(path: folder.path("new.sqlite"))
    let migrated = try SQLiteStorage(path: folder.formerStore("old"))

    #expect(try schema(migrated) == schema(new))
    try migrated.checkContents()
  }

  @Test func `values that an earlier version kept as texts are in their columns`() throws {
    let path = try folder.formerStore("old")
    try DatabaseQueue(path: path).write {
      try $0.execute(
        sql: """
          INSERT INTO meta VALUES ('paused', '1000 ana'), ('refused', '1'), ('operationLimit', '50'), ('app', '7');
          INSERT INTO meta SELECT 'wait ' || id, '1000 9000' FROM operations WHERE state = 'paused';
          """
      )
    }
    #expect(SyncStore.owner(ofStoreAt: path) == "_f684b3e89a634573e4989c85a4b643aa")

    try SQLiteStorage(path: path).read { ledger in
      #expect(try ledger.value(.container) == "iCloud.test")
      #expect(try ledger.value(.identity) == "_f684b3e89a634573e4989c85a4b643aa")
      #expect(try ledger.value(.databaseToken) == "Akp5RgUTnYjkAAAAAAAAAAY=")
      #expect(try ledger.value(.clock) == 1_700_000_020_000)
      #expect(try [ledger.value(.turn), ledger.value(.operationLimit), ledger.value(.appFencingToken)] == [3, 50, 7])
      #expect(try ledger.isTrue(.isRefused))
      #expect(try (ledger.value(.pausedAt), ledger.value(.pausedBy)) == (1000, "ana"))
      #expect(try ledger.value(.deliveriesAskedAt) != nil)
      let paused = try #require(try ledger.operationIDs(in: .paused, limit: 1).first)
      #expect(try ledger.keptWait(of: paused)?.until == 9000)
    }
  }

  @Test func `tables that another program added to the store stay`() throws {
    let path = try folder.formerStore("old")
    try DatabaseQueue(path: path).write {
      try $0.execute(
        sql: """
          CREATE TABLE notes(id INTEGER PRIMARY KEY, text TEXT);
          CREATE INDEX "notes by text" ON notes(text);
          CREATE VIEW "open notes" AS SELECT * FROM notes JOIN operations USING (id);
          INSERT INTO notes VALUES (1, 'kept');
          """
      )
    }

    let text = try SQLiteStorage(path: path).writer.read { try String.fetchOne($0, sql: "SELECT text FROM notes") }

    #expect(text == "kept")
  }

  @Test func `numbers go on after a migration`() throws {
    let path = try folder.formerStore("old")
    let sql = "SELECT name, seq FROM sqlite_sequence ORDER BY name"
    let before = try DatabaseQueue(path: path).read { try Row.fetchAll($0, sql: sql) }

    let after = try SQLiteStorage(path: path).writer.read { try Row.fetchAll($0, sql: sql) }

    #expect(before.filter { !["passes"].contains($0["name"] as String) }.allSatisfy(after.contains))
  }

  @Test func `what an earlier version dropped is unseen if no person dropped it, and keeps a time before its edit`()
    throws
  {
    let path = try folder.formerStore("old")
    let queue = try DatabaseQueue(path: path)
    let (nothing, change) = (FieldChanges(), FieldChanges(values: ["x": .int64(1)]))
    let rows: [(cause: Cause, kind: String, changes: FieldChanges, conflict: Cause?, isOpen: Bool)] = [
      (.serverKept(fields: ["x"]), "save", change, nil, true),
      (.serverSideKept(.deletedHere), "delete", nothing, nil, false),
      (.resolved(by: .app), "save", change, .conflict(.fields([])), true),
      (.resolved(by: .app), "save", nothing, .conflict(.fields([])), true),
      (.resolved(by: .person), "save", nothing, .conflict(.fields([])), true),
      (.discarded(by: "ana"), "save", change, nil, true), (.legacy("dropped"), "save", change, nil, true),
    ]
    try queue.write { database in
      try database.execute(sql: "DELETE FROM operations; DELETE FROM dropped; DELETE FROM history")
      for (index, row) in rows.enumerated() {
        try database.execute(
          sql: """
            INSERT INTO dropped(operationId, operation, zone, owner, name, type, changes, reason, conflict, at, isOpen)
            VALUES (?, ?, 'z', '', ?, 'Note', ?, ?, ?, 1000, ?)
            """,
          arguments: [
            index + 1, row.kind, "r\(index + 1)", JSONColumn.text(row.changes), row.cause.stored, row.conflict?.stored,
            row.isOpen,
          ]
        )
      }
      try database.execute(
        sql: """
          INSERT INTO history(operationId, operation, zone, owner, ending, detail, enqueuedAt, endedAt)
          VALUES (1, 'save', 'z', '', 'merged', '', 400, 1000);
          INSERT INTO operations(id, operation, zone, name, type, changes, base, state, reason, enqueuedAt, editedAt, bytes)
          VALUES (5, 'save', 'z', 'r5', 'Note', '{}', '{}', 'pending', '', 500, 600, 10);
          """
      )
    }
    try queue.close()

    let storage = try SQLiteStorage(path: path)

    try storage.read { ledger in
      let dropped = try (Int64(1)...7).map { try #require(try ledger.dropped(of: $0).first) }
      #expect(dropped.map(\.editedAt) == [400, 1000, 1000, 1000, 600, 1000, 1000])
      #expect(dropped.map(\.isSeen) == [false, false, false, true, true, true, true])
      // The fourth resolution was sent, the fifth was not.
      #expect(dropped.map(\.isOpen) == [true, false, true, false, true, true, true])
      #expect(try ledger.droppedTotals() == StoreStatus.Dropped(unseen: 3, total: 5))
    }
  }

  @Test func `only access that makes a store migrates one`() throws {
    let path = try folder.formerStore("old")

    for access in [StoreAccess.reading, .changing] {
      let error = #expect(throws: StoreError.self) { try SQLiteStorage(path: path, access: access) }
      #expect(error?.kind == .older)
    }

    #expect(try DatabaseQueue(path: path).read { try Schema.version($0) } == .former)
  }

  @Test(arguments: [StoreAccess.reading, .changing, .making], ["28 offering deletions", "1"])
  func `a store of another schema is refused and left as it was`(access: StoreAccess, missing: String) throws {
    let path = try folder.formerStore("old")
    try DatabaseQueue(path: path).write {
      try $0.execute(sql: "DELETE FROM grdb_migrations WHERE identifier = ?", arguments: [missing])
    }
    let before = try Data(contentsOf: URL(fileURLWithPath: path))

    let error = #expect(throws: StoreError.self) { try SQLiteStorage(path: path, access: access) }

    #expect(error?.kind == .older)
    #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
  }

  @Test func `a store that an earlier version is syncing is not migrated`() throws {
    let path = try folder.formerStore("old")
    let lock = StoreLock(beside: path)
    #expect(lock.take())

    let error = #expect(throws: StoreError.self) { try SQLiteStorage(path: path) }
    #expect(error?.kind == .older)

    lock.release()
    #expect(throws: Never.self) { try SQLiteStorage(path: path) }
  }
}
