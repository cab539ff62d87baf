import CloudKit
import CloudKitEmulator
import Facts
import Testing

@testable import CloudSync

/// Atomic groups: their size, and what their members report about each other.
@Suite(.serialized) struct AtomicGroupTests {
  private let world: World
  private let store: SyncStore

  init() throws {
    world = try World()
    store = try world.open("store")
  }

  private func puts(_ names: [String], bytes: Int = 0) -> [Change] {
    names.map { world.put($0, ["text": .string(String(repeating: "x", count: bytes))]) }
  }

  @Test func `groups that a shared record would join to one too large are refused, and nothing is changed`() throws {
    _ = try store.enqueue(puts((0..<150).map { "a\($0)" }), group: "g")
    let before = try store.queue()

    let error = #expect(throws: StoreError.self) {
      try store.enqueue(puts((0..<100).map { "b\($0)" } + ["a0"], bytes: 1), group: "h")
    }

    #expect(error?.message == "a group has 250 changes; a request takes 200")
    #expect(try store.queue() == before)
    #expect(try store.operation(1).group == "g")
  }

  @Test func `a group with more bytes than a request takes is refused`() throws {
    let error = #expect(throws: StoreError.self) {
      try store.enqueue(puts(["a", "b"], bytes: 800_000), group: "g")
    }

    #expect(error?.message.hasPrefix("a group has 1600") == true)
    #expect(try store.queue() == [])
  }

  @Test func `an edit that makes a group too large for a request is refused alone`() throws {
    _ = try store.enqueue(puts(["a", "b", "c"], bytes: 400_000), group: "g")

    let accepted = try store.enqueue(puts(["a", "free"], bytes: 1) + puts(["b"], bytes: 999_000))
    let refused = try store.enqueue(puts(["c"], bytes: 999_000))

    #expect(accepted == [.enqueued(1), .enqueued(4), .enqueued(2)])
    guard case .refused(let reason)? = refused.first else { return #expect(refused.isEmpty) }
    #expect(reason.hasPrefix("its atomic group would have 1998") && reason.hasSuffix("a request takes 1500000"))
    #expect(try store.operation(3).bytes < 500_000)
  }

  @Test func `members of a group whose other member is held say so`() throws {
    _ = try store.enqueue(puts(["a", "b", "c"]), group: "g")
    _ = try store.perform(.pause, on: .ids([2]), actor: "test")

    let rows = try store.operations().rows

    #expect(rows[0].cause == .waitsFor([2], isGroup: true, names: ["Note/b"]))
    #expect(rows[0].blockedBy == [2])
    #expect(rows[1].cause == .paused(by: "test"))
    #expect(try store.detail(of: 3)?.operation?.cause == rows[0].cause)
  }

  @Test func `members of a group whose other member waits for something say so`() throws {
    let dead = FieldValue.reference(WireReference(recordName: "dead", action: "VALIDATE"))
    try store.accept(world.put("dead", [:]))
    _ = try store.perform(.pause, on: .ids([1]), actor: "test")
    _ = try store.enqueue([world.put("a", [:]), world.put("b", ["parent": dead])], group: "g")

    let rows = try store.operations().rows

    #expect(
      rows.map(\.cause) == [
        .paused(by: "test"), .waitsFor([3], isGroup: true, names: ["Note/b"]),
        .waitsFor([1], isGroup: false, names: ["Note/dead"]),
      ]
    )
  }
}
