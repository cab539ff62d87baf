import CloudKit
import CloudKitEmulator
import Testing

@testable import CloudSync

/// Purges that do not come at once.
extension DeletionHoldTests {
  @Test func `a purge that comes in small parts is held back once it is large`() async throws {
    try await share(20)
    for part in 0..<5 {
      try await delete(part * 3..<part * 3 + 3)
      world.clock.advance(60)
      try await mine.sync()
    }

    // Nine are gone, and from then on it is half of what there was.
    #expect(try mine.store.records(mirrorOnly: true).total == 11)
    #expect(try mine.store.heldDeletions().map(\.records) == [6])
    _ = try accept()
    world.clock.advance(60)
    try await delete(15..<17)
    try await mine.sync()
    #expect(try mine.store.heldDeletions().isEmpty)
    #expect(try mine.store.records(mirrorOnly: true).total == 3)
  }

  @Test func `zones count their deletions apart, whatever their names and owners`() throws {
    let store = try SyncStore(
      SQLiteStorage(inMemory: "shared"),
      scope: SyncStore.Scope(container: World.container, environment: "development", database: .shared)
    )
    let zones = [(ZoneKey(zone: "c", owner: "a/b"), 20), (ZoneKey(zone: "b/c", owner: "a"), 16)]
    let policy = MergePolicy(.server, deletionGuard: DeletionGuard(count: 5, share: 0))
    try store.write { ledger in
      for (zone, records) in zones {
        try ledger.insertZone(zone, state: .ready)
        for number in 0..<records {
          let key = RecordKey(zone, "r\(number)")
          try ledger.put(MirrorRecord(key: key, type: "Note", changeTag: "1", fields: [:]), epoch: number < 4 ? -1 : 0)
        }
      }
    }

    let deleted = try store.write { ledger in
      let hold = DeletionHold(reconciliation: Reconciliation(policy: policy, now: 1, ledger: ledger))
      return try zones.map { try hold.conclude(hold.survey($0.0)).count }
    }

    #expect(deleted == [4, 4])
    #expect(try store.heldDeletions().isEmpty)
    #expect(try store.count("SELECT sum(losses) FROM zones") == 8)
    try store.write { ledger in try zones.forEach { try ledger.forgetFeed($0.0, heldSince: nil) } }
    #expect(try store.count("SELECT count(*) FROM zones WHERE lossesSince IS NOT NULL") == 0)
  }

  @Test func `a purge of several types where there is no feed is held back as one`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine", deletionGuard: DeletionGuard(count: 6, share: 0.5))
    let theirs = try world.device("theirs")
    let names = ["A", "B", "C", "D"].flatMap { type in (0..<2).map { (type, "\(type)\($0)") } }
    _ = try theirs.store.enqueue(names.map { world.put($0.1, type: $0.0, [:]) })
    try await theirs.sync()
    try await mine.sync(["A", "B", "C", "D"])
    #expect(try mine.store.records(mirrorOnly: true).total == 8)
    _ = try theirs.store.enqueue(names.dropLast().map { world.delete($0.1) })
    try await theirs.sync()

    try await mine.sync()

    #expect(try mine.store.records(mirrorOnly: true).total == 8)
    #expect(try mine.store.heldDeletions().map(\.records) == [7])
  }

  @Test func `a purge that a refused reference meets first is held back like any other`() async throws {
    try await share(10)
    let child = world.put("child", ["of": .reference(WireReference(recordName: "r0", action: "VALIDATE"))])
    try mine.store.accept(child)
    // After the feeds were read.
    mine.beOvertaken(by: theirs, (0..<7).map { world.delete("r\($0)") }, atModify: 2)

    try await mine.sync()

    #expect(try mine.store.queue() == ["save child failed"])
    #expect(try mine.store.heldDeletions().map(\.records) == [7])
    #expect(try mine.store.records(mirrorOnly: true).total == 10)
    #expect(try mine.store.restoreDeletions(in: zone, actor: "test").records == 7)
    try await mine.sync()
    #expect(world.onServer("r0") == ["x": .int64(0)])
  }

  @Test func `what others delete is no mere consequence where its owner was never known here`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine", deletionGuard: DeletionGuard(count: 6, share: 0.5))
    let theirs = try world.device("theirs", user: "ben")
    let owner = FieldValue.reference(WireReference(recordName: "post", action: "DELETE_SELF"))
    _ = try theirs.store.enqueue(
      [world.put("post", type: "Post", [:])] + (0..<10).map { world.put("c\($0)", type: "Comment", ["of": owner]) }
    )
    try await theirs.sync()
    try await mine.sync(["Comment"])
    _ = try theirs.store.enqueue((0..<10).map { world.delete("c\($0)") })
    try await theirs.sync()

    #expect(try await mine.sync().deleted == 0)
    #expect(try mine.store.heldDeletions().map(\.records) == [10])
  }

  @Test func `what goes along with what was deleted here is held back by nothing, also where it is told of later`()
    async throws
  {
    let owner = FieldValue.reference(WireReference(recordName: "folder", action: "DELETE_SELF"))
    try mine.store.accept(world.put("folder", [:]))
    try await share(10) { _ in ["in": owner] }
    try mine.store.accept(world.delete("folder"))
    try await mine.sync()

    #expect(try mine.store.heldDeletions() == [])
    #expect(try mine.store.records(mirrorOnly: true).total == 0)
  }

  @Test func `a purge is held back also where the owner of what went was deleted here once, and made anew`()
    async throws
  {
    let owner = FieldValue.reference(WireReference(recordName: "folder", action: "DELETE_SELF"))
    try mine.store.accept(world.put("folder", [:]))
    try await mine.sync()
    try mine.store.accept(world.delete("folder"))
    try await mine.sync()
    try mine.store.accept(world.put("folder", [:]))
    try await share(10) { _ in ["in": owner] }
    try await delete(0..<10)

    #expect(try await mine.sync().deleted == 0)
    #expect(try mine.store.heldDeletions().map(\.records) == [10])
  }

  @Test func `what a refused reference finds gone is decided about by the next full scan, with all the rest`()
    async throws
  {
    let world = try World(.public)
    let mine = try world.device("mine", deletionGuard: DeletionGuard(count: 6, share: 0.5))
    let theirs = try world.device("theirs", user: "ben")
    _ = try theirs.store.enqueue((0..<10).map { world.put("r\($0)", [:]) })
    try await theirs.sync()
    try await mine.sync(["Note"])
    try mine.store.accept(world.put("child", ["of": .reference(WireReference(recordName: "r0", action: "VALIDATE"))]))
    mine.beOvertaken(by: theirs, (0..<8).map { world.delete("r\($0)") }, atModify: 1)

    try await mine.sync()
    #expect(try mine.store.queue() == ["save child failed"])
    #expect(try mine.store.records(mirrorOnly: true).total == 10)
    try await mine.sync()

    #expect(try mine.store.heldDeletions().map(\.records) == [8])
  }
}
