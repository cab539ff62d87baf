import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import Testing

@testable import CloudSync

/// What merging leaves in the store: nothing lost, parked where it belongs, never ended by somebody else.
@Suite(.serialized) struct MergedStateTests {
  /// Two devices that both know record `a` with `x` 0 and `n` 10.
  private func pair(_ policy: ConflictPolicy = .server) async throws -> (
    world: World, mine: TestDevice, theirs: TestDevice
  ) {
    let world = try World()
    let mine = try world.device("mine", policy: policy)
    let theirs = try world.device("theirs")
    try mine.store.accept(world.put("a", ["x": .int64(0), "n": .int64(10)]))
    try await mine.sync()
    try await theirs.sync()
    world.clock.advance(10)
    return (world, mine, theirs)
  }

  private func tags(_ text: String) -> FieldValue { .list(.string, text.map { .string(String($0)) }) }

  // MARK: - Lists of elements

  @Test func `the engine's rules serve changes that bring none`() async throws {
    let world = try World()
    var rules = MergeRules()
    rules["Note"] = ["tags": .elements]
    let mine = try world.device("mine", policy: .manual, mergeRules: rules)
    let theirs = try world.device("theirs")
    try mine.store.accept(world.put("a", ["tags": tags("ab")]))
    try await mine.sync()
    try await theirs.sync()
    try theirs.store.accept(world.put("a", ["tags": tags("abc")]))
    try await theirs.sync()
    try mine.store.accept(world.put("a", ["tags": tags("bd")]))

    try await mine.sync()

    #expect(try mine.store.queue() == [])
    #expect(try mine.store.mirror("a") == ["tags": tags("bcd")])
  }

  @Test func `an edit of a list that is queued keeps what has been merged into it since it was read`() async throws {
    let world = try World()
    let (mine, theirs) = (try world.device("mine"), try world.device("theirs"))
    func change(_ text: String, read: String? = nil, tag: String? = nil) -> Change {
      let changes = FieldChanges(values: ["tags": tags(text)], rules: ["tags": .elements])
      return Change(
        world.key("a"),
        .save(type: "Note", changes),
        base: read.map { ["tags": tags($0)] },
        baseTag: tag
      )
    }
    try mine.store.accept(change("a"))
    try await mine.sync()
    try await theirs.sync()
    let tag = try #require(try mine.store.records(named: "a").first?.changeTag)
    let id = try mine.store.accept(change("ab"))
    try theirs.store.accept(change("ac"))
    try await theirs.sync()
    mine.transport.interfere { operation, _, _ in operation == "records/modify" ? .offline : .pass }
    try await mine.sync()
    #expect(try mine.store.operation(id).changes["tags"] == tags("abc"))

    try mine.store.accept(change("abd", read: "ab", tag: tag))
    mine.transport.interfere(nil)
    world.clock.advance(600)
    try await mine.sync()

    #expect(try mine.store.mirror("a") == ["tags": tags("abcd")])
  }

  // MARK: - Recreated records

  @Test func `a record that was deleted unseen and made anew is replaced`() async throws {
    let world = try World()
    let (mine, theirs) = (try world.device("mine"), try world.device("theirs"))
    try theirs.store.accept(world.put("a", ["title": .string("A"), "old": .int64(1)]))
    try await theirs.sync()
    try mine.store.accept(world.delete("a"))
    try mine.store.accept(world.put("a", ["title": .string("B")]))

    try await mine.sync()

    #expect(world.onServer("a") == ["title": .string("B")])
    #expect(try mine.store.queue() == [])
  }

  @Test func `what others made of a record after it was deleted here is compared with what takes its place`()
    async throws
  {
    let world = try World()
    let (mine, theirs) = (try world.device("mine", policy: .manual), try world.device("theirs"))
    try theirs.store.accept(world.put("n", ["n": .int64(10)]))
    try await theirs.sync()
    try await mine.sync()
    let id = try mine.store.accept(world.delete("n"))
    _ = try mine.store.perform(.pause, on: .ids([id]), actor: "test")
    try theirs.store.accept(world.put("n", ["n": .int64(5)]))
    try await theirs.sync()
    try await mine.sync()

    try mine.store.accept(world.put("n", ["new": .int64(1)]))
    _ = try mine.store.perform(.resume, on: .ids([id]), actor: "test")
    try await mine.sync()

    #expect(try mine.store.queue() == ["save n conflict"])
    #expect(try mine.store.conflict(id)?.fields.map(\.server) == [.int64(5)])
    #expect(world.onServer("n") == ["n": .int64(5)])
  }

  // MARK: - Rounds

  @Test func `conflicts without end are parked on the desk, and go on once settled`() async throws {
    let world = try World()
    let mine = try world.device("mine", policy: .client)
    let id = try mine.store.accept(world.put("a", ["x": .int64(1)]))
    mine.transport.interfere { operation, number, _ in
      if operation == "records/modify" {
        try? world.saveOnServer("a", ["x": .int64(Int64(100 + number))])
      }
      return .pass
    }

    try await mine.sync()

    #expect(try mine.store.queue() == ["save a conflict"])
    #expect(try mine.store.operation(id).cause == .conflict(.fields(["x"]), rounds: 9))
    #expect(mine.transport.count("records/modify") == 9)
    mine.transport.interfere(nil)
    _ = try mine.store.resolve(id, take: .local, actor: "ana")
    try await mine.sync()
    #expect(world.onServer("a") == ["x": .int64(1)])
  }

  @Test func `a record that others never stop changing elsewhere is parked with what is to be sent`() async throws {
    let (world, mine, _) = try await pair()
    let id = try mine.store.accept(world.put("a", ["mine": .int64(1)]))
    mine.transport.interfere { operation, number, _ in
      if operation == "records/modify" {
        try? world.saveOnServer("a", ["x": .int64(Int64(100 + number))])
      }
      return .pass
    }

    try await mine.sync()

    #expect(try mine.store.operation(id).cause == .conflict(.fields([]), rounds: 9))
    #expect(try mine.store.conflict(id)?.fields.map(\.name) == ["mine"])
  }

  @Test func `lost answers are no conflicts`() async throws {
    let (world, mine, _) = try await pair(.client)
    mine.transport.interfere { operation, number, _ in
      guard operation == "records/modify", number <= 12 else { return .pass }
      guard number == 12 else { return .lost }
      try? world.saveOnServer("a", ["x": .int64(1)])
      return .pass
    }
    let id = try mine.store.accept(world.put("a", ["x": .int64(2)]))
    var rounds: [Int] = []
    for _ in 0..<12 {
      rounds.append(try mine.store.detail(of: id)?.operation?.lostRounds ?? 0)
      try await mine.sync()
      world.clock.advance(4_000)
    }

    #expect(rounds.max() ?? 0 >= 8)
    #expect(try mine.store.queue() == [])
    #expect(world.onServer("a")?["x"] == .int64(2))
  }

  // MARK: - Dead letters and pauses

  @Test(arguments: [true, false], [ConflictPolicy.server, .client, .newest, .manual])
  func `what a person holds is not ended by somebody else's edit`(_ isPaused: Bool, _ policy: ConflictPolicy)
    async throws
  {
    let (world, mine, theirs) = try await pair(policy)
    let id = try hold(world, mine, world.put("a", ["x": .int64(2)]), isPaused: isPaused)
    world.clock.advance(10)
    try theirs.store.accept(world.put("a", ["x": .int64(1)]))
    try await theirs.sync()

    try await mine.sync()

    let state: OperationState = isPaused ? .paused : .failed
    let held = try mine.store.operation(id)
    #expect(held.state == state)
    #expect(held.changes == FieldChanges(values: ["x": .int64(2)]))
    #expect(held.cause.notes == [.serverRecordChanged])
    #expect(try mine.store.mirror("a")?["x"] == .int64(1))
    _ = try mine.store.perform(isPaused ? .resume : .retry, on: .ids([id]), actor: "ana")
    try await mine.sync()
    #expect(try mine.store.queue() == (policy == .manual ? ["save a conflict"] : []))
    #expect(world.onServer("a")?["x"] == .int64(policy == .client ? 2 : 1))
  }

  private func hold(_ world: World, _ device: TestDevice, _ change: Change, isPaused: Bool) throws -> Int64 {
    let id = try device.store.accept(change)
    if isPaused {
      _ = try device.store.perform(.pause, on: .ids([id]), actor: "ana")
    } else {
      try device.store.execute("UPDATE operations SET state = 'failed', reason = 'BAD_REQUEST: no' WHERE id = \(id)")
    }
    return id
  }

  // MARK: - Answers from before

  private func take(_ record: MirrorRecord, _ store: SyncStore, isWhole: Bool = false) throws {
    _ = try store.write { ledger in
      let reconciliation = Reconciliation(policy: MergePolicy(.server), now: 0, ledger: ledger)
      return try reconciliation.take([record], epoch: 0, isWhole: isWhole)
    }
  }

  private func record(_ world: World, _ tag: String, x: Int64, at time: Int64) -> MirrorRecord {
    MirrorRecord(key: world.key("a"), type: "Note", changeTag: tag, fields: ["x": .int64(x)], modifiedAt: time)
  }

  @Test func `an answer from before what the mirror holds changes nothing`() throws {
    let world = try World()
    let store = try world.open("mine")
    for version in 1...3 as ClosedRange<Int64> {
      try take(record(world, "tag\(version)", x: version, at: version), store)
    }
    let id = try store.accept(world.put("a", ["x": .int64(9)]))

    try take(record(world, "tag1", x: 1, at: 1), store)
    try take(record(world, "tag2", x: 2, at: 2), store)

    #expect(try store.mirror("a") == ["x": .int64(3)])
    #expect(try store.operation(id).baseTag == "tag3")
    #expect(try !store.operation(id).needsVerification)
    #expect(try store.queue() == ["save a pending"])
  }

  @Test func `an older version that was never seen is asked about where an edit hangs on it`() throws {
    let world = try World()
    let store = try world.open("mine")
    try take(record(world, "tag3", x: 3, at: 3), store)
    let id = try store.accept(world.put("a", ["x": .int64(9)]))

    try take(record(world, "tag2", x: 2, at: 2), store)

    #expect(try store.mirror("a") == ["x": .int64(3)])
    #expect(try store.operation(id).needsVerification)
    #expect(try store.operation(id).changes["x"] == .int64(9))
  }

  @Test func `a record that was asked for by name is what it is, however old`() throws {
    let world = try World(.public)
    let store = try world.open("mine")
    for version in 1...2 as ClosedRange<Int64> {
      try take(record(world, "tag\(version)", x: version, at: version), store)
    }
    var wire = WireRecord(recordName: "a", recordType: "Note")
    (wire.recordChangeTag, wire.modified, wire.fields) = ("tag1", WireStamp(timestamp: 1), ["x": .int64(1)])
    let lease = try #require(try Lease.acquire(store))
    defer { lease.release(store) }

    let polled = PolledQuery(zone: .defaultZone, type: "Note")
    _ = try store.applyFullScan([.item(wire)], of: polled.zoneKey, policy: MergePolicy(.server), lease)

    #expect(try store.mirror("a") == ["x": .int64(1)])
  }

  @Test func `a server that went back to an older state is followed where it tells everything`() throws {
    let world = try World()
    let store = try world.open("mine")
    for version in 1...2 as ClosedRange<Int64> {
      try take(record(world, "tag\(version)", x: version, at: version), store)
    }

    try take(record(world, "tag1", x: 1, at: 1), store, isWhole: true)

    #expect(try store.mirror("a") == ["x": .int64(1)])
  }
}
