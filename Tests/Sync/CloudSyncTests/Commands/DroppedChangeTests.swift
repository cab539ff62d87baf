import CloudKit
import CloudKitEmulator
import Facts
import Testing

@testable import CloudSync

/// Changes that conflicts, discards and zone deletes dropped: they are shown and can be undone.
@Suite(.serialized) struct DroppedChangeTests {
  /// This device's `mine` lost against `theirs`, both of them edits of record `a` with `x` and `y` 0.
  private func lost(
    _ policy: ConflictPolicy = .server,
    theirs: (World) -> Change,
    mine: (World) -> Change
  ) async throws -> (world: World, device: TestDevice, id: Int64) {
    let world = try World()
    let device = try world.device("mine", policy: policy)
    let other = try world.device("theirs")
    try device.store.accept(world.put("a", ["x": .int64(0), "y": .int64(0)]))
    try await device.sync()
    try await other.sync()
    let id = try device.store.accept(mine(world))
    world.clock.advance(10)
    try other.store.accept(theirs(world))
    try await other.sync()
    try await device.sync()
    world.clock.advance(10)
    return (world, device, id)
  }

  @Test(arguments: [ConflictPolicy.server, .newest])
  func `a value that lost is kept and can be had back`(_ policy: ConflictPolicy) async throws {
    let (world, device, id) = try await lost(policy, theirs: { $0.put("a", ["x": .int64(1)]) }) {
      $0.put("a", ["x": .int64(2), "y": .int64(2)])
    }
    let dropped = try #require(try device.store.dropped().first)
    #expect(dropped.operation == id)
    #expect(dropped.changes == FieldChanges(values: ["x": .int64(2)]))
    #expect(dropped.cause == .serverKept(fields: ["x"]))
    #expect(try device.store.detail(of: id)?.dropped == [dropped])
    #expect(world.onServer("a") == ["x": .int64(1), "y": .int64(2)])

    let again = try device.store.undo(id, actor: "ana")
    try await device.sync()

    guard case .enqueued(let undone) = again else { throw Unexpected() }
    #expect(world.onServer("a") == ["x": .int64(2), "y": .int64(2)])
    #expect(try device.store.dropped().map(\.operation) == [undone])
    #expect(try device.store.detail(of: id)?.dropped.map(\.isOpen) == [false])
    #expect(throws: StoreError.self) { try device.store.undo(id, actor: "ana") }
  }

  @Test func `many discards are undone as one command, and what cannot be undone is skipped with the reason`() throws {
    let world = try World()
    let device = try world.device("mine")
    let ids = Array(1...Int64(1200))
    _ = try device.store.enqueue(ids.map { world.put("r\($0)", ["n": .int64($0)]) })
    _ = try device.store.perform(.discard, on: .ids(ids), actor: "ana")
    try device.store.accept(world.put("r7", ["n": .int64(0)]))

    let result = try device.store.undo(ids, actor: "ana")

    #expect(Set(result.changed) == Set(ids).subtracting([7]) && result.reopened == 0)
    #expect(Array(result.skipped.keys) == [7])
    #expect(try device.store.operations().total == 1200)
    let commands = try device.store.events(limit: 10).compactMap { row in
      if case .command(let command, let count) = row.event { "\(command.name) \(count)" } else { nil }
    }
    #expect(commands == ["undo 1199", "discard 1200"])
  }

  @Test func `what can be undone is listed in windows, found by words, and undone by its listing`() throws {
    let world = try World()
    let device = try world.device("mine")
    let ids = Array(1...Int64(30))
    _ = try device.store.enqueue(ids.map { world.put("r\($0)", ["title": .string($0 == 7 ? "seven" : "other")]) })
    _ = try device.store.perform(.discard, on: .ids(ids), actor: "ana")
    var words = DroppedListing()
    words.filter = .words(["seven"])

    let window = try device.store.view { try $0.dropped(DroppedListing(), offset: 10, limit: 5) }
    #expect(window.total == 30 && window.rows.count == 5)
    #expect(window.rows.map(\.id) == window.rows.map(\.id).sorted(by: >))
    let found = try device.store.view { try $0.dropped(words, offset: 0, limit: 5) }
    #expect(found.total == 1 && found.rows.map(\.change.operation) == [7])

    #expect(try device.store.undoable(words, except: []) == [7])
    #expect(try device.store.undoable(DroppedListing(), except: Set(window.rows.map(\.id))).count == 25)
  }

  @Test func `the next edit of the record ends the undo and not the memory`() async throws {
    let (world, device, id) = try await lost(theirs: { $0.put("a", ["x": .int64(1)]) }) {
      $0.put("a", ["x": .int64(2)])
    }
    #expect(try device.store.enqueue([world.put("a", ["x": .int64(1)])]) == [.unchanged])
    #expect(try device.store.dropped().count == 1)

    try device.store.accept(world.put("a", ["y": .int64(9)]))

    #expect(try device.store.dropped() == [])
    #expect(throws: StoreError.self) { try device.store.undo(id, actor: "ana") }
    #expect(try device.store.detail(of: id)?.dropped.first?.changes["x"] == .int64(2))
  }

  @Test func `an edit that a deletion swallowed comes back whole`() async throws {
    let (world, device, id) = try await lost(theirs: { $0.delete("a") }) { $0.put("a", ["x": .int64(2)]) }
    #expect(world.onServer("a") == nil)

    _ = try device.store.undo(id, actor: "ana")
    try await device.sync()

    #expect(world.onServer("a") == ["x": .int64(2), "y": .int64(0)])
  }

  @Test func `a deletion that an edit outlived can be done after all`() async throws {
    let (world, device, id) = try await lost(theirs: { $0.put("a", ["x": .int64(1)]) }) { $0.delete("a") }
    #expect(try device.store.dropped().map(\.kind) == [.delete])
    #expect(world.onServer("a") != nil)

    _ = try device.store.undo(id, actor: "ana")
    try await device.sync()

    #expect(world.onServer("a") == nil)
  }

  /// A device whose record `a` with `x` 0 is on the server.
  private func known() async throws -> (world: World, device: TestDevice) {
    let world = try World()
    let device = try world.device("mine")
    try device.store.accept(world.put("a", ["x": .int64(0)]))
    try await device.sync()
    return (world, device)
  }

  private struct Unexpected: Error {}

  @Test func `what an operator discarded can be had back until the next edit`() async throws {
    let (world, device) = try await known()
    let ids = [
      try device.store.accept(world.put("a", ["x": .int64(1)])), try device.store.accept(world.put("new", [:])),
      try device.store.accept(world.put("edited", [:])),
    ]
    _ = try device.store.perform(.discard, on: .ids(ids), actor: "ana")
    try device.store.accept(world.put("edited", ["y": .int64(1)]))

    for id in ids[..<2] { _ = try device.store.undo(id, actor: "ana") }
    #expect(throws: StoreError.self) { try device.store.undo(ids[2], actor: "ana") }
    let deletion = try device.store.accept(world.delete("a"))
    _ = try device.store.perform(.discard, on: .ids([deletion]), actor: "ana")
    try await device.sync()
    #expect(world.onServer("new") == [:])
    #expect(world.onServer("a") == ["x": .int64(0)])
    _ = try device.store.undo(deletion, actor: "ana")
    try await device.sync()

    #expect(world.onServer("a") == nil)
  }

  @Test func `what was queued for a zone that is to be deleted can be had back`() async throws {
    let (world, device) = try await known()
    let ids = [
      try device.store.accept(world.put("a", ["x": .int64(1)])), try device.store.accept(world.put("new", [:])),
    ]
    let zone = world.key("a").zoneKey

    _ = try device.store.enqueueZoneDeletion(zone)
    _ = try device.store.enqueueZone(zone)
    #expect(Set(try device.store.dropped().map(\.operation)) == Set(ids))
    for id in ids { _ = try device.store.undo(id, actor: "ana") }
    try await device.sync()

    #expect(world.onServer("a") == ["x": .int64(1)])
    #expect(world.onServer("new") == [:])
  }

  @Test func `what a person drops on the desk can be had back too, and a preview tells it before`() async throws {
    let (world, device, id) = try await lost(.manual, theirs: { $0.put("a", ["x": .int64(1), "y": .int64(1)]) }) {
      $0.put("a", ["x": .int64(2), "y": .int64(2), "z": .int64(2)])
    }
    let preview = try #require(device.store.preview(id, take: .local, fields: ["x": .server]).resolution)
    #expect(preview.left == FieldChanges(values: ["y": .int64(2), "z": .int64(2)]))
    #expect(preview.dropped == FieldChanges(values: ["x": .int64(2)]))
    #expect(try device.store.queue() == ["save a conflict"])

    let outcome = try device.store.resolve(id, take: .local, fields: ["x": .server], actor: "ana")
    #expect(outcome.resolution == preview)
    #expect(try device.store.dropped().map(\.changes) == [FieldChanges(values: ["x": .int64(2)])])
    // Still in the queue: the dropped field joins the changes to be sent, as a conflict.
    #expect(try device.store.undo(id, actor: "ana") == .enqueued(id))
    let conflict = try #require(try device.store.conflict(id))
    #expect(
      conflict.fields == [
        .init(name: "x", base: .int64(0), local: .int64(2), server: .int64(1)),
        .init(name: "y", base: .int64(0), local: .int64(2), server: .int64(1)),
      ]
    )
    _ = try device.store.resolve(id, take: .local, actor: "ana")
    try await device.sync()

    #expect(world.onServer("a") == ["x": .int64(2), "y": .int64(2), "z": .int64(2)])
  }

  @Test(arguments: [true, false])
  func `undoing a resolved or a discarded conflict opens it again and sends nothing`(_ isResolved: Bool) async throws {
    let (world, device, id) = try await lost(.manual, theirs: { $0.put("a", ["x": .int64(1)]) }) {
      $0.put("a", ["x": .int64(2)])
    }
    let before = try #require(try device.store.conflict(id))
    if isResolved {
      _ = try device.store.resolve(id, take: .server, actor: "ana")
    } else {
      _ = try device.store.perform(.discard, on: .ids([id]), actor: "ana")
    }
    try await device.sync()

    let undone = try device.store.undo([id], actor: "ana")
    try await device.sync()

    #expect(undone.changed == [id] && undone.reopened == 1)
    let after = try #require(try device.store.conflicts().first)
    #expect(after.fields == before.fields)
    #expect(after.cause == before.cause)
    #expect(world.onServer("a") == ["x": .int64(1), "y": .int64(0)])
    #expect(try device.store.dropped() == [])
  }

  @Test func `undoing the discard of a deletion in conflict asks about the deletion again`() async throws {
    let (world, device, id) = try await lost(.manual, theirs: { $0.put("a", ["x": .int64(1)]) }) { $0.delete("a") }
    _ = try device.store.perform(.discard, on: .ids([id]), actor: "ana")

    guard case .enqueued(let again) = try device.store.undo(id, actor: "ana") else { throw Unexpected() }
    try await device.sync()

    #expect(try device.store.conflict(again)?.kind == .delete)
    #expect(world.onServer("a") != nil)
  }

  @Test func `a resolution for this side is a conflict again if it is undone before it is sent`() async throws {
    let (world, device, id) = try await lost(.manual, theirs: { $0.put("a", ["x": .int64(1)]) }) {
      $0.put("a", ["x": .int64(2)])
    }
    let before = try #require(try device.store.conflict(id))
    _ = try device.store.resolve(id, take: .local, actor: "ana")
    #expect(try device.store.dropped().map(\.dropsChange) == [false])
    #expect(
      try device.store.detail(of: id)?.dropped.first?.overwritten?.values == FieldChanges(values: ["x": .int64(1)])
    )

    #expect(try device.store.undo(id, actor: "ana") == .enqueued(id))
    #expect(try device.store.conflict(id)?.fields == before.fields)
    #expect(try device.store.dropped() == [])
    try await device.sync()
    #expect(world.onServer("a")?["x"] == .int64(1))
  }

  @Test func `nothing is kept of a sent resolution that overwrote a file alone`() async throws {
    let file = QueuedOperation.file("local")
    let world = try World()
    let store = try world.open("store")
    let key = world.key("a")
    let id = try store.write { ledger in
      var server = MirrorRecord(
        key: key,
        type: "Note",
        changeTag: "2",
        fields: ["file": QueuedOperation.file("server")]
      )
      server.modifiedAt = 1
      try ledger.put(server, epoch: 0)
      var operation = QueuedOperation(
        .save,
        key,
        type: "Note",
        FieldChanges(values: ["file": file]),
        base: [:],
        baseTag: "1",
        group: nil,
        now: 0
      )
      operation.apply(.conflicted(.fields(["file"]), now: 0))
      return try ledger.insert(operation)
    }
    _ = try store.resolve(id, take: .local, actor: "ana")
    #expect(try store.dropped().map(\.overwritten) == [nil])
    #expect(try store.status().dropped.total == 1)

    try store.write { try $0.end([id], .acknowledged, .onServer(), now: 0) }

    #expect(try store.dropped() == [])
    #expect(try store.status().dropped.total == 0)
    #expect(throws: StoreError.self) { try store.undo(id, actor: "ana") }
  }

  @Test func `undoing a discard asks about what the server has changed since`() async throws {
    let (world, device) = try await known()
    let id = try device.store.accept(world.put("a", ["x": .int64(1)]))
    _ = try device.store.perform(.discard, on: .ids([id]), actor: "ana")
    let other = try world.device("other")
    try await other.sync()
    try other.store.accept(world.put("a", ["x": .int64(5)]))
    try await other.sync()
    try await device.sync()

    guard case .enqueued(let again) = try device.store.undo(id, actor: "ana") else { throw Unexpected() }
    try await device.sync()

    #expect(
      try device.store.conflict(again)?.fields == [
        .init(name: "x", base: .int64(0), local: .int64(1), server: .int64(5))
      ]
    )
    #expect(world.onServer("a") == ["x": .int64(5)])
  }

  @Test func `undoing a deletion's discard asks about what others have added since`() async throws {
    let (world, device, id) = try await lost(.manual, theirs: { $0.put("a", ["z": .int64(1)]) }) { $0.delete("a") }
    _ = try device.store.perform(.discard, on: .ids([id]), actor: "ana")

    guard case .enqueued(let again) = try device.store.undo(id, actor: "ana") else { throw Unexpected() }
    try await device.sync()

    #expect(try device.store.conflict(again)?.kind == .delete)
    #expect(world.onServer("a")?["z"] == .int64(1))
  }

  @Test func `an undone resolution is sent at once if the server has gone back to the base`() async throws {
    let (world, device, id) = try await lost(.manual, theirs: { $0.put("a", ["x": .int64(1)]) }) {
      $0.put("a", ["x": .int64(2)])
    }
    _ = try device.store.resolve(id, take: .server, actor: "ana")
    let other = try world.device("third")
    try await other.sync()
    try other.store.accept(world.put("a", ["x": .int64(0)]))
    try await other.sync()
    try await device.sync()

    _ = try device.store.undo(id, actor: "ana")
    try await device.sync()

    #expect(world.onServer("a") == ["x": .int64(2), "y": .int64(0)])
  }

  @Test func `a preview of a whole side tells what becomes of the change`() async throws {
    let (_, device, id) = try await lost(.manual, theirs: { $0.put("a", ["x": .int64(1)]) }) {
      $0.put("a", ["x": .int64(2)])
    }

    let server = try #require(device.store.preview(id, take: .server).resolution)
    #expect(server.left == nil)
    #expect(server.dropped == FieldChanges(values: ["x": .int64(2)]))
    let base = try #require(device.store.preview(id, take: .base).resolution)
    #expect(base.left == FieldChanges(values: ["x": .int64(0)]))
    #expect(base.dropped == FieldChanges(values: ["x": .int64(2)]))
    let local = try #require(device.store.preview(id, take: .local).resolution)
    #expect(local.left == FieldChanges(values: ["x": .int64(2)]))
    #expect(local.dropped == nil)
    #expect(throws: StoreError.self) { try device.store.preview(id, take: .local, fields: ["q": .server]) }
  }

  @Test func `a deletion is taken whole, however the fields are chosen`() async throws {
    let (world, device, id) = try await lost(.manual, theirs: { $0.put("a", ["x": .int64(1), "y": .int64(1)]) }) {
      $0.delete("a")
    }
    let names = try #require(try device.store.conflict(id)).fields.map(\.name)
    #expect(names.count > 1)

    let kept = Dictionary(uniqueKeysWithValues: names.map { ($0, ConflictSide.server) })
    #expect(try device.store.preview(id, take: .local, fields: kept).resolution?.left == nil)
    #expect(throws: StoreError.self) {
      try device.store.resolve(id, take: .local, fields: [names[0]: .server], actor: "ana")
    }
    // As the dashboard's desk says it: every field by itself.
    let deleted = Dictionary(uniqueKeysWithValues: names.map { ($0, ConflictSide.local) })
    _ = try device.store.resolve(id, take: .server, fields: deleted, actor: "ana")
    try await device.sync()

    #expect(world.onServer("a") == nil)
    #expect(try device.store.queue() == [])
  }
}

extension QueuedOperation {
  fileprivate static func file(_ checksum: String) -> FieldValue { .asset(WireAsset(fileChecksum: checksum, size: 3)) }
}
