import CloudKit
import CloudKitEmulator
import Facts
import Testing

@testable import CloudSync

/// The event log: what leaves a line in it, and who is named.
struct EventTests {
  private let world: World

  init() throws { world = try World() }

  /// The events but the starts and ends of syncs, oldest first.
  private func events(_ store: SyncStore) throws -> [Event] {
    try store.events().map(\.event).filter { $0.kind != "sync" }.reversed()
  }

  private func kinds(_ store: SyncStore) throws -> [String] { try events(store).map(\.kind) }

  @Test func `a sync that changed nothing leaves no event, one that sent or fetched has its start and end`()
    async throws
  {
    let (mine, other) = (try world.device("mine"), try world.device("other"))
    try await mine.sync()
    #expect(try mine.store.events().isEmpty)
    try mine.store.accept(world.put("a", ["x": .int64(1)]))
    try await mine.sync()
    try await mine.sync()
    try await other.sync()

    let start = Event.syncStarted(by: .current)
    let sent = Event.syncEnded(by: .current, Event.SyncResults(sent: 1), seconds: 0)
    #expect(try mine.store.events().map(\.event) == [sent, start])
    let fetched = Event.syncEnded(by: .current, Event.SyncResults(fetched: 1), seconds: 0)
    #expect(try other.store.events().map(\.event) == [fetched, start])
  }

  @Test func `the start is logged with its time before what the sync met, and the end with what stopped it`()
    async throws
  {
    let device = try world.device("device")
    let startedAt = world.clock.now
    try device.store.accept(world.put("a", ["x": .int64(1)]))
    device.transport.interfere { [world] operation, _, _ in
      guard operation == "records/modify" else { return .pass }
      world.clock.advance(7)
      return .offline
    }
    _ = try? await device.sync()
    _ = try? await device.sync()

    let rows = try device.store.events().reversed()
    #expect(rows.prefix(3).map(\.kind) == ["sync", "error", "sync"])
    #expect(rows.first?.event == .syncStarted(by: .current) && rows.first?.at == startedAt)
    guard case .syncEnded(_, let results, let seconds, .error("NETWORK_ERROR", _))? = rows.dropFirst(2).first?.event
    else { return #expect(Bool(false), "the end is not logged") }
    #expect(results == Event.SyncResults() && seconds >= 7)
  }

  @Test func `what a process that keeps syncing does is logged without a start and an end of each sync`() async throws {
    let device = try world.device("device")
    try await whileDriving(device) {
      try device.store.accept(world.put("a", ["x": .int64(1)]))
      try await eventually(device.store) { try device.store.events().contains { $0.kind == "sync" } }
    }

    let syncs = try device.store.events().map(\.event).filter { $0.kind == "sync" }
    #expect(syncs == [.synced(sent: 1, fetched: 0, deleted: 0, failed: 0, seconds: 0)])
  }

  @Test func `an outage is logged once, and its end once`() async throws {
    let device = try world.device("device")
    device.transport.interfere { _, _, _ in .offline }
    for _ in 1...3 {
      _ = try? await device.sync()
      world.clock.advance(400)
    }
    #expect(try kinds(device.store) == ["error"])
    #expect(try device.store.status().networkProblem?.since == 1_700_000_000_000)
    device.transport.interfere(nil)
    try await device.sync()

    let events = try events(device.store)
    #expect(events.count == 2 && events.last == .recovered(.network, seconds: 1200))
    #expect(try device.store.status().networkProblem?.since == nil)
  }

  @Test(
    arguments: [
      ("THROTTLED", 503), ("INTERNAL_ERROR", 500), ("QUOTA_EXCEEDED", 413), ("TRY_AGAIN_LATER", 503),
    ]
  )
  func `what makes a sync wait is logged once`(code: String, status: Int) async throws {
    let device = try world.device("device")
    device.transport.answer(
      "records/modify",
      status: status,
      #"{"serverErrorCode": "\#(code)", "reason": "no", "retryAfter": 60}"#
    )
    try device.store.accept(world.put("a", [:]))
    for _ in 1...3 {
      try await device.sync()
      world.clock.advance(90)
    }
    let errors = try device.store.events(matching: QueueFilter(parsing: "kind = 'error'", of: .events)).map(\.event)
    #expect(errors == [.error(code: code, message: "no")])
  }

  @Test func `a record that the server throttles again and again is logged once`() async throws {
    let device = try world.device("device")
    device.transport.interfere { operation, _, _ in
      operation == "records/modify" ? .refusing("a", "THROTTLED", "slow down", retryAfter: 30) : .pass
    }
    try device.store.accept(world.put("a", [:]))
    for _ in 1...4 {
      try await device.sync()
      world.clock.advance(60)
    }
    #expect(try kinds(device.store) == ["error"])
  }

  @Test func `a zone that cannot be created is logged once, as that`() async throws {
    let device = try world.device("device")
    device.transport.answer(
      "zones/modify",
      #"{"zones": [{"zoneID": {"zoneName": "cktop"}, "serverErrorCode": "INTERNAL_ERROR", "reason": "oops"}]}"#
    )
    try device.store.accept(world.put("a", [:]))
    try await device.sync()
    let events = try events(device.store)
    #expect(events == [.zoneCannotBeCreated(zone: "cktop", code: "INTERNAL_ERROR", message: "oops")])
  }

  @Test func `of many failures the latest are kept, and the commands before them`() throws {
    let store = try world.open("store")
    _ = try store.pause(.everything, actor: "ana")
    try store.write { ledger in
      for number in 1...1500 {
        // Two kinds that take turns.
        try EventLog.add(.merged(record: "Note/\(number)"), now: 1, ledger)
        let failure = FailureCause.rejected(code: "BAD_REQUEST", message: "no")
        try EventLog.add(.failed(record: "Note/\(number)", failure), now: 1, ledger)
      }
    }
    let kinds = try store.events().map(\.kind)
    #expect(kinds.count { $0 == "command" } == 1)
    for kind in ["failed", "merge"] { #expect((1000...1100).contains(kinds.count { $0 == kind })) }
  }

  @Test func `changes that fail by an operator's decision are logged at its time`() async throws {
    let device = try world.device("device", deletionGuard: DeletionGuard(count: 1, share: 0))
    try device.store.accept(world.put("a", zone: "notes", [:]))
    try await device.sync()
    try device.store.accept(world.put("a", zone: "notes", ["x": .int64(1)]))
    _ = try await world.send(
      #"{"operations": [{"operationType": "delete", "zone": {"zoneID": {"zoneName": "notes"}}}]}"#,
      to: "zones/modify"
    )
    try await device.sync()
    world.clock.advance(60)
    _ = try device.store.acceptDeletions(in: ZoneKey(zone: "notes"), actor: "ana")

    let failed = try #require(device.store.events().first { $0.kind == "failed" })
    #expect(failed.at == world.clock.now)
  }

  @Test func `a fetched page ends the trouble that status shows, and not the length of the next wait`() throws {
    let store = try world.open("store")
    let lease = try #require(try Lease.acquire(store))
    let error = WebServicesError(.networkError, "cut")
    try store.record(error, random: 0, lease)
    #expect(try store.status().networkProblem != nil)
    let before = try store.read { try $0.wait(.network)?.seconds }
    try store.write(lease) { ledger, _ in try Throttles.endTrouble(ledger) }
    #expect(try store.status().networkProblem == nil)
    try store.record(error, random: 0, lease)

    let after = try store.read { try $0.wait(.network)?.seconds }
    #expect(try #require(after) > #require(before))
  }

  @Test(arguments: [(500, false), (nil, true)] as [(Int?, Bool)])
  func `a server that fails is waited for, a failure in a reply that is otherwise fine is an error`(
    status: Int?,
    isError: Bool
  ) throws {
    let store = try world.open("store")
    let lease = try #require(try Lease.acquire(store))

    try store.record(WebServicesError(.internalError, "no", httpStatus: status), random: 0, lease)

    #expect(try store.status().errorStands == isError)
  }

  @Test func `a failed change, a conflict and a merge are logged with their operation and zone`() async throws {
    let (mine, other) = (try world.device("mine", policy: .manual), try world.device("other"))
    for device in [other, mine] {
      if device.store === other.store { try device.store.accept(world.put("a", ["x": .int64(0), "y": .int64(0)])) }
      try await device.sync()
    }
    try other.store.accept(world.put("a", ["x": .int64(1)]))
    try await other.sync()
    let id = try mine.store.accept(world.put("a", ["x": .int64(2)]))
    try await mine.sync()

    let conflict = try #require(try mine.store.events().first { $0.kind == "conflict" })
    #expect(conflict.event == .conflict(record: "Note/a", .fields(["x"])))
    #expect(conflict.operation == id && conflict.zone == "cktop" && conflict.actor == nil)
    _ = try mine.store.resolve(id, take: .local, actor: "ana")
    let command = try #require(try mine.store.events().first)
    #expect(command.kind == "command" && command.actor == "ana" && command.operation == id)
    #expect(command.event == .command(.resolve(operation: id, take: "local"), count: 1))

    mine.transport.interfere { operation, _, _ in
      operation == "records/modify" ? .refusing("a", "BAD_REQUEST", "no such field") : .pass
    }
    try await mine.sync()
    let failed = try #require(try mine.store.events().first { $0.kind == "failed" })
    let cause = FailureCause.rejected(code: "BAD_REQUEST", message: "no such field")
    #expect(failed.event == .failed(record: "Note/a", cause) && failed.operation == id)
  }

  @Test(
    arguments: [
      ("kind = 'command'", 2), ("by = 'ana'", 1), ("by is null", 1), ("zone = 'cktop'", 1), ("operation = 7", 1),
      ("text like '%everything%'", 1), ("kind != 'sync' and by = 'ben'", 1), ("age > 1h", 0), ("age < 1h", 3),
    ]
  )
  func `events are chosen by kind, zone, operation, person, age and text`(expression: String, count: Int) throws {
    let store = try world.open("store")
    _ = try store.pause(.everything, actor: "ana")
    try store.write { ledger in
      let event = Event.command(.retry(.operations([7])), count: 1)
      try EventLog.add(event, operation: 7, zone: nil, actor: "ben", now: world.clock.now, ledger)
      try EventLog.add(.zoneDeleted(zone: "cktop"), in: ZoneKey(zone: "cktop"), now: world.clock.now, ledger)
    }

    #expect(try store.events(matching: QueueFilter(parsing: expression, of: .events)).count == count)
  }

  @Test(arguments: ["state = 'failed'", "kind = 'errors'", "operation = 'save'"])
  func `an expression over events names their columns and kinds`(expression: String) {
    #expect(throws: FilterError.self) { try QueueFilter(parsing: expression, of: .events) }
  }

  @Test func `an operation keeps the program that enqueued it, also when it has ended`() async throws {
    let device = try world.device("device")
    let id = try device.store.accept(world.put("a", [:]))
    #expect(try device.store.operation(id).enqueuedBy == .current)
    try await device.sync()
    #expect(try device.store.detail(of: id)?.history?.enqueuedBy == .current)
  }

  @Test func `status says which program syncs and since when`() async throws {
    let device = try world.device("device")
    let lease = try #require(try Lease.acquire(device.store))
    world.clock.advance(60)
    let driver = try #require(try device.store.status().syncingProcess)
    #expect(driver.program == ProgramID.current.name && driver.since == 1_700_000_000_000)
    lease.release(device.store)
  }
}

/// What each minute brought.
struct ThroughputTests {
  @Test func `each minute has a row that counts what was sent, fetched and failed in it`() async throws {
    let world = try World()
    let (mine, other) = (try world.device("mine"), try world.device("other"))
    try mine.store.accept(world.put("a", ["x": .int64(1)]))
    try mine.store.accept(world.put("b", ["x": .int64(1)]))
    try await mine.sync()
    let first = try #require(try mine.store.view { try $0.throughput() }.first)
    #expect(first.sent == 2 && first.fetched == 0 && first.failed == 0 && first.bytes > 0)
    try await other.sync()
    #expect(try other.store.view { try $0.throughput() }.map(\.fetched) == [2])

    world.clock.advance(60)
    mine.transport.interfere { operation, _, _ in
      operation == "records/modify" ? .refusing("c", "BAD_REQUEST", "no") : .pass
    }
    try mine.store.accept(world.put("c", [:]))
    try await mine.sync()
    #expect(try mine.store.view { try $0.throughput() }.map(\.failed) == [0, 1])
    #expect(try mine.store.view { try $0.throughput() }.map(\.sent) == [2, 0])
    #expect(try mine.store.status().lastDay.sent == 2)

    // The same change again: its minute has a failure, and the day has one failed change.
    world.clock.advance(60)
    _ = try mine.store.perform(.retry, on: .all, actor: "ana")
    try await mine.sync()
    #expect(try mine.store.view { try $0.throughput() }.map(\.failed) == [0, 1, 1])
    #expect(try mine.store.status().lastDay.failed == 1)
    world.clock.advance(24 * 3600)
    #expect(try mine.store.status().lastDay.failed == 0)
  }

  @Test func `a minute is kept for a day`() throws {
    let world = try World()
    let store = try world.open("store")
    func count() throws { try store.write { try $0.count(sent: 1, now: world.clock.now) } }
    try count()
    world.clock.advance(24 * 3600 - 60)
    try count()
    #expect(try store.view { try $0.throughput() }.count == 2)
    world.clock.advance(60)
    #expect(try store.view { try $0.throughput() }.count == 1)
    try count()
    #expect(try store.read { try $0.one("SELECT count(*) FROM throughput") } == 2)
  }
}

/// Failed and retrying operations by cause, and conflicts that are resolved together.
struct ManyAtOnceTests {
  @Test func `operations that failed alike are one cause, whatever their names`() async throws {
    let world = try World()
    let store = try world.open("store")
    for name in ["note1", "note2", "note3", "note4", "note5"] { try store.accept(world.put(name, [:])) }
    try store.execute(
      """
      UPDATE operations SET state = 'failed', errorCode = 'BAD_REQUEST', errorMessage = 'record ' || name || ' is bad'
        WHERE name < 'note4';
      UPDATE operations SET state = 'waiting', nextAttemptAt = 5, errorCode = 'NETWORK_ERROR'
        WHERE name IN ('note4', 'note5');
      UPDATE operations SET nextAttemptAt = \(world.clock.now + 5) WHERE name = 'note5';
      """
    )

    let causes = try store.causes()
    #expect(causes.map(\.count) == [3, 2] && causes.map(\.code) == ["BAD_REQUEST", "NETWORK_ERROR"])
    #expect(causes[0].message == "record … is bad" && causes[1].nextAttemptAt == world.clock.now + 5)
    // The expression that a cause comes with means its operations.
    for cause in causes {
      #expect(try store.operations(matching: QueueFilter(parsing: cause.filter)).total == cause.count)
    }
    #expect(try store.causes(matching: QueueFilter(parsing: "name = 'note1'")).map(\.count) == [1])
  }

  /// Makes a save fail.
  private func fail(_ name: String, zone: String? = nil, _ failure: FailureCause, in world: World, _ store: SyncStore)
    throws
  {
    let id = try store.accept(world.put(name, zone: zone, ["done": .string("yes")]))
    try store.write { ledger in
      var operation = try #require(try ledger.operation(id))
      operation.apply(.failed(failure))
      try ledger.update(operation)
    }
  }

  @Test func `failures that quote other names are one cause, and its expression selects exactly these`() throws {
    let world = try World()
    let store = try world.open("store")
    func fail(_ name: String, zone: String? = nil, _ failure: FailureCause) throws {
      try self.fail(name, zone: zone, failure, in: world, store)
    }
    func missing(_ field: String, _ name: String) -> FailureCause {
      .referenceMissing(field: field, name: name, code: "VALIDATING_REFERENCE_ERROR")
    }
    func rejected(_ message: String) -> FailureCause { .rejected(code: "BAD_REQUEST", message: message) }
    for (index, name) in ["a", "DE", "field", "germany"].enumerated() {
      try fail("c\(index)", missing("country", name))
    }
    try fail("p1", missing("parent", "a"))
    try store.write { ledger in
      var operation = try #require(try ledger.operation(for: world.key("c3")))
      operation.note(.serverRecordChanged)
      try ledger.update(operation)
    }
    for zone in ["a", "two"] { try fail("z", zone: zone, .zoneDeleted(zone: zone, code: "ZONE_NOT_FOUND")) }
    for name in ["x", "y"] { try fail("f\(name)", .file(.missing, path: "/tmp/\(name)", field: "photo")) }
    // Its own name, a short one, and that of another record.
    for (name, quoted) in [("note1", "note1"), ("note2", "note2"), ("n", "n"), ("note4", "p7")] {
      try fail(name, rejected("record '\(quoted)' is bad"))
    }
    try fail("note5", rejected("record 'note5' is worse"))
    try fail("note6", rejected("field 'a_b' must be INT64"))
    try fail("note7", .refusedByApp("not on Sundays"))

    let causes = try store.causes()

    #expect(causes.map(\.count) == [4, 4, 2, 2, 1, 1, 1, 1])
    for cause in causes {
      let selected = try store.operations(matching: QueueFilter(parsing: cause.filter))
      #expect(selected.total == cause.count, "\(cause.filter)")
      #expect(selected.rows.map(\.id).min() == cause.first, "\(cause.filter)")
    }
    #expect(causes[0].message == missing("country", "…").message)
    #expect(causes[1].message == "record '…' is bad")
  }

  @Test func `the status names the most frequent cause of failures, and whether an edit cures it`() throws {
    let world = try World()
    let store = try world.open("store")
    #expect(try store.status().topFailure == nil)
    let message = "field 'done' must be INT64"
    try fail("a", .rejected(code: "BAD_REQUEST", message: message), in: world, store)
    try fail("b", .refusedByApp("not on Sundays"), in: world, store)
    try fail("c", .rejected(code: "BAD_REQUEST", message: message), in: world, store)

    let top = try #require(try store.status().topFailure)
    #expect(top.code == "BAD_REQUEST" && top.message == message && top.count == 2 && top.more == 1)
    #expect(top.isWhole && top.isFieldRejected)
    #expect(top.cause == .failed(.rejected(code: "BAD_REQUEST", message: message)))

    // Of more failures than are read, only the newest count.
    let newest = try #require(try store.read { try $0.topFailure(of: 3, limit: 1) })
    #expect(newest.count == 1 && newest.more == 0 && !newest.isWhole)
  }

  @Test(
    arguments: [
      (.rejected(code: "BAD_REQUEST", message: "invalid attempt to set field done to STRING"), true),
      (.rejected(code: "BAD_REQUEST", message: #"no index on "done""#), true),
      (.rejected(code: "BAD_REQUEST", message: "unable to parse 'undone'"), false),
      (.rejected(code: "ACCESS_DENIED", message: "no WRITE on 'done'"), false),
      (.refusedByApp("'done' is not done"), false),
      (.schemaLacks(type: "Note", field: "done", code: "BAD_REQUEST"), false),
    ] as [(FailureCause, Bool)]
  )
  func `an edit cures what the server says of a field`(_ failure: FailureCause, _ isFieldRejected: Bool) throws {
    let world = try World()
    let store = try world.open("store")
    try fail("a", failure, in: world, store)

    #expect(try store.status().topFailure?.isFieldRejected == isFieldRejected)
  }

  /// A device with conflicts about these records.
  private func conflicts(_ names: [String]) async throws -> (world: World, device: TestDevice) {
    let world = try World()
    let (mine, other) = (try world.device("mine", policy: .manual), try world.device("other"))
    for name in names { try other.store.accept(world.put(name, ["x": .int64(0)])) }
    try await other.sync()
    try await mine.sync()
    for name in names {
      try other.store.accept(world.put(name, ["x": .int64(1)]))
      try mine.store.accept(world.put(name, ["x": .int64(2)]))
    }
    try await other.sync()
    try await mine.sync()
    return (world, mine)
  }

  @Test func `conflicts that a filter selects are resolved together`() async throws {
    let (world, device) = try await conflicts(["a1", "a2", "b1"])
    let filter = try QueueFilter(parsing: "name like 'a%'")
    let chosen = try device.store.conflictVersions(matching: filter).map {
      (id: $0.id, version: String?.some($0.version))
    }
    #expect(chosen.count == 2)

    let preview = try device.store.resolve(chosen, take: .local, dryRun: true, actor: "ana")
    #expect(preview.resolved == chosen.map(\.id))
    #expect(try device.store.status().queue.conflicts == 3)
    let outcome = try device.store.resolve(chosen, take: .local, actor: "ana")
    #expect(outcome == preview)
    try await device.sync()

    #expect(world.onServer("a1")?["x"] == .int64(2) && world.onServer("b1")?["x"] == .int64(1))
    #expect(try device.store.status().queue.conflicts == 1)
  }

  @Test func `a conflict that moved on, one that is none and one that the choice does not fit are left alone`()
    async throws
  {
    let (_, device) = try await conflicts(["a", "b"])
    let ids = try device.store.conflictVersions().map(\.id)

    let stale = try device.store.resolve(
      [(ids[0], "000000000000"), (99, nil)],
      take: .local,
      actor: "ana"
    )
    #expect(stale.moved.map(\.id) == [ids[0]] && stale.unknown == [99] && stale.resolved == [])
    let unfit = try device.store.resolve(
      [(ids[1], nil)],
      take: .local,
      fields: ["other": .server],
      actor: "ana"
    )
    #expect(unfit.skipped.keys.sorted() == [ids[1]] && unfit.resolved == [])
    #expect(try device.store.status().queue.conflicts == 2)
  }
}
