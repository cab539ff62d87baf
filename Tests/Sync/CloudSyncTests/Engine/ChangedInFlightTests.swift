import CloudKit
import CloudKitEmulator
import Testing

@testable import CloudSync

/// Changes that were edited before the reply to their request came, and records that others changed before it arrived.
@Suite(.serialized) struct ChangedInFlightTests {
  private let world: World
  private let mine: TestDevice

  init() throws {
    world = try World()
    mine = try world.device("mine")
  }

  private func tags(_ text: String) -> FieldValue { .list(.string, text.map { .string(String($0)) }) }

  @Test(arguments: [ConflictPolicy.server, .client])
  func `a record made anew stands or gives way as one, also where others wrote just before it arrived`(
    _ policy: ConflictPolicy
  ) async throws {
    let (mine, other) = (try world.device("judging", policy: policy), try world.device("other"))
    try mine.store.accept(world.put("a", ["t": .int64(1), "u": .int64(2)]))
    try await mine.sync()
    try await other.sync()
    try mine.store.accept(world.delete("a"))
    try mine.store.accept(world.put("a", ["t": .int64(1)]))
    mine.beOvertaken(by: other, [world.put("a", ["t": .int64(50)])], atModify: 2)

    try await mine.sync()

    #expect(world.onServer("a") == (policy == .client ? ["t": .int64(1)] : ["t": .int64(50), "u": .int64(2)]))
    #expect(try mine.store.queue() == [])
    #expect(try mine.store.dropped().map(\.dropsChange) == [policy == .server])
  }

  @Test func `a deletion of a creation that was refused does not delete what others made`() async throws {
    let (world, store) = (world, mine.store)
    let deletion = world.delete("a")
    mine.transport.interfere { operation, number, _ in
      guard operation == "records/modify", number == 1 else { return .pass }
      try? world.saveOnServer("a", ["x": .int64(9)])
      _ = try? store.accept(deletion)
      return .pass
    }
    try store.accept(world.put("a", ["x": .int64(1)]))

    try await mine.sync()

    #expect(world.onServer("a") == ["x": .int64(9)])
    #expect(try store.queue() == [])
  }

  @Test func `a deletion over an edit is made on what that was made on`() async throws {
    try mine.store.accept(world.put("a", ["x": .int64(0)]))
    try await mine.sync()
    let tag = try #require(try mine.store.records(named: "a").first?.record.changeTag)
    try world.saveOnServer("a", ["x": .int64(1)])
    let fresh = try world.device("fresh")
    let edit = FieldChanges(values: ["x": .int64(2)])
    try fresh.store.accept(
      Change(world.key("a"), .save(type: "Note", edit), base: ["x": .int64(0)], baseTag: tag)
    )
    try fresh.store.accept(world.delete("a"))

    try await fresh.sync()

    #expect(world.onServer("a") == ["x": .int64(1)])
    #expect(try fresh.store.endings().last == "delete a merged")
  }

  /// What a set holds, what is sent, what it is by then, and what it is with `c`, which others put into it.
  @Test(arguments: [("a", "ab", "a", "ac"), ("ab", "a", "ab", "acb"), ("a", "ab", "ad", "acd")])
  func `what was taken back while it was on its way is not there, though the answer was lost`(
    _ before: String,
    _ sent: String,
    _ after: String,
    _ expected: String
  ) async throws {
    let world = world
    func change(_ text: String) -> Change {
      Change(
        world.key("a"),
        .save(type: "Note", FieldChanges(values: ["tags": tags(text)], rules: ["tags": .elements]))
      )
    }
    try mine.store.accept(change(before))
    try await mine.sync()
    let (store, later) = (mine.store, change(after))
    mine.transport.interfere { operation, number, _ in
      if operation == "records/lookup", number == 1 {
        let there = (sent + "c").map { EmulatorValue.string(String($0)) }
        try? world.saveOnServer("a", ["tags": .list(.string, there)])
      }
      guard operation == "records/modify", number == 2 else { return .pass }
      _ = try? store.accept(later)
      return .answerLost
    }
    try store.accept(change(sent))

    try await mine.sync()

    var there: [FieldValue] = []
    if case .list(_, let values)? = try store.mirror("a")?["tags"] { there = values }
    #expect(Set(there) == Set(expected.map { FieldValue.string(String($0)) }))
    #expect(try store.queue() == [])
  }

  @Test(arguments: [false, true])
  func `a refusal of what was sent is none of what it has become`(deletes: Bool) async throws {
    let (store, later) = (mine.store, deletes ? world.delete("a") : world.put("a", ["x": .int64(2)]))
    mine.transport.interfere { operation, number, _ in
      guard operation == "records/modify", number == 1 else { return .pass }
      _ = try? store.accept(later)
      return .refusing("a", "BAD_REQUEST", "no such value")
    }
    try store.accept(world.put("a", ["x": .int64(1)]))

    try await mine.sync()

    #expect(world.onServer("a") == (deletes ? nil : ["x": .int64(2)]))
    #expect(try store.queue() == [])
  }

  @Test func `a field behind its zone's deletion keeps its merge rule`() async throws {
    let (world, zone) = (world, "notes")
    _ = try mine.store.enqueueZoneDeletion(ZoneKey(zone: zone))
    let list = FieldChanges(values: ["tags": .list(.int64, [.int64(2)])], rules: ["tags": .elements])
    try mine.store.accept(Change(world.key("a", zone: zone), .save(type: "Note", list)))
    mine.transport.interfere { operation, number, _ in
      if operation == "records/modify", number == 1 {
        try? world.saveOnServer("a", zone: zone, ["tags": .list(.int64, [.int64(1)])])
      }
      return .pass
    }

    try await mine.sync()

    #expect(world.onServer("a", zone: zone) == ["tags": .list(.int64, [.int64(1), .int64(2)])])
  }

  @Test func `a deletion that is queued joins the group that it is asked for with`() throws {
    let id = try mine.store.accept(world.delete("x"))
    _ = try mine.store.enqueue([world.put("y", [:]), world.delete("x")], group: "g")

    #expect(try mine.store.operation(id).group == "g")
  }

  @Test func `a change that changes nothing joins its group all the same`() throws {
    let id = try mine.store.accept(world.put("a", ["x": .int64(1)]))
    _ = try mine.store.enqueue([world.put("a", ["x": .int64(1)]), world.put("b", [:])], group: "g")

    #expect(try mine.store.operation(id).group == "g")
  }
}
