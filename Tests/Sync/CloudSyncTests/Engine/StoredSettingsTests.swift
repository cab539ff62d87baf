import CloudKit
import CloudKitEmulator
import Facts
import Synchronization
import Testing

@testable import CloudSync

/// A store that one process synced and another one takes over: what the first was set to holds for the second.
@Suite(.serialized) struct StoredSettingsTests {
  private let world: World

  init() throws { world = try World() }

  /// A process without an app that names no setting.
  private func other() throws -> TestDevice {
    try world.device("mine", policy: nil, mergeRules: nil, deletionGuard: nil, replacesStored: false)
  }

  /// Both sides give `x` of record `a` another value, of which the server holds theirs.
  private func contradict(
    _ mine: TestDevice,
    _ values: [FieldValue] = [.int64(1), .int64(2), .int64(3)]
  ) async throws {
    let theirs = try world.device("theirs")
    try mine.store.accept(world.put("a", ["x": values[0]]))
    try await mine.sync()
    try await theirs.sync()
    world.clock.advance(10)
    try theirs.store.accept(world.put("a", ["x": values[1]]))
    try await theirs.sync()
    try mine.store.accept(world.put("a", ["x": values[2]]))
  }

  // MARK: - Policy, rules, guard

  @Test func `a process that names no policy resolves by the one that is stored`() async throws {
    let first = try world.device("mine", policy: .client, replacesStored: false)
    try await contradict(first)

    let other = try other()
    try await other.sync()

    #expect(world.onServer("a") == ["x": .int64(3)])
    #expect(try other.store.settings().policy == .client)
  }

  @Test func `a process that names another policy is refused before it sends or changes anything`() async throws {
    let first = try world.device("mine", policy: .manual, replacesStored: false)
    try await contradict(first)
    let other = try world.device("mine", policy: .server, replacesStored: false)
    let before = try other.store.settings()

    let error = await #expect(throws: StoreError.self) { try await other.sync() }
    let driving = await #expect(throws: StoreError.self) { try await other.engine.syncContinuously() }

    #expect(error?.kind == .otherSettings && driving?.kind == .otherSettings)
    #expect(other.transport.total == 0)
    #expect(try other.store.settings() == before)
    #expect(try other.store.queue() == ["save a pending"])
  }

  @Test func `another user's sync stores no setting before it is refused`() async throws {
    let ana = try world.device("mine", policy: nil, mergeRules: nil, deletionGuard: nil, replacesStored: false)
    try ana.store.adopt(identity: "somebody else", signIn: nil, nil)
    let ben = try world.device("mine", policy: .client, replacesStored: true, user: "ben")

    let error = await #expect(throws: StoreError.self) { try await ben.sync() }

    #expect(error?.kind == .otherUser)
    #expect(try ben.store.settings() == OutcomeSettings())
  }

  @Test func `a save that a pause rule holds does not wait for the app`() throws {
    let store = try world.open("store")
    try store.takeSettings(OutcomeSettings(asksBeforeSending: true), replaces: false)
    for (name, zone, type) in [("a", "One", "Note"), ("b", "Two", "Note"), ("c", "Two", "Task")] {
      try store.accept(world.put(name, zone: zone, type: type, [:]))
    }
    #expect(try store.waitingForApp().saves == 3)

    _ = try store.pause(.zone(ZoneKey(zone: "One")), actor: "test")
    #expect(try store.waitingForApp().saves == 2)
    _ = try store.pause(.type("Task"), actor: "test")
    #expect(try store.waitingForApp().saves == 1)
    _ = try store.pause(.everything, actor: "test")
    #expect(try store.waitingForApp().saves == 0)
  }

  @Test func `status and sync count the same conflicts that wait for the app, however many there are`() throws {
    let store = try world.open("store")
    try store.takeSettings(OutcomeSettings(asksAboutConflicts: true), replaces: false)
    try store.fill(1200)
    try store.execute("UPDATE operations SET state = 'conflict', conflictAt = 1")
    // The app was asked about most of them, about some of these in an earlier version, and some recur without end.
    let version = "conflictVersion(id, operation, generation + (id <= 50), isUnconfirmed, NULL)"
    try store.execute("UPDATE operations SET askedAbout = \(version) WHERE id <= 1100")
    try store.execute("UPDATE operations SET conflictRounds = 9 WHERE id > 1190")

    let waiting = try store.waitingForApp().conflicts
    var asked: [Int64] = []
    while let conflict = try store.conflictToAsk(after: asked.last ?? 0) { asked.append(conflict.id) }

    #expect(asked == Array(1...50) + Array(1101...1190))
    #expect(waiting == asked.count)
    #expect(try store.status().conflictsForApp == waiting)
  }

  @Test func `a process that replaces the policy replaces it for everyone`() async throws {
    let first = try world.device("mine", policy: .manual, replacesStored: false)
    try await contradict(first)
    try await world.device("mine", policy: .client, mergeRules: nil, replacesStored: true).sync()

    #expect(world.onServer("a") == ["x": .int64(3)])
    #expect(try first.store.settings().policy == .client)
    #expect(try first.store.events(limit: 100).map(\.kind).contains("settings"))
    await #expect(throws: StoreError.self) { try await first.sync() }
    try await other().sync()
  }

  @Test func `rules that one process named merge for another`() async throws {
    var rules = MergeRules()
    rules["Note"] = ["x": .elements]
    let first = try world.device("mine", mergeRules: rules, replacesStored: false)
    func list(_ numbers: [Int64]) -> FieldValue { .list(.int64, numbers.map(FieldValue.int64)) }
    try await contradict(first, [list([1]), list([1, 2]), list([1, 3])])

    try await other().sync()

    #expect(world.onServer("a") == ["x": .list(.int64, [.int64(1), .int64(2), .int64(3)])])
  }

  @Test func `a guard that one process named holds for another`() async throws {
    let limit = DeletionGuard(count: 2, share: 0.1)
    let first = try world.device("mine", deletionGuard: limit, replacesStored: false)
    for name in ["a", "b", "c"] { try first.store.accept(world.put(name, ["x": .int64(1)])) }
    try await first.sync()
    let theirs = try world.device("theirs")
    try await theirs.sync()
    for name in ["a", "b"] { try theirs.store.accept(world.delete(name)) }
    try await theirs.sync()

    try await other().sync()

    #expect(try first.store.heldDeletions().map(\.records) == [2])
  }

  @Test func `accepting deletions goes by the stored policy, whoever accepts them`() async throws {
    let limit = DeletionGuard(count: 2, share: 0.1)
    let first = try world.device("mine", policy: .client, deletionGuard: limit, replacesStored: false)
    for name in ["a", "b", "c"] { try first.store.accept(world.put(name, ["x": .int64(1)])) }
    try await first.sync()
    let theirs = try world.device("theirs")
    try await theirs.sync()
    for name in ["a", "b"] { try theirs.store.accept(world.delete(name)) }
    try await theirs.sync()
    try await first.sync()
    try first.store.accept(world.put("a", ["x": .int64(9)]))

    try other().engine.acceptDeletions(in: world.key("a").zoneKey.zoneID)
    try await other().sync()

    #expect(world.onServer("a") == ["x": .int64(9)])
    #expect(world.onServer("b") == nil)
  }

  @Test func `a first sync that names nothing stores the defaults`() async throws {
    try await other().sync()

    #expect(try other().store.settings() == .standard)
  }

  // MARK: - The app sees what is sent

  private func app(
    _ willSend: @escaping @Sendable (CKRecord) async throws -> CKRecord = { $0 }
  ) throws -> (TestDevice, TestDelegate) {
    let delegate = TestDelegate(willSend: willSend)
    return (try world.device("mine", policy: nil, mergeRules: nil, replacesStored: false, delegate: delegate), delegate)
  }

  @Test func `another process leaves saves for an app that must see them, and sends the rest`() async throws {
    let (mine, delegate) = try app { _ in throw TestDelegate.Refusal() }
    let theirs = try world.device("theirs")
    try theirs.store.accept(world.put("old", ["x": .int64(1)]))
    try await theirs.sync()
    try await mine.sync()
    try mine.store.accept(world.put("a", ["x": .int64(1)]))
    try mine.store.accept(world.delete("old"))
    try world.saveOnServer("new", ["x": .int64(1)])

    let other = try other()
    let summary = try await other.sync()

    #expect(world.onServer("a") == nil && world.onServer("old") == nil)
    #expect(try other.store.mirror("new") == ["x": .int64(1)])
    #expect(summary.waitForApp == 1)
    #expect(try other.store.queue() == ["save a pending"])
    #expect(try #require(other.store.operations().rows.first).cause == .waitsForApp)
    #expect(try other.store.status().savesForApp > 0)

    try await mine.sync()

    #expect(delegate.state.withLock { $0.seen } == ["a"])
    #expect(try mine.store.queue() == ["save a failed"])
    #expect(world.onServer("a") == nil)
  }

  @Test func `a process that keeps syncing leaves saves for the app, and the app takes over to send them`() async throws
  {
    let (mine, delegate) = try app()
    try await mine.sync()

    try await whileDriving(other()) {
      let id = try mine.store.accept(world.put("a", ["x": .int64(1)]))
      let summary = try await mine.sync()

      #expect(summary.sent == 1 && summary.waitForApp == nil)
      #expect(try mine.store.detail(of: id)?.history?.ending == .acknowledged)
    }

    #expect(delegate.state.withLock { $0.seen } == ["a"])
    #expect(world.onServer("a") == ["x": .int64(1)])
  }

  @Test func `an operator releases what waits for the app, for one sync`() async throws {
    try await app().0.sync()
    let other = try other()
    try other.store.accept(world.put("a", ["x": .int64(1)]))

    let released = try await other.engine.syncOnce(isWithoutApp: true)
    try other.store.accept(world.put("b", ["x": .int64(1)]))
    let later = try await other.sync()

    #expect(world.onServer("a") == ["x": .int64(1)])
    #expect(world.onServer("b") == nil)
    #expect(released.waitForApp == nil && later.waitForApp == 1)
    let commands = try other.store.events(limit: 100).map(\.event)
    #expect(commands.contains(.command(.releaseFromApp, count: 1)))
    #expect(try other.store.count("SELECT count(*) FROM commands WHERE verb = 'releaseFromApp'") == 1)
  }

  @Test func `a release reaches the process that syncs`() async throws {
    try await app().0.sync()
    try await whileDriving(other()) {
      let other = try other()
      try other.store.accept(world.put("a", ["x": .int64(1)]))

      let summary = try await other.engine.syncOnce(isWithoutApp: true)

      #expect(summary.waitForApp == nil)
      #expect(world.onServer("a") == ["x": .int64(1)])
      try other.store.accept(world.put("b", ["x": .int64(1)]))
      #expect(try await other.sync().waitForApp == 1)
      #expect(world.onServer("b") == nil)
    }
  }

  @Test func `only the store's user releases what waits for the app in another process`() async throws {
    try await app().0.sync()
    try await whileDriving(other()) {
      let ben = try world.device("mine", policy: nil, mergeRules: nil, replacesStored: false, user: "ben")
      try ben.store.accept(world.put("a", ["x": .int64(1)]))
      while try ben.store.status().syncingProcess?.isLive != true { await Task.yield() }
      // The server cannot say whose the sign-in is.
      ben.transport.interfere { _, _, _ in .offline }

      let summary = try await ben.engine.syncOnce(isWithoutApp: true)

      #expect(summary.waitForApp == 1)
      #expect(world.onServer("a") == nil)
      #expect(try ben.store.count("SELECT count(*) FROM commands WHERE verb = 'releaseFromApp'") == 0)
    }
  }

  @Test func `an app that need not see what is sent says so with replacesStored`() async throws {
    try await app().0.sync()
    let mine = try world.device("mine", policy: nil, mergeRules: nil, deletionGuard: nil, replacesStored: true)
    try mine.store.accept(world.put("a", ["x": .int64(1)]))

    try await mine.sync()
    try mine.store.accept(world.put("b", ["x": .int64(1)]))
    try await other().sync()

    #expect(world.onServer("a") != nil && world.onServer("b") != nil)
  }

  @Test func `a delegate that is not asked before sending holds nothing up`() async throws {
    let delegate = ReceivingDelegate()
    let mine = try world.device("mine", policy: nil, mergeRules: nil, replacesStored: false, delegate: delegate)
    try await mine.sync()
    try mine.store.accept(world.put("a", ["x": .int64(1)]))

    try await other().sync()

    #expect(world.onServer("a") == ["x": .int64(1)])
  }

  // MARK: - The app decides conflicts

  @Test func `another process leaves a conflict for the app that decides them`() async throws {
    let asked = Mutex(0)
    let mine = try world.device("mine", policy: nil, mergeRules: nil, replacesStored: false) { _ in
      asked.withLock { $0 += 1 }
      return .client
    }
    try await contradict(mine)

    let other = try other()
    let summary = try await other.sync()

    #expect(world.onServer("a") == ["x": .int64(2)])
    #expect(summary.waitForApp == 1)
    #expect(try other.store.queue() == ["save a conflict"])
    #expect(try #require(other.store.operations().rows.first).cause == .noted(.conflict(.fields(["x"])), .waitsForApp))

    try await mine.sync()

    #expect(asked.withLock { $0 } == 1)
    #expect(world.onServer("a") == ["x": .int64(3)])
  }

  @Test(arguments: [(ConflictPolicy.server, Int64(2)), (.client, 3), (.newest, 3), (.manual, 2)])
  func `without the app conflicts follow the stored policy`(_ policy: ConflictPolicy, _ value: Int64) async throws {
    let mine = try world.device("mine", policy: policy, mergeRules: nil, replacesStored: false) { _ in .client }
    try await contradict(mine)
    world.clock.advance(10)
    let other = try other()
    try await other.sync()
    #expect(try other.store.queue() == ["save a conflict"])

    let summary = try await other.engine.syncOnce(isWithoutApp: true)

    #expect(world.onServer("a") == ["x": .int64(value)])
    #expect(try other.store.queue() == (policy == .manual ? ["save a conflict"] : []))
    #expect(summary.waitForApp == nil)
    // What the policy dropped can be undone.
    #expect(try other.store.dropped().map(\.dropsChange) == (policy == .manual ? [] : [policy == .server]))
  }
}

/// A delegate that has no say in what is sent.
private final class ReceivingDelegate: SyncEngineDelegate {
  let isAskedBeforeSending = false
}
