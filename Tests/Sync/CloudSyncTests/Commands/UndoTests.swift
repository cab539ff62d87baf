import CloudKit
import CloudKitEmulator
import Facts
import GRDB
import Testing

@testable import CloudSync

/// Whatever a resolution, a policy, a discard or an undo overwrites can be had back, on either side, and keeps its time.
@Suite(.serialized) struct UndoTests {
  private struct Rivals {
    let world: World
    let mine: TestDevice
    let theirs: TestDevice
    /// This device's change of record `a`.
    let id: Int64
    /// When it was made.
    let editedAt: Int64

    var server: [String: EmulatorValue]? { world.onServer("a") }

    /// The other device sends a change.
    func overtake(_ fields: [String: FieldValue]?) async throws {
      world.clock.advance(10)
      try await theirs.sync()
      try theirs.store.accept(fields.map { world.put("a", $0) } ?? world.delete("a"))
      try await theirs.sync()
      world.clock.advance(10)
    }

    /// The fields that a decision for the newest side would send.
    func newest(_ id: Int64) throws -> Set<String> {
      try mine.store.preview(id, take: .newest).resolution?.left?.names ?? []
    }

    func undo(_ id: Int64) throws -> Int64 {
      guard case .enqueued(let operation) = try mine.store.undo(id, actor: "ana") else { throw Unexpected() }
      return operation
    }
  }

  private struct Unexpected: Error {}

  /// Both devices know record `a` with `x` and `y` 0; this one changed it, then the other, which was sent first.
  private func rivals(
    _ policy: ConflictPolicy = .manual,
    mine: [String: FieldValue]? = ["x": .int64(2)],
    theirs: [String: FieldValue]? = ["x": .int64(1)],
    isLater: Bool = false
  ) async throws -> Rivals {
    let world = try World()
    let (device, other) = (try world.device("mine", policy: policy), try world.device("theirs"))
    try device.store.accept(world.put("a", ["x": .int64(0), "y": .int64(0)]))
    try await device.sync()
    try await other.sync()
    world.clock.advance(10)
    func change(_ fields: [String: FieldValue]?) -> Change { fields.map { world.put("a", $0) } ?? world.delete("a") }
    var (id, editedAt): (Int64, Int64) = (0, 0)
    if !isLater { (id, editedAt) = (try device.store.accept(change(mine)), world.clock.now) }
    world.clock.advance(10)
    try other.store.accept(change(theirs))
    try await other.sync()
    world.clock.advance(10)
    if isLater { (id, editedAt) = (try device.store.accept(change(mine)), world.clock.now) }
    try await device.sync()
    world.clock.advance(10)
    return Rivals(world: world, mine: device, theirs: other, id: id, editedAt: editedAt)
  }

  // MARK: - The time of the edit

  @Test(arguments: ["resolved", "discarded"])
  func `an undo keeps the time of the edit, so that the newest side stays the newest`(_ way: String) async throws {
    let rivals = try await rivals()
    #expect(try rivals.newest(rivals.id) == [])

    if way == "resolved" {
      _ = try rivals.mine.store.resolve(rivals.id, take: .server, actor: "ana")
    } else {
      _ = try rivals.mine.store.perform(.discard, on: .ids([rivals.id]), actor: "ana")
    }
    rivals.world.clock.advance(1000)
    let again = try rivals.undo(rivals.id)

    #expect(try rivals.newest(again) == [])
    #expect(try rivals.mine.store.operation(again).editedAt == rivals.editedAt)
    _ = try rivals.mine.store.resolve(again, take: .newest, actor: "ana")
    try await rivals.mine.sync()
    #expect(rivals.server?["x"] == .int64(1))
  }

  @Test func `what a policy dropped and an undo queues again loses against a newer edit`() async throws {
    let rivals = try await rivals(.newest)
    #expect(try rivals.mine.store.dropped().map(\.editedAt) == [rivals.editedAt])

    let again = try rivals.undo(rivals.id)
    #expect(try rivals.mine.store.operation(again).editedAt == rivals.editedAt)
    try await rivals.overtake(["x": .int64(9)])
    try await rivals.mine.sync()

    #expect(rivals.server?["x"] == .int64(9))
    #expect(try rivals.mine.store.status().dropped.unseen == 2)
  }

  @Test func `a discarded change keeps its time`() async throws {
    let world = try World()
    let device = try world.device("mine")
    let id = try device.store.accept(world.put("a", ["x": .int64(1)]))
    let before = try device.store.operation(id)
    world.clock.advance(1000)
    _ = try device.store.perform(.discard, on: .ids([id]), actor: "ana")
    world.clock.advance(1000)

    #expect(try device.store.undo(id, actor: "ana") == .enqueued(id))
    #expect(try device.store.operation(id) == before)
  }

  // MARK: - The server's side

  @Test func `a sent resolution for this side is undone by the server's former values, and that in turn`() async throws
  {
    let rivals = try await rivals(mine: ["x": .int64(2), "y": .int64(2)])
    _ = try rivals.mine.store.resolve(rivals.id, take: .local, actor: "ana")
    try await rivals.mine.sync()
    #expect(rivals.server == ["x": .int64(2), "y": .int64(2)])

    let again = try rivals.undo(rivals.id)
    #expect(try rivals.mine.store.queue() == ["save a pending"])
    try await rivals.mine.sync()
    // Only what the server had against it: nobody else had changed the other field.
    #expect(rivals.server == ["x": .int64(1), "y": .int64(2)])

    _ = try rivals.undo(again)
    try await rivals.mine.sync()
    #expect(rivals.server == ["x": .int64(2), "y": .int64(2)])
    #expect(try rivals.mine.store.status().dropped.unseen == 0)
  }

  @Test func `the server's former value is a conflict if the server has moved on since`() async throws {
    let rivals = try await rivals()
    _ = try rivals.mine.store.resolve(rivals.id, take: .local, actor: "ana")
    try await rivals.mine.sync()
    try await rivals.overtake(["x": .int64(9)])
    try await rivals.mine.sync()

    let again = try rivals.undo(rivals.id)

    let conflict = try #require(try rivals.mine.store.conflict(again))
    #expect(conflict.fields == [.init(name: "x", base: .int64(2), local: .int64(1), server: .int64(9))])
    #expect(conflict.cause == .conflict(.fields(["x"])))
    #expect(try rivals.newest(again) == [])
    #expect(try rivals.mine.store.dropped() == [])
  }

  @Test func `a resolution that takes both sides is undone on both sides`() async throws {
    let both: [String: FieldValue] = ["x": .int64(2), "y": .int64(2)]
    let rivals = try await rivals(mine: both, theirs: ["x": .int64(1), "y": .int64(1)])
    _ = try rivals.mine.store.resolve(rivals.id, take: .local, fields: ["x": .server], actor: "ana")
    try await rivals.mine.sync()
    #expect(rivals.server == ["x": .int64(1), "y": .int64(2)])

    let again = try rivals.undo(rivals.id)

    let conflict = try #require(try rivals.mine.store.conflict(again))
    #expect(conflict.fields == [.init(name: "x", base: .int64(0), local: .int64(2), server: .int64(1))])
    _ = try rivals.mine.store.resolve(again, take: .local, actor: "ana")
    try await rivals.mine.sync()
    #expect(rivals.server == ["x": .int64(2), "y": .int64(1)])
  }

  @Test func `an undo after the conflict changed restores the latest value that was overwritten`() async throws {
    let rivals = try await rivals()
    _ = try rivals.mine.store.resolve(rivals.id, take: .local, actor: "ana")
    try await rivals.overtake(["x": .int64(5)])
    try await rivals.mine.sync()
    _ = try rivals.mine.store.resolve(rivals.id, take: .local, actor: "ana")
    try await rivals.mine.sync()
    #expect(rivals.server?["x"] == .int64(2))

    _ = try rivals.undo(rivals.id)
    try await rivals.mine.sync()

    #expect(rivals.server?["x"] == .int64(5))
  }

  @Test(arguments: [ConflictPolicy.client, .newest])
  func `a policy for this side keeps what it overwrites, as nothing that a person has to see`(
    _ policy: ConflictPolicy
  ) async throws {
    let rivals = try await rivals(policy, isLater: true)
    #expect(rivals.server?["x"] == .int64(2))
    let dropped = try #require(try rivals.mine.store.dropped().first)
    #expect(dropped.cause == .localKept(fields: ["x"]))
    #expect(dropped.overwritten?.values == FieldChanges(values: ["x": .int64(1)]))
    #expect(try rivals.mine.store.status().dropped == StoreStatus.Dropped(unseen: 0, total: 1))

    _ = try rivals.undo(rivals.id)
    try await rivals.mine.sync()

    #expect(rivals.server == ["x": .int64(1), "y": .int64(0)])
  }

  @Test func `what a policy decided for this side is a conflict if it is undone before it is sent`() async throws {
    let rivals = try await rivals(.client)
    let id = try rivals.mine.store.accept(rivals.world.put("a", ["x": .int64(4), "y": .int64(4)]))
    try await rivals.overtake(["x": .int64(3)])
    rivals.mine.transport.answer(
      "records/modify",
      #"{"records": [{"recordName": "a", "serverErrorCode": "INTERNAL_ERROR", "reason": "no"}]}"#
    )
    try await rivals.mine.sync()
    rivals.mine.transport.interfere(nil)
    #expect(try rivals.mine.store.dropped().map(\.cause) == [.localKept(fields: ["x"])])

    #expect(try rivals.undo(id) == id)

    let conflict = try #require(try rivals.mine.store.conflict(id))
    #expect(conflict.fields == [.init(name: "x", base: .int64(2), local: .int64(4), server: .int64(3))])
    #expect(try rivals.mine.store.operation(id).changes.names == ["x", "y"])
  }

  @Test(arguments: [ConflictPolicy.manual, .client])
  func `a deletion that was sent over an edit is undone by the edited record`(_ policy: ConflictPolicy) async throws {
    let rivals = try await rivals(policy, mine: nil)
    if policy == .manual { _ = try rivals.mine.store.resolve(rivals.id, take: .local, actor: "ana") }
    try await rivals.mine.sync()
    #expect(rivals.server == nil)

    let again = try rivals.undo(rivals.id)
    try await rivals.mine.sync()
    #expect(rivals.server == ["x": .int64(1), "y": .int64(0)])

    _ = try rivals.undo(again)
    try await rivals.mine.sync()
    #expect(rivals.server == nil)
  }

  @Test func `a decision to delete is a conflict again if it is undone before it is sent`() async throws {
    let rivals = try await rivals(mine: nil)
    _ = try rivals.mine.store.resolve(rivals.id, take: .local, actor: "ana")

    #expect(try rivals.undo(rivals.id) == rivals.id)

    #expect(try rivals.mine.store.conflict(rivals.id)?.kind == .delete)
    try await rivals.mine.sync()
    #expect(rivals.server?["x"] == .int64(1))
  }

  @Test(arguments: [ConflictPolicy.manual, .client])
  func `an edit that was sent over a deletion is undone by the deletion`(_ policy: ConflictPolicy) async throws {
    let rivals = try await rivals(policy, theirs: nil)
    if policy == .manual { _ = try rivals.mine.store.resolve(rivals.id, take: .local, actor: "ana") }
    try await rivals.mine.sync()
    #expect(rivals.server == ["x": .int64(2), "y": .int64(0)])

    let again = try rivals.undo(rivals.id)
    #expect(try rivals.mine.store.operation(again).kind == .delete)
    try await rivals.mine.sync()
    #expect(rivals.server == nil)

    _ = try rivals.undo(again)
    try await rivals.mine.sync()
    #expect(rivals.server == ["x": .int64(2), "y": .int64(0)])
  }

  @Test func `a deletion that is restored is a conflict if the record was edited since`() async throws {
    let rivals = try await rivals(theirs: nil)
    _ = try rivals.mine.store.resolve(rivals.id, take: .local, actor: "ana")
    try await rivals.mine.sync()
    try await rivals.overtake(["y": .int64(7)])
    try await rivals.mine.sync()

    let again = try rivals.undo(rivals.id)
    try await rivals.mine.sync()

    #expect(try rivals.mine.store.conflict(again)?.cause == .conflict(.deletedHere))
    #expect(rivals.server?["y"] == .int64(7))
  }

  @Test func `a record recreated here over the edited one is undone by the edited one`() async throws {
    let world = try World()
    let (mine, theirs) = (try world.device("mine", policy: .client), try world.device("theirs"))
    try mine.store.accept(world.put("a", ["x": .int64(0), "y": .int64(0)]))
    try await mine.sync()
    try await theirs.sync()
    try mine.store.accept(world.delete("a"))
    let id = try mine.store.accept(world.put("a", ["new": .int64(2)]))
    world.clock.advance(10)
    try theirs.store.accept(world.put("a", ["x": .int64(1)]))
    try await theirs.sync()
    try await mine.sync()
    #expect(world.onServer("a") == ["new": .int64(2)])

    _ = try mine.store.undo(id, actor: "ana")
    try await mine.sync()

    #expect(world.onServer("a") == ["x": .int64(1), "y": .int64(0)])
  }

  @Test func `an overwritten list of elements gets back what our side had taken from it`() {
    func list(_ numbers: [Int64]) -> FieldValue { .list(.int64, numbers.map(FieldValue.int64)) }
    let rules: [String: MergeRule] = ["n": .elements]
    let sent = FieldChanges(values: ["n": list([1])], rules: rules)
    var operation = QueuedOperation.save("a")
    operation.apply(.conflicted(.fields(["n"]), now: 0))
    let overwritten = Overwritten(["n"], of: ["n": list([1, 2])], by: sent)
    let dropped = DroppedChange(nil, of: operation, .resolved(by: .person), overwriting: overwritten, at: 0)

    let restoration = Restoration([dropped], of: nil, over: ["n": list([1, 3])])

    #expect(restoration.changes == FieldChanges(values: ["n": list([1, 2, 3])], rules: rules))
  }

  // MARK: - Undoing an undo

  @Test func `an undo is taken back before it is sent, and what it had queued can be had back`() async throws {
    let rivals = try await rivals(.server)
    let again = try rivals.undo(rivals.id)
    #expect(try rivals.mine.store.queue() == ["save a pending"])

    #expect(try rivals.undo(again) == again)
    #expect(try rivals.mine.store.queue() == [])
    try await rivals.mine.sync()
    #expect(rivals.server?["x"] == .int64(1))

    let third = try rivals.undo(again)
    #expect(try rivals.mine.store.operation(third).editedAt == rivals.editedAt)
    try await rivals.mine.sync()
    #expect(rivals.server?["x"] == .int64(2))
  }

  @Test func `an undo that recreates or deletes the record is taken back as a whole`() async throws {
    for (mine, theirs) in [(["x": .int64(2)], nil), (nil, ["x": .int64(1)])]
      as [([String: FieldValue]?, [String: FieldValue]?)]
    {
      let rivals = try await rivals(.server, mine: mine, theirs: theirs)
      let server = rivals.server
      let again = try rivals.undo(rivals.id)

      let result = try rivals.mine.store.undo([again], actor: "ana")
      #expect(result.changed == [again] && result.withdrawn == 1)
      try await rivals.mine.sync()
      #expect(rivals.server == server)

      #expect(try rivals.undo(again) == again)
      try await rivals.mine.sync()
      let restored: [String: EmulatorValue]? = mine == nil ? nil : ["x": .int64(2), "y": .int64(0)]
      #expect(rivals.server == restored)
    }
  }

  // MARK: - Whole operations

  /// A device with an operation in this state, which a request has failed already.
  private func failed(_ state: OperationState) async throws -> (world: World, device: TestDevice, id: Int64) {
    let world = try World()
    let device = try world.device("mine")
    try device.store.accept(world.put("a", ["x": .int64(0)]))
    try await device.sync()
    let id = try device.store.accept(world.put("a", ["x": .int64(1)]))
    let code = state == .failed ? "BAD_REQUEST" : "INTERNAL_ERROR"
    device.transport.answer(
      "records/modify",
      #"{"records": [{"recordName": "a", "serverErrorCode": "\#(code)", "reason": "no"}]}"#
    )
    try await device.sync()
    device.transport.interfere(nil)
    if state == .paused { _ = try device.store.perform(.pause, on: .ids([id]), actor: "ana") }
    try #require(try device.store.operation(id).state == state)
    return (world, device, id)
  }

  @Test(arguments: [OperationState.failed, .paused])
  func `undoing a discard brings the operation back as it was`(_ state: OperationState) async throws {
    let (_, device, id) = try await failed(state)
    let before = try #require(try device.store.detail(of: id))
    let version = try device.store.versions(of: [id])
    _ = try device.store.perform(.discard, on: .ids([id]), actor: "ana")
    #expect(try device.store.detail(of: id)?.history?.ending == .discarded)

    let result = try device.store.undo([id], actor: "ana")

    #expect(result.changed == [id])
    #expect(result.failedAgain == (state == .failed ? 1 : 0) && result.pausedAgain == (state == .paused ? 1 : 0))
    var after = try #require(try device.store.detail(of: id))
    #expect(after.dropped.map(\.isOpen) == [false])
    after.dropped = []
    #expect(after == before)
    #expect(try device.store.versions(of: [id]) == version)
    #expect(try device.store.endings() == ["save a acknowledged"])
    #expect(try device.store.causes().map(\.count) == (state == .failed ? [1] : []))
  }

  @Test func `a retrying change comes back pending, and a server's wait goes on`() async throws {
    let (world, device, id) = try await failed(.waiting)
    let attempts = try device.store.operation(id).attempts
    _ = try device.store.perform(.discard, on: .ids([id]), actor: "ana")
    _ = try device.store.undo(id, actor: "ana")
    let back = try device.store.operation(id)
    #expect(back.state == .pending && back.attempts == attempts && attempts > 0)

    let end = world.clock.now + 60_000
    try device.store.execute(
      "UPDATE operations SET state = 'waiting', isServersWait = 1, nextAttemptAt = ?",
      [end]
    )
    _ = try device.store.perform(.discard, on: .ids([id]), actor: "ana")
    _ = try device.store.undo(id, actor: "ana")
    #expect(try device.store.operation(id).nextAttemptAt == end)
  }

  @Test func `a failed change is compared with what the server has changed since once it is retried`() async throws {
    let (world, device, id) = try await failed(.failed)
    _ = try device.store.perform(.discard, on: .ids([id]), actor: "ana")
    try world.saveOnServer("a", ["x": .int64(5)])
    try await device.sync()

    _ = try device.store.undo(id, actor: "ana")

    let back = try device.store.operation(id)
    #expect(back.state == .failed && back.needsVerification && back.cause.notes == [.serverRecordChanged])
    #expect(back.errorCode == "BAD_REQUEST")
    _ = try device.store.perform(.retry, on: .ids([id]), actor: "ana")
    try await device.sync()
    #expect(world.onServer("a")?["x"] == .int64(5))
    #expect(try device.store.status().dropped.unseen == 1)
  }

  @Test func `a discarded edit of a record that others deleted since is a conflict with what it was based on`()
    async throws
  {
    let world = try World()
    let (device, other) = (try world.device("mine"), try world.device("theirs"))
    try device.store.accept(world.put("a", ["x": .int64(0)]))
    try await device.sync()
    let id = try device.store.accept(world.put("a", ["x": .int64(1)]))
    _ = try device.store.perform(.discard, on: .ids([id]), actor: "ana")
    try await other.sync()
    try other.store.accept(world.delete("a"))
    try await other.sync()
    try await device.sync()

    _ = try device.store.undo(id, actor: "ana")

    let conflict = try #require(try device.store.conflict(id))
    #expect(conflict.isDeletedOnServer)
    #expect(conflict.fields == [.init(name: "x", base: .int64(0), local: .int64(1), server: nil)])
  }

  @Test func `a resolution can still be undone after its operation was discarded and brought back`() async throws {
    let rivals = try await rivals()
    let before = try #require(try rivals.mine.store.conflict(rivals.id))
    _ = try rivals.mine.store.resolve(rivals.id, take: .local, actor: "ana")
    _ = try rivals.mine.store.perform(.discard, on: .ids([rivals.id]), actor: "ana")

    #expect(try rivals.undo(rivals.id) == rivals.id)
    #expect(try rivals.mine.store.queue() == ["save a pending"])
    #expect(try rivals.undo(rivals.id) == rivals.id)

    #expect(try rivals.mine.store.conflict(rivals.id)?.fields == before.fields)
  }

  @Test func `a discarded group comes back as a group`() throws {
    let world = try World()
    let device = try world.device("mine")
    let changes = ["a", "b", "c"].map { world.put($0, ["x": .int64(1)]) }
    _ = try device.store.enqueue(changes, group: "g")
    _ = try device.store.perform(.discard, on: .ids([1, 2, 3]), actor: "ana")

    _ = try device.store.undo([3, 2, 1], actor: "ana")

    #expect(try device.store.operations().rows.map(\.group) == ["g", "g", "g"])
  }

  @Test func `in a zone that is to be deleted a discarded change comes back under another number`() throws {
    let world = try World()
    let device = try world.device("mine")
    let id = try device.store.accept(world.put("a", ["x": .int64(1)]))
    try device.store.accept(world.put("b", ["x": .int64(1)]))
    _ = try device.store.perform(.discard, on: .ids([id]), actor: "ana")
    _ = try device.store.enqueueZoneDeletion(world.key("a").zoneKey)

    guard case .enqueued(let again) = try device.store.undo(id, actor: "ana") else { throw Unexpected() }

    // Changes up to the last one before the deletion of the zone are superseded by it.
    #expect(again > 2)
    #expect(try device.store.operation(again).state == .pending)
  }

  // MARK: - Deletions

  /// Record `a` with `x` and `y` 0, whose unsent edit of `x` a deletion dropped.
  private func deleted() async throws -> (world: World, device: TestDevice, id: Int64) {
    let world = try World()
    let device = try world.device("mine", policy: .manual)
    try device.store.accept(world.put("a", ["x": .int64(0), "y": .int64(0)]))
    try await device.sync()
    let id = try device.store.accept(world.put("a", ["x": .int64(2)]))
    #expect(try device.store.accept(world.delete("a")) == id)
    return (world, device, id)
  }

  @Test func `an edit that a deletion dropped is queued again as it was`() async throws {
    let (world, device, id) = try await deleted()
    #expect(try device.store.queue() == ["delete a pending"])

    #expect(try device.store.undo(id, actor: "ana") == .enqueued(id))

    #expect(try device.store.queue() == ["save a pending"])
    #expect(try device.store.dropped() == [])
    try await device.sync()
    #expect(world.onServer("a") == ["x": .int64(2), "y": .int64(0)])
  }

  @Test func `a conflict whose record was deleted here is open again with both sides`() async throws {
    let rivals = try await rivals()
    let before = try #require(try rivals.mine.store.conflict(rivals.id))
    try rivals.mine.store.accept(rivals.world.delete("a"))
    #expect(try rivals.mine.store.queue() == ["delete a pending"])

    #expect(try rivals.undo(rivals.id) == rivals.id)

    #expect(try rivals.mine.store.conflict(rivals.id)?.fields == before.fields)
    _ = try rivals.mine.store.resolve(rivals.id, take: .local, actor: "ana")
    try await rivals.mine.sync()
    #expect(rivals.server == ["x": .int64(2), "y": .int64(0)])
  }

  @Test func `a record that was deleted before it was ever sent comes back whole`() async throws {
    let world = try World()
    let device = try world.device("mine")
    let id = try device.store.accept(world.put("a", ["x": .int64(1)]))
    try device.store.accept(world.delete("a"))
    #expect(try device.store.queue() == [])

    #expect(try device.store.undo(id, actor: "ana") == .enqueued(id))
    try await device.sync()

    #expect(world.onServer("a") == ["x": .int64(1)])
    #expect(try device.store.endings() == ["save a acknowledged"])
  }

  @Test func `after the deletion was sent, the record is recreated with the edit`() async throws {
    let (world, device, id) = try await deleted()
    try await device.sync()
    #expect(world.onServer("a") == nil)

    guard case .enqueued(let again) = try device.store.undo(id, actor: "ana") else { throw Unexpected() }
    #expect(try device.store.operation(again).state == .pending)
    try await device.sync()

    #expect(world.onServer("a") == ["x": .int64(2), "y": .int64(0)])
  }

  @Test func `an edit that was on its way when its record was deleted can be undone after the deletion was sent`()
    async throws
  {
    let world = try World()
    let device = try world.device("mine", policy: .manual)
    let store = device.store
    try store.accept(world.put("a", ["x": .int64(0)]))
    try await device.sync()
    let id = try store.accept(world.put("a", ["x": .int64(2)]))
    let first = device.transport.count("records/modify") + 1
    device.transport.interfere { operation, number, _ in
      guard operation == "records/modify", number == first else { return .pass }
      #expect(throws: Never.self) { try store.accept(world.delete("a")) }
      #expect(throws: StoreError.self) { try store.undo(id, actor: "ana") }
      return .pass
    }
    try await device.sync()
    #expect(world.onServer("a") == nil)

    _ = try store.undo(id, actor: "ana")
    try await device.sync()

    #expect(world.onServer("a") == ["x": .int64(2)])
  }

  @Test func `a new edit of a deleted record ends the undo of what the deletion dropped`() async throws {
    let (world, device, id) = try await deleted()

    try device.store.accept(world.put("a", ["x": .int64(3)]))

    #expect(throws: StoreError.self) { try device.store.undo(id, actor: "ana") }
  }
}
