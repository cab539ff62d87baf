import CloudKit
import Facts
import GRDB
import Testing

@testable import CloudSync

/// Whether a status says that something can be sent: by the same rules that explain each row.
struct SendabilityTests {
  private let world: World
  private let store: SyncStore

  init() throws {
    world = try World()
    store = try world.open("store")
  }

  private func flags() throws -> [Bool] {
    let status = try store.status()
    return [status.sendableSince != nil, status.canSendLater]
  }

  private func link(_ name: String) -> FieldValue { .reference(WireReference(recordName: name, action: "VALIDATE")) }

  /// Enqueues a parent and a child that waits for it, and returns the parent's operation.
  private func family() throws -> Int64 {
    let parent = try store.accept(world.put("parent", [:]))
    try store.accept(world.put("child", ["parent": link("parent")]))
    return parent
  }

  @Test func `an empty queue can send nothing, a pending change can be sent`() throws {
    #expect(try flags() == [false, false])
    try store.accept(world.put("a", [:]))
    #expect(try flags() == [true, true])
  }

  @Test(arguments: ["failed", "paused"])
  func `what waits for a change that a person holds cannot be sent`(state: String) throws {
    let parent = try family()
    #expect(try flags() == [true, true])
    try store.execute("UPDATE operations SET state = ? WHERE id = ?", [state, parent])
    #expect(try flags() == [false, false])
  }

  @Test func `what waits for a change in back-off can be sent later`() throws {
    let parent = try family()
    let end = world.clock.now + 5_000
    try store.execute("UPDATE operations SET state = 'waiting', nextAttemptAt = ? WHERE id = ?", [end, parent])
    #expect(try flags() == [false, true])
    world.clock.advance(6)
    #expect(try flags() == [true, true])
  }

  @Test(arguments: [("database", true), ("zone:cktop", true), ("feed:cktop", false)])
  func `a wait of a scope holds what it covers until it is over`(scope: String, holds: Bool) throws {
    try store.accept(world.put("a", [:]))
    let wait = ScopeWait(
      scope: WaitScope(name: scope),
      until: world.clock.now + 5_000,
      seconds: 5,
      code: "THROTTLED",
      message: "",
      isOwn: false,
      since: world.clock.now
    )
    try store.write { try $0.put(wait) }
    #expect(try flags() == [!holds, true])
  }

  @Test func `changes under a pause rule cannot be sent`() throws {
    try store.accept(world.put("a", [:]))
    _ = try store.pause(.type("Note"), actor: "ana")
    #expect(try flags() == [false, false])
  }

  @Test func `changes that wait for each other are sent as a cycle`() throws {
    try store.accept(world.put("a", ["next": link("b")]))
    try store.accept(world.put("b", ["next": link("a")]))
    #expect(try flags() == [true, true])
  }

  @Test(arguments: ["pending", "waiting"])
  func `a cycle through other record types, or with a change in back-off, can be sent`(state: String) throws {
    try store.accept(world.put("a", type: "Note", ["next": link("b")]))
    try store.accept(world.put("b", type: "Task", ["next": link("a")]))
    let end = state == "waiting" ? world.clock.now - 1 : nil
    try store.execute("UPDATE operations SET state = ?, nextAttemptAt = ? WHERE name = 'b'", [state, end])
    #expect(try flags() == [true, true])
  }

  @Test func `an atomic group of two types whose back-off is over can be sent`() throws {
    _ = try store.enqueue([world.put("a", type: "Note", [:]), world.put("b", type: "Task", [:])], group: "g")
    try store.execute("UPDATE operations SET state = 'waiting', nextAttemptAt = \(world.clock.now + 1000)")
    #expect(try flags() == [false, true])
    world.clock.advance(2)
    #expect(try flags() == [true, true])
  }

  @Test func `a change behind many that are held is found by its zone`() throws {
    _ = try store.enqueue((0..<500).map { world.put("held\($0)", zone: "first", [:]) })
    try store.accept(world.put("free", zone: "second", [:]))
    _ = try store.pause(.zone(ZoneKey(zone: "first")), actor: "ana")
    #expect(try flags() == [true, true])
  }

  @Test func `a change behind many of a paused type is found by its type`() throws {
    _ = try store.enqueue((0..<500).map { world.put("held\($0)", type: "Note", [:]) })
    try store.accept(world.put("free", type: "Task", [:]))
    _ = try store.pause(.type("Note"), actor: "ana")
    #expect(try flags() == [true, true])
  }

  @Test func `an atomic group with a member of a paused type cannot be sent, also when its back-off is over`() throws {
    _ = try store.enqueue([world.put("a", type: "Note", [:]), world.put("b", type: "Task", [:])], group: "g")
    try store.execute("UPDATE operations SET state = 'waiting', nextAttemptAt = 5 WHERE name = 'b'")
    #expect(try flags() == [true, true])
    _ = try store.pause(.type("Task"), actor: "ana")
    #expect(try flags() == [false, false])
  }

  @Test func `a verdict of blocked changes names what blocks them`() throws {
    let parent = try family()
    try store.execute("UPDATE operations SET state = 'paused' WHERE id = ?", [parent])
    #expect(try store.status().verdict(hasCredential: true) == .partlyPaused(1, single: 1))
  }

  @Test func `a wait that the server asked for one change is throttled, not retrying`() async throws {
    let device = try world.device("device")
    device.transport.interfere { operation, _, _ in
      operation == "records/modify" ? .refusing("a", "THROTTLED", "slow down", retryAfter: 60) : .pass
    }
    try device.store.accept(world.put("a", [:]))
    try await device.sync()
    let status = try device.store.status()
    #expect(status.verdict(hasCredential: true).name == "notSyncing")
    var live = status
    live.syncingProcess?.isLive = true
    #expect(live.verdict(hasCredential: true).name == "throttled")
  }

  @Test func `discarding the last save ends the trouble with the quota`() async throws {
    let device = try world.device("device")
    device.transport.answer(
      "records/modify",
      status: 413,
      #"{"serverErrorCode": "QUOTA_EXCEEDED", "reason": "full"}"#
    )
    try device.store.accept(world.put("a", [:]))
    try await device.sync()
    #expect(try device.store.status().verdict(hasCredential: true).name == "blocked")

    _ = try device.store.perform(.discard, on: .all, actor: "ana")

    #expect(try device.store.status().quotaProblem == nil)
    #expect(try device.store.status().throttles == [])
  }
}
