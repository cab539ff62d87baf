import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import Testing

@testable import CloudSync

/// Two devices that change the same record.
@Suite(.serialized) struct ConflictPolicyTests {
  private struct Pair {
    let world: World
    let mine: TestDevice
    let theirs: TestDevice
  }

  /// Both know record `a`; the other device then did `change` and sent it, this one has not looked since.
  private func pair(_ policy: ConflictPolicy, _ change: (World) -> Change) async throws -> Pair {
    let world = try World()
    let mine = try world.device("mine", policy: policy)
    let theirs = try world.device("theirs")
    try mine.store.accept(world.put("a", ["x": .int64(0), "y": .int64(0)]))
    try await mine.sync()
    try await theirs.sync()
    world.clock.advance(10)
    try theirs.store.accept(change(world))
    try await theirs.sync()
    world.clock.advance(10)
    return Pair(world: world, mine: mine, theirs: theirs)
  }

  @Test(arguments: [(ConflictPolicy.server, 1), (.client, 2), (.newest, 2)] as [(ConflictPolicy, Int64)])
  func `the same field is settled by policy, the others merge`(_ policy: ConflictPolicy, _ winner: Int64) async throws {
    let pair = try await pair(policy) { $0.put("a", ["x": .int64(1)]) }
    try pair.mine.store.accept(pair.world.put("a", ["x": .int64(2), "y": .int64(2)]))

    try await pair.mine.sync()
    try await pair.theirs.sync()

    #expect(pair.world.onServer("a") == ["x": .int64(winner), "y": .int64(2)])
    #expect(try pair.mine.store.mirror("a") == ["x": .int64(winner), "y": .int64(2)])
    #expect(try pair.theirs.store.mirror("a") == pair.mine.store.mirror("a"))
    #expect(try pair.mine.store.queue() == [])
  }

  @Test(arguments: [(ConflictPolicy.server, 1), (.client, 2), (.newest, 2)] as [(ConflictPolicy, Int64)])
  func `a conflict that only the send finds out is read back and settled in the same pass`(
    _ policy: ConflictPolicy,
    _ winner: Int64
  ) async throws {
    let pair = try await pair(policy) { $0.put("y", ["x": .int64(1)]) }
    let world = pair.world
    try pair.mine.store.accept(world.put("a", ["x": .int64(2)]))
    pair.mine.transport.interfere { operation, number, _ in
      // Another device is faster by a moment.
      if operation == "records/modify", number == 2 {
        try? world.saveOnServer("a", ["x": .int64(1)], at: world.clock.date.addingTimeInterval(-5))
      }
      return .pass
    }

    try await pair.mine.sync()

    #expect(world.onServer("a")?["x"] == .int64(winner))
    #expect(try pair.mine.store.queue() == [])
    #expect(pair.mine.transport.count("records/lookup") == 1)
  }

  @Test(arguments: ConflictPolicy.allCases)
  func `a field set back to what it was takes the server's value`(_ policy: ConflictPolicy) async throws {
    let pair = try await pair(policy) { $0.put("a", ["x": .int64(1)]) }
    try pair.mine.store.accept(pair.world.put("a", ["x": .int64(5)]))
    try pair.mine.store.accept(pair.world.put("a", ["x": .int64(0)]))

    try await pair.mine.sync()

    #expect(pair.world.onServer("a")?["x"] == .int64(1))
    #expect(try pair.mine.store.queue() == [])
  }

  // MARK: - The conflict desk

  @Test func `a manual conflict waits, is resolved field by field, and is sent`() async throws {
    let pair = try await pair(.manual) { $0.put("a", ["x": .int64(1), "y": .int64(1)]) }
    let id = try pair.mine.store.accept(pair.world.put("a", ["x": .int64(2), "y": .int64(2), "z": .int64(2)]))
    try pair.mine.store.accept(pair.world.put("free", [:]))

    try await pair.mine.sync()

    #expect(try pair.mine.store.queue() == ["save a conflict"])
    #expect(pair.world.onServer("free") != nil)
    let conflict = try #require(try pair.mine.store.conflict(id))
    #expect(conflict.fields.map(\.name) == ["x", "y"])
    #expect(conflict.fields.map(\.base) == [.int64(0), .int64(0)])
    #expect(conflict.fields.map(\.local) == [.int64(2), .int64(2)])
    #expect(conflict.fields.map(\.server) == [.int64(1), .int64(1)])
    #expect(conflict.detectedAt == pair.world.clock.now)

    let outcome = try pair.mine.store.resolve(id, take: .server, fields: ["y": .local], actor: "ana")
    #expect(outcome.resolution?.left?.names == ["y", "z"])
    try await pair.mine.sync()
    #expect(pair.world.onServer("a") == ["x": .int64(1), "y": .int64(2), "z": .int64(2)])
    #expect(try pair.mine.store.queue() == [])
    #expect(try pair.mine.store.endings().last == "save a acknowledged")
  }

  @Test func `a conflict taken wholly from the server ends as merged`() async throws {
    let pair = try await pair(.manual) { $0.put("a", ["x": .int64(1)]) }
    let id = try pair.mine.store.accept(pair.world.put("a", ["x": .int64(2)]))
    try await pair.mine.sync()

    let outcome = try pair.mine.store.resolve(id, take: .server, actor: "ana")
    #expect(outcome.resolution != nil && outcome.resolution?.left == nil)

    #expect(try pair.mine.store.queue() == [])
    #expect(try pair.mine.store.endings().last == "save a merged")
  }

  @Test(arguments: [ConflictSide.local, .server])
  func `an edit against a deletion waits on the desk and is settled whole`(_ side: ConflictSide) async throws {
    let pair = try await pair(.manual) { $0.delete("a") }
    let id = try pair.mine.store.accept(pair.world.put("a", ["x": .int64(2)]))
    try await pair.mine.sync()
    #expect(try pair.mine.store.conflict(id)?.isDeletedOnServer == true)

    _ = try pair.mine.store.resolve(id, take: side, actor: "ana")
    try await pair.mine.sync()

    #expect(pair.world.onServer("a") == (side == .local ? ["x": .int64(2), "y": .int64(0)] : nil))
    #expect(try pair.mine.store.queue() == [])
  }

  @Test(arguments: [ConflictSide.local, .server])
  func `a deletion against an edit waits on the desk and is settled whole`(_ side: ConflictSide) async throws {
    let pair = try await pair(.manual) { $0.put("a", ["x": .int64(1)]) }
    let id = try pair.mine.store.accept(pair.world.delete("a"))
    try await pair.mine.sync()
    #expect(try pair.mine.store.conflict(id)?.kind == .delete)

    _ = try pair.mine.store.resolve(id, take: side, actor: "ana")
    try await pair.mine.sync()

    #expect(pair.world.onServer("a") == (side == .local ? nil : ["x": .int64(1), "y": .int64(0)]))
    #expect(try pair.mine.store.queue() == [])
  }

  @Test func `a conflict follows the server's later versions and keeps its base`() async throws {
    let pair = try await pair(.manual) { $0.put("a", ["x": .int64(1)]) }
    let id = try pair.mine.store.accept(pair.world.put("a", ["x": .int64(2)]))
    try await pair.mine.sync()
    try pair.theirs.store.accept(pair.world.put("a", ["x": .int64(3)]))
    try await pair.theirs.sync()

    try await pair.mine.sync()
    let field = try #require(try pair.mine.store.conflict(id)?.fields.first)
    #expect([field.base, field.local, field.server] == [.int64(0), .int64(2), .int64(3)])

    try pair.theirs.store.accept(pair.world.put("a", ["x": .int64(2)]))
    try await pair.theirs.sync()
    try await pair.mine.sync()
    #expect(try pair.mine.store.queue() == [])
  }

  @Test func `an edit of a record in conflict stays on the desk with the new value`() async throws {
    let pair = try await pair(.manual) { $0.put("a", ["x": .int64(1)]) }
    let id = try pair.mine.store.accept(pair.world.put("a", ["x": .int64(2)]))
    try await pair.mine.sync()

    try pair.mine.store.accept(pair.world.put("a", ["x": .int64(5), "new": .int64(5)]))

    #expect(try pair.mine.store.conflict(id)?.fields.map(\.local) == [.int64(5)])
    _ = try pair.mine.store.resolve(id, take: .local, actor: "ana")
    try await pair.mine.sync()
    #expect(pair.world.onServer("a") == ["x": .int64(5), "y": .int64(0), "new": .int64(5)])
  }

  @Test func `the desk shows what was edited of a record that the server deleted`() async throws {
    let conflict = Conflict(
      QueuedOperation.conflict(["x": .int64(1), "y": .int64(2)], base: ["x": .int64(1), "z": .int64(3)]),
      server: nil
    )

    #expect(conflict.fields.map(\.name) == ["x", "y", "z"])
    #expect(conflict.fields.map(\.local) == [.int64(1), .int64(2), nil])
    #expect(conflict.fields.map(\.base) == [.int64(1), nil, .int64(3)])
    #expect(conflict.resolution(.local).left?.values == ["x": .int64(1), "y": .int64(2)])
    #expect(conflict.resolution(.local, ["y": .server, "z": .base]).left?.values == ["x": .int64(1), "z": .int64(3)])
    #expect(conflict.resolution(.server).left == nil)
  }

  @Test func `the desk offers no files that went with what the server deleted`() async throws {
    let asset = FieldValue.asset(WireAsset(fileChecksum: "c", size: 3))
    let conflict = Conflict(
      QueuedOperation.conflict(["x": .int64(1)], base: ["x": .int64(1), "file": asset]),
      server: nil
    )
    var deletion = QueuedOperation.conflict([:], base: ["file": asset])
    deletion.kind = .delete
    let server = MirrorRecord(key: deletion.key, type: "Note", changeTag: "2", fields: ["x": .int64(3)])

    #expect(conflict.fields.map(\.name) == ["x"])
    #expect(Conflict(deletion, server: server).resolution(.base).left == FieldChanges(cleared: ["x"]))
  }

  @Test func `the desk gives back no file that neither side has`() async throws {
    let files = ["base", "local", "server"].map { FieldValue.asset(WireAsset(fileChecksum: $0, size: 3)) }
    let operation = QueuedOperation.conflict(["file": files[1]], base: ["file": files[0]])
    let server = MirrorRecord(key: operation.key, type: "Note", changeTag: "2", fields: ["file": files[2]])
    let world = try World()
    let store = try world.open("store")
    let id = try store.write { ledger in
      try ledger.put(server, epoch: 0)
      return try ledger.insert(operation)
    }

    #expect(Conflict(operation, server: server).fields.map(\.base) == [files[0]])
    #expect(throws: StoreError.self) { try store.resolve(id, take: .base, actor: "ana") }
    #expect(throws: StoreError.self) { try store.preview(id, take: .local, fields: ["file": .base]) }
    #expect(try store.queue() == ["save r conflict"])
    #expect(try store.preview(id, take: .base, fields: ["file": .local]).resolution?.left?.values == ["file": files[1]])
    #expect(try store.preview(id, take: .base, fields: ["file": .server]).resolution?.left == nil)
  }

  @Test func `the base is what the record was before both the delete and the edit`() async throws {
    var deletion = QueuedOperation.conflict([:], base: ["x": .int64(1), "y": .int64(2)])
    deletion.kind = .delete
    let server = MirrorRecord(
      key: deletion.key,
      type: "Note",
      changeTag: "2",
      fields: ["x": .int64(3), "y": .int64(2), "z": .int64(4)]
    )
    let conflict = Conflict(deletion, server: server)

    let base = conflict.resolution(.base)
    #expect(base.kind == .save)
    #expect(base.left == FieldChanges(values: ["x": .int64(1)], cleared: ["z"]))
    #expect(conflict.resolution(.server).left == nil)
    #expect(conflict.resolution(.server, ["x": .base]).left == FieldChanges(values: ["x": .int64(1)]))
    #expect(conflict.resolution(.local).kind == .delete)
  }
}

extension QueuedOperation {
  fileprivate static func conflict(_ values: [String: FieldValue], base: [String: FieldValue]) -> QueuedOperation {
    var operation = QueuedOperation(
      .save,
      RecordKey(.one, "r"),
      type: "Note",
      FieldChanges(values: values),
      base: base,
      baseTag: "1",
      group: nil,
      now: 0
    )
    operation.apply(.conflicted(.fields([]), now: 0))
    return operation
  }
}
