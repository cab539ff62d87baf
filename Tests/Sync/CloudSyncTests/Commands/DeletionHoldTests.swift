import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import Testing

@testable import CloudSync

/// What the server deletes comes true here where it is little; where it is much, or a zone, somebody decides.
@Suite(.serialized) struct DeletionHoldTests {
  let world: World
  let mine: TestDevice
  let theirs: TestDevice
  let zone: ZoneKey

  init() throws {
    world = try World { $0.pageLimit = 4 }
    mine = try world.device("mine", deletionGuard: DeletionGuard(count: 6, share: 0.5))
    theirs = try world.device("theirs")
    zone = world.scope.zoneForChangesWithoutOne
  }

  /// Both devices have these records.
  func share(_ count: Int, _ fields: (Int) -> [String: FieldValue] = { ["x": .int64(Int64($0))] }) async throws {
    _ = try mine.store.enqueue((0..<count).map { world.put("r\($0)", fields($0)) })
    try await mine.sync()
    try await theirs.sync()
  }

  /// Another device deletes records.
  func delete(_ numbers: Range<Int>) async throws {
    _ = try theirs.store.enqueue(numbers.map { world.delete("r\($0)") })
    try await theirs.sync()
  }

  func accept() throws -> Int {
    try mine.store.acceptDeletions(in: zone, actor: "test").records
  }

  @Test func `half of a zone that goes in several pages is held back, and what else comes is taken`() async throws {
    try await share(10)
    try await delete(0..<6)
    try theirs.store.accept(world.put("new", ["x": .int64(1)]))
    try await theirs.sync()

    let summary = try await mine.sync()

    #expect(summary.deleted == 0 && summary.reachedEnd)
    #expect(try mine.store.records(mirrorOnly: true).total == 11)
    let status = try mine.store.status()
    #expect(status.heldDeletions.map(\.records) == [6] && status.heldDeletions.map(\.isWholeZone) == [false])
    #expect(status.verdict(hasCredential: true) == .decisionNeeded(deletions: 6, zones: ["cktop"]))
    #expect(
      try mine.store.events(limit: 50).contains { $0.event == .deletionsOnHold(zone: "cktop", deleted: 6, of: 11) }
    )
  }

  @Test func `of two records whose names are spellings of one text each deletion counts`() async throws {
    try await share(1)
    let spellings = ["\u{E9}", "e\u{301}"]
    let policy = MergePolicy(.server, deletionGuard: DeletionGuard())

    let deleted = try mine.store.write { [zone] ledger in
      for name in spellings {
        try ledger.put(MirrorRecord(key: RecordKey(zone, name), type: "Note", changeTag: "1", fields: [:]), epoch: -1)
      }
      let hold = DeletionHold(reconciliation: Reconciliation(policy: policy, now: 1, ledger: ledger))
      return try hold.conclude(hold.survey(zone))
    }

    #expect(deleted.map { Array($0.utf8) } == spellings.map { Array($0.utf8) }.reversed())
  }

  @Test func `what is accepted goes, and the store is in sync again`() async throws {
    try await share(10)
    try await delete(0..<7)
    try await mine.sync()

    #expect(try accept() == 7)

    #expect(try mine.store.heldDeletions() == [])
    #expect(try mine.store.records(mirrorOnly: true).total == 3)
    try await mine.sync()
    #expect(try mine.store.status().isInSync)
    let accepted = Event.command(.acceptDeletions(zone: "cktop"), count: 7)
    #expect(try mine.store.read { try $0.commands(limit: 9) }.map(\.event).contains(accepted))
  }

  @Test func `what is restored is on the server again as it was, with the edits that were queued`() async throws {
    try await share(8)
    try await delete(0..<6)
    try await mine.sync()
    try mine.store.accept(world.put("r1", ["y": .int64(9)]))
    try mine.store.accept(world.delete("r2"))

    #expect(try mine.store.countToRestore(in: zone) == 5)
    #expect(try mine.store.restoreDeletions(in: zone, actor: "test").records == 5)

    #expect(try mine.store.heldDeletions() == [])
    try await mine.sync()
    #expect(world.onServer("r0") == ["x": .int64(0)])
    #expect(world.onServer("r1") == ["x": .int64(1), "y": .int64(9)])
    #expect(world.onServer("r2") == nil)
    #expect(try mine.store.status().isInSync)
    try await theirs.sync()
    #expect(try theirs.store.records(mirrorOnly: true).total == 7)
  }

  @Test func `what is in conflict stays on the desk when it is restored, with what the server had`() async throws {
    let mine = try world.device(
      "manual",
      policy: .manual,
      deletionGuard: DeletionGuard(count: 6, share: 0.5)
    )
    try await share(8)
    try await mine.sync()
    try theirs.store.accept(world.put("r1", ["x": .int64(3)]))
    try await theirs.sync()
    let edit = try mine.store.accept(world.put("r1", ["x": .int64(2)]))
    try await mine.sync()
    #expect(try mine.store.operation(edit).state == .conflict)
    try await delete(0..<6)
    try await mine.sync()

    #expect(try mine.store.restoreDeletions(in: zone, actor: "test").records == 6)
    try await mine.sync()
    #expect(world.onServer("r0") == ["x": .int64(0)] && world.onServer("r1") == nil)
    let field = try mine.store.conflict(edit)?.fields
    #expect(field == [Conflict.Field(name: "x", base: .int64(3), local: .int64(2), server: nil)])
    _ = try mine.store.resolve(edit, take: .base, actor: "test")

    try await mine.sync()
    #expect(world.onServer("r1") == ["x": .int64(3)])
    #expect(try mine.store.status().isInSync)
  }

  @Test func `an edit of what is held back waits, and goes with what is restored`() async throws {
    try await share(8)
    try mine.store.accept(world.put("r1", ["y": .int64(9)]))
    try await delete(0..<6)

    try await mine.sync()
    world.clock.advance(600)
    try await mine.sync()

    #expect(try mine.store.queue() == ["save r1 pending"])
    #expect(try mine.store.operations().rows[0].cause == .deletionsOnHold(zone: "cktop", isWholeZone: false))
    #expect(try mine.store.restoreDeletions(in: zone, actor: "test").records == 6)
    try await mine.sync()
    #expect(world.onServer("r1") == ["x": .int64(1), "y": .int64(9)])
  }

  @Test func `a queued edit of what is held back goes by the policy once that is accepted`() async throws {
    try await share(8)
    try mine.store.accept(world.put("r1", ["y": .int64(9)]))
    try await delete(0..<6)
    try await mine.sync()

    #expect(try accept() == 6)

    #expect(try mine.store.queue() == [])
    #expect(try mine.store.endings().last == "save r1 merged")
  }

  @Test func `what was deleted here as well is not held back`() async throws {
    try await share(8)
    _ = try mine.store.enqueue((0..<7).map { world.delete("r\($0)") })
    try await delete(0..<7)

    try await mine.sync()

    #expect(try mine.store.heldDeletions() == [])
    #expect(try mine.store.queue() == [])
    #expect(try mine.store.status().isInSync)
  }

  @Test func `own deletions whose answer was lost with the process are not held back`() async throws {
    try await share(8)
    _ = try mine.store.enqueue((0..<7).map { world.delete("r\($0)") })
    mine.transport.interfere { operation, _, _ in operation == "records/modify" ? .answerLost : .pass }
    let ids = try mine.store.operations().rows.map(\.id)
    let lease = try #require(try Lease.acquire(mine.store))
    _ = try mine.store.begin(ids, lease)
    lease.release(mine.store)
    try await delete(0..<7)
    mine.transport.interfere(nil)

    try await mine.sync()

    #expect(try mine.store.heldDeletions() == [])
    #expect(try mine.store.status().isInSync)
  }

  @Test func `a hold whose last record went another way is none, and what is deleted next is judged by itself`()
    async throws
  {
    try await share(20)
    try await delete(0..<10)
    try await mine.sync()
    #expect(try mine.store.heldDeletions().map(\.records) == [10])
    _ = try mine.store.enqueue((0..<10).map { world.delete("r\($0)") })
    _ = try theirs.store.enqueue((0..<10).map { world.put("r\($0)", ["x": .int64(1)]) })
    try await theirs.sync()
    try await mine.sync()
    try await mine.sync()

    try await delete(12..<13)
    try await mine.sync()

    #expect(try mine.store.heldDeletions() == [])
    #expect(try mine.store.mirror("r12") == nil)
  }

  @Test func `what merely goes along with a record deleted here is not held back`() async throws {
    let owner = FieldValue.reference(WireReference(recordName: "r0", action: "DELETE_SELF"))
    try await share(9) { $0 == 0 ? [:] : ["owner": owner] }
    try mine.store.accept(world.delete("r0"))

    try await mine.sync()

    #expect(try mine.store.heldDeletions() == [])
    #expect(try mine.store.records(mirrorOnly: true).total == 0)
  }

  @Test func `what others delete is held back with all that goes along with it`() async throws {
    let owner = FieldValue.reference(WireReference(recordName: "r0", action: "DELETE_SELF"))
    try await share(9) { $0 == 0 ? [:] : ["owner": owner] }
    try await delete(0..<1)

    try await mine.sync()

    #expect(try mine.store.heldDeletions().map(\.records) == [9])
  }

  @Test func `once something is held back, later deletions join it, and what others make anew leaves it`() async throws
  {
    try await share(10)
    try await delete(0..<6)
    try await mine.sync()
    try await delete(6..<7)
    try theirs.store.accept(world.put("r0", ["x": .int64(5)]))
    try await theirs.sync()

    try await mine.sync()

    #expect(try mine.store.heldDeletions().map(\.records) == [6])
    #expect(try mine.store.mirror("r0") == ["x": .int64(5)])
  }

  @Test func `a hold ends by itself once everything is there again`() async throws {
    try await share(6)
    try await delete(0..<6)
    try await mine.sync()
    #expect(try mine.store.heldDeletions().map(\.records) == [6])
    _ = try theirs.store.enqueue((0..<6).map { world.put("r\($0)", ["x": .int64(5)]) })
    try await theirs.sync()

    try await mine.sync()

    #expect(try mine.store.heldDeletions() == [])
    #expect(try mine.store.status().isInSync)
  }

  @Test func `what a reading from the beginning does not find is held back as well`() async throws {
    try await share(8)
    try await delete(0..<6)
    world.emulator.faults = FaultPlan(
      rules: [FaultRule(when: FaultCondition(operation: "changes/zone", limit: 1), then: .expiredToken)]
    )

    try await mine.sync()

    #expect(try mine.store.heldDeletions().map(\.records) == [6])
  }

  @Test func `a reading that is cut short keeps what it has seen of deletions for the next`() async throws {
    try await share(10)
    try await delete(0..<6)
    mine.transport.interfere { operation, number, _ in operation == "changes/zone" && number > 3 ? .lost : .pass }
    try await mine.sync()
    #expect(try mine.store.heldDeletions() == [] && mine.store.records(mirrorOnly: true).total == 10)

    mine.transport.interfere(nil)
    world.clock.advance(600)
    try await mine.sync()

    #expect(try mine.store.heldDeletions().map(\.records) == [6])
  }

  @Test func `without a guard everything goes at once`() async throws {
    let other = try world.device("other", deletionGuard: .off)
    try await share(10)
    try await other.sync()
    try await delete(0..<10)

    #expect(try await other.sync().deleted == 10)
    #expect(try other.store.status().isInSync)
  }

  @Test func `what a full scan of the public database does not find is held back`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine", deletionGuard: DeletionGuard(count: 6, share: 0.5))
    _ = try mine.store.enqueue((0..<8).map { world.put("r\($0)", ["x": .int64(1)]) })
    try await mine.sync()
    let theirs = try world.device("theirs")
    try await theirs.sync(["Note"])
    _ = try theirs.store.enqueue((0..<7).map { world.delete("r\($0)") })
    try await theirs.sync()

    try await mine.sync()

    #expect(try mine.store.heldDeletions().map(\.records) == [7])
    #expect(try mine.store.acceptDeletions(in: .defaultZone, actor: "test").records == 7)
    #expect(try mine.store.records(mirrorOnly: true).total == 1)
  }

  @Test func `there is nothing to decide where nothing is held back`() async throws {
    try await share(1)

    #expect(throws: StoreError.self) { try accept() }
    #expect(throws: StoreError.self) { try mine.store.restoreDeletions(in: zone, actor: "test") }
    #expect(throws: StoreError.self) { try mine.engine.acceptDeletions(in: CKRecordZone.ID(zoneName: "none")) }
  }

  @Test func `what a decision concerns besides can be told before it is made`() async throws {
    try await share(3)
    try mine.store.write { ledger in
      var record = try #require(try ledger.record(world.key("r0")))
      record.fields["photo"] = .asset(WireAsset(fileChecksum: "f", size: 1))
      try ledger.put(record, epoch: 0)
    }
    try world.emulator.deleteZone(zone.zone, in: world.server, at: world.clock.date)
    try await mine.sync()
    try mine.store.accept(world.put("r1", ["x": .int64(9)]))
    try mine.store.accept(world.put("new", ["x": .int64(9)]))
    try mine.store.accept(world.delete("r2"))

    let contents = try mine.store.heldContents(of: #require(try mine.store.heldDeletions().first))

    // The new record fails with its zone as well, and the deletion ends.
    #expect(contents.edits == 2)
    #expect(contents.withFiles == 1)
    _ = try accept()
    #expect(try mine.store.queue() == ["save r1 failed", "save new failed"])
  }
}
