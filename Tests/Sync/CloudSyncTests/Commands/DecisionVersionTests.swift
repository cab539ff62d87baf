import CloudKit
import CloudKitEmulator
import Foundation
import GRDB
import Synchronization
import Testing

@testable import CloudSync

/// A decision has an effect only on the version that was shown when it was made.
@Suite(.serialized) struct DecisionVersionTests {
  @Test(arguments: [
    ("0123456789ab", true), ("", false), ("0123456789a", false), ("0123456789abc", false), ("0123456789aG", false),
    ("0123456789AB", false), ("0123 56789ab", false),
  ])
  func `a version has twelve hexadecimal digits`(_ text: String, _ isVersion: Bool) {
    #expect(DecisionVersion.isWellFormed(text) == isVersion)
  }

  @Test func `the version of an operation changes with what matters for a decision`() {
    func version(
      _ id: Int64 = 1,
      _ kind: OperationKind = .save,
      _ state: OperationState = .pending,
      generation: Int64 = 1,
      isUnconfirmed: Bool = false,
      tag: String? = "a"
    ) -> String {
      DecisionVersion.operation(id, kind, state, generation: generation, isUnconfirmed: isUnconfirmed, serverTag: tag)
    }
    let different = [
      version(), version(2), version(1, .delete), version(1, .save, .failed), version(generation: 2),
      version(isUnconfirmed: true), version(1, .save, .conflict), version(1, .save, .conflict, tag: "b"),
      version(1, .save, .conflict, tag: "gone"), version(1, .save, .conflict, tag: nil),
    ]

    #expect(Set(different).count == different.count)
    #expect(different.allSatisfy(DecisionVersion.isWellFormed))
    #expect(version(tag: "b") == version())
    // What a process that died left in flight is pending again before anything is done to it.
    #expect(version(1, .save, .inFlight) == version(isUnconfirmed: true))
    #expect(version(1, .zoneSave, .inFlight) == version(1, .zoneSave))
  }

  // MARK: - Conflicts

  /// A device with a conflict about field x of record a, and the one that it is with.
  private func conflict() async throws -> (world: World, mine: TestDevice, theirs: TestDevice, id: Int64) {
    let world = try World()
    let (mine, theirs) = (try world.device("mine", policy: .manual), try world.device("theirs"))
    try mine.store.accept(world.put("a", ["x": .int64(0)]))
    try await mine.sync()
    try await theirs.sync()
    try theirs.store.accept(world.put("a", ["x": .int64(1)]))
    try await theirs.sync()
    let id = try mine.store.accept(world.put("a", ["x": .int64(2)]))
    try await mine.sync()
    return (world, mine, theirs, id)
  }

  @Test func `a resolution of what the server has changed since does nothing and returns the conflict as it is`()
    async throws
  {
    let (world, mine, theirs, id) = try await conflict()
    let shown = try #require(try mine.store.conflict(id))
    try theirs.store.accept(world.put("a", ["x": .int64(3)]))
    try await theirs.sync()
    try await mine.sync()

    let outcome = try mine.store.resolve(id, take: .local, ifVersion: shown.version, actor: "ana")

    guard case .moved(let current?) = outcome else { return #expect(Bool(false), "\(outcome)") }
    #expect(current.fields.map(\.server) == [.int64(3)] && current.version != shown.version)
    #expect(try mine.store.queue() == ["save a conflict"])
    #expect(try mine.store.count("SELECT count(*) FROM commands WHERE verb = 'resolve'") == 0)
    #expect(try mine.store.preview(id, take: .local, ifVersion: shown.version) == outcome)

    let preview = try mine.store.preview(id, take: .local, ifVersion: current.version)
    #expect(try mine.store.resolve(id, take: .local, ifVersion: current.version, actor: "ana") == preview)
    try await mine.sync()
    #expect(world.onServer("a") == ["x": .int64(2)])
  }

  @Test func `a resolution of what was edited here since does nothing`() async throws {
    let (world, mine, _, id) = try await conflict()
    let shown = try #require(try mine.store.conflict(id))
    try mine.store.accept(world.put("a", ["x": .int64(4)]))

    let outcome = try mine.store.resolve(id, take: .server, ifVersion: shown.version, actor: "ana")

    guard case .moved = outcome else { return #expect(Bool(false), "\(outcome)") }
    #expect(try mine.store.operation(id).changes.values == ["x": .int64(4)])
  }

  @Test func `a record that is deleted on the server makes its conflict another one`() async throws {
    let (world, mine, theirs, id) = try await conflict()
    let shown = try #require(try mine.store.conflict(id))
    try theirs.store.accept(world.delete("a"))
    try await theirs.sync()
    try await mine.sync()

    let outcome = try mine.store.resolve(id, take: .server, ifVersion: shown.version, actor: "ana")

    guard case .moved(let current?) = outcome else { return #expect(Bool(false), "\(outcome)") }
    #expect(current.isDeletedOnServer)
    #expect(try mine.store.queue() == ["save a conflict"])
  }

  @Test func `of a conflict that is resolved already there is nothing to return`() async throws {
    let (_, mine, _, id) = try await conflict()
    let shown = try #require(try mine.store.conflict(id))
    _ = try mine.store.resolve(id, take: .local, actor: "ana")

    #expect(try mine.store.resolve(id, take: .server, ifVersion: shown.version, actor: "bob") == .moved(nil))

    #expect(try mine.store.queue() == ["save a pending"])
  }

  @Test func `a sync that brings nothing new leaves a conflict in its version, and the queue shows the same`()
    async throws
  {
    let (_, mine, _, id) = try await conflict()
    let shown = try #require(try mine.store.conflict(id))
    try await mine.sync()

    #expect(try mine.store.conflict(id)?.version == shown.version)
    #expect(try mine.store.operations().rows.map(\.version) == [shown.version])
    #expect(try mine.store.versions(of: [id, 99]) == [id: shown.version])
  }

  // MARK: - The queue

  @Test func `a discard leaves alone what has changed since, and returns it as it is`() throws {
    let world = try World()
    let store = try world.open("store")
    _ = try store.enqueue(["a", "b", "c"].map { world.put($0, ["x": .int64(1)]) })
    let shown = try store.versions(of: [1, 2, 3])
    try store.accept(world.put("b", ["x": .int64(2)]))
    try store.execute("UPDATE operations SET state = 'failed' WHERE id = 3")

    for isDry in [true, false] {
      let result = try store.perform(.discard, on: .ids([1, 2, 3]), versions: shown, dryRun: isDry, actor: "ana")

      #expect(result.changed == [1])
      #expect(result.moved.map(\.id) == [2, 3] && result.moved.map(\.state) == [.pending, .failed])
      #expect(Set(result.skipped.keys) == [2, 3])
    }

    #expect(try store.queue() == ["save b pending", "save c failed"])
    let now = try store.versions(of: [2, 3])
    #expect(try store.operations().rows.map(\.version) == [2, 3].map { now[$0] })
    #expect(try store.perform(.discard, on: .ids([2, 3]), versions: now, actor: "ana").changed == [2, 3])
  }

  @Test func `what a process that died left in flight is discarded in the version that was shown`() throws {
    let world = try World()
    let store = try world.open("store")
    let id = try store.accept(world.put("a", ["x": .int64(1)]))
    try store.execute("UPDATE operations SET state = 'inFlight', sentGeneration = 1, sentOperation = 'save'")
    let shown = try store.versions(of: [id])

    #expect(try store.perform(.discard, on: .ids([id]), versions: shown, actor: "ana").changed == [id])
  }
}
