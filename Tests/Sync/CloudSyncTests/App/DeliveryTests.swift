import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization
import Testing

@testable import CloudSync

/// What came is handed to the app: in an order it can take, as often as it needs to be.
@Suite(.serialized, .timeLimit(.minutes(40))) struct DeliveryTests {
  private let world: World

  init() throws { world = try World() }

  private func reference(_ name: String) -> FieldValue { .reference(WireReference(recordName: name)) }

  @Test func `referenced records come first, and of what goes the children do`() async throws {
    let theirs = try world.device("theirs")
    let delegate = TestDelegate()
    let mine = try world.device("mine", deletionGuard: .off, delegate: delegate)
    _ = try theirs.store.enqueue([
      world.put("c", ["to": reference("b")]), world.put("b", ["to": reference("a")]), world.put("a", [:]),
      world.put("d", ["to": reference("c")]),
    ])
    try await theirs.sync()

    try await mine.engine.sync()
    #expect(delegate.taken == ["a", "b", "c", "d"])
    _ = try theirs.store.enqueue(["a", "b", "c", "d"].map { world.delete($0) })
    try await theirs.sync()
    try await mine.engine.sync()

    #expect(delegate.taken.suffix(4) == ["-d", "-c", "-b", "-a"])
    #expect(try mine.store.status().undelivered == 0)
  }

  @Test func `what is sent follows the declared order of types, too`() async throws {
    let mine = try world.device("mine", delegate: TestDelegate(types: ["Country", "City"]))
    let changes = (0..<250).map { number in
      world.put("r\(number)", type: number < 200 ? "City" : "Country", ["n": .int64(Int64(number))])
    }
    _ = try mine.store.enqueue(changes)
    try await mine.engine.sync()

    let first = try #require(mine.transport.bodies("records/modify").first)
    #expect(first.components(separatedBy: "\"Country\"").count == 51)
    #expect(mine.transport.count("records/modify") == 2)
  }

  @Test func `a delegate that throws is given the same again, and syncing goes on meanwhile`() async throws {
    let theirs = try world.device("theirs")
    let delegate = TestDelegate(receive: { if $0 < 3 { throw TestDelegate.Refusal() } })
    let mine = try world.device("mine", delegate: delegate)
    try theirs.store.accept(world.put("theirs", ["x": .int64(1)]))
    try await theirs.sync()

    try await mine.engine.sync()
    let trouble = try #require(try mine.store.deliveryTrouble())
    #expect(trouble.nextAt > world.clock.now)
    #expect(try mine.store.status().deliveryProblem?.message.contains("the app says no") == true)
    #expect(try mine.store.mirror("theirs") == ["x": .int64(1)])
    try mine.store.accept(world.put("mine", [:]))
    try theirs.store.accept(world.put("theirs", ["x": .int64(2)]))
    try await theirs.sync()
    try await mine.engine.sync()
    #expect(delegate.taken == [])
    #expect(world.onServer("mine") == [:])
    try await mine.engine.sync()

    #expect(delegate.taken == ["theirs", "mine"])
    #expect(delegate.state.withLock { $0.records["theirs"]?["x"] as? Int } == 2)
    #expect(try mine.store.status().deliveryProblem == nil)
  }

  @Test func `in the middle of a reading nothing comes before what it refers to`() async throws {
    let world = try World()
    let mine = try world.device("mine", delegate: TestDelegate())
    try mine.store.startDelivering()
    let zone = world.scope.zoneForChangesWithoutOne
    let lease = try #require(try Lease.acquire(mine.store))
    func come(_ name: String, to target: String?) throws {
      let fields = target.map { ["to": reference($0)] } ?? [:]
      let record = MirrorRecord(key: RecordKey(zone, name), type: "Note", changeTag: "1", fields: fields)
      try mine.store.write { try $0.put(record, epoch: 0) }
    }
    func next() throws -> [String] {
      try mine.store.nextDelivery(order: []).changes.modifications.map(\.recordID.recordName)
    }
    lease.shown.setFetching(true)
    try lease.renew(mine.store)
    for (name, target) in [("c", "b"), ("b", "a"), ("free", nil)] { try come(name, to: target) }
    #expect(try next() == ["free"])
    try mine.store.delivered(mine.store.nextDelivery(order: []))
    #expect(try mine.store.nextDelivery(order: []).numbers == [])

    try come("a", to: nil)
    #expect(try next() == ["a", "b", "c"])

    // Whoever read is gone, or has read to the end: what is missing does not come any more.
    try come("orphan", to: "nobody")
    lease.shown.setFetching(false)
    try lease.renew(mine.store)
    #expect(try next() == ["a", "b", "c", "orphan"])
    lease.release(mine.store)
  }

  @Test func `deliveries that no app takes for 90 days are dropped, and an app that returns starts over`() async throws
  {
    let world = try World()
    let day: Double = 86_400
    do {
      let mine = try world.device("mine", delegate: TestDelegate())
      try mine.store.accept(world.put("a", [:]))
      try await mine.engine.sync()
    }
    let alone = try world.device("mine")
    let store = alone.store
    try store.write { ledger in
      for number in 1...1200 {
        let record = MirrorRecord(key: world.key("r\(number)"), type: "Note", changeTag: "1", fields: [:])
        try ledger.put(record, epoch: 0)
        try ledger.removeRecord(record.key)
      }
    }
    #expect(try store.status().undelivered == 1200)
    world.clock.advance(80 * day)
    try await alone.sync()
    #expect(try store.status().undelivered == 1200)

    world.clock.advance(11 * day)
    try await alone.sync()
    #expect(try store.status().undelivered == 0)
    #expect(try store.count("SELECT count(*) FROM deliveries") == 0)
    try alone.store.accept(world.put("b", [:]))
    try await alone.sync()
    #expect(try store.status().undelivered == 0)

    let starts = Mutex<[Bool]>([])
    let back = try world.device("mine", delegate: StartDelegate { start in starts.withLock { $0.append(start) } })
    try await back.engine.sync()
    try back.store.accept(world.put("c", [:]))
    try await back.engine.sync()
    #expect(starts.withLock { $0 } == [true, false])
  }

  @Test func `an app that returns to an empty store is told to start over, once`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    let starts = Mutex<[Bool]>([])
    try mine.store.startDelivering()
    world.clock.advance(91 * 86_400)
    try await mine.sync()

    let back = try world.device("mine", delegate: StartDelegate { start in starts.withLock { $0.append(start) } })
    try await back.engine.sync()
    try await back.engine.sync()

    #expect(starts.withLock { $0 } == [true])
  }

  @Test func `a record that the app never takes holds up no other for long`() async throws {
    let world = try World()
    let theirs = try world.device("theirs")
    _ = try theirs.store.enqueue(
      (0..<60).map { world.put("r\($0)", [:]) } + [world.put("child", ["to": reference("r7")])]
    )
    try await theirs.sync()
    let delegate = TestDelegate(refusing: ["r7"])
    let mine = try world.device("mine", delegate: delegate)

    // The whole twice, then its parts, and the others at once.
    for _ in 0..<6 { try await mine.engine.sync() }

    #expect(Set(delegate.taken).count == 59 && !delegate.taken.contains("r7") && !delegate.taken.contains("child"))
    #expect(try mine.store.status().undelivered == 2)
    #expect(try mine.store.status().deliveryProblem != nil)
    _ = try theirs.store.enqueue([world.delete("r8"), world.put("late", [:])])
    try await theirs.sync()
    try await mine.engine.sync()
    #expect(delegate.taken.suffix(2) == ["late", "-r8"])
    let calls = delegate.calls
    delegate.accepts()
    try await mine.engine.sync()
    #expect(delegate.calls == calls)
    world.clock.advance(400)
    try await mine.engine.sync()
    #expect(delegate.taken.suffix(2) == ["r7", "child"])
    #expect(try mine.store.status().deliveryProblem == nil)
  }

  @Test func `a zone that is gone is told after what was in it, unless it is there again`() async throws {
    let world = try World()
    let theirs = try world.device("theirs")
    for zone in ["gone", "remade", "held"] { try theirs.store.accept(world.put("a", zone: zone, [:])) }
    try await theirs.sync()
    let delegate = TestDelegate()
    let mine = try world.device("mine", deletionGuard: .off, delegate: delegate)
    try await mine.engine.sync()
    for zone in ["gone", "remade"] { _ = try theirs.store.enqueueZoneDeletion(ZoneKey(zone: zone)) }
    try await theirs.sync()
    try await mine.sync()
    try theirs.store.accept(world.put("b", zone: "remade", [:]))
    try await theirs.sync()

    try await mine.engine.sync()
    _ = try mine.store.enqueueZoneDeletion(ZoneKey(zone: "held"))
    try await mine.engine.sync()

    #expect(delegate.taken == ["a", "a", "a", "b", "-a", "-a", "-gone/", "-a", "-held/"])
  }

  @Test func `what was not taken outlives the process`() async throws {
    let theirs = try world.device("theirs")
    try theirs.store.accept(world.put("theirs", [:]))
    try await theirs.sync()
    let first = try world.device("mine", delegate: TestDelegate(receive: { _ in throw TestDelegate.Refusal() }))
    try await first.engine.sync()

    let delegate = TestDelegate()
    let second = try world.device("mine", delegate: delegate)
    try await second.engine.sync()

    #expect(delegate.taken == ["theirs"])
  }

  @Test func `an app that comes late is told of everything there is`() async throws {
    let first = try world.device("mine")
    _ = try first.store.enqueue((0..<450).map { world.put("r\($0)", [:]) })
    try await first.sync()
    #expect(try first.store.status().undelivered == 0)

    let delegate = TestDelegate()
    let second = try world.device("mine", delegate: delegate)
    try await second.engine.sync()

    #expect(Set(delegate.taken).count == 450)
    #expect(delegate.calls == 3)
  }

  @Test func `a delegate that does not answer in time is asked again only when its call has ended`() async throws {
    let theirs = try world.device("theirs")
    try theirs.store.accept(world.put("theirs", [:]))
    try await theirs.sync()
    let (gate, opener) = AsyncStream.makeStream(of: Void.self)
    let delegate = TestDelegate(receive: { call in
      guard call == 1 else { return }
      // Deaf to cancellation.
      await Task.detached { for await _ in gate {} }.value
      throw TestDelegate.Refusal()
    })
    let mine = try world.device("mine", delegatePatience: 0.05, delegate: delegate)

    try await mine.engine.sync()
    #expect(try mine.store.deliveryTrouble()?.reason.contains("no answer within") == true)
    try await mine.engine.sync()
    #expect(delegate.calls == 1)
    opener.finish()
    while await mine.engine.overdue.number > 0 { await Task.yield() }
    try await mine.engine.sync()

    #expect(delegate.taken == ["theirs"])
  }

  @Test func `an app hears of an edit of its own that was given up`() async throws {
    let delegate = TestDelegate()
    let mine = try world.device("mine", delegate: delegate)
    try mine.store.accept(world.put("a", ["x": .int64(1)]))
    try await mine.engine.sync()
    let edit = try mine.store.accept(world.put("a", ["x": .int64(2)]))
    let creation = try mine.store.accept(world.put("b", [:]))

    _ = try mine.store.perform(.discard, on: .ids([edit, creation]), actor: "test")
    try await mine.engine.deliver()

    #expect(delegate.taken == ["a", "a", "-b"])
    #expect(delegate.state.withLock { $0.records["a"]?["x"] as? Int } == 1)
  }

  @Test func `an app hears of an edit that was given up while it was being told of it`() async throws {
    let world = try World()
    let theirs = try world.device("theirs")
    try theirs.store.accept(world.put("a", ["x": .int64(1)]))
    try await theirs.sync()
    let store = try world.open("mine")
    let delegate = TestDelegate(receive: { call in
      guard call == 1 else { return }
      _ = try store.perform(.discard, on: .all, actor: "test")
    })
    let mine = try world.device("mine", delegate: delegate)
    try await mine.sync()
    try mine.store.accept(world.put("a", ["x": .int64(2)]))

    try await mine.engine.deliver()

    #expect(delegate.taken == ["a", "a"])
    #expect(delegate.state.withLock { $0.records["a"]?["x"] as? Int } == 1)
  }

  @Test func `what the app has edited since comes with the edit in it`() async throws {
    let theirs = try world.device("theirs")
    let delegate = TestDelegate()
    let mine = try world.device("mine", delegate: delegate)
    try theirs.store.accept(world.put("a", ["x": .int64(1), "y": .int64(1)]))
    try await theirs.sync()
    try await mine.sync()
    try mine.store.accept(world.put("a", ["x": .int64(2)]))

    try await mine.engine.deliver()

    let record = try #require(delegate.state.withLock { $0.records["a"] })
    #expect(record["x"] as? Int == 2 && record["y"] as? Int == 1)
  }

  @Test func `a started engine hands over what a push or a poll brings`() async throws {
    let delegate = TestDelegate()
    let mine = try world.device("mine", pollInterval: 100_000, delegate: delegate)
    let theirs = try world.device("theirs")
    var events = mine.engine.events.makeAsyncIterator()
    try theirs.store.accept(world.put("a", [:]))
    try await theirs.sync()

    await mine.engine.start()
    var delivered = 0
    while delivered == 0, let event = await events.next() {
      if case .delivered(let count) = event { delivered = count }
    }
    try await mine.engine.stop()

    #expect(delivered == 1)
    #expect(delegate.taken == ["a"])
  }

  @Test func `what ends an engine is told, and it can be started again`() async throws {
    let device = try world.device("mine", delegate: TestDelegate())
    try device.store.adopt(identity: "somebody else", signIn: nil, nil)
    var events = device.engine.events.makeAsyncIterator()

    for _ in 0..<2 {
      await device.engine.start()
      var reason: String?
      while reason == nil, let event = await events.next() {
        if case .stopped(let text, _) = event { reason = text }
      }
      #expect(reason?.contains("somebody else") == true)
      while await device.engine.driving != nil { await Task.yield() }
    }

    await #expect(throws: StoreError.self) { try await device.engine.stop() }
    try await device.engine.stop()
  }

  @Test func `stopping during a request blames no network`() async throws {
    let device = try world.device("mine")
    device.transport.interfere { operation, number, _ in
      guard operation == "records/modify", number == 1 else { return .pass }
      try? await Task.sleep(for: .seconds(600))
      return .lost
    }
    try device.store.accept(world.put("a", [:]))
    await device.engine.start()
    while device.transport.count("records/modify") == 0 { await Task.yield() }

    try await device.engine.stop()

    #expect(try device.store.status().throttles.isEmpty)
    #expect(try device.store.queue() == ["save a pending"])
    try await device.sync()
    #expect(world.onServer("a") != nil)
  }

  // MARK: - The order

  @Test func `the declared types decide where references do not, and rings do no harm`() {
    func item(_ name: String, _ type: String, to targets: String...) -> DeliveryOrder.Item {
      DeliveryOrder.Item(key: world.key(name), type: type, references: Set(targets.map { world.key($0) }))
    }
    let order = DeliveryOrder(types: ["Project", "Task"])
    let items = [
      item("t", "Task"), item("x", "Other"), item("p", "Project", to: "x"), item("r1", "Task", to: "r2"),
      item("r2", "Task", to: "r1", "elsewhere"),
    ]

    #expect(order.sorted(items).map { items[$0].key.name } == ["x", "p", "t", "r2", "r1"])
    let chain = (0..<20_000).map { item("c\($0)", "Task", to: "c\($0 + 1)") }
    #expect(order.sorted(chain).first == 19_999)
  }

  @Test func `however many go, children go first, and after all that comes`() async throws {
    let world = try World()
    let delegate = TestDelegate()
    let mine = try world.device("mine", deletionGuard: .off, delegate: delegate)
    let theirs = try world.device("theirs")
    let parent = FieldValue.reference(WireReference(recordName: "a", action: "NONE"))
    _ = try theirs.store.enqueue(
      [world.put("a", [:]), world.put("b", [:])] + (0..<250).map { world.put("z\($0)", ["up": parent]) }
    )
    try await theirs.sync()
    try await mine.engine.sync()
    _ = try theirs.store.enqueue([world.delete("a")] + (0..<250).map { world.delete("z\($0)") })
    try await theirs.sync()
    try theirs.store.accept(world.put("b", ["x": .int64(1)]))
    try await theirs.sync()

    try await mine.engine.sync()

    let taken = delegate.taken.suffix(252)
    #expect(taken.first == "b")
    #expect(taken.last == "-a")
  }
}

/// Reports whether deliveries start over.
private final class StartDelegate: SyncEngineDelegate {
  private let report: @Sendable (Bool) -> Void

  init(_ report: @escaping @Sendable (Bool) -> Void) { self.report = report }

  func syncEngine(_ engine: SyncEngine, didReceive changes: ReceivedChanges) async throws { report(changes.startsOver) }
}
