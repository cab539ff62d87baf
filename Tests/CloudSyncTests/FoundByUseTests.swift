import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import JSONText
import Testing

@testable import CloudSync

/// Faults that people found by using the program.
@Suite(.serialized) struct FoundByUseTests {
  @Test(.timeLimit(.minutes(40)))
  func `a server that goes on refusing its own tokens is asked a bounded number of times, and the reason stands`()
    async throws
  {
    let world = try World()
    let theirs = try world.device("theirs")
    _ = try theirs.store.enqueue((0..<450).map { world.put("r\($0)", ["x": .int64(1)]) })
    try await theirs.sync()
    let mine = try world.device("mine")
    world.emulator.faults = FaultPlan(rules: [
      FaultRule(when: FaultCondition(operation: "changes/zone", after: 1), then: .expiredToken)
    ])

    let summary = try await mine.sync()

    #expect(!summary.reachedEnd)
    #expect(mine.transport.count("changes/zone") < 10)
    #expect(try !mine.store.status().isInSync)
    #expect(try mine.store.status().lastError != nil || !mine.store.status().throttles.isEmpty)
  }

  @Test func `the default zone of the private database is read by modification time, for it has no feed`() async throws
  {
    let world = try World()
    let (mine, theirs) = (try world.device("mine"), try world.device("theirs"))
    try mine.store.accept(world.put("a", zone: "_defaultZone", ["x": .int64(1)]))

    let first = try await mine.sync()
    try await theirs.sync(["Note"])
    world.clock.advance(1)
    try theirs.store.accept(world.put("a", zone: "_defaultZone", ["x": .int64(2)]))
    try await theirs.sync()
    let second = try await mine.sync()

    #expect(first.reachedEnd && second.reachedEnd)
    #expect(try mine.store.mirror("a") == ["x": .int64(2)])
    #expect(try mine.store.status().throttles.isEmpty)
    #expect(mine.transport.count("changes/zone") == 0)
  }

  @Test func `a text that is spelled otherwise is another text, wherever it stands`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    let (composed, decomposed) = ("\u{e9}", "e\u{301}")
    func fields(_ text: String) -> [String: FieldValue] {
      ["s": .string(text), "l": .list(.string, [.string(text)]), "e": .encrypted(.string(text))]
    }
    try mine.store.accept(world.put("a", fields(composed)))
    try await mine.sync()

    let id = try mine.store.accept(world.put("a", fields(decomposed)))
    #expect(try mine.store.operation(id).changes.names == ["s", "l", "e"])
    // Taken back before it was sent, and changed once more.
    try mine.store.accept(world.put("a", ["s": .string(composed)]))
    try mine.store.accept(world.put("a", ["s": .string(decomposed)]))
    let sent = try mine.store.operation(id).changes["s"]
    guard case .string(let text)? = sent else { throw StoreError(.invalid, "no text") }
    #expect(Array(text.utf8) == Array(decomposed.utf8))
    #expect(JSON.string(composed) != .string(decomposed))
  }

  @Test func `of a zone without feed nothing is said to be equal while no type of it is known`() async throws {
    let world = try World()
    let (mine, theirs) = (try world.device("mine"), try world.device("theirs"))
    try mine.store.accept(world.put("a", zone: "_defaultZone", ["x": .int64(1)]))
    try await mine.sync()
    try await theirs.sync()

    let before = try await theirs.engine.verify()
    try await theirs.sync(["Note"])
    let after = try await theirs.engine.verify()

    #expect(before.map(\.isCompared) == [false])
    #expect(after.map(\.isCompared) == [true] && after.map(\.recordCount) == [1])
  }

  @Test func `what the server does not tell of is not said to be missing there`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    for name in ["a", "b", "c"] { try mine.store.accept(world.put(name, [:])) }
    try await mine.sync()
    let zone = world.key("a").zoneKey
    // As much as goes into an answer, then what was left out.
    mine.transport.interfere { operation, number, _ in
      operation == "records/lookup" && number == 1
        ? .answer(
          status: 200,
          #"""
          {"records":[{"recordName":"a","recordType":"Note","recordChangeTag":"1","fields":{}},
          {"recordName":"b","serverErrorCode":"LIMIT_EXCEEDED","reason":"ask for this one again"},
          {"recordName":"gone","serverErrorCode":"NOT_FOUND","reason":"Record not found"}]}
          """#
        ) : .pass
    }

    #expect(try await Set(mine.engine.refetch(["a", "b", "gone"], in: zone).keys.map(\.name)) == ["a", "b"])
    #expect(mine.transport.count("records/lookup") == 2)
    mine.transport.answer(
      "records/lookup",
      #"{"records":[{"recordName":"a","serverErrorCode":"ACCESS_DENIED","reason":"not yours"}]}"#
    )
    await #expect(throws: WebServicesError.self) { try await mine.engine.refetch(["a"], in: zone) }
  }

  @Test func `what a dead driver sent is said to be unknown, also where it is discarded`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    let sent = try mine.store.accept(world.put("sent", ["x": .int64(1)]))
    let other = try mine.store.accept(world.put("other", ["x": .int64(1)]))
    let lease = try #require(try Lease.acquire(mine.store))
    try mine.store.execute("UPDATE zones SET state = 'ready'")
    _ = try mine.store.begin([sent], lease)
    #expect(try mine.store.operations().rows.first?.cause == .sending)
    lease.release(mine.store)

    #expect(try mine.store.operations().rows.first?.cause == .senderEnded)
    #expect(try mine.store.detail(of: sent)?.operation?.cause == .senderEnded)
    let dry = try mine.store.perform(.discard, on: .all, dryRun: true, actor: "test")
    let done = try mine.store.perform(.discard, on: .all, actor: "test")
    #expect(dry.unconfirmed == [sent] && done.unconfirmed == [sent])
    #expect(done.changed == [sent, other])
  }

  @Test func `many that make the same new store at once all get it`() async throws {
    let world = try World()

    let accepted = try await withThrowingTaskGroup(of: [Accepted].self) { group in
      for number in 0..<8 {
        group.addTask { try world.open("new").enqueue([world.put("r\(number)", ["x": .int64(1)])]) }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }

    #expect(accepted.count == 8)
    #expect(try world.open("new").status().queue.pending == 8)
  }

  @Test func `a pending row says that everything is paused, or which wait holds it`() throws {
    let world = try World()
    let store = try world.open("store")
    _ = try store.pause([.everything], actor: "test")
    try store.accept(world.put("r", ["x": .int64(1)]))
    #expect(try store.operations().rows.map(\.cause) == [.pausedByRule(.everything, by: "test")])

    _ = try store.resumeAll(actor: "test")
    let error = WebServicesError(.throttled, "slow down", retryAfter: 30)
    try store.write { try Throttles.set(.database, error, now: world.clock.now, random: 0, $0) }
    let end = world.clock.now + 30_000
    #expect(try store.operations().rows.map(\.cause) == [.waits(.database, code: "THROTTLED", until: end)])
  }

  @Test func `a public store that knows no type does not claim to be in sync`() async throws {
    let world = try World(.public)
    let device = try world.device("public")

    try await device.sync()

    #expect(try !device.store.status().isInSync)
    #expect(device.store.knowsNoTypes)
  }

  @Test(arguments: [true, false])
  func `changes of a zone that the server will not make are dead letters, and others go on`(isWholeRequest: Bool)
    async throws
  {
    let world = try World()
    let mine = try world.device("mine")
    let bad = try mine.store.accept(world.put("a", zone: "bad", ["x": .int64(1)]))
    try mine.store.accept(world.put("b", zone: "good", ["x": .int64(1)]))
    mine.transport.interfere { operation, _, body in
      guard operation == "zones/modify", body.contains("bad") else { return .pass }
      let error = #"{"serverErrorCode": "BAD_REQUEST", "reason": "no such name"}"#
      if isWholeRequest { return .answer(status: 400, error) }
      return .answer(status: 200, #"{"zones": [\#(error), {"zoneID": {"zoneName": "good"}}]}"#)
    }

    try await mine.sync()
    let operation = try mine.store.operation(bad)

    #expect(operation.state == .failed)
    #expect(operation.errorCode == "BAD_REQUEST")
    #expect(operation.cause.text.contains("no such name"))
    #expect(try mine.store.status().throttles.isEmpty)

    mine.transport.interfere(nil)
    _ = try mine.store.perform(.retry, on: .all, actor: "test")
    try await mine.sync()
    #expect(world.onServer("a", zone: "bad") != nil)
    #expect(world.onServer("b", zone: "good") != nil)
    #expect(try mine.store.queue().isEmpty)
  }

  @Test(arguments: ["QUOTA_EXCEEDED", "INTERNAL_ERROR"], [true, false])
  func `a zone that cannot be made now holds up no other`(code: String, isMissing: Bool) async throws {
    let world = try World()
    let mine = try world.device("mine")
    try mine.store.accept(world.put("b", zone: "good", ["x": .int64(1)]))
    try await mine.sync()
    try mine.store.accept(world.put("a", zone: "bad", ["x": .int64(1)]))
    if isMissing { try mine.store.accept(world.put("c", zone: "third", ["x": .int64(1)])) }
    try mine.store.accept(world.delete("b", zone: "good"))
    mine.transport.interfere { operation, _, body in
      guard operation == "zones/modify", body.contains("bad") else { return .pass }
      let status = code == "INTERNAL_ERROR" ? 500 : 413
      return .answer(status: status, #"{"serverErrorCode": "\#(code)", "reason": "not now"}"#)
    }

    try await mine.sync()

    #expect(world.onServer("b", zone: "good") == nil)
    #expect((world.onServer("c", zone: "third") != nil) == isMissing)
    #expect(try mine.store.queue() == ["save a pending"])
    #expect(try mine.store.status().throttles.map(\.scope.name) == ["zone:bad"])
  }

  @Test(arguments: ["nan", "inf", "-inf", "-5", "1e300", "soon"])
  func `a wait that is no number ends nothing and parks nobody`(_ header: String) async throws {
    let world = try World()
    let store = try world.open("store")
    // With nothing to save, a full quota stops nothing.
    _ = try store.accept(world.put("a", ["x": .int64(1)]))
    for code in [ServerErrorCode.authenticationFailed, .quotaExceeded, .throttled] {
      var error = WebServicesError(code, "no", retryAfter: Double(header))
      error.retryAfter = Double(header)
      #expect(error.retryAfter == (header == "1e300" ? 315_576_000 : nil))
      try store.write { ledger in
        try Throttles.set(.account, error, now: store.now(), random: 0, ledger)
        try Throttles.set(.quota, error, now: store.now(), random: 0, ledger)
        try Throttles.set(.database, error, now: store.now(), random: 0, ledger)
      }
    }
    #expect(try store.status().throttles.map(\.scope.name) == ["database", "quota"])
  }
}
