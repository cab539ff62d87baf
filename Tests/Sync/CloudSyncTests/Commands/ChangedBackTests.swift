import CloudKit
import CloudKitEmulator
import Foundation
import Testing

@testable import CloudSync

@Suite(.serialized) struct ChangedBackTests {
  private let world: World
  private let mine: TestDevice

  init() throws {
    world = try World()
    mine = try world.device("mine", policy: .client)
  }

  /// Makes a record on the server, known here.
  private func begin(_ fields: [String: FieldValue] = ["f": .int64(1)]) async throws {
    try mine.store.accept(world.put("a", fields))
    try await mine.sync()
  }

  @Test func `a change that undoes itself before it is sent ends, and brings back nothing that others deleted`()
    async throws
  {
    try await begin()
    let theirs = try world.device("theirs")
    try await theirs.sync()
    let id = try mine.store.accept(world.put("a", ["f": .int64(2)]))
    try mine.store.accept(world.put("a", ["f": .int64(1)]))
    try theirs.store.accept(world.delete("a"))
    try await theirs.sync()

    #expect(try mine.store.queue().isEmpty)
    #expect(try mine.store.detail(of: id)?.history?.ending == .superseded)
    try await mine.sync()
    #expect(try world.onServer("a") == nil && mine.store.mirror("a") == nil)
    #expect(try mine.store.status().isInSync)
  }

  @Test func `a change that undoes itself in part is still sent`() async throws {
    try await begin(["f": .int64(1), "g": .int64(1)])
    try mine.store.accept(world.put("a", ["f": .int64(2), "g": .int64(2)]))
    try mine.store.accept(world.put("a", ["f": .int64(1)]))

    try await mine.sync()

    #expect(world.onServer("a") == ["f": .int64(1), "g": .int64(2)])
  }

  @Test func `a field that is set and cleared again ends the change`() async throws {
    try await begin()
    try mine.store.accept(world.put("a", ["g": .int64(2)]))
    _ = try mine.store.enqueue([Change(world.key("a"), .save(type: "Note", FieldChanges(cleared: ["g"])))])

    #expect(try mine.store.queue().isEmpty)
  }

  @Test func `a creation whose fields are cleared again is still a creation`() async throws {
    try mine.store.accept(world.put("a", ["f": .int64(1)]))
    _ = try mine.store.enqueue([Change(world.key("a"), .save(type: "Note", FieldChanges(cleared: ["f"])))])

    try await mine.sync()

    #expect(world.onServer("a") == [:])
  }

  @Test func `what may have been sent already is sent back`() async throws {
    try await begin()
    try mine.store.accept(world.put("a", ["f": .int64(2)]))
    mine.transport.interfere { operation, _, _ in operation == "records/modify" ? .answerLost : .pass }
    try await mine.sync()
    mine.transport.interfere(nil)
    #expect(world.onServer("a") == ["f": .int64(2)])

    try mine.store.accept(world.put("a", ["f": .int64(1)]))
    world.clock.advance(3600)
    try await mine.sync()

    #expect(world.onServer("a") == ["f": .int64(1)])
  }

  @Test func `a change back that joins an atomic group goes with it`() async throws {
    try await begin()
    try mine.store.accept(world.put("a", ["f": .int64(2)]))
    try mine.store.accept(world.put("a", ["f": .int64(1)]), group: "g")

    #expect(try mine.store.queue().count == 1)
  }
}
