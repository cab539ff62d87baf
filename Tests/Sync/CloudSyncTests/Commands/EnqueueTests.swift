import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import JSONText
import Testing

@testable import CloudSync

/// Accepting changes: what merges into what, and what is refused.
@Suite(.serialized) struct EnqueueTests {
  private let world: World
  private let store: SyncStore

  init() throws {
    world = try World()
    store = try world.open("store")
  }

  @Test func `an accepted change is in the queue with its reason`() throws {
    let id = try store.accept(world.put("a", ["text": .string("hello")]))

    let operation = try store.operation(id)
    #expect(operation.state == .pending)
    #expect(operation.cause == .zoneFirst(zone: world.scope.zoneForChangesWithoutOne.zone))
    #expect(operation.generation == 1)
    #expect(operation.enqueuedAt == world.clock.now)
    #expect(operation.changes == FieldChanges(values: ["text": .string("hello")]))
  }

  @Test func `later edits of a record merge into one operation`() throws {
    let first = try store.accept(world.put("a", ["text": .string("1"), "number": .int64(1)]))
    let second = try store.accept(world.put("a", ["text": .string("2")]))

    #expect(first == second)
    let operation = try store.operation(first)
    #expect(operation.generation == 2)
    #expect(operation.changes.values == ["text": .string("2"), "number": .int64(1)])
  }

  @Test func `an equal put is unchanged`() throws {
    try store.accept(world.put("a", ["text": .string("1")]))

    #expect(try store.enqueue([world.put("a", ["text": .string("1")])]) == [.unchanged])
    #expect(try store.enqueue([world.put("a", [:])]) == [.unchanged])
  }

  @Test func `a put that equals the mirror is unchanged`() async throws {
    let device = try world.device("store")
    try store.accept(world.put("a", ["text": .string("1")]))
    try await device.sync()

    #expect(try store.enqueue([world.put("a", ["text": .string("1")])]) == [.unchanged])
    #expect(try store.status().queue.total == 0)
  }

  @Test func `a creation that never left ends as superseded by its delete`() throws {
    try store.accept(world.put("a", ["text": .string("1")]))
    try store.accept(world.delete("a"))

    #expect(try store.queue() == [])
    #expect(try store.endings() == ["save a superseded"])
  }

  @Test func `save, delete, save of a known record ends as the last save`() async throws {
    let device = try world.device("store")
    try store.accept(world.put("a", ["old": .int64(1), "both": .int64(1)]))
    try await device.sync()

    try store.accept(world.put("a", ["old": .int64(2)]))
    try store.accept(world.delete("a"))
    #expect(try store.queue() == ["delete a pending"])
    try store.accept(world.put("a", ["both": .int64(3)]))
    #expect(try store.queue() == ["save a pending"])
    try await device.sync()

    #expect(world.onServer("a") == ["both": .int64(3)])
    #expect(try store.mirror("a") == ["both": .int64(3)])
  }

  @Test func `a second delete is unchanged`() throws {
    try store.accept(world.delete("a"))

    #expect(try store.enqueue([world.delete("a")]) == [.unchanged])
  }

  @Test func `a record over one megabyte is refused with its size`() throws {
    let text = String(repeating: "x", count: 1_000_001)

    let accepted = try store.enqueue([world.put("a", ["text": .string(text)]), world.put("b", ["text": .string("b")])])

    #expect(accepted.first == .refused("the record has 1000005 bytes; the server takes at most 1000000"))
    #expect(try store.queue() == ["save b pending"])
  }

  @Test func `a record that grows over one megabyte by edits is refused`() throws {
    try store.accept(world.put("a", ["one": .string(String(repeating: "x", count: 600_000))]))

    let accepted = try store.enqueue([world.put("a", ["two": .string(String(repeating: "x", count: 600_000))])])

    #expect(accepted != [.enqueued(1)])
    #expect(try store.operation(1).changes.names == ["one"])
  }

  @Test func `another type for a known name is refused`() async throws {
    let device = try world.device("store")
    try store.accept(world.put("queued", type: "Note", [:]))
    try store.accept(world.put("known", type: "Note", [:]))

    #expect(
      try store.enqueue([world.put("queued", type: "Task", [:])])
        == [.refused("queued is a record of type Note, not Task")]
    )
    try await device.sync()
    #expect(
      try store.enqueue([world.put("known", type: "Task", [:])])
        == [.refused("known is a record of type Note, not Task")]
    )
    try store.accept(world.delete("known"))
    let next = "; cktop sync sends its deletion, then it can be created again"
    #expect(
      try store.enqueue([world.put("known", type: "Task", [:])])
        == [.refused("known is a record of type Note, not Task" + next)]
    )
  }

  @Test(arguments: ["", String(repeating: "x", count: 256), "a\0b"])
  func `a name that is none is refused`(_ name: String) throws {
    guard case .refused? = try store.enqueue([world.put(name, [:])]).first else {
      Issue.record("accepted")
      return
    }
    #expect(try store.queue() == [])
  }

  @Test func `the public database has no zones of one's own`() throws {
    let world = try World(.public)
    let store = try world.open("public")

    guard case .refused? = try store.enqueue([world.put("a", zone: "mine", [:])]).first,
      case .refused? = try Optional(store.enqueueZone(ZoneKey(zone: "mine")))
    else {
      Issue.record("accepted")
      return
    }
    #expect(try store.queue() == [])
  }

  @Test func `the public database has no encrypted fields`() throws {
    let secret = world.put("a", zone: "_defaultZone", ["pin": .encrypted(.int64(1))])

    for (database, isRefused) in [(DatabaseName.public, true), (.private, false)] {
      let world = try World(database)
      let accepted = try world.open("mine").enqueue([secret]).first
      let wasRefused = if case .refused? = accepted { true } else { false }
      #expect(wasRefused == isRefused)
    }
  }

  @Test func `an edit of a dead letter makes it ready again`() throws {
    let id = try store.accept(world.put("a", ["x": .int64(1)]))
    try store.execute("UPDATE operations SET state = 'failed', attempts = 8, errorCode = 'BAD_REQUEST', reason = 'no'")

    try store.accept(world.put("a", ["x": .int64(2)]))

    let operation = try store.operation(id)
    #expect(operation.state == .pending)
    #expect(operation.attempts == 0)
    #expect(operation.errorCode == nil)
  }

  @Test func `an edit of a paused operation leaves it paused`() throws {
    let id = try store.accept(world.put("a", ["x": .int64(1)]))
    _ = try store.perform(.pause, on: .ids([id]), actor: "test")

    try store.accept(world.put("a", ["x": .int64(2)]))

    #expect(try store.operation(id).state == .paused)
    #expect(try store.operation(id).changes.values == ["x": .int64(2)])
  }

  @Test func `changes of a group are in one custom zone and fit one request`() throws {
    #expect(throws: StoreError.self) {
      try store.enqueue([world.put("a", zone: "one", [:]), world.put("b", zone: "two", [:])], group: "g")
    }
    #expect(throws: StoreError.self) {
      try store.enqueue([world.put("a", zone: "_defaultZone", [:])], group: "g")
    }
    #expect(throws: StoreError.self) {
      try store.enqueue((0..<201).map { world.put("r\($0)", [:]) }, group: "g")
    }
    #expect(try store.queue() == [])
    _ = try store.enqueue((0..<200).map { world.put("r\($0)", [:]) }, group: "g")
    #expect(throws: StoreError.self) { try store.enqueue([world.put("one more", [:])], group: "g") }
  }

  @Test func `a queued change joins the group of a later edit`() throws {
    let first = try store.accept(world.put("a", ["x": .int64(1)]))
    let second = try store.accept(world.put("b", ["x": .int64(1)]), group: "old")
    let third = try store.accept(world.put("c", ["x": .int64(1)]), group: "old")

    _ = try store.enqueue([world.put("a", ["x": .int64(2)]), world.put("b", ["x": .int64(2)])], group: "new")

    for id in [first, second, third] { #expect(try store.operation(id).group == "new") }
  }

  @Test func `a text of other code points is another text in every kind of field`() async throws {
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

  // MARK: - References

  private func reference(_ name: String) -> FieldValue {
    .reference(WireReference(recordName: name, action: "VALIDATE"))
  }

  @Test func `a save waits for the creation of what it refers to, and says so`() throws {
    let child = try store.accept(world.put("child", ["parent": reference("parent")]))
    #expect(try store.operations().rows.first?.blockedBy == [])

    let parent = try store.accept(world.put("parent", [:]))

    let row = try #require(try store.operations().rows.first { $0.id == child })
    #expect(row.blockedBy == [parent])
    #expect(row.cause == .waitsFor([parent], isGroup: false, names: ["Note/parent"]))
    #expect(try store.detail(of: child)?.operation?.blockedBy == [parent])
  }

  @Test func `references in lists and to other zones count, to itself not`() throws {
    let away = FieldValue.reference(
      WireReference(recordName: "x", zoneID: WireZoneID(zoneName: "other"), action: "VALIDATE")
    )
    let id = try store.accept(
      world.put("a", ["many": .list(.reference, [reference("b"), reference("a"), reference("b")]), "away": away])
    )
    let other = try store.accept(world.put("x", zone: "other", [:]))
    let local = try store.accept(world.put("b", [:]))
    try store.accept(world.put("x", [:]))

    #expect(try store.operations().rows.first { $0.id == id }?.blockedBy == [other, local])
  }

  @Test func `an edit that drops the reference waits no longer`() throws {
    let child = try store.accept(world.put("child", ["parent": reference("parent")]))
    try store.accept(world.put("parent", [:]))

    try store.accept(world.put("child", ["parent": .string("none")]))

    #expect(try store.operations().rows.first { $0.id == child }?.blockedBy == [])
  }

  @Test func `a delete waits for the deletes of what referred to it`() async throws {
    let device = try world.device("store")
    _ = try store.enqueue([world.put("parent", [:]), world.put("child", ["parent": reference("parent")])])
    try await device.sync()

    let parent = try store.accept(world.delete("parent"))
    let child = try store.accept(world.delete("child"))

    #expect(try store.operations().rows.first { $0.id == parent }?.blockedBy == [child])
  }

  // MARK: - Zones

  @Test func `a zone's deletion takes the place of its queued changes`() throws {
    try store.accept(world.put("a", zone: "notes", [:]))
    try store.accept(world.put("b", zone: "other", [:]))

    guard case .enqueued = try store.enqueueZoneDeletion(ZoneKey(zone: "notes")) else {
      Issue.record("not accepted")
      return
    }

    #expect(try store.queue() == ["save b pending", "zoneDelete  pending"])
    #expect(try store.endings() == ["save a superseded"])
    #expect(try store.enqueueZoneDeletion(ZoneKey(zone: "notes")) == .unchanged)
  }

  @Test func `a zone that is to be deleted once more goes with what was put behind its deletion`() throws {
    let first = try store.enqueueZoneDeletion(ZoneKey(zone: "notes"))
    try store.accept(world.put("a", zone: "notes", [:]))
    try store.accept(world.put("b", zone: "other", [:]))

    #expect(try store.enqueueZoneDeletion(ZoneKey(zone: "notes")) == first)

    #expect(try store.queue() == ["zoneDelete  pending", "save b pending"])
    #expect(try store.endings() == ["save a superseded"])
    #expect(try store.dropped().map(\.key.name) == ["a"])
  }

  @Test func `a zone that is wanted again supersedes its deletion`() throws {
    _ = try store.enqueueZoneDeletion(ZoneKey(zone: "notes"))
    _ = try store.enqueueZone(ZoneKey(zone: "notes"))

    #expect(try store.queue() == ["zoneSave  pending"])
    #expect(try store.endings() == ["zoneDelete  superseded"])
  }

  @Test func `a failed zone operation that is asked for again is tried again`() throws {
    _ = try store.enqueueZone(ZoneKey(zone: "notes"))
    try store.execute("UPDATE operations SET state = 'failed', attempts = 8, reason = 'no'")

    _ = try store.enqueueZone(ZoneKey(zone: "notes"))

    #expect(try store.queue() == ["zoneSave  pending"])
  }
}
