import CloudKit
import CloudKitEmulator
import Facts
import GRDB
import Testing

@testable import CloudSync

/// Pause rules for everything, a zone or a record type.
@Suite(.serialized) struct PauseTests {
  private let world: World
  private let device: TestDevice
  private var store: SyncStore { device.store }

  init() throws {
    world = try World()
    device = try world.device("store")
  }

  @Test(arguments: [
    (PauseRule.everything, ["save a pending", "save b pending", "save c pending"]),
    (.zone(ZoneKey(zone: "one")), ["save a pending"]),
    (.type("Task"), ["save c pending"]),
  ])
  func `a rule holds what is queued and what comes later, until it is lifted`(rule: PauseRule, held: [String])
    async throws
  {
    try store.accept(world.put("a", zone: "one", [:]))
    #expect(try store.pause(rule, actor: "ana"))
    try store.accept(world.put("b", zone: "two", [:]))
    try store.accept(world.put("c", zone: "two", type: "Task", [:]))

    try await device.sync()

    #expect(try store.queue() == held)
    #expect(try store.operations().rows.allSatisfy { $0.cause == .pausedByRule(rule.asCause, by: "ana") })
    #expect(try store.pauses().map(\.actor) == ["ana"])
    #expect(try !store.status().isInSync)
    #expect(try store.resume(rule, actor: "ana"))
    try await device.sync()
    #expect(try store.queue() == [])
  }

  @Test(
    arguments: [
      ([.zone(ZoneKey(zone: "notes"))], "cktop zones resume notes"),
      ([.zone(ZoneKey(zone: "lists", owner: "_ben"))], "cktop zones resume lists --owner _ben"),
      ([.type("Task")], "cktop queue resume --type Task"),
      ([.zone(ZoneKey(zone: "my notes; x"))], "cktop zones resume 'my notes; x'"),
      ([.everything, .zone(ZoneKey(zone: "notes"))], "cktop queue resume --everything"),
      (
        [.zone(ZoneKey(zone: "notes")), .type("Task")],
        "cktop zones resume notes, cktop queue resume --type Task"
      ),
      (
        (1...12).map { .zone(ZoneKey(zone: "z\($0)")) },
        (1...10).map { "cktop zones resume z\($0)" }.joined(separator: ", ") + " and 2 more"
      ),
    ] as [([PauseRule], String)]
  )
  func `the commands that resume lift these rules and no other`(_ rules: [PauseRule], _ commands: String) {
    #expect(rules.map { Pause(rule: $0, at: 0) }.resumeCommands == commands)
  }

  @Test func `a rule that holds already, or does not hold, is not set or lifted again`() throws {
    for rule in [PauseRule.everything, .zone(ZoneKey(zone: "one")), .type("Note")] {
      #expect(try !store.resume(rule, actor: "ana"))
      #expect(try store.pause(rule, actor: "ana"))
      #expect(try !store.pause(rule, actor: "ben"))
    }

    #expect(try store.pauses().map(\.actor) == ["ana", "ana", "ana"])
    #expect(try store.read { try $0.commands(limit: 9) }.count == 3)
  }

  @Test func `lifting every rule leaves operations paused that were paused one by one`() async throws {
    let id = try store.accept(world.put("a", [:]))
    try store.accept(world.put("b", [:]))
    _ = try store.perform(.pause, on: .ids([id]), actor: "ana")
    try store.pause(.zone(world.key("a").zoneKey), actor: "ana")
    try store.pause(.everything, actor: "ana")

    let result = try store.resumeAll(actor: "ana")
    try await device.sync()

    #expect(Set(result) == [.everything, .zone(world.key("a").zoneKey)])
    #expect(try store.queue() == ["save a paused"])
  }

  @Test func `a group of which a member is paused by a rule waits as a whole`() async throws {
    _ = try store.enqueue([world.put("a", [:]), world.put("b", type: "Task", [:])], group: "g")
    try store.pause(.type("Task"), actor: "ana")

    try await device.sync()

    #expect(try store.queue() == ["save a pending", "save b pending"])
  }

  @Test func `what is fetched goes on while a zone is paused`() async throws {
    let other = try world.device("other")
    try other.store.accept(world.put("theirs", [:]))
    try await other.sync()
    try store.pause(.zone(world.key("a").zoneKey), actor: "ana")
    try store.accept(world.put("a", [:]))

    try await device.sync()

    #expect(try store.mirror("theirs") != nil)
    #expect(try store.queue() == ["save a pending"])
  }

  @Test func `a rule that is set between plan and request holds`() throws {
    let id = try store.accept(world.put("a", [:]))
    let lease = try #require(try Lease.acquire(store))
    try store.pause(.zone(world.key("a").zoneKey), actor: "ana")

    try store.execute("UPDATE zones SET state = 'ready'")
    #expect(try store.begin([id], lease) == [])
    lease.release(store)
  }

  @Test(arguments: [PauseRule.everything, .type("Note")]) func `pausing writes no operation`(rule: PauseRule) throws {
    _ = try store.enqueue((0..<5000).map { world.put("r\($0)", [:]) })
    let before = try store.file.writer.read { $0.totalChangesCount }

    try store.pause(rule, actor: "ana")
    try store.resume(rule, actor: "ana")

    #expect(try store.file.writer.read { $0.totalChangesCount } - before <= 8)
  }

  // MARK: - Waits

  @Test(arguments: [
    (ServerErrorCode.networkError, ["account"]), (.authenticationRequired, ["account"]), (.throttled, ["database"]),
  ])
  func `trouble that an answer shows to be over is gone`(code: ServerErrorCode, left: [String]) throws {
    let account = WebServicesError(.authenticationRequired, "sign in")
    try store.write { ledger in
      try Throttles.set(.account, account, now: world.clock.now, random: 0, ledger)
      let scope: WaitScope = code == .networkError ? .network : code == .throttled ? .database : .account
      try Throttles.set(scope, WebServicesError(code, "x", retryAfter: 30), now: world.clock.now, random: 0, ledger)
    }

    let scopes = try store.status().throttles.map(\.scope.name)
    #expect(scopes == (code == .networkError ? ["account", "network"] : left))
    #expect(try (store.status().accountProblem != nil) == (code != .throttled))
  }

  @Test func `an account's wait is as long as the server says`() throws {
    let error = WebServicesError(.authenticationRequired, "sign in", retryAfter: 1)
    try store.write { try Throttles.set(.account, error, now: world.clock.now, random: 0, $0) }

    #expect(try store.status().throttles.map(\.until) == [world.clock.now + 1000])
  }

  @Test func `a wait of years ends after a day, and an operator can end it now`() async throws {
    let years = #"{"serverErrorCode": "THROTTLED", "reason": "later", "retryAfter": 99999999}"#
    let id = try store.accept(world.put("a", [:]))
    device.transport.interfere { operation, number, _ in
      operation == "records/modify" && number <= 2 ? .answer(status: 429, years) : .pass
    }
    try await device.sync()
    #expect(try store.status().throttles.map(\.until) == [world.clock.now + 86_400_000])
    #expect(try store.flush(actor: "ana") == 0)
    #expect(try !store.mayRequest())

    _ = try store.flush(endsThrottles: true, actor: "ana")
    #expect(try store.mayRequest())
    try await device.sync()
    world.clock.advance(86_401)
    try await device.sync()

    #expect(try store.queue() == [])
    #expect(try store.history(limit: 1).map(\.id) == [id])
  }
}
