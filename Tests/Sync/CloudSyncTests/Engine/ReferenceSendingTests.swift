import CloudKit
import CloudKitEmulator
import Facts
import Testing

@testable import CloudSync

/// References between records: the order of sending, cycles, and records that are missing.
@Suite(.serialized) struct ReferenceSendingTests {
  private let world: World
  private let device: TestDevice
  private var store: SyncStore { device.store }
  private var transport: TestTransport { device.transport }

  init() throws {
    world = try World()
    device = try world.device("store")
  }

  private func link(_ name: String, zone: String? = nil, _ action: String = "VALIDATE") -> FieldValue {
    .reference(WireReference(recordName: name, zoneID: zone.map { WireZoneID(zoneName: $0) }, action: action))
  }

  /// The server deletes with a folder whatever refers to it by `DELETE_SELF`.
  @Test(arguments: [false, true])
  func `a record that is moved out of a folder outlives it, whatever holds the move up`(isPaused: Bool) async throws {
    _ = try store.enqueue([world.put("old", [:]), world.put("new", [:])])
    try store.accept(world.put("note", ["folder": link("old", "DELETE_SELF")]))
    try await device.sync()
    let move = try store.accept(world.put("note", ["folder": link("new", "DELETE_SELF")]))
    let removal = try store.accept(world.delete("old"))
    #expect(try store.operation(removal).blockedBy == [move])

    if isPaused {
      _ = try store.perform(.pause, on: .ids([move]), actor: "test")
      try await device.sync()
      #expect(try store.queue() == ["save note paused", "delete old pending"])
      _ = try store.perform(.resume, on: .ids([move]), actor: "test")
    }
    try await device.sync()

    #expect(try store.queue() == [])
    #expect(world.onServer("old") == nil)
    #expect(world.onServer("note")?["folder"] == .reference(EmulatorReference(recordName: "new", action: .deleteSelf)))
  }

  @Test(arguments: ["DELETE_SELF", "VALIDATE"])
  func `a record that goes on referring to another without depending on it outlives it`(action: String) async throws {
    try store.accept(world.put("folder", [:]))
    try store.accept(world.put("note", ["folder": link("folder", action)]))
    try await device.sync()
    let edit = try store.accept(world.put("note", ["folder": link("folder", "NONE")]))
    let removal = try store.accept(world.delete("folder"))
    #expect(try store.operation(removal).blockedBy == [edit])
    _ = try store.perform(.pause, on: .ids([edit]), actor: "test")
    try await device.sync()
    #expect(world.onServer("note") != nil && world.onServer("folder") != nil)

    _ = try store.perform(.resume, on: .ids([edit]), actor: "test")
    try await device.sync()

    #expect(try store.queue() == [])
    #expect(world.onServer("folder") == nil)
    #expect(world.onServer("note")?["folder"] == .reference(EmulatorReference(recordName: "folder", action: .none)))
  }

  @Test func `a record that lets go of another by an edit on its way outlives it`() async throws {
    _ = try store.enqueue([world.put("old", [:]), world.put("new", [:]), world.put("note", [:])])
    try await device.sync()
    try store.accept(world.put("note", ["folder": link("old", "DELETE_SELF")]))
    transport.interfere { operation, _, _ in operation == "records/modify" ? .answerLost : .pass }
    try await device.sync()
    transport.interfere(nil)
    let move = try store.accept(world.put("note", ["folder": link("new", "DELETE_SELF")]))
    let removal = try store.accept(world.delete("old"))

    #expect(try store.operation(removal).blockedBy == [move])
  }

  @Test func `a record that is moved out of a folder outlives it also where the server refuses the move`() async throws
  {
    _ = try store.enqueue([world.put("old", [:]), world.put("new", [:])])
    try store.accept(world.put("note", ["folder": link("old", "DELETE_SELF")]))
    try await device.sync()
    world.emulator.faults = FaultPlan(rules: [
      FaultRule(when: FaultCondition(operation: "records/modify", recordName: "note", limit: 1), then: .poison)
    ])
    let move = try store.accept(world.put("note", ["folder": link("new", "DELETE_SELF")]))
    try store.accept(world.delete("old"))

    try await device.sync()
    #expect(try store.queue() == ["save note failed", "delete old pending"])
    #expect(world.onServer("note") != nil)
    _ = try store.perform(.retry, on: .ids([move]), actor: "test")
    try await device.sync()

    #expect(try store.queue() == [])
    #expect(world.onServer("note")?["folder"] == .reference(EmulatorReference(recordName: "new", action: .deleteSelf)))
    #expect(world.emulator.statistics.recordsDeleted == 1)
  }

  /// The delete waits for the move, the move for the creation, and this one goes with the delete or not at all.
  @Test(arguments: [false, true])
  func `a record that is moved to what is made together with its folder's deletion outlives that`(isGrouped: Bool)
    async throws
  {
    try store.accept(world.put("old", [:]))
    try store.accept(world.put("note", ["folder": link("old", "DELETE_SELF"), "x": .int64(1)]))
    try await device.sync()
    _ = try store.enqueue([world.delete("old"), world.put("new", [:])], group: "g")
    let move = world.put("note", ["folder": link("new", "DELETE_SELF")])
    _ = try store.enqueue(isGrouped ? [move, world.put("other", [:])] : [move], group: isGrouped ? "h" : nil)

    try await device.sync()

    #expect(try store.queue() == [])
    #expect(world.onServer("old") == nil && world.onServer("new") != nil)
    #expect(world.onServer("note")?["folder"] == .reference(EmulatorReference(recordName: "new", action: .deleteSelf)))
    #expect(world.onServer("note")?["x"] == .int64(1))
    // It has been there all the time.
    #expect(world.emulator.statistics.recordsDeleted == 1)
    #expect(transport.count("records/modify") < 8)
  }

  @Test func `groups each of which moves a record out of what the other deletes go`() async throws {
    _ = try store.enqueue(["a", "b"].map { world.put($0, [:]) })
    try store.accept(world.put("in-a", ["folder": link("a", "DELETE_SELF")]))
    try store.accept(world.put("in-b", ["folder": link("b", "DELETE_SELF")]))
    try await device.sync()
    let none = { (name: String) in Change(world.key(name), .save(type: "Note", FieldChanges(cleared: ["folder"]))) }
    _ = try store.enqueue([world.delete("a"), none("in-b")], group: "g")
    _ = try store.enqueue([world.delete("b"), none("in-a")], group: "h")

    try await device.sync()

    #expect(try store.queue() == [])
    #expect(world.onServer("a") == nil && world.onServer("b") == nil)
    #expect(world.onServer("in-a") != nil && world.onServer("in-b") != nil)
    #expect(try store.endings().allSatisfy { $0.hasSuffix("acknowledged") })
  }

  @Test func `a delete goes before a save that is to refer to what it deletes, as before`() async throws {
    _ = try store.enqueue([world.put("old", [:]), world.put("note", [:])])
    try await device.sync()
    let removal = try store.accept(world.delete("old"))
    try store.accept(world.put("note", ["folder": link("old", "NONE")]))

    #expect(try store.operation(removal).blockedBy == [])
  }

  private func cycle(_ count: Int, _ action: String = "VALIDATE") -> [Change] {
    (0..<count).map { world.put("r\($0)", ["next": link("r\(($0 + 1) % count)", action)]) }
  }

  @Test func `a cycle of references that the server does not insist on goes, however long`() async throws {
    _ = try store.enqueue(cycle(450, "NONE"))

    let summary = try await device.sync()

    #expect(try store.queue() == [])
    #expect(summary.failed == 0 && summary.sent == 450)
    #expect((0..<450).allSatisfy { world.onServer("r\($0)")?["next"] != nil })
  }

  @Test func `a cycle that fills a request goes, with every link`() async throws {
    _ = try store.enqueue(cycle(200))

    let summary = try await device.sync()

    #expect(try store.queue() == [])
    #expect(summary.failed == 0 && summary.sent == 200)
    #expect(transport.count("records/modify") == 1)
    for number in 0..<200 {
      let next = EmulatorValue.reference(
        EmulatorReference(recordName: "r\((number + 1) % 200)", action: .validate)
      )
      #expect(world.onServer("r\(number)")?["next"] == next)
    }
  }

  @Test func `a cycle longer than a request stays until a reference of it is cleared`() async throws {
    _ = try store.enqueue(cycle(450))
    try await device.sync()
    #expect(try store.status().queue.pending == 450)
    #expect(transport.count("records/modify") == 0)

    _ = try store.enqueue([Change(world.key("r7"), .save(type: "Note", FieldChanges(cleared: ["next"])))])
    try await device.sync()
    _ = try store.enqueue([world.put("r7", ["next": link("r8")])])
    try await device.sync()

    #expect(try store.queue() == [])
    #expect((0..<450).allSatisfy { world.onServer("r\($0)")?["next"] != nil })
  }

  @Test func `a cycle that the server rejects as a whole fails as one`() async throws {
    _ = try store.enqueue(cycle(2))
    transport.answer("records/modify", status: 400, #"{"serverErrorCode": "BAD_REQUEST", "reason": "bad"}"#)

    try await device.sync()

    let cause = Cause.failed(.rejected(code: "BAD_REQUEST", message: "bad", group: 2))
    #expect(try store.operations().rows.map(\.cause) == [cause, cause])
    #expect(transport.count("records/modify") == 1)
  }

  @Test(arguments: ["NONE", "DELETE_SELF"])
  func `a reference that the server does not insist on blocks nothing`(action: String) async throws {
    world.emulator.faults = FaultPlan(rules: [FaultRule(when: FaultCondition(recordName: "folder"), then: .poison)])
    try store.accept(world.put("folder", [:]))
    let note = try store.accept(world.put("note", ["folder": link("folder", action)]))
    #expect(try store.operation(note).blockedBy == [])

    try await device.sync()

    #expect(try store.queue() == ["save folder failed"])
    #expect(world.onServer("note") != nil)
  }

  @Test(arguments: ["NONE", "DELETE_SELF"])
  func `a delete does not wait for the delete of a record that only refers to it`(action: String) async throws {
    try store.accept(world.put("folder", [:]))
    try store.accept(world.put("note", ["folder": link("folder", action)]))
    try await device.sync()
    let note = try store.accept(world.delete("note"))
    _ = try store.perform(.pause, on: .ids([note]), actor: "test")
    let folder = try store.accept(world.delete("folder"))

    #expect(try store.operation(folder).blockedBy == [])
    try await device.sync()
    #expect(world.onServer("folder") == nil)
  }

  @Test func `a request saves what is referred to before what refers to it, and deletes it after`() async throws {
    _ = try store.enqueue([world.put("note", ["folder": link("folder", "NONE")]), world.put("folder", [:])])
    try await device.sync()
    _ = try store.enqueue([world.delete("folder"), world.delete("note")])
    try await device.sync()

    let bodies = transport.bodies("records/modify")
    let places = try bodies.map { body in
      try ["folder", "note"].map { try #require(body.firstRange(of: "\"recordName\":\"\($0)\"")).lowerBound }
    }
    #expect(bodies.count == 2)
    #expect(places[0][0] < places[0][1])
    #expect(places[1][1] < places[1][0])
  }

  @Test func `a parent blocks its child`() async throws {
    let folder = try store.accept(world.put("folder", [:]))
    _ = try store.perform(.pause, on: .ids([folder]), actor: "test")
    try store.accept(world.put("note", [FieldChanges.parent: .parent("folder")]))

    try await device.sync()

    #expect(try store.queue() == ["save folder paused", "save note pending"])
  }

  @Test func `a cycle across zones goes`() async throws {
    _ = try store.enqueue([
      world.put("a", zone: "one", ["next": link("b", zone: "two", "NONE"), "x": .int64(1)]),
      world.put("b", zone: "two", ["next": link("a", zone: "one", "NONE"), "x": .int64(2)]),
    ])

    try await device.sync()

    #expect(try store.queue() == [])
    #expect(world.onServer("a", zone: "one")?.count == 2)
    #expect(world.onServer("b", zone: "two")?.count == 2)
    #expect(transport.count("records/modify") == 2)
  }

  @Test func `a group that waits for what waits for a member goes whole`() async throws {
    _ = try store.enqueue([world.put("a", ["next": link("c")]), world.put("b", [:])], group: "g")
    try store.accept(world.put("c", ["next": link("b")]))

    try await device.sync()

    #expect(try store.queue() == [])
    #expect(world.onServer("a")?.count == 1 && world.onServer("c")?.count == 1)
    #expect(transport.bodies("records/modify").filter { $0.contains(#""atomic":true"#) }.count == 1)
  }

  @Test func `groups that wait for each other go`() async throws {
    _ = try store.enqueue([world.put("a", ["next": link("c")]), world.put("b", [:])], group: "g")
    _ = try store.enqueue([world.put("c", ["next": link("b")]), world.put("d", ["next": link("a")])], group: "h")

    try await device.sync()

    #expect(try store.queue() == [])
    #expect(world.emulator.recordCount(in: world.server) == 4)
    #expect(world.onServer("a")?.count == 1)
  }

  @Test func `deletions of a cycle go`() async throws {
    _ = try store.enqueue(cycle(50))
    try await device.sync()
    #expect(world.emulator.recordCount(in: world.server) == 50)

    _ = try store.enqueue((0..<50).map { world.delete("r\($0)") })
    let summary = try await device.sync()

    #expect(summary.failed == 0)
    #expect(try store.queue() == [])
    #expect(world.emulator.recordCount(in: world.server) == 0)
  }

  @Test func `an answer to a cycle that was lost loses no link`() async throws {
    _ = try store.enqueue(cycle(50))
    transport.interfere { operation, number, _ in operation == "records/modify" && number == 1 ? .answerLost : .pass }

    try await device.sync()

    #expect(try store.queue() == [])
    #expect((0..<50).allSatisfy { world.onServer("r\($0)")?["next"] != nil })
    #expect(try store.endings().count == 50)
  }

  @Test func `an edit while a cycle is on its way is sent with its links`() async throws {
    let (store, world) = (store, world)
    _ = try store.enqueue([
      world.put("a", zone: "one", ["next": link("b", zone: "two", "NONE"), "x": .int64(1)]),
      world.put("b", zone: "two", ["next": link("a", zone: "one", "NONE")]),
    ])
    transport.interfere { operation, number, _ in
      guard operation == "records/modify", number == 1 else { return .pass }
      _ = try? store.enqueue([world.put("a", zone: "one", ["x": .int64(2)])])
      return .answerLost
    }

    try await device.sync()

    #expect(try store.queue() == [])
    #expect(world.onServer("a", zone: "one")?["x"] == .int64(2))
    #expect(world.onServer("a", zone: "one")?["next"] != nil)
  }

  @Test func `a cycle behind any number of blocked changes goes`() async throws {
    world.emulator.faults = FaultPlan(rules: [FaultRule(when: FaultCondition(recordName: "dead"), then: .poison)])
    try store.accept(world.put("dead", [:]))
    _ = try store.enqueue((0..<1200).map { world.put("child\($0)", ["parent": link("dead")]) })
    _ = try store.enqueue([world.put("a", ["next": link("b")]), world.put("b", ["next": link("a")])])

    try await device.sync()
    try await device.sync()

    #expect(world.onServer("a") != nil && world.onServer("b") != nil)
    #expect(try store.status().queue.pending == 1200)
  }

  // MARK: - What is referred to is not there

  @Test func `a record whose parent is gone on the server says so, and names it`() async throws {
    try store.accept(world.put("parent", [:]))
    try await device.sync()
    let (server, emulator, now) = (world.server, world.emulator, world.clock.date)
    transport.interfere { operation, _, _ in
      if operation == "records/modify" {
        try? emulator.delete(recordName: "parent", in: server, zone: "cktop", at: now)
      }
      return .pass
    }
    try store.accept(world.put("child", ["parent": link("parent")]))

    try await device.sync()

    let row = try #require(try store.operations().rows.first)
    #expect(row.state == .failed)
    let code = "VALIDATING_REFERENCE_ERROR"
    #expect(row.cause == .failed(.referenceMissing(field: "parent", name: "parent", code: code)))
    #expect(transport.count("records/modify") == 2)
    #expect(transport.count("records/lookup") == 1)
  }

  @Test func `a deletion that is refused because others refer to the record says so, and who`() async throws {
    _ = try store.enqueue([world.put("p", [:]), world.put("a/b", [:])])
    _ = try store.enqueue([world.put("c1", ["r": link("p")]), world.put("c2", ["r": link("p")])])
    _ = try store.enqueue([world.put("c3", ["r": link("p", "NONE")]), world.put("d", ["r": link("a/b")])])
    try await device.sync()
    _ = try store.enqueue([world.delete("p"), world.delete("a/b")])

    try await device.sync()

    let code = "VALIDATING_REFERENCE_ERROR"
    let limit = try #require(try store.operations().rows.first).maxAttempts
    let rows = try store.operations().rows
    #expect(rows.map(\.cause) == [Cause](repeating: .stillReferredTo(code: code, attempt: 1, of: limit), count: 2))
    func cause(_ row: Int) throws -> Cause? { try store.detail(of: rows[row].id)?.operation?.cause }
    let (twice, once) = (
      Referrers(first: "Note/c1", more: 1, isWhole: true), Referrers(first: "Note/d", more: 0, isWhole: true)
    )
    #expect(try cause(0) == .stillReferredTo(code: code, attempt: 1, of: limit, by: twice))
    #expect(try cause(1) == .stillReferredTo(code: code, attempt: 1, of: limit, by: once))

    for _ in 1..<limit {
      world.clock.advance(1000)
      try await device.sync()
    }
    #expect(
      try store.operations().rows.map(\.cause) == [Cause](repeating: .failed(.stillReferredTo(code: code)), count: 2)
    )
    #expect(try cause(0) == .failed(.stillReferredTo(code: code, by: twice)))
    let top = try #require(try store.status().topFailure)
    #expect(top.cause == .failed(.stillReferredTo(code: code)) && top.count == 2)
    #expect(try store.causes().map(\.count) == [2])
  }

  @Test func `only so many records are looked at for those that refer to one`() async throws {
    _ = try store.enqueue([world.put("p", [:]), world.put("c1", ["r": link("p")]), world.put("c2", ["r": link("p")])])
    try await device.sync()
    let key = world.delete("p").key

    let found = try store.storage.read { ledger in try [1, 2, 3].map { try ledger.referrers(of: key, limit: $0) } }

    let one = Referrers(first: "Note/c1", more: 0, isWhole: false)
    #expect(
      found == [
        one, Referrers(first: "Note/c1", more: 1, isWhole: false), Referrers(first: "Note/c1", more: 1, isWhole: true),
      ]
    )
  }

  @Test func `a record whose parent is there after all is tried again`() async throws {
    try store.accept(world.put("parent", [:]))
    try await device.sync()
    transport.interfere { operation, number, _ in
      guard operation == "records/modify", number == 2 else { return .pass }
      let failure = #"{"recordName": "child", "serverErrorCode": "VALIDATING_REFERENCE_ERROR", "reason": "not yet"}"#
      return .answer(status: 200, #"{"records": [\#(failure)]}"#)
    }
    try store.accept(world.put("child", ["parent": link("parent")]))

    try await device.sync()
    #expect(try store.queue() == ["save child waiting"])
    world.clock.advance(10)
    try await device.sync()

    #expect(try store.queue() == [])
  }

  @Test func `what a save refers to is not looked up inside a wait that came with its refusal`() async throws {
    _ = try store.enqueue([world.put("other", [:]), world.put("child", ["of": link("gone")])])
    let items = #"""
      {"records":[{"recordName":"other","serverErrorCode":"THROTTLED","retryAfter":60},
      {"recordName":"child","serverErrorCode":"VALIDATING_REFERENCE_ERROR","reason":"gone"}]}
      """#
    transport.interfere { operation, number, _ in
      operation == "records/modify" && number == 1 ? .answer(status: 200, items) : .pass
    }

    try await device.sync()

    #expect(transport.count("records/modify") == 1)
    #expect(transport.count("records/lookup") == 0)
  }
}
