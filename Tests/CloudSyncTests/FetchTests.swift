import CloudKit
import CloudKitEmulator
import Foundation
import Testing

@testable import CloudSync

/// Reading what others did, with and without a change feed.
@Suite(.serialized) struct FetchTests {
  private let world: World
  private let mine: TestDevice
  private let theirs: TestDevice

  init() async throws {
    world = try World()
    mine = try world.device("mine")
    theirs = try world.device("theirs")
  }

  /// `count` records known to both devices.
  private func share(_ count: Int) async throws {
    _ = try mine.store.enqueue((0..<count).map { world.put("r\($0)", ["x": .int64(0)]) })
    try await mine.sync()
    try await theirs.sync()
  }

  @Test func `a deletion comes as a tombstone`() async throws {
    try await share(3)
    try theirs.store.accept(world.delete("r1"))
    try await theirs.sync()

    let summary = try await mine.sync()

    #expect(summary.deleted == 1)
    #expect(try mine.store.records(mirrorOnly: true).rows.map(\.record.key.name) == ["r0", "r2"])
  }

  @Test func `one's own changes are not counted as fetched`() async throws {
    _ = try mine.store.enqueue((0..<10).map { world.put("r\($0)", [:]) })

    let summary = try await mine.sync()

    #expect(summary.fetched == 0)
    #expect(summary.sent == 10)
  }

  @Test func `after a refused token everything is read again, deletions of the gap are found, changes stay`()
    async throws
  {
    try await share(250)
    _ = try theirs.store.enqueue((0..<5).map { world.delete("r\($0)") } + [world.put("new", ["x": .int64(1)])])
    try await theirs.sync()
    try mine.store.accept(world.put("mine", ["x": .int64(1)]))
    world.emulator.faults = FaultPlan(rules: [
      FaultRule(when: FaultCondition(operation: "changes/zone", limit: 1), then: .expiredToken),
      FaultRule(when: FaultCondition(operation: "changes/database", limit: 1), then: .expiredToken),
      // Tombstones are gone with the token, so that only the comparison can find the deletions.
    ])

    let summary = try await mine.sync()

    #expect(summary.reachedEnd)
    #expect(try mine.store.mirror("r0") == nil)
    #expect(try mine.store.records(mirrorOnly: true).total == 247)
    #expect(try mine.store.mirror("mine") == ["x": .int64(1)])
    #expect(try mine.store.queue() == [])
    #expect(try mine.store.status().isInSync)
  }

  @Test func `a deletion that no feed mentions any more is found by reading everything`() async throws {
    try await share(3)
    // As after the server has forgotten its tombstones: the mirror knows a record that no page names.
    try mine.store.execute(
      "INSERT INTO records(zone, name, type, changeTag, fields) VALUES ('cktop', 'ghost', 'Note', 'zz', '{}')"
    )
    try theirs.store.accept(world.put("r0", ["x": .int64(5)]))
    try await theirs.sync()
    world.emulator.faults = FaultPlan(rules: [
      FaultRule(when: FaultCondition(operation: "changes/zone", limit: 1), then: .expiredToken)
    ])

    let summary = try await mine.sync()

    #expect(summary.deleted == 1)
    #expect(try mine.store.mirror("ghost") == nil)
    #expect(try mine.store.records().total == 3)
  }

  @Test func `a reading cut off in the middle goes on where it was`() async throws {
    _ = try theirs.store.enqueue((0..<900).map { world.put("r\($0)", [:]) })
    try await theirs.sync()
    mine.transport.interfere { operation, number, _ in operation == "changes/zone" && number == 3 ? .offline : .pass }

    try await mine.sync()
    #expect(try mine.store.records().total == 400)
    #expect(try !mine.store.status().isInSync)
    let before = mine.transport.count("changes/zone")
    world.clock.advance(10)
    try await mine.sync()

    #expect(try mine.store.records().total == 900)
    #expect(mine.transport.count("changes/zone") == before + 3)
  }

  @Test func `pages without records are read through, a feed that stands still is given up`() async throws {
    try await share(3)
    try theirs.store.accept(world.put("r0", ["x": .int64(9)]))
    try await theirs.sync()
    world.emulator.faults = FaultPlan(rules: [
      FaultRule(when: FaultCondition(operation: "changes/zone", limit: 1000), then: .emptyPageMoreComing)
    ])

    let summary = try await mine.sync()

    #expect(summary.lastItemError?.code == .unexpectedServerResponse && !summary.reachedEnd)
    #expect(mine.transport.count("changes/zone") < 10)
    #expect(try mine.store.status().state == .error)
    world.emulator.faults = FaultPlan()
    world.clock.advance(10)
    try await mine.sync()
    #expect(try mine.store.mirror("r0") == ["x": .int64(9)])
    #expect(try mine.store.status().state == .idle)
  }

  @Test func `a zone deleted by another device takes its records once that is accepted, and keeps queued changes`()
    async throws
  {
    try await share(3)
    try mine.store.accept(world.put("r0", ["x": .int64(7)]))
    try mine.store.accept(world.put("fresh", ["x": .int64(7)]))
    try world.emulator.deleteZone("cktop", in: world.server, at: world.clock.date)

    try await mine.sync()
    #expect(try mine.store.queue() == ["save r0 pending", "save fresh pending"])
    let zone = world.scope.zoneForChangesWithoutOne
    #expect(try mine.store.acceptDeletions(in: zone, policy: MergePolicy(.server), actor: "test") == 3)
    try await mine.sync()

    #expect(try mine.store.zones().map(\.state) == ["deleted"])
    #expect(try mine.store.records(mirrorOnly: true).total == 0)
    #expect(try mine.store.queue() == ["save r0 failed", "save fresh failed"])

    _ = try mine.store.perform(.retry, on: .all, actor: "test")
    try await mine.sync()
    #expect(try mine.store.zones().map(\.state) == ["ready"])
    #expect(try mine.store.mirror("fresh") == ["x": .int64(7)])
    #expect(try mine.store.queue() == [])
  }

  @Test func `a zone in trouble holds up itself, not the others`() async throws {
    _ = try theirs.store.enqueue([world.put("a", zone: "one", [:]), world.put("b", zone: "two", [:])])
    try await theirs.sync()
    mine.transport.interfere { operation, _, body in
      operation == "changes/zone" && body.contains(#""one""#)
        ? .answer(
          status: 200,
          #"{"zones":[{"zoneID":{"zoneName":"one"},"serverErrorCode":"THROTTLED","retryAfter":60}]}"#
        ) : .pass
    }

    let summary = try await mine.sync()

    #expect(!summary.reachedEnd)
    #expect(try mine.store.mirror("b") == [:])
    #expect(try !mine.store.status().isInSync)
    #expect(try mine.store.status().throttles.map(\.scope) == ["zone:one"])
    let before = mine.transport.count("changes/zone")
    try await mine.sync()
    #expect(mine.transport.count("changes/zone") == before)
    mine.transport.interfere(nil)
    world.clock.advance(61)
    try await mine.sync()
    #expect(try mine.store.mirror("a") == [:])
    #expect(try mine.store.status().isInSync)
  }

  @Test func `what fails about a zone's feed alone does not keep its changes from being sent`() async throws {
    try theirs.store.accept(world.put("a", zone: "one", [:]))
    try await theirs.sync()
    try await mine.sync()
    try theirs.store.accept(world.put("b", zone: "one", [:]))
    try await theirs.sync()
    mine.transport.interfere { operation, _, _ in
      operation == "changes/zone"
        ? .answer(status: 200, #"{"zones":[{"zoneID":{"zoneName":"one"},"serverErrorCode":"INTERNAL_ERROR"}]}"#) : .pass
    }
    try mine.store.accept(world.put("mine", zone: "one", [:]))

    try await mine.sync()

    #expect(world.onServer("mine", zone: "one") != nil)
    #expect(try !mine.store.status().isInSync)
  }

  @Test(arguments: [
    #"{"zones":[{"zoneID":{"zoneName":"cktop"},"serverErrorCode":"BAD_REQUEST","reason":"Invalid change token"}]}"#,
    #"{"serverErrorCode":"BAD_REQUEST","reason":"sync token is too old"}"#,
  ]) func `however a refused token is put, the zone is read again from the beginning`(_ refusal: String) async throws {
    try await share(3)
    try theirs.store.accept(world.put("new", [:]))
    try await theirs.sync()
    mine.transport.interfere { operation, _, body in
      operation == "changes/zone" && body.contains("syncToken")
        ? .answer(status: refusal.contains("zoneID") ? 200 : 400, refusal) : .pass
    }

    #expect(try await mine.sync().reachedEnd)
    #expect(try mine.store.mirror("new") == [:])
  }

  @Test func `a zone that is known to have news is not in sync before it has been read`() async throws {
    try await share(1)
    #expect(try mine.store.status().isInSync)
    let told = #"{"zones":[{"zoneID":{"zoneName":"cktop"},"syncToken":"later"}],"syncToken":"t","moreComing":false}"#
    let page = try JSONDecoder().decode(WireDatabaseChanges.self, from: Data(told.utf8))
    let lease = try #require(try Lease.acquire(mine.store))

    _ = try mine.store.apply(page, policy: MergePolicy(.server), lease)

    #expect(try !mine.store.status().isInSync)
  }

  // MARK: - Without a change feed

  @Test func `the public database is read by modification time`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    let theirs = try world.device("theirs", user: "ben")
    _ = try theirs.store.enqueue((0..<450).map { world.put("r\($0)", ["x": .int64(0)]) })
    try await theirs.sync()

    #expect(try await mine.sync().fetched == 0)
    #expect(try await mine.sync(["Note"]).fetched == 450)
    world.clock.advance(600)
    try theirs.store.accept(world.put("r7", ["x": .int64(1)]))
    try await theirs.sync()
    #expect(try await mine.sync().fetched == 1)
    world.clock.advance(600)
    try theirs.store.accept(world.put("r8", ["x": .int64(1)]))
    try await theirs.sync()
    let before = mine.transport.count("records/query")

    #expect(try await mine.sync().fetched == 1)
    #expect(try mine.store.mirror("r8") == ["x": .int64(1)])
    // One page since the watermark, three pages of names.
    #expect(mine.transport.count("records/query") == before + 4)
    #expect(try mine.store.status().isInSync)
  }

  @Test func `deletions in the public database are found by a sweep`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    let theirs = try world.device("theirs", user: "ben")
    _ = try theirs.store.enqueue((0..<5).map { world.put("r\($0)", [:]) })
    try await theirs.sync()
    try await mine.sync(["Note"])
    _ = try theirs.store.enqueue([world.delete("r1"), world.delete("r3")])
    try await theirs.sync()

    let summary = try await mine.sync()

    #expect(summary.deleted == 2)
    #expect(try mine.store.records().rows.map(\.record.key.name) == ["r0", "r2", "r4"])
  }

  @Test func `an edit that the index showed too late, and a record, are found by a sweep`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    let early = world.clock.date
    world.clock.advance(1000)
    for name in ["edited", "same"] {
      try world.emulator.save(
        in: world.server,
        user: "ben",
        recordType: "Note",
        recordName: name,
        fields: ["x": .int64(1)],
        at: world.clock.date
      )
    }
    try await mine.sync(["Note"])
    // They bear a time that was read long ago.
    for name in ["edited", "late"] {
      try world.emulator.save(
        in: world.server,
        user: "ben",
        recordType: "Note",
        recordName: name,
        fields: ["x": .int64(2)],
        at: early
      )
    }

    let summary = try await mine.sync()

    #expect(summary.fetched == 2 && summary.deleted == 0)
    #expect(try mine.store.mirror("edited") == ["x": .int64(2)])
    #expect(try mine.store.mirror("late") == ["x": .int64(2)])
    #expect(mine.transport.count("records/lookup") == 1)
  }

  @Test func `one's own record that others delete before the first reading is found missing, too`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", [:]))
    mine.transport.interfere { operation, number, _ in operation == "records/query" && number == 2 ? .offline : .pass }
    try await mine.sync()
    try world.emulator.delete(recordName: "a", in: world.server, user: "ana", at: world.clock.date)
    world.clock.advance(10)

    try await mine.sync()

    #expect(try mine.store.records().total == 0)
  }

  @Test(arguments: [false, true])
  func `a deleted record that the index shows for a while is not taken for a new one`(_ isMadeAnew: Bool) async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", ["x": .int64(1)]))
    try mine.store.accept(world.put("b", [:]))
    try await mine.sync()
    let query = #"{"zoneID":{"zoneName":"_defaultZone"},"query":{"recordType":"Note"}}"#
    let old = try await world.send(query, to: "records/query")
    let index = Interference.answer(status: old.status, String(decoding: old.body, as: UTF8.self))
    mine.transport.interfere { operation, _, _ in operation == "records/query" ? index : .pass }
    world.clock.advance(10)
    try mine.store.accept(world.delete("a"))
    if isMadeAnew {
      mine.transport.interfere {
        [server = world.server, emulator = world.emulator, date = world.clock.date] operation, number, _ in
        guard operation == "records/query" else { return .pass }
        _ = try? emulator.save(
          in: server,
          user: "ben",
          recordType: "Note",
          recordName: "a",
          fields: ["x": .int64(2)],
          at: date
        )
        return index
      }
    }

    try await mine.sync()

    #expect(try mine.store.mirror("a") == (isMadeAnew ? ["x": .int64(2)] : nil))
    #expect(try mine.store.mirror("b") == [:])
  }

  @Test func `a record that the index does not show yet is not taken for deleted`() async throws {
    let world = try World(.public) { $0.indexDelay = .seconds(30) }
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", [:]))

    try await mine.sync()
    world.clock.advance(1)
    try await mine.sync()

    #expect(try mine.store.records().total == 1)
  }

  /// Found by simulation, seeds 41, 155 and 319.
  @Test func `what changed behind an interrupted reading is read when it goes on`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    let theirs = try world.device("theirs")
    _ = try theirs.store.enqueue((100..<550).map { world.put("r\($0)", ["x": .int64(0)]) })
    try await theirs.sync()
    mine.transport.interfere { operation, number, _ in operation == "records/query" && number == 2 ? .offline : .pass }
    try await mine.sync(["Note"])
    // In the same millisecond, so that its place in the order of modification is before the page reached.
    try theirs.store.accept(world.put("r100", ["x": .int64(1)]))
    try await theirs.sync()
    world.clock.advance(10_000)
    try theirs.store.accept(world.put("r101", ["x": .int64(1)]))
    try await theirs.sync()
    world.clock.advance(10)

    try await mine.sync()

    #expect(try mine.store.mirror("r100") == ["x": .int64(1)])
    #expect(try mine.store.status().isInSync)
  }

  /// Found by simulation, seed 1008.
  @Test func `what a delete of one's own takes along is gone here too where there is no feed`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", [:]))
    try mine.store.accept(
      world.put("b", ["owner": .reference(WireReference(recordName: "a", action: "DELETE_SELF"))])
    )
    try await mine.sync()
    world.clock.advance(1)
    try mine.store.accept(world.delete("a"))

    try await mine.sync()

    #expect(world.onServer("b") == nil)
    #expect(try mine.store.mirror("b") == nil)
  }
}
