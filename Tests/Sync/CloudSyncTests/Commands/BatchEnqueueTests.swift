import CloudKit
import Foundation
import GRDB
import Synchronization
import Testing

@testable import CloudSync

/// Accepting many changes in one call.
@Suite(.serialized) struct BatchEnqueueTests {
  private let world: World

  init() throws { world = try World() }

  @Test func `many changes in one call have the same effect as one call each`() async throws {
    var changes = (0..<120).map { number in
      world.put("n\(number)", ["number": .int64(Int64(number)), "next": .reference(WireReference(recordName: "n0"))])
    }
    changes.insert(world.put("n3", ["text": .string("edited")]), at: 60)
    changes.insert(world.delete("n5"), at: 61)
    changes.insert(world.delete("unknown"), at: 62)
    changes.insert(world.put("_not allowed", [:]), at: 63)
    changes.insert(world.put("mirrored", ["text": .string("new")]), at: 64)
    changes.insert(world.put("same", ["text": .string("old")]), at: 65)
    changes += [world.put("\u{e9}", ["text": .string("one")]), world.put("e\u{301}", ["text": .string("two")])]
    let devices = [try world.device("together"), try world.device("single")]
    for name in ["mirrored", "same"] { try devices[0].store.accept(world.put(name, ["text": .string("old")])) }
    for device in devices { try await device.sync() }

    let together = try devices[0].store.enqueue(changes)
    let single = try changes.flatMap { try devices[1].store.enqueue([$0]) }

    let (ids, others) = (together.compactMap(\.operation), single.compactMap(\.operation))
    #expect(ids.map { $0 - ids[0] } == others.map { $0 - others[0] })
    #expect(together.map { $0.operation == nil } == single.map { $0.operation == nil })
    #expect(try devices[0].store.queue() == devices[1].store.queue())
    for (id, other) in zip(ids, others) {
      let operations = (
        try devices[0].store.detail(of: id)?.operation, try devices[1].store.detail(of: other)?.operation
      )
      #expect(operations.0?.changes == operations.1?.changes)
    }
    let links = "SELECT count(*) FROM refs"
    #expect(try devices[0].store.count(links) == devices[1].store.count(links))
  }

  @Test func `an edit of a record with a dropped change ends its undo`() throws {
    let store = try world.open("store")
    let id = try store.accept(world.put("a", ["text": .string("1")]))
    _ = try store.perform(.discard, on: .ids([id]), actor: "test")

    try store.accept(world.put("a", ["text": .string("2")]))

    #expect(try store.dropped().isEmpty)
  }

  @Test func `one statement inserts fifty new records`() throws {
    let store = try world.open("store")
    let insertions = Mutex(0)
    try store.file.writer.writeWithoutTransaction { database in
      database.trace { event in
        if case .statement(let statement) = event, statement.sql.hasPrefix("INSERT INTO operations(") {
          insertions.withLock { $0 += 1 }
        }
      }
    }

    _ = try store.enqueue((0..<500).map { world.put("n\($0)", ["text": .string("x")]) })

    #expect(insertions.withLock { $0 } == 10)
  }
}

extension Accepted {
  fileprivate var operation: Int64? { if case .enqueued(let id) = self { id } else { nil } }
}
