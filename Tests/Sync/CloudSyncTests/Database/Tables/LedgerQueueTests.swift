import CloudKit
import Facts
import GRDB
import Testing

@testable import CloudSync

/// What the ledger does about operations.
@Suite(.serialized) struct LedgerQueueTests {
  private func write(_ body: (Ledger) throws -> Void) throws {
    try SQLiteStorage(inMemory: "store").write(body)
  }

  @Test func `an operation comes back as it was put, but for what never changes`() throws {
    try write { ledger in
      var operation = QueuedOperation.save("a", referringTo: "b")
      operation.id = try ledger.insert(operation)
      #expect(try ledger.operation(operation.id) == operation)

      operation = QueuedOperation(
        id: operation.id,
        kind: .delete,
        key: operation.key,
        type: "Task",
        changes: FieldChanges(values: ["x": .list(.int64, [.int64(1)])], cleared: ["y"]),
        base: ["x": .double(1.5)],
        baseTag: "tag",
        phase: .inFlight(generation: 2, .save),
        cause: .sending,
        generation: 3,
        isRecreation: true,
        doubt: QueuedOperation.Doubt(
          needsVerification: true,
          isUnconfirmed: true,
          sentChanges: [FieldChanges(values: ["x": .string("é")]), FieldChanges(values: ["x": .int64(2)])],
          lostRounds: 2
        ),
        conflictRounds: 4,
        attempts: 5,
        maxAttempts: operation.maxAttempts,
        errorCode: "BUSY",
        errorMessage: "later",
        enqueuedAt: operation.enqueuedAt,
        editedAt: 9,
        asked: .conflict(version: "3 tag"),
        bytes: 77,
        group: "g",
        bisection: .check(request: 4)
      )
      var moved = operation
      moved.key = RecordKey(.one, "elsewhere")
      moved.enqueuedAt = 1
      moved.maxAttempts = 1
      try ledger.replace(moved, RecordLinks())
      #expect(try ledger.operation(for: operation.key) == operation)
    }
  }

  @Test func `failed saves are to be offered, oldest first, until they have been in the generation that they have`()
    throws
  {
    try write { ledger in
      func fail(_ name: String, _ change: (inout QueuedOperation) -> Void = { _ in }) throws -> Int64 {
        var operation = QueuedOperation.save(name, phase: .failed)
        operation.errorCode = "BAD_REQUEST"
        change(&operation)
        return try ledger.insert(operation)
      }
      let first = try fail("first")
      let conflicted = try fail("conflicted") { $0.asked = .conflict(version: "1 tag") }
      let edited = try fail("edited") { operation in
        operation.isOffered = true
        operation.generation = 2
      }
      let last = try fail("last") { $0.errorCode = nil }
      _ = try fail("offered") { $0.isOffered = true }
      _ = try fail("unreadable") { $0.errorCode = StoreError.unreadable }
      let deleted = try fail("deleted") { $0.kind = .delete }
      _ = try fail("pending") { $0.apply(.answered) }

      #expect(try ledger.deadLettersToOffer(limit: 9).map(\.id) == [first, conflicted, edited, last, deleted])
      #expect(try ledger.deadLettersToOffer(limit: 2).map(\.id) == [first, conflicted])
    }
  }

  @Test func `no number is given twice, and none to two operations of one record`() throws {
    try write { ledger in
      let first = try ledger.insert(.save("a"))
      try ledger.removeOperations([first])
      let second = try ledger.insert(.save("a"))
      #expect(second == first + 1)

      #expect(throws: (any Error).self) { _ = try ledger.insert(.save("a")) }
    }
  }

  @Test func `operations are found in the order in which they are asked for, and removed in their own`()
    throws
  {
    try write { ledger in
      try ledger.startDelivering(now: 1)
      let ids = try ["a", "b", "c", "d"].map { try ledger.insert(.save($0)) }
      #expect(try ledger.operations([ids[2], 99, ids[0]]).map(\.key.name) == ["c", "a"])
      #expect(try ledger.operations([]).isEmpty)

      try ledger.removeOperations([ids[3], 99, ids[1]])
      #expect(try ledger.operations(ids).map(\.key.name) == ["a", "c"])
      #expect(try ledger.deliveries(isGone: true, limit: 9).map(\.key.name) == ["b", "d"])
    }
  }

  @Test func `what no operation can be is refused`() throws {
    let changes = [
      "state = 'inFlight'", "sentGeneration = 1", "state = 'waiting'", "nextAttemptAt = 1", "state = 'conflict'",
      "conflictAt = 1", "operation = 'zoneSave'",
    ]
    try write { ledger in
      let id = try ledger.insert(.save("a"))
      for change in changes {
        let sql = "UPDATE operations SET \(change) WHERE id = \(id)"
        #expect(throws: (any Error).self, "\(change)") { try ledger.run(sql) }
      }
    }
  }

  @Test func `a save waits for creations, a delete for the deletes of what referred to it`() throws {
    try write { ledger in
      let parent = try ledger.insert(.save("parent"))
      let child = try ledger.insert(.save("child", referringTo: "parent"))
      #expect(try ledger.blockers(of: child) == [parent])
      #expect(try ledger.blockers(of: parent) == [])

      var known = QueuedOperation.save("parent", id: parent)
      known.baseTag = "tag"
      try ledger.update(known)
      #expect(try ledger.blockers(of: child) == [])

      known.kind = .delete
      known.changes = FieldChanges()
      try ledger.update(known)
      var gone = QueuedOperation.save("child", referringTo: "parent", id: child)
      gone.kind = .delete
      gone.base = gone.changes.values
      gone.changes = FieldChanges()
      try ledger.update(gone)
      #expect(try ledger.blockers(of: parent) == [child])
      #expect(try ledger.blockers(of: child) == [])

      gone.base = [:]
      try ledger.update(gone)
      #expect(try ledger.blockers(of: parent) == [])
    }
  }

  @Test func `a record that refers to itself does not wait for itself`() throws {
    try write { ledger in
      let id = try ledger.insert(.save("a", referringTo: "a"))
      #expect(try ledger.blockers(of: id) == [])
    }
  }

  @Test func `the statements for many rows store what the events of single operations do`() throws {
    let phases: [QueuedOperation.Phase] = [
      .pending, .waiting(until: 900, isServersWait: true), .waiting(until: 900, isServersWait: false),
      .inFlight(generation: 1, .save), .failed, .paused, .conflict(since: 5),
    ]
    func rows(_ phase: QueuedOperation.Phase, _ change: (inout QueuedOperation, Ledger) throws -> Void) throws -> [Row]
    {
      let storage = try SQLiteStorage(inMemory: "store")
      return try storage.write { ledger in
        var operation = QueuedOperation.save("a", phase: phase, doubt: QueuedOperation.Doubt(lostRounds: 2))
        operation.bytes = operation.changes.requestBytes
        operation.id = try ledger.insert(operation)
        try change(&operation, ledger)
        return try ledger.rows("SELECT * FROM operations")
      }
    }
    func update(_ event: SendingEvent) -> (inout QueuedOperation, Ledger) throws -> Void {
      { operation, ledger in
        operation.apply(event)
        try ledger.update(operation)
      }
    }

    for phase in phases.prefix(3) {
      let sent = try rows(phase) { try $1.markInFlight([$0.id]) }
      #expect(try sent == rows(phase, update(.sent(as: .save))), "\(phase)")
    }
    for phase in phases {
      for (now, throttledToo) in [(899, false), (899, true), (900, false)] as [(Int64, Bool)] {
        var isEnded = false
        let flushed = try rows(phase) { operation, ledger in
          isEnded = try !ledger.endBackOffs([operation.id], now: now, throttledToo: throttledToo).isEmpty
        }
        let ready = SendingEvent.ready(.readyAgain(.flushed), now: throttledToo ? .max : now)
        #expect(try flushed == (isEnded ? rows(phase, update(ready)) : rows(phase) { _, _ in }), "\(phase) at \(now)")
      }
    }
  }

  @Test func `what is in flight, and what waits by itself, becomes pending as a whole`() throws {
    try write { ledger in
      let sent = try ledger.insert(.save("a"))
      var zone = QueuedOperation.save("")
      zone.kind = .zoneSave
      let sentZone = try ledger.insert(zone)
      let asked = try ledger.insert(.save("b", phase: .waiting(until: 900, isServersWait: true)))
      let own = try ledger.insert(.save("c", phase: .waiting(until: 900, isServersWait: false)))

      try ledger.markInFlight([sent, sentZone])
      #expect(try ledger.operations(in: .inFlight).map(\.sentGeneration) == [1, 1])
      #expect(try ledger.recoverInFlight() == 2)
      #expect(try ledger.operation(sent)?.needsVerification == true)
      #expect(try ledger.operation(sent)?.cause == .sentBeforeRestart(isRepeated: false))
      #expect(try ledger.operation(sentZone)?.needsVerification == false)
      #expect(try ledger.operation(sentZone)?.cause == .sentBeforeRestart(isRepeated: true))

      #expect(try ledger.nextBackOffEnd(after: 899) == 900)
      #expect(try ledger.nextBackOffEnd(after: 900) == nil)
      #expect(try ledger.backOffs(now: 899, throttledToo: false) == [own])
      #expect(try ledger.endBackOffs([own, asked], now: 899, throttledToo: false) == [own])
      #expect(try ledger.operation(own)?.state == .pending)
      #expect(try ledger.operation(asked)?.state == .waiting)
      #expect(try ledger.backOffs(now: 900, throttledToo: false) == [asked])
      #expect(try ledger.endBackOffs([own, asked], now: 900, throttledToo: false) == [asked])
      #expect(try ledger.operationCount(in: .pending) == 4)
    }
  }
}
