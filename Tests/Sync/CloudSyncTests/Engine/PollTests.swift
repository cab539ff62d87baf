import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization
import Testing

@testable import CloudSync

/// Reading what others did where there is no change feed: by modification time, and by full scans.
@Suite(.serialized) struct PollTests {
  @Test func `the public database is read by modification time`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    let theirs = try world.device("theirs", user: "ben")
    _ = try theirs.store.enqueue((0..<450).map { world.put("r\($0)", ["x": .int64(0)]) })
    try await theirs.sync()

    #expect(try await mine.sync().fetched == 0)
    #expect(try await mine.sync(["Note"]).fetched == 450)
    world.clock.advance(600)
    try theirs.store.accept(world.put("r7", ["x": .int64(1)]))
    try await theirs.sync()
    #expect(try await mine.sync().fetched == 1)
    world.clock.advance(600)
    try theirs.store.accept(world.put("r8", ["x": .int64(1)]))
    try await theirs.sync()
    let before = mine.transport.count("records/query")

    #expect(try await mine.sync().fetched == 1)
    #expect(try mine.store.mirror("r8") == ["x": .int64(1)])
    // One page since the watermark, three pages of names.
    #expect(mine.transport.count("records/query") == before + 4)
    #expect(try mine.store.status().isInSync)
  }

  @Test func `a type whose first record the sync itself sends is not reported as unknown`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    try mine.store.accept(world.put("de", type: "Country", [:]))

    #expect(try await mine.sync(["Country", "Cuontry"]).unknownTypes == ["Cuontry"])
  }

  @Test func `a record with a value that does not fit its type does not hold up the others of its type`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    let misfit =
      #"{"recordName":"a","recordType":"Note","recordChangeTag":"z","fields":{"x":{"type":"INT64","value":{"a":[1]}}}}"#
    let stamp = #"{"timestamp":1700000000000,"userRecordName":"_ben"}"#
    let other = #"{"recordName":"b","recordType":"Note","recordChangeTag":"z","fields":{},"modified":\#(stamp)}"#
    mine.transport.answer("records/query", #"{"records":[\#(misfit),\#(other)]}"#)

    let summary = try await mine.sync(["Note"])

    #expect(summary.lastItemError?.code == .unexpectedServerResponse && !summary.reachedEnd)
    #expect(try mine.store.mirror("b") == [:] && mine.store.status().throttles.isEmpty)
    #expect(try mine.store.read { try $0.polledQueries().map(\.watermark) } == [1_700_000_000_000])
    #expect(try mine.store.status().unreadable.map(\.record) == ["a"])
    // The server does not have it any more.
    mine.transport.interfere(nil)
    try await mine.sync()
    #expect(try mine.store.status().unreadable.isEmpty)
  }

  @Test func `deletions in the public database are found by a full scan`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    let theirs = try world.device("theirs", user: "ben")
    _ = try theirs.store.enqueue((0..<5).map { world.put("r\($0)", [:]) })
    try await theirs.sync()
    try await mine.sync(["Note"])
    _ = try theirs.store.enqueue([world.delete("r1"), world.delete("r3")])
    try await theirs.sync()

    let summary = try await mine.sync()

    #expect(summary.deleted == 2)
    #expect(try mine.store.records().rows.map(\.record.key.name) == ["r0", "r2", "r4"])
  }

  @Test func `a syncing process is at work as long as a full scan takes`() async throws {
    let world = try World(.public) { $0.pageLimit = 4 }
    let mine = try world.device("mine")
    _ = try mine.store.enqueue((0..<40).map { world.put("r\($0)", [:]) })
    try await mine.sync(["Note"])
    let other = try world.open("mine")
    let takeovers = Mutex(0)
    mine.transport.interfere { operation, _, _ in
      guard operation == "records/query" else { return .pass }
      world.clock.advance(1.5)
      if let lease = try? Lease.acquire(other) {
        takeovers.withLock { $0 += 1 }
        lease.release(other)
      }
      return .pass
    }

    try await mine.sync()

    #expect(takeovers.withLock(\.self) == 0)
    #expect(try mine.store.status().isInSync)
  }

  @Test func `a reading that is cut off begins again where it was, however new a record is that was looked up`()
    async throws
  {
    let world = try World(.public)
    let mine = try world.device("mine")
    for index in 0..<450 { try world.saveOnServer("r\(index)", by: "ana", ["x": .int64(0)]) }
    let refusal = Interference.refusing("r0", "THROTTLED", "later", retryAfter: 100_000)
    try mine.store.accept(world.put("r0", ["x": .int64(7)]))
    mine.transport.interfere { operation, number, _ in
      if operation == "records/modify" { return refusal }
      if operation == "records/lookup" {
        world.clock.advance(10_000)
        try? world.saveOnServer("r0", by: "ana", ["x": .int64(1)])
      }
      return operation == "records/query" && number == 2 ? .offline : .pass
    }
    try await mine.sync(["Note"])
    #expect(try mine.store.records(mirrorOnly: true).total < 450)

    mine.transport.interfere(nil)
    world.clock.advance(600)
    let lease = try #require(try Lease.acquire(mine.store))
    _ = try await mine.engine.runSync(lease, serving: SyncRequests(types: ["Note"]), fullScans: .never)
    lease.release(mine.store)

    #expect(try mine.store.records(mirrorOnly: true).total == 450)
  }

  /// A pass as a driver makes them.
  private func drive(_ device: TestDevice, _ types: [String] = []) async throws {
    let lease = try #require(try Lease.acquire(device.store))
    defer { lease.release(device.store) }
    _ = try await device.engine.runSync(lease, serving: SyncRequests(types: types), fullScans: .whenDue)
  }

  @Test func `a driver that is always at work finds what others delete`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    _ = try mine.store.enqueue([world.put("a", [:]), world.put("b", [:])])
    try await mine.sync(["Note"])
    try await whileDriving(mine) {
      world.clock.advance(1)
      try mine.store.accept(world.put("first", [:]))
      try await eventually(mine.store) { try mine.store.status().isInSync }
      _ = try await world.send(
        #"{"operations": [{"operationType": "forceDelete", "record": {"recordName": "a"}}]}"#,
        to: "records/modify"
      )
      // Twenty passes within ten minutes, none of which comes from the clock.
      for number in 0..<30 {
        world.clock.advance(20)
        try mine.store.accept(world.put("n\(number)", [:]))
        try await eventually(mine.store) { try mine.store.status().isInSync }
      }
    }

    #expect(try mine.store.mirror("a") == nil)
    #expect(try mine.store.mirror("b") != nil)
  }

  /// Five notes and five tasks, sent.
  private func fill(_ device: TestDevice, of world: World) async throws {
    for type in ["Note", "Task"] {
      _ = try device.store.enqueue((0..<5).map { world.put("\(type)\($0)", type: type, [:]) })
    }
    try await device.sync()
  }

  @Test func `a deletion is found whenever the types of records became known`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    let theirs = try world.device("theirs", user: "ben")
    try await fill(theirs, of: world)
    for type in ["Note", "Task"] {
      try await drive(mine, [type])
      try await drive(mine)
      world.clock.advance(100)
    }
    try theirs.store.accept(world.delete("Note1"))
    try await theirs.sync()

    for _ in 0..<12 {
      world.clock.advance(30)
      try await drive(mine)
    }

    #expect(try mine.store.mirror("Note1") == nil)
    #expect(try mine.store.records().total == 9)
    // Names of both types at the beginning, and each 300 seconds; else one page for what is new.
    #expect(mine.transport.count("records/query") < 60)
  }

  @Test func `a type that cannot be read keeps no deletion of another from coming true`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    let theirs = try world.device("theirs", user: "ben")
    try await fill(theirs, of: world)
    try await mine.sync(["Note", "Task"])
    mine.transport.interfere { operation, _, body in
      operation == "records/query" && body.contains("Task")
        ? .answer(status: 400, #"{"serverErrorCode":"BAD_REQUEST","reason":"not indexed"}"#) : .pass
    }
    try theirs.store.accept(world.delete("Note1"))
    try await theirs.sync()

    try await mine.sync()

    #expect(try mine.store.mirror("Note1") == nil)
    #expect(try mine.store.records().total == 9)
  }

  @Test func `an edit that the index showed too late, and a record, are found by a full scan`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    let early = world.clock.date
    world.clock.advance(1000)
    for name in ["edited", "same"] {
      try world.saveOnServer(name, by: "ben", ["x": .int64(1)])
    }
    try await mine.sync(["Note"])
    // They bear a time that was read long ago.
    for name in ["edited", "late"] {
      try world.saveOnServer(name, by: "ben", ["x": .int64(2)], at: early)
    }

    let summary = try await mine.sync()

    #expect(summary.fetched == 2 && summary.deleted == 0)
    #expect(try mine.store.mirror("edited") == ["x": .int64(2)])
    #expect(try mine.store.mirror("late") == ["x": .int64(2)])
    #expect(mine.transport.count("records/lookup") == 1)
  }

  @Test func `one's own record that others delete before the first reading is found missing, too`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", [:]))
    mine.transport.interfere { operation, number, _ in operation == "records/query" && number == 2 ? .offline : .pass }
    try await mine.sync()
    try world.emulator.delete(recordName: "a", in: world.server, user: "ana", at: world.clock.date)
    world.clock.advance(10)

    try await mine.sync()

    #expect(try mine.store.records().total == 0)
  }

  @Test(arguments: [false, true])
  func `a deleted record that the index shows for a while is not taken for a new one`(_ isMadeAnew: Bool) async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", ["x": .int64(1)]))
    try mine.store.accept(world.put("b", [:]))
    try await mine.sync()
    let query = #"{"zoneID":{"zoneName":"_defaultZone"},"query":{"recordType":"Note"}}"#
    let old = try await world.send(query, to: "records/query")
    let index = Interference.answer(status: old.status, String(decoding: old.body, as: UTF8.self))
    mine.transport.interfere { operation, _, _ in operation == "records/query" ? index : .pass }
    world.clock.advance(10)
    try mine.store.accept(world.delete("a"))
    if isMadeAnew {
      let date = world.clock.date
      mine.transport.interfere { operation, _, _ in
        guard operation == "records/query" else { return .pass }
        try? world.saveOnServer("a", by: "ben", ["x": .int64(2)], at: date)
        return index
      }
    }

    try await mine.sync()

    #expect(try mine.store.mirror("a") == (isMadeAnew ? ["x": .int64(2)] : nil))
    #expect(try mine.store.mirror("b") == [:])
  }

  @Test func `a record that the index does not show yet is not taken for deleted`() async throws {
    let world = try World(.public) { $0.indexDelay = .seconds(30) }
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", [:]))

    try await mine.sync()
    world.clock.advance(1)
    try await mine.sync()

    #expect(try mine.store.records().total == 1)
  }

  /// Found by simulation, seeds 41, 155 and 319.
  @Test func `what changed behind an interrupted reading is read when it goes on`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    let theirs = try world.device("theirs")
    _ = try theirs.store.enqueue((100..<550).map { world.put("r\($0)", ["x": .int64(0)]) })
    try await theirs.sync()
    mine.transport.interfere { operation, number, _ in operation == "records/query" && number == 2 ? .offline : .pass }
    try await mine.sync(["Note"])
    // In the same millisecond, so that its place in the order of modification is before the page reached.
    try theirs.store.accept(world.put("r100", ["x": .int64(1)]))
    try await theirs.sync()
    world.clock.advance(10_000)
    try theirs.store.accept(world.put("r101", ["x": .int64(1)]))
    try await theirs.sync()
    world.clock.advance(10)

    try await mine.sync()

    #expect(try mine.store.mirror("r100") == ["x": .int64(1)])
    #expect(try mine.store.status().isInSync)
  }

  /// Found by simulation, seed 1008.
  @Test func `what a delete of one's own takes along is gone here too where there is no feed`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", [:]))
    try mine.store.accept(
      world.put("b", ["owner": .reference(WireReference(recordName: "a", action: "DELETE_SELF"))])
    )
    try await mine.sync()
    world.clock.advance(1)
    try mine.store.accept(world.delete("a"))

    try await mine.sync()

    #expect(world.onServer("b") == nil)
    #expect(try mine.store.mirror("b") == nil)
  }

  @Test func `records of a type that may be made and not be read go, and so does everything else`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    mine.transport.interfere { operation, _, body in
      guard operation == "records/query", body.contains("Feedback") else { return .pass }
      return .answer(status: 403, #"{"serverErrorCode":"ACCESS_DENIED","reason":"no READ"}"#)
    }
    try mine.store.accept(world.put("f", type: "Feedback", [:]))
    try mine.store.accept(world.put("n", type: "Note", [:]))

    let summary = try await mine.sync()

    #expect(try mine.store.queue() == [])
    #expect(world.onServer("f") != nil && world.onServer("n") != nil)
    #expect(summary.error == nil && summary.reachedEnd)
    let status = try mine.store.status()
    #expect(status.throttles.isEmpty && !status.errorStands && status.isInSync)
    // What cannot be read is not taken for deleted either.
    #expect(try mine.store.mirror("n") != nil && mine.store.mirror("f") != nil)
  }

  @Test func `deletions in a private default zone come true, also where nothing was ever sent to it`() async throws {
    let world = try World()
    let (mine, theirs) = (try world.device("mine"), try world.device("theirs"))
    _ = try theirs.store.enqueue(["a", "b"].map { world.put($0, zone: "_defaultZone", [:]) })
    try await theirs.sync()
    #expect(try await mine.sync(["Note"]).fetched == 2)
    try theirs.store.accept(world.delete("a", zone: "_defaultZone"))
    try await theirs.sync()

    #expect(try await mine.sync().deleted == 1)
    #expect(try mine.store.records(mirrorOnly: true).rows.map(\.record.key.name) == ["b"])
  }

  @Test func `the default zone of the private database is read by modification time, for it has no feed`() async throws
  {
    let world = try World()
    let (mine, theirs) = (try world.device("mine"), try world.device("theirs"))
    try mine.store.accept(world.put("a", zone: "_defaultZone", ["x": .int64(1)]))

    let first = try await mine.sync()
    try await theirs.sync(["Note"])
    world.clock.advance(1)
    try theirs.store.accept(world.put("a", zone: "_defaultZone", ["x": .int64(2)]))
    try await theirs.sync()
    let second = try await mine.sync()

    #expect(first.reachedEnd && second.reachedEnd)
    #expect(try mine.store.mirror("a") == ["x": .int64(2)])
    #expect(try mine.store.status().throttles.isEmpty)
    #expect(mine.transport.count("changes/zone") == 0)
  }

  @Test func `a public store that knows no type does not claim to be in sync`() async throws {
    let world = try World(.public)
    let device = try world.device("public")

    try await device.sync()

    #expect(try !device.store.status().isInSync)
    #expect(device.store.knowsNoTypes)
  }
}
