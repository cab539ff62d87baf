import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Facts
import Foundation
import Testing

@testable import CloudSync

/// Ways in which an accepted change could be lost, or be sent where it must not.
@Suite(.serialized) struct ChangeLossTests {
  @Test func `what is put into a zone after its deletion waits for the deletion, and is saved in the new zone`()
    async throws
  {
    let world = try World()
    let mine = try world.device("mine")
    try mine.store.accept(world.put("old", zone: "notes", ["x": .int64(1)]))
    try await mine.sync()
    _ = try mine.store.enqueueZoneDeletion(ZoneKey(zone: "notes"))
    let deletion = try #require(try mine.store.operations().rows.first?.id)
    let new = try mine.store.accept(world.put("a", zone: "notes", ["x": .int64(2)]))
    mine.transport.interfere { operation, number, body in
      guard operation == "zones/modify", body.contains("delete"), number == 2 else { return .pass }
      let failure = #"{"zoneID": {"zoneName": "notes"}, "serverErrorCode": "INTERNAL_ERROR", "reason": "oops"}"#
      return .answer(status: 200, #"{"zones": [\#(failure)]}"#)
    }

    try await mine.sync()
    let held = try #require(try mine.store.operations().rows.first { $0.id == new })
    world.clock.advance(10)
    try await mine.sync()

    #expect(held.state == .pending)
    #expect(held.cause == .waitsForZoneDelete(deletion))
    #expect(world.onServer("a", zone: "notes") == ["x": .int64(2)])
    #expect(world.onServer("old", zone: "notes") == nil)
    #expect(try mine.store.queue().isEmpty)
  }

  @Test(arguments: [false, true])
  func `a zone is made where the feed tells of the deletion of the one before`(isCutOff: Bool) async throws {
    let world = try World()
    let mine = try world.device("mine")
    try mine.store.accept(world.put("old", zone: "notes", [:]))
    try await mine.sync()
    _ = try mine.store.enqueueZoneDeletion(ZoneKey(zone: "notes"))
    if isCutOff {
      try mine.store.accept(world.put("a", zone: "notes", [:]))
      // Deleted, and not made anew before the pass ends.
      mine.transport.interfere { operation, number, _ in operation == "zones/modify" && number == 3 ? .offline : .pass }
      try await mine.sync()
      #expect(world.onServer("old", zone: "notes") == nil && world.onServer("a", zone: "notes") == nil)
    } else {
      // Whatever was to be read after it was sent is read later.
      mine.transport.interfere { operation, number, _ in
        operation == "changes/database" && number == 3 ? .offline : .pass
      }
      try await mine.sync()
      try mine.store.accept(world.put("a", zone: "notes", [:]))
    }
    world.clock.advance(400)

    try await mine.sync()

    #expect(world.onServer("a", zone: "notes") != nil)
    #expect(try mine.store.queue() == [])
  }

  @Test func `a feed that cannot be read holds up itself, not what is to be sent`() async throws {
    let world = try World(.public)
    // As schemas are in production: without indexes on the fields that every record has.
    try world.emulator.importSchema(
      "DEFINE SCHEMA RECORD TYPE Note (x INT64, GRANT READ TO \"_world\", GRANT CREATE TO \"_icloud\");",
      container: World.container,
      environment: "development"
    )
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", ["x": .int64(1)]))
    try await mine.sync()
    try mine.store.accept(world.put("b", ["x": .int64(1)]))

    let summary = try await mine.sync()
    let status = try mine.store.status()

    #expect(world.onServer("b") != nil)
    #expect(!summary.reachedEnd && !status.isInSync)
    #expect(summary.lastItemError?.code == .badRequest)
    #expect(status.throttles.map(\.scope.name) == ["feed:_defaultZone/Note"])
    // The wait ends, the indexes are still missing.
    world.clock.advance(600)
    #expect(try mine.store.status().rejectedQueries.map(\.type) == ["Note"])
    #expect(try mine.store.status().verdict(hasCredential: true).kind == .blocked)
  }

  @Test func `a creation that the server answers with NOT_FOUND is a dead letter, not sent again and again`()
    async throws
  {
    let world = try World()
    let mine = try world.device("mine")
    let id = try mine.store.accept(world.put("a", ["x": .int64(1)]))
    mine.transport.interfere { operation, number, _ in
      guard operation == "records/modify", number < 20 else { return .pass }
      let failure = #"{"recordName": "a", "serverErrorCode": "NOT_FOUND", "reason": "Did not find record type: Note"}"#
      return .answer(status: 200, #"{"records": [\#(failure)]}"#)
    }

    try await mine.sync()

    #expect(mine.transport.count("records/modify") == 1)
    #expect(try mine.store.operation(id).state == .failed)
  }

  @Test func `records saved as another user are not taken for our own, and nothing more is sent`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    try mine.store.accept(world.put("first", ["x": .int64(1)]))
    try await mine.sync()
    try mine.store.accept(world.put("a", ["x": .int64(1)]))
    mine.transport.interfere { operation, _, _ in
      guard operation == "records/modify" else { return .pass }
      let stamp = #"{"timestamp": 1700000000000, "userRecordName": "_somebodyElse"}"#
      let record = #"{"recordName": "a", "recordType": "Note", "fields": {"x": {"value": 1}}, "recordChangeTag": "z""#
      return .answer(status: 200, #"{"records": [\#(record), "created": \#(stamp), "modified": \#(stamp)}]}"#)
    }

    let summary = try await mine.sync()
    let operation = try #require(try mine.store.operations().rows.first)
    mine.transport.interfere(nil)

    #expect(summary.error?.code == .authenticationFailed)
    #expect(operation.key.name == "a" && operation.state == .pending)
    #expect(try mine.store.mirror("a") == nil)
    #expect(try mine.store.status().throttles.map(\.scope.name) == ["account"])
    #expect(try mine.store.status().verdict(hasCredential: true).kind == .wrongAccount)
    // It is put right, and the change goes to whom it belongs.
    world.clock.advance(120)
    try await mine.sync()
    #expect(world.onServer("a") == ["x": .int64(1)])
    #expect(try mine.store.status().isInSync)
  }

  @Test func `quota stays full where the same answer both saved and refused`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    try mine.store.accept(world.put("zone", ["x": .int64(1)]))
    try await mine.sync()
    for name in ["a", "b"] { try mine.store.accept(world.put(name, ["x": .int64(1)])) }
    mine.transport.interfere { operation, _, _ in
      guard operation == "records/modify" else { return .pass }
      let saved = #"{"recordName": "a", "recordType": "Note", "fields": {"x": {"value": 1}}, "recordChangeTag": "z"}"#
      let full = #"{"recordName": "b", "serverErrorCode": "QUOTA_EXCEEDED", "reason": "full"}"#
      return .answer(status: 200, #"{"records": [\#(saved), \#(full)]}"#)
    }
    let before = mine.transport.count("records/modify")

    try await mine.sync()

    #expect(mine.transport.count("records/modify") == before + 1)
    #expect(try mine.store.status().throttles.map(\.scope.name) == ["quota"])
  }

  @Test func `a server that fails as a whole makes no dead letters of the queue, and is asked ever more seldom`()
    async throws
  {
    let world = try World()
    let mine = try world.device("mine")
    try mine.store.accept(world.put("zone", ["x": .int64(1)]))
    try await mine.sync()
    for number in 0..<300 { try mine.store.accept(world.put("r\(number)", ["x": .int64(1)])) }
    mine.transport.interfere { operation, _, _ in
      guard operation == "records/modify" else { return .pass }
      return .answer(status: 500, #"{"serverErrorCode": "INTERNAL_ERROR", "reason": "oops"}"#)
    }
    let before = mine.transport.count("records/modify")

    // As a driver does, which does not end its own waits.
    let lease = try #require(try Lease.acquire(mine.store))
    for _ in 0..<240 {
      _ = try await mine.engine.runSync(lease)
      world.clock.advance(5)
    }
    let asked = mine.transport.count("records/modify") - before
    let failed = try mine.store.status().queue.failed
    mine.transport.interfere(nil)
    for _ in 0..<20 {
      world.clock.advance(400)
      _ = try await mine.engine.runSync(lease)
    }

    #expect(failed == 0)
    #expect(asked < 20)
    #expect(try mine.store.queue().isEmpty)
  }

  @Test func `a change whose answer was lost outlives a server that fails for a while`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    let id = try mine.store.accept(world.put("a", ["x": .int64(1)]))
    mine.transport.interfere { operation, _, _ in
      switch operation {
      case "records/modify": .lost
      case "records/lookup": .answer(status: 500, "")
      default: .pass
      }
    }
    let lease = try #require(try Lease.acquire(mine.store))

    for _ in 0..<120 {
      _ = try await mine.engine.runSync(lease)
      world.clock.advance(5)
    }
    let during = try mine.store.operation(id)
    mine.transport.interfere(nil)
    world.clock.advance(400)
    _ = try await mine.engine.runSync(lease)

    #expect(during.state != .failed && during.attempts <= 1)
    #expect(world.onServer("a") == ["x": .int64(1)])
  }

  @Test func `a record that alone makes the server fail ends as a dead letter, and the others go`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    try mine.store.accept(world.put("zone", ["x": .int64(1)]))
    try await mine.sync()
    for number in 0..<20 { try mine.store.accept(world.put("r\(number)", ["x": .int64(1)])) }
    mine.transport.interfere { operation, _, body in
      guard operation == "records/modify", body.contains("\"r7\"") else { return .pass }
      return .answer(status: 500, #"{"serverErrorCode": "INTERNAL_ERROR", "reason": "oops"}"#)
    }

    for _ in 0..<200 {
      try await mine.sync()
      world.clock.advance(400)
    }

    #expect(try mine.store.queue() == ["save r7 failed"])
    #expect(world.onServer("r8") != nil && world.onServer("r19") != nil)
  }

  @Test func `a record of a feed that fails to come is not passed over`() async throws {
    let world = try World()
    let (mine, theirs) = (try world.device("mine"), try world.device("theirs"))
    try theirs.store.accept(world.put("a", ["x": .int64(1)]))
    try theirs.store.accept(world.put("b", ["x": .int64(1)]))
    try await theirs.sync()
    mine.transport.interfere { operation, number, _ in
      guard operation == "changes/zone", number == 1 else { return .pass }
      let failure = #"{"recordName": "a", "serverErrorCode": "INTERNAL_ERROR", "reason": "oops"}"#
      return .answer(
        status: 200,
        #"{"zones": [{"zoneID": {"zoneName": "cktop"}, "records": [\#(failure)], "syncToken": "t1", "moreComing": false}]}"#
      )
    }

    let first = try await mine.sync()
    let status = try mine.store.status()
    world.clock.advance(400)
    try await mine.sync()

    #expect(!first.reachedEnd && !status.isInSync)
    #expect(try mine.store.mirror("a") == ["x": .int64(1)])
    #expect(try mine.store.mirror("b") == ["x": .int64(1)])
    #expect(try mine.store.status().isInSync)
  }

  @Test func `an answer that names no zone acknowledges no zone operation`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    _ = try mine.store.enqueueZone(ZoneKey(zone: "notes"))
    mine.transport.interfere { operation, number, _ in
      operation == "zones/modify" && number == 1 ? .answer(status: 200, #"{"zones": []}"#) : .pass
    }

    try await mine.sync()
    let queued = try mine.store.queue()
    world.clock.advance(400)
    try await mine.sync()

    #expect(queued.count == 1)
    #expect(try mine.store.queue().isEmpty)
    #expect(mine.transport.count("zones/modify") == 2)
  }

  @Test func `a store that nobody signed in for becomes that of the first who does, and of no other`() async throws {
    let world = try World(.public)
    let anonymous = try world.device("mine", identity: SyncStore.anonymous)
    try await anonymous.sync(["Note"])
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", ["x": .int64(1)]))

    try await mine.sync()

    #expect(world.onServer("a") == ["x": .int64(1)])
    await #expect(throws: StoreError.self) { try await world.device("mine", user: "bob").sync() }
    await #expect(throws: StoreError.self) { try await world.device("mine", identity: SyncStore.anonymous).sync() }
  }

  @Test func `a server that lost its zones is not taken for one that has them`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    for name in ["a", "b", "c"] { try mine.store.accept(world.put(name, ["x": .int64(1)])) }
    try await mine.sync()
    try await mine.sync()
    // Another server at the same address: it knows neither tokens nor zones.
    let empty = try World { $0.seed = 7 }
    let clock = world.clock
    mine.transport.redirect(to: EmulatorTransport(empty.emulator, now: { clock.date }, sleep: { _ in }))

    try await mine.sync()

    #expect(try mine.store.heldDeletions().map(\.records) == [3])
    #expect(try mine.store.records().total == 3)
    #expect(try !mine.store.status().isInSync)
  }

  @Test func `a delete that failed is tried again when it is asked for again`() async throws {
    let world = try World()
    let device = try world.device("a")
    try device.store.accept(world.put("r", [:]))
    try await device.sync()
    let id = try device.store.accept(world.delete("r"))
    try device.store.write { ledger in
      var operation = try #require(try ledger.operation(id))
      operation.apply(.failed(.rejected(code: "ACCESS_DENIED", message: "not allowed")))
      try ledger.update(operation)
    }
    try device.store.accept(world.delete("r"))
    try await device.sync()

    #expect(try device.store.detail(of: id)?.history?.ending == .acknowledged)
    #expect(world.onServer("r") == nil)
  }

  @Test func `a zone's turn is remembered whatever else is learnt of the zone`() throws {
    let store = try World().open("turns")
    let zone = ZoneKey(zone: "z")
    let turn = try store.write { ledger in
      try ledger.insertZone(zone, state: .ready)
      try ledger.noteServed(zone)
      let turn = try ledger.zone(zone)?.served
      try ledger.setToken(zone, "t", fetched: 0, atEnd: true, now: 1)
      return turn
    }

    #expect(try store.read { try $0.zone(zone)?.served } == turn)
    #expect(turn != 0)
  }
}
