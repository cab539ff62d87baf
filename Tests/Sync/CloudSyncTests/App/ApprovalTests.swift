import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import Synchronization
import Testing

@testable import CloudSync

/// What the app says before a change goes, and after it failed.
@Suite(.serialized, .timeLimit(.minutes(40))) struct ApprovalTests {
  private let world: World

  init() throws { world = try World() }

  @Test func `a record that the app refuses is kept with the reason, and the others go`() async throws {
    let delegate = TestDelegate(willSend: { record in
      if record["x"] as? Int == 2 { throw TestDelegate.Refusal() }
      return record
    })
    let device = try world.device("store", delegate: delegate)
    _ = try device.store.enqueue((1...3).map { world.put("r\($0)", ["x": .int64(Int64($0))]) })

    try await device.engine.sync()

    #expect(try device.store.queue() == ["save r2 failed"])
    #expect(try device.store.operations().rows.first?.errorMessage == "the app says no")
    #expect(try device.store.status().lastDay.failed == 1)
    #expect(world.onServer("r1") != nil && world.onServer("r2") == nil && world.onServer("r3") != nil)
    #expect(delegate.state.withLock { $0.seen.sorted() } == ["r1", "r2", "r3"])
  }

  @Test func `what the app changes goes with it, once for each version`() async throws {
    let delegate = TestDelegate(willSend: { record in
      record["count"] = (record["count"] as? Int ?? 0) + 1
      record["draft"] = nil
      return record
    })
    let device = try world.device("store", delegate: delegate)
    device.transport.interfere { operation, number, _ in
      operation == "records/modify" && number == 1 ? .offline : .pass
    }
    try device.store.accept(world.put("a", ["x": .int64(1), "draft": .string("y")]))

    try await device.engine.sync()
    world.clock.advance(100)
    try await device.engine.sync()

    #expect(world.onServer("a") == ["x": .int64(1), "count": .int64(1)])
    #expect(try device.store.queue() == [])
    try device.store.accept(world.put("a", ["x": .int64(2)]))
    try await device.engine.sync()
    #expect(world.onServer("a") == ["x": .int64(2), "count": .int64(2)])
  }

  @Test func `an app that throws a cancellation refuses like any other`() async throws {
    let delegate = TestDelegate(willSend: { record in
      if record.recordID.recordName == "a" { throw CancellationError() }
      return record
    })
    let device = try world.device("store", delegate: delegate)
    _ = try device.store.enqueue([world.put("a", [:]), world.put("b", [:])])

    try await device.engine.sync()

    #expect(try device.store.queue() == ["save a failed"])
    #expect(world.onServer("b") != nil)
  }

  @Test func `what is edited while the app looks at it is shown to the app before it goes`() async throws {
    let store = try world.open("store")
    let world = world
    let delegate = TestDelegate(willSend: { record in
      if record["x"] as? Int == 1 { try store.accept(world.put("a", ["x": .int64(2)])) }
      return record
    })
    let device = try world.device("store", delegate: delegate)
    try device.store.accept(world.put("a", ["x": .int64(1)]))

    try await device.engine.sync()

    #expect(delegate.state.withLock { $0.seen } == ["a", "a"])
    #expect(device.transport.count("records/modify") == 1)
    #expect(world.onServer("a") == ["x": .int64(2)])
  }

  @Test func `what an app could not be asked about spends no attempt, and is no offer`() async throws {
    let (gate, opener) = AsyncStream.makeStream(of: Void.self)
    let delegate = TestDelegate(willSend: { record in
      // Deaf to cancellation.
      if record.recordID.recordName.hasPrefix("deaf") { await Task.detached { for await _ in gate {} }.value }
      if record.recordID.recordName == "bad" { throw TestDelegate.Refusal() }
      return record
    })
    let patient = try world.device("store", delegate: delegate)
    let bad = try patient.store.accept(world.put("bad", [:]))
    try await patient.sync()
    let device = try world.device("store", delegatePatience: 0.05, delegate: delegate)
    // So many may be overdue before nobody else is asked about.
    let deaf = try (0..<8).map { try device.store.accept(world.put("deaf\($0)", [:])) }
    let next = try device.store.accept(world.put("next", [:]))

    try await device.engine.sync()
    #expect(try deaf.map { try device.store.operation($0).attempts } == Array(repeating: 1, count: 8))
    #expect(try device.store.operation(next).attempts == 0)
    #expect(try device.store.operation(next).state == .waiting && device.store.operation(bad).state == .failed)
    #expect(delegate.state.withLock { $0.offers } == [])
    opener.finish()
    try await patient.engine.sync()

    #expect(delegate.state.withLock { $0.offers } == ["bad APP_REFUSED"])
    #expect(world.onServer("next") != nil)
  }

  @Test func `an app that is silent holds up its record and nothing else`() async throws {
    let delegate = TestDelegate(willSend: { record in
      if record.recordID.recordName == "slow" { try await Task.sleep(for: .seconds(600)) }
      return record
    })
    let device = try world.device("store", delegatePatience: 0.05, delegate: delegate)
    try device.store.accept(world.put("quick", [:]))
    try await device.engine.sync()
    try device.store.accept(world.put("slow", [:]))

    try await device.engine.sync()

    #expect(try device.store.queue() == ["save slow waiting"])
    #expect(world.onServer("quick") != nil)
  }

  @Test func `a dead letter is offered once, and its replacement takes its place`() async throws {
    world.emulator.faults = FaultPlan(rules: [
      FaultRule(when: FaultCondition(operation: "records/modify", recordName: "a", limit: 1), then: .poison)
    ])
    let delegate = TestDelegate(repair: { record in
      record["x"] = 7
      record["y"] = nil
      return record
    })
    let device = try world.device("store", delegate: delegate)
    let id = try device.store.accept(world.put("a", ["x": .int64(1), "y": .int64(1)]))

    try await device.engine.sync()
    #expect(try device.store.queue() == ["save a pending"])
    #expect(try device.store.operation(id).attempts == 0)
    try await device.engine.sync()

    #expect(world.onServer("a") == ["x": .int64(7)])
    #expect(try device.store.endings() == ["save a acknowledged"])
  }

  /// A delegate that decides about dead letters.
  private final class Decider: SyncEngineDelegate {
    let decide: @Sendable (FailedChange, CKRecord?) -> FailureDecision

    init(_ decide: @escaping @Sendable (FailedChange, CKRecord?) -> FailureDecision) { self.decide = decide }

    func syncEngine(_ engine: SyncEngine, didFail change: FailedChange, of record: CKRecord?) async -> FailureDecision {
      decide(change, record)
    }
  }

  @Test func `a failed deletion is offered too, and the app may retry or discard`() async throws {
    let first = try world.device("first")
    for name in ["kept", "gone", "again"] { try first.store.accept(world.put(name, [:])) }
    try await first.sync()
    let fault = FaultCondition(operation: "records/modify", limit: 3)
    let seen = Mutex<[String: CKError.Code]>([:])
    let device = try world.device(
      "store",
      delegate: Decider { change, record in
        let name = change.recordID?.recordName ?? ""
        seen.withLock { $0[name] = change.failure.ckError.code }
        guard change.isDeletion, record == nil else { return .keep }
        return name == "gone" ? .discard : name == "again" ? .retry : .keep
      }
    )
    try await device.sync()
    _ = try device.store.enqueue(["kept", "gone", "again"].map { world.delete($0) })
    world.emulator.faults = FaultPlan(rules: [FaultRule(when: fault, then: .poison)])
    try await device.engine.sync()
    world.emulator.faults = FaultPlan(rules: [])
    try await device.engine.sync()

    #expect(seen.withLock { $0 } == ["kept": .invalidArguments, "gone": .invalidArguments, "again": .invalidArguments])
    #expect(try device.store.queue() == ["delete kept failed"])
    #expect(world.onServer("gone") != nil && world.onServer("again") == nil)
    #expect(try device.store.endings().sorted() == ["delete again acknowledged", "delete gone discarded"])
    #expect(try device.store.undoable(limit: 9).map(\.recordID.recordName) == ["gone"])
    let commands = try device.store.read { try $0.commands(limit: 9) }.map { "\($0.actor) \($0.command.name)" }
    #expect(commands.sorted() == ["app discard", "app retry"])
  }

  @Test func `every dead letter is offered once, however many there are`() async throws {
    let sends = FaultCondition(operation: "records/modify")
    world.emulator.faults = FaultPlan(rules: [FaultRule(when: sends, then: .poison)])
    let delegate = TestDelegate(repair: { _ in nil })
    let device = try world.device("store", delegate: delegate)
    for index in 0..<210 { try device.store.accept(world.put("r\(index)", [:])) }

    try await device.engine.sync()
    try await device.engine.sync()

    let offers = delegate.state.withLock { $0.offers }
    #expect(offers.count == 210 && Set(offers).count == 210)
  }

  @Test func `a dead letter is offered anew when it fails after an edit, and not when it fails after a repair`()
    async throws
  {
    let sends = FaultCondition(operation: "records/modify")
    world.emulator.faults = FaultPlan(rules: [FaultRule(when: sends, then: .poison)])
    let delegate = TestDelegate(repair: { record in
      record["x"] = 7
      return record
    })
    let device = try world.device("store", delegate: delegate)
    try device.store.accept(world.put("a", ["x": .int64(1)]))
    for _ in 0..<3 { try await device.engine.sync() }
    #expect(delegate.state.withLock { $0.offers.count } == 1)

    try device.store.accept(world.put("a", ["x": .int64(2)]))
    for _ in 0..<3 { try await device.engine.sync() }

    #expect(delegate.state.withLock { $0.offers.count } == 2)
  }

  @Test func `what a dead letter clears and how its fields are merged outlasts a repair`() async throws {
    let delegate = TestDelegate(repair: { record in
      record["z"] = 3
      return record
    })
    let device = try world.device("store", delegate: delegate)
    try device.store.accept(world.put("a", ["x": .int64(1), "y": .int64(1)]))
    try await device.engine.sync()
    world.emulator.faults = FaultPlan(rules: [
      FaultRule(when: FaultCondition(operation: "records/modify", recordName: "a", limit: 1), then: .poison)
    ])
    let edit = FieldChanges(values: ["x": .int64(2)], cleared: ["y"], rules: ["x": .value])
    let id = try device.store.accept(Change(world.key("a"), .save(type: "Note", edit)))

    try await device.engine.sync()
    #expect(try device.store.operation(id).changes.rules == ["x": .value])
    try await device.engine.sync()

    #expect(world.onServer("a") == ["x": .int64(2), "z": .int64(3)])
  }

  @Test func `a repair does not pass over what others wrote since the failed edit was made`() async throws {
    let delegate = TestDelegate(repair: { record in
      record["y"] = 7
      return record
    })
    let (mine, theirs) = (try world.device("mine", policy: .manual, delegate: delegate), try world.device("theirs"))
    try mine.store.accept(world.put("a", ["x": .int64(0)]))
    try await mine.engine.sync()
    try await theirs.sync()
    world.emulator.faults = FaultPlan(rules: [
      FaultRule(when: FaultCondition(operation: "records/modify", recordName: "a", limit: 1), then: .poison)
    ])
    let id = try mine.store.accept(world.put("a", ["x": .int64(1)]))
    _ = try await mine.engine.syncOnce()
    #expect(try mine.store.operation(id).state == .failed)
    world.clock.advance(10)
    try theirs.store.accept(world.put("a", ["x": .int64(5)]))
    try await theirs.sync()

    try await mine.engine.sync()
    try await mine.engine.sync()

    #expect(try mine.store.queue() == ["save a conflict"])
    #expect(try mine.store.conflicts().flatMap { $0.fields.map(\.name) } == ["x"])
    #expect(world.onServer("a")?["x"] == .int64(5))
  }

  @Test func `an app that is silent about one record holds up no other of the same request`() async throws {
    let (gate, opener) = AsyncStream.makeStream(of: Void.self)
    defer { opener.finish() }
    let delegate = TestDelegate(willSend: { record in
      // Deaf to cancellation.
      if record.recordID.recordName == "a" { await Task.detached { for await _ in gate {} }.value }
      return record
    })
    let device = try world.device("store", delegatePatience: 0.02, delegate: delegate)
    _ = try device.store.enqueue(["a", "b", "c"].map { world.put($0, [:]) })

    try await device.sync()

    #expect(try device.store.queue() == ["save a waiting"])
    #expect(world.onServer("b") != nil && world.onServer("c") != nil)
  }

  @Test func `a dead letter that the app cannot repair is left alone, also its bad replacement`() async throws {
    let answer = #"{"records":[{"recordName":"a","serverErrorCode":"BAD_REQUEST","reason":"no"}]}"#
    let delegate = TestDelegate(repair: { record in
      guard record["x"] as? Int == 1 else { return nil }
      record["x"] = 2
      return record
    })
    let device = try world.device("store", delegate: delegate)
    device.transport.interfere { operation, _, _ in
      operation == "records/modify" ? .answer(status: 200, answer) : .pass
    }
    try device.store.accept(world.put("a", ["x": .int64(1)]))

    for _ in 0..<4 { try await device.engine.sync() }

    #expect(try device.store.queue() == ["save a failed"])
    #expect(delegate.state.withLock { $0.offers } == ["a BAD_REQUEST"])
    #expect(device.transport.count("records/modify") == 2)
  }

  @Test func `a parent is kept in the queue, sent, brought and removed again`() async throws {
    let delegate = TestDelegate()
    let (mine, theirs) = (try world.device("mine"), try world.device("theirs", delegate: delegate))
    let zone = CKRecordZone.ID(zoneName: "cktop")
    let child = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "child", zoneID: zone))
    let parent = CKRecord(recordType: "Note", recordID: CKRecord.ID(recordName: "parent", zoneID: zone))
    child.setParent(parent)

    try mine.engine.save([child, parent])
    try await mine.engine.sync()
    try await theirs.engine.sync()
    let received = try #require(delegate.state.withLock { $0.records["child"] })
    #expect(received.parent?.recordID == parent.recordID)
    #expect(delegate.taken == ["parent", "child"])
    #expect(world.onServer("child") == [:])
    received.setParent(nil as CKRecord?)
    try theirs.engine.save([received])
    try await theirs.engine.sync()
    try await mine.engine.sync()

    #expect(try mine.engine.record(child.recordID)?.parent == nil)
    #expect(throws: CKError.self) { try mine.engine.save([CKShare(recordZoneID: zone)]) }
    #expect(try mine.store.queue() == [])
  }

  @Test func `the app is asked once a change has used up the attempts that the app allows`() async throws {
    let delegate = TestDelegate()
    let device = try world.device("store", delegate: delegate, configure: { $0.attemptLimit = 3 })
    let failure = #"{"records":[{"recordName":"a","serverErrorCode":"INTERNAL_ERROR","reason":"oops"}]}"#
    device.transport.interfere { operation, _, _ in
      operation == "records/modify" ? .answer(status: 200, failure) : .pass
    }
    let id = try device.store.accept(world.put("a", [:]))
    var attempts: [Int] = []
    var offers: [Int] = []
    for _ in 0..<5 {
      try await device.engine.sync()
      attempts.append(try device.store.operation(id).attempts)
      offers.append(delegate.state.withLock { $0.offers.count })
      world.clock.advance(60)
    }

    #expect(attempts == [1, 2, 3, 3, 3] && offers == [0, 0, 1, 1, 1])
    #expect(delegate.state.withLock { $0.offers } == ["a INTERNAL_ERROR"])
    #expect(try device.store.queue() == ["save a failed"])
  }
}
