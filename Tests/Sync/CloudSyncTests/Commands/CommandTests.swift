import CloudKit
import Facts
import Foundation
import Testing

@testable import CloudSync

/// What operators tell the queue to do.
@Suite(.serialized) struct CommandTests {
  private let world: World
  private let store: SyncStore

  init() throws {
    world = try World()
    store = try world.open("store")
    _ = try store.enqueue(
      ["pending", "waiting", "failed", "paused", "conflict", "inFlight"].map { world.put($0, [:]) }
    )
    let soon = world.clock.now + 5_000
    try store.execute("UPDATE operations SET state = 'waiting', nextAttemptAt = \(soon), attempts = 2 WHERE id = 2")
    try store.execute("UPDATE operations SET state = 'failed', attempts = 8, errorCode = 'BAD_REQUEST' WHERE id = 3")
    try store.execute("UPDATE operations SET state = 'paused' WHERE id = 4")
    try store.execute("UPDATE operations SET state = 'conflict', conflictAt = 1 WHERE id = 5")
    try store.execute(
      "UPDATE operations SET state = 'inFlight', sentGeneration = 1, sentOperation = 'save' WHERE id = 6"
    )
  }

  /// Somebody drives, so that the row in flight is nobody's to recover.
  private func whileDriven<Value>(_ body: () throws -> Value) throws -> Value {
    let lease = try #require(try Lease.acquire(store))
    defer { lease.release(store) }
    return try body()
  }

  private func states() throws -> [String] { try store.operations().rows.map(\.state.rawValue) }

  @Test(arguments: [
    (QueueVerb.retry, [2, 3] as [Int64]), (.discard, [1, 2, 3, 4, 5]), (.pause, [1, 2]), (.resume, [4]),
  ])
  func `a verb acts where it means something and skips the rest with a reason`(
    _ verb: QueueVerb,
    _ changed: [Int64]
  ) throws {
    let result = try whileDriven { try store.perform(verb, on: .ids(Array(1...6)), actor: "ana") }

    #expect(result.changed == changed)
    #expect(Set(result.skipped.keys) == Set(1...6).subtracting(changed))
    #expect(result.skipped[6] == .beingSent)
    #expect(result.unknown == [])
  }

  @Test func `a dry run tells the same and does nothing`() throws {
    let before = try states()

    for verb in QueueVerb.allCases {
      let told = try whileDriven { try store.perform(verb, on: .ids(Array(1...6)), dryRun: true, actor: "ana") }
      #expect(told.changed.count + told.skipped.count == 6)
    }

    #expect(try states() == before)
    #expect(try store.count("SELECT count(*) FROM commands") == 0)
    #expect(try store.status().isPaused == false)
  }

  @Test(arguments: QueueVerb.allCases)
  func `a dry run tells what is done to what a dead driver left on its way`(_ verb: QueueVerb) throws {
    let told = try store.perform(verb, on: .all, dryRun: true, actor: "ana")
    let done = try store.perform(verb, on: .all, actor: "ana")

    #expect(told == done)
  }

  @Test func `exactly the selected operations are touched`() throws {
    let result = try whileDriven { try store.perform(.discard, on: .ids([1, 99, 3, 1]), actor: "ana") }

    #expect(result.changed == [1, 3])
    #expect(result.unknown == [99])
    #expect(try states() == ["waiting", "paused", "conflict", "inFlight"])
    #expect(try store.endings() == ["save pending discarded", "save failed discarded"])
  }

  @Test func `retry resets attempts and error`() throws {
    try store.execute("UPDATE zones SET state = 'ready'")
    _ = try whileDriven { try store.perform(.retry, on: .ids([3]), actor: "ana") }

    let operation = try store.operation(3)
    #expect(operation.state == .pending)
    #expect(operation.attempts == 0)
    #expect(operation.errorCode == nil)
    #expect(operation.cause == .readyAgain(.retried(by: "ana")))
  }

  @Test func `a command that changed something is audited with who, how many and which it changed`() throws {
    _ = try whileDriven { try store.perform(.retry, on: .ids([1, 2, 3, 99]), actor: "ana") }
    _ = try store.flush(actor: "ben")

    let commands = try store.read { try $0.commands(limit: 9) }
    #expect(
      commands.map(\.actor) == ["ana"] && commands.map(\.event) == [.command(.retry(.operations([2, 3])), count: 2)]
    )
    #expect(try store.events(limit: 1).map(\.operation) == [nil])
    _ = try whileDriven { try store.perform(.resume, on: .ids([1, 4, 99]), actor: "ana") }
    #expect(try store.events(limit: 1).map(\.operation) == [4])
  }

  @Test func `a pause and a resume by an expression are no rules, and leave nothing where nothing matched`() throws {
    func perform(_ verb: QueueVerb, _ filter: String) throws {
      _ = try store.perform(verb, on: .matching(try QueueFilter(parsing: filter), text: filter), actor: "ana")
    }
    try perform(.pause, "type = 'Other'")
    try perform(.pause, "type = 'Note' and name like '%ing'")
    try perform(.resume, "zone = 'elsewhere'")
    try perform(.resume, "name = 'pending'")

    let commands: [Event] = [
      .command(.pause(.matching("type = 'Note' and name like '%ing'")), count: 2),
      .command(.resume(.matching("name = 'pending'")), count: 1),
    ]
    #expect(try store.events().map(\.event).filter { $0.kind == "command" }.reversed() == commands)
  }

  @Test func `flush ends own back-offs and touches nothing else`() throws {
    try store.execute(
      "UPDATE operations SET state = 'waiting', nextAttemptAt = 9999999999999, isServersWait = 1 WHERE id = 1"
    )

    #expect(try store.flush(actor: "ana") == 1)

    #expect(try states() == ["waiting", "pending", "failed", "paused", "conflict", "inFlight"])
    #expect(try store.operation(2).attempts == 2)
  }

  @Test func `flush ends our own waits and keeps the server's`() throws {
    let (own, asked) = (WebServicesError(.networkError, ""), WebServicesError(.throttled, "", retryAfter: 60))
    try store.write { ledger in
      try Throttles.set(.network, own, now: world.clock.now, random: 0, ledger)
      try Throttles.set(.database, asked, now: world.clock.now, random: 0, ledger)
    }

    _ = try store.flush(actor: "ana")

    #expect(try store.status().throttles.map(\.scope.name) == ["database"])
  }

  @Test func `pausing everything holds what comes later, too`() throws {
    _ = try whileDriven { try store.pause([.everything], actor: "ana") }
    try store.accept(world.put("later", [:]))

    #expect(try store.status().state == .paused)
    #expect(try store.mayRequest() == false)
    #expect(try store.plan() == .held(until: nil))
    _ = try whileDriven { try store.resumeAll(actor: "ana") }
    #expect(try store.mayRequest())
  }

  @Test func `a row that a dead driver left in flight can be commanded`() throws {
    let result = try store.perform(.discard, on: .ids([6]), actor: "ana")

    #expect(result.changed == [6])
    #expect(try store.endings() == ["save inFlight discarded"])
  }

  @Test func `only a conflict can be resolved, and only in its own fields`() throws {
    #expect(throws: StoreError.self) { try store.resolve(1, take: .local, actor: "ana") }
    #expect(throws: StoreError.self) { try store.resolve(99, take: .local, actor: "ana") }
    let error = #expect(throws: StoreError.self) {
      try store.resolve(5, take: .local, fields: ["stranger": .base], actor: "ana")
    }
    #expect(error?.kind == .invalid)
    #expect(try store.operation(5).state == .conflict)
    #expect(try store.count("SELECT count(*) FROM commands") == 0)
  }
}
