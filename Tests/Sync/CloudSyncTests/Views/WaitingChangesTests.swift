import CloudKit
import GRDB
import Testing

@testable import CloudSync

/// How many waiting changes can be sent once others are.
struct WaitingChangesTests {
  private static func change(_ id: Int64, _ blockers: Set<Int64>, _ group: String? = nil) -> WaitingChanges.Change {
    WaitingChanges.Change(id: id, blockers: blockers, group: group)
  }

  @Test(
    arguments: [
      ([], [1], [1], 0),
      // Those that wait for it, directly and through others.
      ([change(2, [1]), change(3, [2]), change(4, [3, 2])], [1], [1], 3),
      // What is sent by itself before holds nothing up.
      ([change(2, [1, 9])], [1], [1], 1),
      // Another that is held holds it as well.
      ([change(2, [1, 8]), change(3, [1])], [1, 8], [1], 1),
      ([change(2, [1, 8]), change(3, [1])], [1, 8], [1, 8], 2),
      ([change(2, [1]), change(3, [2, 8])], [1, 8], [1], 1),
      // One that is held itself goes no sooner, nor what waits for it.
      ([change(2, [1]), change(3, [2])], [1, 2], [1], 0),
      ([change(2, [1]), change(3, [2])], [1, 2], [1, 2], 1),
      // A group waits for each of its members.
      ([change(1, [], "g"), change(2, [], "g"), change(3, [], "g")], [1], [1], 2),
      ([change(1, [], "g"), change(2, [7], "g"), change(3, [], "g")], [1, 7], [1], 0),
      ([change(2, [1], "g"), change(3, [], "g"), change(4, [3])], [1], [1], 3),
      // A cycle that nothing holds is sent, and one that is held waits as a whole.
      ([change(2, [3]), change(3, [2])], [1], [1], 0),
      ([change(2, [3, 1]), change(3, [2])], [1], [1], 2),
      // What nothing waits for releases nothing.
      ([change(2, [1])], [1, 8], [8], 0),
    ] as [([WaitingChanges.Change], Set<Int64>, Set<Int64>, Int)]
  )
  func `a change is released when nothing that it waits for is held`(
    _ changes: [WaitingChanges.Change],
    _ held: Set<Int64>,
    _ sent: Set<Int64>,
    _ count: Int
  ) {
    #expect(WaitingChanges(changes, held: held).released(by: sent) == count)
  }

  // MARK: - In a store

  private let world: World
  private let store: SyncStore

  init() throws {
    world = try World()
    store = try world.open("store")
  }

  private func link(_ name: String) -> FieldValue {
    .reference(WireReference(recordName: name, action: "VALIDATE"))
  }

  private func fail(_ ids: [Int64], _ code: String, _ message: String) throws {
    for id in ids {
      try store.execute(
        "UPDATE operations SET state = 'failed', errorCode = ?, errorMessage = ? WHERE id = ?",
        [code, message, id]
      )
    }
  }

  private func releases() throws -> [String: Int] {
    try store.view { try $0.causes() }.reduce(into: [:]) { $0[$1.code ?? ""] = $1.releases }
  }

  @Test func `each cause says how many changes wait for its operations and for no other that is held`() throws {
    let ids = try ["shop", "list", "lone"].map { try store.accept(world.put($0, [:])) }
    for name in ["a", "b"] { try store.accept(world.put(name, ["of": link("shop")])) }
    try store.accept(world.put("c", ["of": link("a")]))
    let both = try store.accept(world.put("d", ["of": link("shop"), "in": link("list")]))
    try fail([ids[0]], "BAD_REQUEST", "'shop' is wrong")
    try fail([ids[1]], "INVALID_ARGUMENTS", "no")
    try fail([ids[2]], "CONFLICT", "no")
    #expect(try releases() == ["BAD_REQUEST": 3, "INVALID_ARGUMENTS": 0, "CONFLICT": 0])

    // Of one cause with two messages, both are sent.
    try fail([ids[1]], "BAD_REQUEST", "'list' is wrong")
    #expect(try releases() == ["BAD_REQUEST": 4, "CONFLICT": 0])

    // A change with more blockers than are read is not counted, and neither are those beyond the limit.
    let few = try store.read { try $0.waitingChanges(blockerLimit: 1) }
    #expect(!few.isWhole && few.released(by: [ids[0], ids[1]]) == 3)
    #expect(try !store.read { try $0.waitingChanges(limit: 1) }.isWhole)
    #expect(try store.read { try $0.waitingChanges() }.isWhole)

    _ = try store.perform(.pause, on: .ids([both]), actor: "test")
    #expect(try releases()["BAD_REQUEST"] == 3)
  }

  @Test func `changes in a zone are released by its creation`() throws {
    let zone = ZoneKey(zone: "notes")
    guard case .enqueued(let creation) = try store.enqueueZone(zone) else { return #expect(Bool(false)) }
    for name in ["a", "b"] { try store.accept(world.put(name, zone: "notes", [:])) }
    try fail([creation], "BAD_REQUEST", "no")
    #expect(try releases() == ["BAD_REQUEST": 2])
  }

  @Test func `a child that is tried again later is released by its parent`() throws {
    let ids = try ["shop", "a"].map { try store.accept(world.put($0, $0 == "a" ? ["of": link("shop")] : [:])) }
    try fail([ids[0]], "BAD_REQUEST", "no")
    try store.execute(
      "UPDATE operations SET state = 'waiting', errorCode = 'VALIDATING_REFERENCE_ERROR', nextAttemptAt = ? WHERE id = ?",
      [Int64.max, ids[1]]
    )
    #expect(try releases()["BAD_REQUEST"] == 1)
  }
}
