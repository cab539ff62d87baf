import CloudKit
import CloudKitEmulator
import Facts
import GRDB
import Synchronization
import Testing

@testable import CloudSync

/// A change that no person dropped stays visible until a person has seen it.
@Suite(.serialized) struct UnseenChangeTests {
  /// A device whose changes of these records lost against those of another one, under the policy `server`.
  private func lost(_ names: [String]) async throws -> (world: World, mine: TestDevice, theirs: TestDevice) {
    let world = try World()
    let (mine, theirs) = (try world.device("mine"), try world.device("theirs"))
    _ = try mine.store.enqueue(names.map { world.put($0, ["x": .int64(0), "y": .int64(0)]) })
    try await mine.sync()
    try await theirs.sync()
    try await lose(names, "x", world, mine, theirs)
    return (world, mine, theirs)
  }

  private func lose(_ names: [String], _ field: String, _ world: World, _ mine: TestDevice, _ theirs: TestDevice)
    async throws
  {
    _ = try mine.store.enqueue(names.map { world.put($0, [field: .int64(2)]) })
    _ = try theirs.store.enqueue(names.map { world.put($0, [field: .int64(1)]) })
    try await theirs.sync()
    try await mine.sync()
  }

  private func dropped(_ device: TestDevice) throws -> StoreStatus.Dropped {
    var dropped = try device.store.status().dropped
    dropped.seenThrough = 0
    return dropped
  }

  private func last(_ device: TestDevice) throws -> Int64 {
    try device.store.view { try $0.dropped(DroppedListing(), offset: 0, limit: 1).rows.first?.id ?? 0 }
  }

  @Test func `changes that the policy dropped are unseen until a person has seen them, and that is logged once`()
    async throws
  {
    let (_, mine, _) = try await lost(["a", "b", "c"])
    #expect(try dropped(mine) == StoreStatus.Dropped(unseen: 3, total: 3))
    #expect(try mine.store.dropped().map(\.isSeen) == [false, false, false])

    #expect(try mine.store.markDroppedSeen(through: last(mine), actor: "ana") == 3)
    #expect(try mine.store.markDroppedSeen(through: last(mine), actor: "ana") == 0)

    #expect(try dropped(mine) == StoreStatus.Dropped(unseen: 0, total: 3))
    #expect(try mine.store.dropped().map(\.isSeen) == [true, true, true])
    #expect(try mine.store.count("SELECT count(*) FROM commands WHERE verb = 'seeDropped' AND count = 3") == 1)
    let events = try mine.store.events(limit: 9).filter {
      $0.event == .command(.seeDropped, count: 3)
    }
    #expect(events.map(\.actor) == ["ana"])
  }

  @Test func `a change that is dropped meanwhile stays unseen`() async throws {
    let (world, mine, theirs) = try await lost(["a"])
    let shown = try last(mine)
    try await mine.sync()
    try mine.store.accept(world.put("b", ["x": .int64(0)]))
    try await mine.sync()
    try await theirs.sync()
    try await lose(["b"], "x", world, mine, theirs)

    #expect(try mine.store.markDroppedSeen(through: shown, actor: "ana") == 1)

    #expect(try dropped(mine).unseen == 1)
    #expect(try mine.store.dropped().map(\.isSeen) == [false, true])
    // A number that no change has yet says nothing about those to come.
    #expect(try mine.store.markDroppedSeen(through: .max, actor: "ana") == 1)
    try await theirs.sync()
    try await lose(["a"], "y", world, mine, theirs)
    #expect(try dropped(mine).unseen == 1)
  }

  @Test func `an unseen change counts even if the record was edited since, until it is no longer kept`() async throws {
    let (world, mine, _) = try await lost(["a"])
    try mine.store.accept(world.put("a", ["y": .int64(9)]))

    #expect(try dropped(mine) == StoreStatus.Dropped(unseen: 1, total: 0))
    #expect(try mine.store.dropped() == [])
    var listed: [Bool] = []
    try mine.store.view { view in
      try view.dropped(before: .max, limit: 9, unseenToo: true) { _, change in
        listed.append(change.isOpen)
        return true
      }
    }
    #expect(listed == [false])
    var listing = DroppedListing()
    listing.seenThrough = 0
    #expect(try mine.store.view { try $0.dropped(listing, offset: 0, limit: 9).rows.map(\.change.isSeen) } == [false])

    world.clock.advance(91 * 86_400)
    try await mine.sync()
    #expect(try dropped(mine) == StoreStatus.Dropped())
  }

  @Test func `two changes dropped of one operation count once`() async throws {
    let (world, mine, theirs) = try await lost(["a"])
    let id = try mine.store.accept(world.put("a", ["x": .int64(3), "y": .int64(3), "z": .int64(3)]))
    for field in ["x", "y"] {
      try await theirs.sync()
      try theirs.store.accept(world.put("a", [field: .int64(4)]))
      try await theirs.sync()
      mine.transport.answer(
        "records/modify",
        #"{"records": [{"recordName": "a", "serverErrorCode": "INTERNAL_ERROR", "reason": "no"}]}"#
      )
      try await mine.sync()
    }

    #expect(try mine.store.detail(of: id)?.dropped.count == 2)
    #expect(try dropped(mine) == StoreStatus.Dropped(unseen: 2, total: 1))
    try mine.store.markDroppedSeen(through: last(mine) - 1, actor: "ana")
    #expect(try dropped(mine).unseen == 1)
  }

  @Test func `what a person discards or resolves is seen, and what the app resolves is not`() async throws {
    let world = try World()
    let (mine, theirs) = (try world.device("mine", policy: .manual), try world.device("theirs"))
    let names = ["app", "person", "discarded"]
    _ = try mine.store.enqueue(names.map { world.put($0, ["x": .int64(0)]) })
    try await mine.sync()
    try await theirs.sync()
    try await lose(names, "x", world, mine, theirs)
    let lease = try #require(try Lease.acquire(mine.store))
    for conflict in try mine.store.conflicts() {
      switch conflict.key.name {
      case "app":
        let open = try #require(try mine.store.openConflicts(limit: nil).first { $0.id == conflict.id })
        try mine.store.take(.take(.server), to: open, lease)
      case "person": _ = try mine.store.resolve(conflict.id, take: .server, actor: "ana")
      default: _ = try mine.store.perform(.discard, on: .ids([conflict.id]), actor: "ana")
      }
    }
    lease.release(mine.store)

    #expect(try dropped(mine) == StoreStatus.Dropped(unseen: 1, total: 3))
    #expect(try mine.store.dropped().filter { !$0.isSeen }.map(\.key.name) == ["app"])
  }

  @Test func `the totals follow every way in which dropped changes come and go`() async throws {
    let (world, mine, theirs) = try await lost(["a", "b", "c", "d"])
    _ = try mine.store.enqueue((1...20).map { world.put("r\($0)", ["x": .int64(1)]) })
    let ids = try mine.store.operations().rows.map(\.id)
    _ = try mine.store.perform(.discard, on: .ids(ids), actor: "ana")
    _ = try mine.store.undo(Array(ids.prefix(5)), actor: "ana")
    try mine.store.accept(world.put("a", ["y": .int64(3)]))
    try await theirs.sync()
    try await lose(["b"], "y", world, mine, theirs)
    let undone = try mine.store.dropped().first { $0.key.name == "c" }?.operation
    _ = try mine.store.undo(#require(undone), actor: "ana")
    try mine.store.execute("DELETE FROM dropped WHERE id IN (SELECT id FROM dropped ORDER BY id LIMIT 2)")

    let totals = try mine.store.status().dropped
    let undoable = try mine.store.count("SELECT count(DISTINCT operationId) FROM dropped WHERE isOpen")
    let unseen = try mine.store.count("SELECT count(DISTINCT operationId) FROM dropped WHERE isAutomatic")
    #expect(totals.total == undoable && totals.unseen == unseen)
    #expect(totals.total > 15 && totals.unseen == 3)
  }

  @Test func `the status reads the totals and none of the dropped changes`() async throws {
    let (_, mine, _) = try await lost(["a", "b"])
    let statements = Mutex<[String]>([])
    try mine.store.write { $0.database.trace { event in statements.withLock { $0.append(event.expandedDescription) } } }
    try mine.store.write { ledger in
      _ = try StoreView(ledger: ledger, now: 0, hasEngine: false, storageTrouble: { nil }, redaction: Redaction())
        .status()
    }
    try mine.store.write { $0.database.trace() }

    let reading = statements.withLock { $0 }.filter { $0.lowercased().contains("dropped") }
    #expect(reading == ["SELECT undoable, unseen, seenThrough FROM droppedTotals"])
  }
}
