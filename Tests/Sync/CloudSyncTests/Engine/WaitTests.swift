import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import GRDB
import TestSupport
import Testing

@testable import CloudSync

/// Waiting is not failing: throttles, quota, account, no network.
@Suite(.serialized) struct WaitTests {
  private let world: World
  private let device: TestDevice
  private var store: SyncStore { device.store }
  private var transport: TestTransport { device.transport }

  init() async throws {
    world = try World()
    device = try world.device("store")
    try await device.sync()
  }

  private func answer(_ status: Int, _ code: String, retryAfter: Int? = nil) -> Interference {
    let wait = retryAfter.map { #","retryAfter":\#($0)"# } ?? ""
    return .answer(status: status, #"{"serverErrorCode":"\#(code)","reason":"because"\#(wait)}"#)
  }

  @Test func `a throttle is honoured to the second, across reopening and by sync, and spends no attempt`() async throws
  {
    try store.accept(world.put("a", [:]))
    let refusal = answer(429, "THROTTLED", retryAfter: 80_207)
    transport.interfere { operation, _, _ in operation == "records/modify" ? refusal : .pass }
    try await device.sync()
    let sent = transport.total
    let until = world.clock.now + 80_207_000
    #expect(try store.status().throttles.map(\.until) == [until])
    #expect(try store.status().state == .waiting)
    #expect(try store.status().nextActionAt == until)
    #expect(try store.operations().rows.map(\.state) == [.pending])
    #expect(try store.operations().rows.map(\.attempts) == [0])

    let reopened = try world.device("store")
    world.clock.advance(80_206.999)
    let summary = try await reopened.sync()
    #expect(!summary.reachedEnd)
    #expect(reopened.transport.total == 0)
    #expect(transport.total == sent)

    world.clock.advance(0.001)
    try await reopened.sync()
    #expect(try store.queue() == [])
    #expect(try store.status().throttles == [])
    #expect(try store.status().isInSync)
  }

  @Test func `a server that repeats its wait is asked half as often, and normally again after a success`() async throws
  {
    try store.accept(world.put("a", [:]))
    let refusal = answer(429, "THROTTLED", retryAfter: 10)
    transport.interfere { operation, _, _ in operation == "records/modify" ? refusal : .pass }
    var waits: [Int64] = []
    for _ in 0..<3 {
      try await device.sync()
      let until = try #require(try store.status().throttles.first?.until)
      waits.append(until - world.clock.now)
      world.clock.advance(to: until)
    }
    #expect(waits == [10_000, 20_000, 40_000])

    transport.interfere(nil)
    try await device.sync()
    try store.accept(world.put("a", ["x": .int64(1)]))
    transport.interfere { operation, _, _ in operation == "records/modify" ? refusal : .pass }
    try await device.sync()
    #expect(try store.status().throttles.first?.until == world.clock.now + 10_000)
  }

  @Test func `a failure after a long wait puts nothing off for as long again`() async throws {
    try store.accept(world.put("a", [:]))
    let refusals = [answer(429, "THROTTLED", retryAfter: 110_207), answer(500, "INTERNAL_ERROR")]
    transport.interfere { operation, number, _ in
      operation == "records/modify" && number <= 2 ? refusals[number - 1] : .pass
    }
    try await device.sync()
    world.clock.advance(110_208)
    try await device.sync()

    let next = try #require(try store.operations().rows.first?.nextAttemptAt)
    #expect(next - world.clock.now < 3_600_000)
  }

  @Test func `no zone is asked for inside the wait that came with the refusal of several`() async throws {
    for zone in ["one", "two", "three"] { try store.accept(world.put("a", zone: zone, [:])) }
    let refusal = answer(500, "INTERNAL_ERROR", retryAfter: 60)
    transport.interfere { operation, number, _ in operation == "zones/modify" && number == 1 ? refusal : .pass }
    try await device.sync()
    #expect(transport.count("zones/modify") == 1)

    world.clock.advance(61)
    try await device.sync()
    #expect(transport.count("zones/modify") == 2)
    #expect(try store.operations().total == 2)
    world.clock.advance(61)
    try await device.sync()
    #expect(try store.queue() == [])
  }

  @Test func `a zone that is refused as if it had neighbours spends its attempts`() async throws {
    _ = try store.enqueueZone(ZoneKey(zone: "notes"))
    let refusal = #"{"zones": [{"zoneID": {"zoneName": "notes"}, "serverErrorCode": "ATOMIC_ERROR"}]}"#
    transport.interfere { operation, number, _ in
      operation == "zones/modify" && number <= 60 ? .answer(status: 200, refusal) : .pass
    }

    try await device.sync()

    #expect(transport.count("zones/modify") == 1)
    #expect(try store.operations().rows.map(\.attempts) == [1])
    #expect(try store.operations().rows.map(\.state) == [.waiting])
  }

  @Test func `a throttled item holds its zone, not the others, and a success forgets the growth`() async throws {
    try store.accept(world.put("a", zone: "one", [:]))
    try store.accept(world.put("b", zone: "two", [:]))
    let element = #"{"records":[{"recordName":"a","serverErrorCode":"THROTTLED","retryAfter":30}]}"#
    transport.interfere { operation, _, body in
      operation == "records/modify" && body.contains(#""one""#) ? .answer(status: 200, element) : .pass
    }

    try await device.sync()

    #expect(try store.queue() == ["save a pending"])
    #expect(try store.status().throttles.map(\.scope.name) == ["zone:one"])
    #expect(try store.status().state == .waiting)
    transport.interfere(nil)
    world.clock.advance(31)
    try await device.sync()
    #expect(try store.queue() == [])
    #expect(try store.read { try $0.waits(after: .min) } == [])
  }

  @Test func `a throttled zone with more than a window of changes does not starve the others`() async throws {
    _ = try store.enqueue((0..<1000).map { world.put("r\($0)", zone: "one", [:]) })
    try store.accept(world.put("late", zone: "two", [:]))
    transport.interfere { operation, _, body in
      guard operation == "records/modify", body.contains(#""one""#) else { return .pass }
      return .answer(
        status: 200,
        #"{"records":[{"recordName":"r0","serverErrorCode":"THROTTLED","retryAfter":30}]}"#
      )
    }

    try await device.sync()

    #expect(world.onServer("late", zone: "two") != nil)
  }

  @Test func `without network everything waits, attempts are kept, and it goes on by itself`() async throws {
    try store.accept(world.put("a", [:]))
    world.emulator.isOffline = true

    for _ in 0..<20 {
      try await device.sync()
      world.clock.advance(400)
    }
    try await device.sync()

    #expect(try store.status().state == .offline)
    #expect(try store.operations().rows.map(\.attempts) == [0])
    #expect(try store.queue() == ["save a pending"])
    world.emulator.isOffline = false
    world.clock.advance(400)
    try await device.sync()
    #expect(try store.queue() == [])
    #expect(try store.status().state == .idle)
  }

  @Test func `a renewed credential is tried at once, and a refused one waits on`() async throws {
    let refusal = WebServicesError(.authenticationFailed, "no such token", retryAfter: 600)
    try store.write { try Throttles.set(.account, refusal, now: world.clock.now, random: 0, $0) }

    let same = try world.device("store")
    try await same.sync()
    #expect(same.transport.total == 0)
    let renewed = try world.device("store", configure: { $0.signIn = "another token" })
    try await renewed.sync()

    #expect(renewed.transport.total > 0)
    #expect(try store.status().accountProblem == nil)
    #expect(try store.status().isInSync)
  }

  @Test func `a renewed credential is tried at the start of a process that keeps syncing`() async throws {
    let refusal = WebServicesError(.authenticationFailed, "no such token")
    try store.write { try Throttles.set(.account, refusal, now: world.clock.now, random: 0, $0) }
    let renewed = try world.device("store", configure: { $0.signIn = "another token" })

    try await whileDriving(renewed) {
      try await eventually(store) { try store.status().isInSync }
    }

    #expect(renewed.transport.total > 0)
  }

  @Test func `each credential has a name of its own`() throws {
    let keys = [CKServerToServerKey.generate(), CKServerToServerKey.generate()]
    let credentials: [CKCredential] = [
      .apiToken("a"), .apiToken("b"), .webAuth(apiToken: "a", webAuthToken: "t"),
      .webAuth(apiToken: "a", webAuthToken: "u"), .webAuth(apiToken: "b", webAuthToken: "t"),
    ]
    // A file that had the wrong key is mended under the same identifier.
    let all =
      try credentials
      + keys.map { .serverToServerKey(try CKServerToServerKey(keyID: "k", pemRepresentation: $0.privateKeyPEM)) }

    let names = all.map { SyncEngine.Configuration(client: device.engine.client.with($0)).requestCredential() }

    #expect(Set(names.compactMap(\.self)).count == all.count)
  }

  @Test func `a full quota parks saves, lets deletes through and goes on when there is room`() async throws {
    _ = try store.enqueue([world.put("old", [:]), world.put("big", [:])])
    try await device.sync()
    _ = try store.enqueue([world.put("a", [:]), world.put("b", [:])])
    transport.interfere { operation, _, body in
      guard operation == "records/modify", body.contains(#""create""#) else { return .pass }
      return .answer(status: 413, #"{"serverErrorCode":"QUOTA_EXCEEDED","reason":"full"}"#)
    }
    try await device.sync()
    try store.accept(world.delete("old"))

    try await device.sync()

    #expect(world.onServer("old") == nil)
    #expect(try store.queue() == ["save a pending", "save b pending"])
    #expect(try store.operations().rows.map(\.attempts) == [0, 0])
    #expect(try store.status().throttles.map(\.scope.name) == ["quota"])
    transport.interfere(nil)
    world.clock.advance(61)
    try await device.sync()
    #expect(try store.queue() == [])
    #expect(try store.status().throttles == [])
  }

  @Test(arguments: [
    (401, "AUTHENTICATION_FAILED"), (421, "AUTHENTICATION_REQUIRED"), (403, "ACCESS_DENIED"), (404, "NOT_FOUND"),
  ])
  func `what a person has to put right holds everything and loses nothing`(_ status: Int, _ code: String) async throws {
    _ = try store.enqueue((0..<3).map { world.put("r\($0)", [:]) })
    let refusal = answer(status, code)
    transport.interfere { operation, _, _ in operation == "records/modify" ? refusal : .pass }

    try await device.sync()

    #expect(try store.status().state == .error)
    #expect(try store.status().accountProblem?.code == code)
    #expect(try store.operations().rows.map(\.state) == [.pending, .pending, .pending])
    #expect(try store.operations().rows.map(\.attempts) == [0, 0, 0])
    transport.interfere(nil)
    world.clock.advance(61)
    try await device.sync()
    #expect(try store.queue() == [])
    #expect(try store.status().accountProblem == nil)
  }

  @Test func `a proxy that forbids everything makes no dead letters`() async throws {
    _ = try store.enqueue((0..<3).map { world.put("r\($0)", [:]) })
    transport.interfere { _, _, _ in .answer(status: 403, "<html>Please sign in to the hotel's network</html>") }

    for _ in 0..<5 {
      try await device.sync()
      world.clock.advance(4000)
    }

    #expect(try store.status().queue.failed == 0)
    #expect(try store.status().queue.pending == 3)
  }

  @Test func `a failing item backs off, longer each time, and ends as a dead letter with its attempts`() async throws {
    try store.accept(world.put("a", [:]))
    let element = #"{"records":[{"recordName":"a","serverErrorCode":"INTERNAL_ERROR","reason":"oops"}]}"#
    transport.interfere { operation, _, _ in
      operation == "records/modify" ? .answer(status: 200, element) : .pass
    }
    var waits: [Int64] = []
    for _ in 0..<7 {
      try await device.sync()
      let row = try #require(try store.operations().rows.first)
      #expect(row.state == .waiting)
      let next = try #require(row.nextAttemptAt)
      waits.append(next - world.clock.now)
      world.clock.advance(to: next)
    }
    try await device.sync()

    #expect(waits == [500, 1000, 2000, 4000, 8000, 16_000, 32_000])
    let row = try #require(try store.operations().rows.first)
    #expect(row.state == .failed)
    #expect(row.attempts == 8)
    #expect(try store.detail(of: row.id)?.attempts.count == 8)
  }

  @Test func `a sync does not cut an item's wait that the server asked for`() async throws {
    try store.accept(world.put("a", [:]))
    let element = #"{"records":[{"recordName":"a","serverErrorCode":"INTERNAL_ERROR","retryAfter":120}]}"#
    transport.interfere { operation, _, _ in
      operation == "records/modify" ? .answer(status: 200, element) : .pass
    }
    try await device.sync()
    let before = transport.count("records/modify")

    try await device.sync()
    #expect(transport.count("records/modify") == before)
    world.clock.advance(121)
    try await device.sync()
    #expect(transport.count("records/modify") == before + 1)
  }

  /// Puts a change into a back-off that ends in so many seconds.
  private func backOff(_ name: String, _ seconds: Int64) throws {
    let cause = Cause.backOff(code: "INTERNAL_ERROR", attempt: 1, of: 8)
    try store.execute(
      "UPDATE operations SET state = 'waiting', reason = ?, nextAttemptAt = ? WHERE name = ?",
      [cause.stored, world.clock.now + seconds * 1000, name]
    )
  }

  private func nextAction() throws -> Int64? {
    try store.status().nextActionAt.map { ($0 - world.clock.now) / 1000 }
  }

  /// Queues a save that refers to one that failed.
  private func acceptChildOfDead() throws {
    let link = FieldValue.reference(WireReference(recordName: "dead", zoneID: nil, action: "VALIDATE"))
    _ = try store.enqueue([world.put("dead", [:]), world.put("child", ["of": link])])
    try store.execute("UPDATE operations SET state = 'failed', errorCode = 'BAD_REQUEST' WHERE name = 'dead'")
  }

  @Test func `the next action is that of a change which only time holds, and not in the past`() throws {
    try acceptChildOfDead()
    _ = try store.enqueue([
      world.put("zoned", zone: "held", [:]), world.put("typed", type: "Task", [:]), world.put("free", [:]),
    ])
    for (name, seconds) in [("child", -70), ("zoned", 10), ("typed", 20), ("free", 30)] as [(String, Int64)] {
      try backOff(name, seconds)
    }

    #expect(try nextAction() == 10)
    try store.pause(.zone(ZoneKey(zone: "held")), actor: "ana")
    #expect(try nextAction() == 20)
    try store.pause(.type("Task"), actor: "ana")
    #expect(try nextAction() == 30)
    try backOff("child", 5)
    #expect(try nextAction() == 30)
    try backOff("free", -1)
    #expect(try nextAction() == nil)
    try backOff("free", 30)
    try store.pause(.everything, actor: "ana")
    #expect(try nextAction() == nil)
  }

  @Test func `a check of what became of a change waits for no other change`() throws {
    try acceptChildOfDead()
    try backOff("child", 5)
    let unconfirmed = Cause.unconfirmed(code: "NETWORK_ERROR")
    try store.execute(
      "UPDATE operations SET needsVerification = 1, reason = ? WHERE name = 'child'",
      [unconfirmed.stored]
    )

    #expect(try nextAction() == 5)
    #expect(try row("child").cause == unconfirmed)
    #expect(try row("child").nextAttemptAt == world.clock.now + 5000)
  }

  private func row(_ name: String) throws -> QueueRow {
    try #require(try store.operations().rows.first { $0.key.name == name })
  }

  @Test func `a retry that something without an end holds has no time, and says what holds it`() throws {
    try acceptChildOfDead()
    try store.accept(world.put("zoned", zone: "held", [:]))
    for name in ["child", "zoned"] { try backOff(name, 60) }
    try store.pause(.zone(ZoneKey(zone: "held")), actor: "ana")

    #expect(try row("child").nextAttemptAt == nil && row("zoned").nextAttemptAt == nil)
    #expect(try row("child").cause == .waitsFor([row("dead").id], isGroup: false, names: ["Note/dead"]))
    #expect(try row("zoned").cause == .pausedByRule(.zone("held"), by: "ana"))
    #expect(try store.detail(of: row("child").id)?.operation?.nextAttemptAt == nil)
  }

  @Test(
    arguments: [
      ([(.database, 60)], 60, .database), ([(.account, 60)], 60, .account), ([(.network, 60)], 60, .network),
      ([(.quota, 60)], 60, .quota), ([(.database, 60), (.quota, 90)], 90, .quota),
      ([(.zone(ZoneKey(zone: "one")), 90), (.network, 60)], 90, .zone("one")),
      ([(.zone(ZoneKey(zone: "one")), 60), (.network, 90)], 90, .network),
      ([(.zone(ZoneKey(zone: "two")), 60)], nil, nil), ([(.feed(of: nil), 60)], nil, nil),
    ] as [([(WaitScope, Int64)], Int64?, Cause.Scope?)]
  )
  func `a change that waits for scopes goes next at the end of the longest wait`(
    _ waits: [(scope: WaitScope, seconds: Int64)],
    _ seconds: Int64?,
    _ scope: Cause.Scope?
  ) throws {
    for name in ["pending", "short", "long"] { try store.accept(world.put(name, zone: "one", [:])) }
    try backOff("short", 30)
    try backOff("long", 120)
    let now = world.clock.now
    try store.write { ledger in
      for wait in waits {
        try ledger.put(
          ScopeWait(
            scope: wait.scope,
            until: now + wait.seconds * 1000,
            seconds: 1,
            code: "THROTTLED",
            message: "",
            isOwn: false,
            since: now
          )
        )
      }
    }

    let until = seconds.map { now + $0 * 1000 }
    #expect(try row("pending").nextAttemptAt == until)
    #expect(try row("short").nextAttemptAt == until ?? now + 30_000)
    if let scope { #expect(try row("short").cause == .waits(scope, code: "THROTTLED", until: until)) }
    // Its own wait is longer.
    #expect(try row("long").nextAttemptAt == now + 120_000)
    #expect(try row("long").cause == .backOff(code: "INTERNAL_ERROR", attempt: 1, of: 8))
  }

  @Test func `a feed that fails without a wait of the server is not asked again at once`() async throws {
    transport.interfere { operation, _, _ in
      operation == "changes/database" ? .answer(status: 500, "") : .pass
    }

    try await device.sync()

    #expect(try store.isBackingOff(.feed()))
    #expect(try store.status().state == .error)
    #expect(try store.status().nextActionAt == world.clock.now + 1000)
    transport.interfere(nil)
    try await device.sync()
    #expect(try store.status().state == .idle)
  }

  @Test(arguments: ["1e400", "-5", "0", "1e308", "9223372036854775807"])
  func `a wait that no clock can hold breaks nothing`(_ wait: String) async throws {
    try store.accept(world.put("a", [:]))
    transport.interfere { operation, _, _ in
      operation == "records/modify"
        ? .answer(status: 429, #"{"serverErrorCode":"THROTTLED","retryAfter":\#(wait)}"#) : .pass
    }

    try await device.sync()

    #expect(try store.queue() == ["save a pending"])
    #expect(transport.count("records/modify") == 1)
  }

  @Test func `every row that is not in flight says why it is where it is`() async throws {
    _ = try store.enqueue((0..<30).map { world.put("r\($0)", ["x": .int64(0)]) })
    var random = SplitMix64(seed: 4)
    let codes = [
      "BAD_REQUEST", "CONFLICT", "INTERNAL_ERROR", "NOT_FOUND", "QUOTA_EXCEEDED", "THROTTLED", "TRY_AGAIN_LATER",
      "ZONE_NOT_FOUND", "VALIDATING_REFERENCE_ERROR", "ACCESS_DENIED", "ATOMIC_ERROR", "NEW_CODE",
    ]
    let elements = (0..<30).map {
      #"{"recordName":"r\#($0)","serverErrorCode":"\#(codes[Int(random.next() % 12)])"}"#
    }
    transport.interfere { operation, number, _ in
      operation == "records/modify" && number == 1
        ? .answer(status: 200, #"{"records":[\#(elements.joined(separator: ","))]}"#) : .pass
    }
    try await device.sync()

    for row in try store.operations().rows {
      #expect(!row.cause.text.isEmpty, "\(row.key.name)")
      #expect(row.cause != .sending)
      #expect(row.state != .failed || row.errorCode != nil)
    }
  }

  @Test func `a pending row says that everything is paused, or which wait holds it`() throws {
    _ = try store.pause([.everything], actor: "test")
    try store.accept(world.put("r", ["x": .int64(1)]))
    #expect(try store.operations().rows.map(\.cause) == [.pausedByRule(.everything, by: "test")])

    _ = try store.resumeAll(actor: "test")
    let error = WebServicesError(.throttled, "slow down", retryAfter: 30)
    try store.write { try Throttles.set(.database, error, now: world.clock.now, random: 0, $0) }
    let end = world.clock.now + 30_000
    #expect(try store.operations().rows.map(\.cause) == [.waits(.database, code: "THROTTLED", until: end)])
  }
}
