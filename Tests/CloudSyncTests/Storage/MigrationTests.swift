import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import GRDB
import Testing

@testable import CloudSync

/// Stores that earlier versions made are opened, migrated and synced with nothing lost.
@Suite(.serialized, .onFile) struct MigrationTests {
  /// Every version of the schema before today's.
  private static let versions = Array(Schema.migrator.migrations.dropLast())

  /// Makes a store of a version, by the columns that the first one had: a record as the server has it, and operations.
  private func makeStore(_ world: World, version: String) throws {
    let pool = try DatabasePool(path: world.folder.path("old.sqlite"))
    try Schema.migrator.migrate(pool, upTo: version)
    let (zone, now) = (world.scope.zoneForChangesWithoutOne.zone, world.clock.now)
    let tag = try #require(world.emulator.record("known", in: world.server, zone: zone)).changeTag
    try pool.write { database in
      for (key, value) in [("container", World.container), ("environment", "development"), ("database", "private")] {
        try database.execute(sql: "INSERT INTO meta VALUES (?, ?)", arguments: [key, value])
      }
      try database.execute(sql: "INSERT INTO zones(zone, state) VALUES (?, 'ready')", arguments: [zone])
      try database.execute(
        sql: "INSERT INTO records(zone, name, type, changeTag, fields) VALUES (?, 'known', 'Note', ?, ?)",
        arguments: [zone, tag, JSONColumn.text(["x": FieldValue.int64(1)])]
      )
      let changes = try JSONColumn.text(FieldChanges(values: ["x": .int64(2)]))
      func insert(_ kind: String, _ name: String, _ state: String, sent: Bool = false, base: String? = nil) throws {
        try database.execute(
          sql: """
            INSERT INTO operations(operation, zone, name, type, changes, base, baseTag, state, reason, sentGeneration,
              sentOperation, errorCode, enqueuedAt, editedAt, bytes)
            VALUES (?, ?, ?, 'Note', ?, ?, ?, ?, '', ?, ?, ?, ?, ?, 10)
            """,
          arguments: [
            kind, zone, name, kind == "save" ? changes : "{}",
            base == nil ? "{}" : JSONColumn.text(["x": FieldValue.int64(1)]), base, state, sent ? 1 : nil,
            sent ? kind : nil, state == "failed" ? "BAD_REQUEST" : nil, now, now,
          ]
        )
      }
      try insert("save", "new", "pending")
      try insert("save", "known", "pending", base: tag)
      try insert("save", "sent", "inFlight", sent: true)
      try insert("save", "dead", "failed")
      try insert("save", "paused", "paused")
    }
    try pool.close()
  }

  @Test(arguments: versions) func `a store of an earlier version is migrated and synced`(version: String) async throws {
    let world = try World()
    try world.device("other").store.accept(world.put("known", ["x": .int64(1)]))
    try await world.device("other").sync()
    try makeStore(world, version: version)

    let device = try world.device("old")
    try await device.sync()

    #expect(try device.store.queue() == ["save dead failed", "save paused paused"])
    for name in ["new", "known", "sent"] { #expect(world.onServer(name)?["x"] == .int64(2), "\(name)") }
    #expect(try device.store.records(mirrorOnly: true).total == 3)
    #expect(try await device.engine.verify().allSatisfy(\.isEmpty))
  }

  @Test(arguments: versions) func `only access that makes a store migrates one`(version: String) throws {
    let folder = TestFolder()
    let path = folder.path("old.sqlite")
    try Schema.migrator.migrate(DatabaseQueue(path: path), upTo: version)

    for access in [StoreAccess.reading, .changing] {
      let error = #expect(throws: StoreError.self) { try SQLiteStorage(path: path, access: access) }
      #expect(error?.kind == .older)
    }

    let done = try DatabaseQueue(path: path).read { try Schema.migrator.completedMigrations($0) }
    #expect(done.last == version)
  }

  @Test func `what an earlier version dropped is unseen if no person dropped it, and keeps a time before its edit`()
    throws
  {
    let folder = TestFolder()
    let path = folder.path("old.sqlite")
    let pool = try DatabasePool(path: path)
    try Schema.migrator.migrate(pool, upTo: "28 offering deletions")
    let (nothing, change) = (FieldChanges(), FieldChanges(values: ["x": .int64(1)]))
    let rows: [(cause: Cause, kind: String, changes: FieldChanges, conflict: Cause?, isOpen: Bool)] = [
      (.serverKept(fields: ["x"]), "save", change, nil, true),
      (.serverSideKept(.deletedHere), "delete", nothing, nil, false),
      (.resolved(by: .app), "save", change, .conflict(.fields([])), true),
      (.resolved(by: .app), "save", nothing, .conflict(.fields([])), true),
      (.resolved(by: .person), "save", nothing, .conflict(.fields([])), true),
      (.discarded(by: "ana"), "save", change, nil, true), (.legacy("dropped"), "save", change, nil, true),
    ]
    try pool.write { database in
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
    try pool.close()

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

  /// A store that version 28 wrote: records, changes in every state, a pause, dropped changes and history.
  private static let stored = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appendingPathComponent("version-28.sqlite")

  @Test func `a stored store of version 28 is migrated and synced with nothing lost`() async throws {
    let world = try World()
    let other = try world.device("other")
    for name in ["kept", "edited", "removed", "disputed", "held", "acknowledged", "unconfirmed"] {
      try other.store.accept(world.put(name, ["x": .int64(1), "y": .int64(1)]))
    }
    try await other.sync()
    try FileManager.default.copyItem(atPath: Self.stored.path, toPath: world.folder.path("old.sqlite"))

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

  @Test func `a store that an earlier version is syncing is not migrated`() throws {
    let folder = TestFolder()
    let path = folder.path("old.sqlite")
    try Schema.migrator.migrate(DatabaseQueue(path: path), upTo: #require(Self.versions.last))
    let lock = StoreLock(beside: path)
    #expect(lock.take())

    let error = #expect(throws: StoreError.self) { try SQLiteStorage(path: path) }
    #expect(error?.kind == .older)

    lock.release()
    #expect(throws: Never.self) { try SQLiteStorage(path: path) }
  }
}
