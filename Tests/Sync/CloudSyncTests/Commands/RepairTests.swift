import CloudKit
import CloudKitEmulator
import Facts
import GRDB
import Testing

@testable import CloudSync

/// Fetching again what differs from the server.
@Suite(.serialized) struct RepairTests {
  /// The zones to repair: one with a change feed, and a default zone, which is polled.
  @Test(arguments: ["Notes", "_defaultZone"])
  func `records that differ are replaced, added and deleted, and unsent changes are kept`(_ name: String) async throws {
    let world = try World()
    let (mine, theirs) = (try world.device("mine"), try world.device("theirs"))
    let zone = world.key("same", zone: name).zoneKey
    for record in ["same", "wrong", "edited", "missing"] {
      try theirs.store.accept(world.put(record, zone: name, ["x": .int64(1)]))
    }
    try await theirs.sync()
    try await mine.sync(["Note"])
    let store = mine.store
    // A copy of the right version with wrong content, one too few, and one too many.
    let wrong = try JSONColumn.text(["x": FieldValue.int64(9)])
    try store.execute("UPDATE records SET fields = ? WHERE name IN ('wrong', 'edited')", [wrong])
    try store.execute("DELETE FROM records WHERE name = 'missing'")
    try store.execute(
      """
      INSERT INTO records(zone, owner, name, type, changeTag, fields, epoch, modifiedAt)
        SELECT zone, owner, 'ghost', type, changeTag, fields, epoch, modifiedAt FROM records WHERE name = 'same'
      """
    )
    try store.accept(world.put("edited", zone: name, ["y": .int64(2)]))
    try store.pause(.everything, actor: "ana")
    #expect(try await mine.engine.verify { $0 == zone }.map(\.count) == [4])
    try store.resumeAll(actor: "ana")
    let edit = try #require(try store.operations().rows.first?.id)
    _ = try store.perform(.pause, on: .ids([edit]), actor: "ana")

    try store.fetchAgain([zone], actor: "ana")
    let summary = try await mine.sync()

    #expect(try await mine.engine.verify().allSatisfy(\.isEmpty))
    #expect(try store.mirror("wrong") == ["x": .int64(1)])
    #expect(try store.mirror("missing") == ["x": .int64(1)])
    #expect(try store.mirror("ghost") == nil)
    #expect(summary.fetched == 3 && summary.deleted == 1)
    #expect(try store.queue() == ["save edited paused"])
    #expect(try store.read { try $0.commands(limit: 2) }.map(\.command).contains(.fetchAgain(zones: [name])))

    // Sent with the repaired record as its base.
    _ = try store.perform(.resume, on: .ids([edit]), actor: "ana")
    try await mine.sync()
    #expect(world.onServer("edited", zone: name) == ["x": .int64(1), "y": .int64(2)])
  }

  @Test func `a repair changes nothing where nothing differs`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    for number in 1...3 { try mine.store.accept(world.put("r\(number)", ["x": .int64(1)])) }
    try await mine.sync()
    let zone = world.key("r1").zoneKey

    try mine.store.fetchAgain([zone], actor: "ana")
    let changed = try Transactions.of(mine.store, on: "deliveries")
    let summary = try await mine.sync()

    #expect(summary.fetched == 0 && summary.deleted == 0)
    #expect(changed.rows.isEmpty)
  }

  @Test func `a zone that is not on the server yet is not repaired, so that its unsent changes are not lost`()
    async throws
  {
    let world = try World()
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", ["x": .int64(1)]))

    #expect(try mine.store.fetchAgain([world.key("a").zoneKey], actor: "ana").isEmpty)
    try await mine.sync()

    #expect(world.onServer("a") == ["x": .int64(1)])
  }

  @Test func `a record with a value that fits no type differs, and holds up no other`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    for name in ["a", "b"] { try mine.store.accept(world.put(name, ["x": .int64(1)])) }
    try await mine.sync()
    try mine.store.execute("UPDATE records SET changeTag = 'old' WHERE name = 'b'")
    let misfit =
      #"{"recordName":"a","recordType":"Note","recordChangeTag":"9","fields":{"x":{"type":"INT64","value":{}}}}"#
    let good = #"{"recordName":"b","recordType":"Note","recordChangeTag":"8","fields":{}}"#
    mine.transport.interfere { operation, _, _ in
      switch operation {
      case "changes/zone":
        .answer(
          status: 200,
          #"{"zones":[{"zoneID":{"zoneName":"\#(world.key("a").zone)"},"records":[\#(misfit),\#(good)],"syncToken":"t","moreComing":false}]}"#
        )
      case "records/lookup": .answer(status: 200, #"{"records":[\#(misfit),\#(good)]}"#)
      default: .pass
      }
    }

    let found = try await mine.engine.verify { $0 == world.key("a").zoneKey }

    #expect(try found.map { try $0.all(.different) } == [["a", "b"]])
  }

  @Test func `a repair does not delete many records without a decision`() async throws {
    let world = try World()
    let mine = try world.device("mine", deletionGuard: DeletionGuard())
    try mine.store.accept(world.put("a", [:]))
    try await mine.sync()
    try mine.store.execute(
      """
      WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100)
      INSERT INTO records(zone, owner, name, type, changeTag, fields, epoch)
        SELECT zone, owner, 'ghost' || n, type, changeTag, fields, epoch FROM records, numbers WHERE name = 'a'
      """
    )

    try mine.store.fetchAgain([world.key("a").zoneKey], actor: "ana")
    try await mine.sync()

    #expect(try mine.store.heldDeletions().map(\.records) == [100])
  }
}
