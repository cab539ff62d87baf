import CloudKit
import CloudKitEmulator
import Facts
import Testing

@testable import CloudSync

/// Zones that go with all their records.
extension DeletionHoldTests {
  @Test func `neither a retry nor a zone made anew ends the hold of a zone that is gone`() async throws {
    try await share(3)
    try mine.store.accept(world.put("r1", ["y": .int64(9)]))
    try world.emulator.deleteZone(zone.zone, in: world.server, at: world.clock.date)
    try await mine.sync()

    _ = try mine.store.perform(.retry, on: .all, actor: "test")
    _ = try mine.store.enqueueZone(zone)
    try await mine.sync()
    try await mine.sync()

    #expect(try mine.store.heldDeletions().map(\.records) == [3])
    #expect(try mine.store.queue() == ["save r1 pending"])
    #expect(try mine.store.restoreDeletions(in: zone, actor: "test").records == 3)
    try await mine.sync()
    #expect(world.onServer("r1") == ["x": .int64(1), "y": .int64(9)])
  }

  @Test func `a zone that is gone is kept with its records, nothing is sent to it, and it is made anew on demand`()
    async throws
  {
    try await share(2)
    try mine.store.accept(world.put("r1", ["y": .int64(9)]))
    try world.emulator.deleteZone(zone.zone, in: world.server, at: world.clock.date)

    try await mine.sync()
    let modifications = mine.transport.count("records/modify")
    world.clock.advance(3600)
    try await mine.sync()

    #expect(mine.transport.count("records/modify") == modifications)
    #expect(try mine.store.records(mirrorOnly: true).total == 2)
    #expect(try mine.store.heldDeletions().map(\.isWholeZone) == [true])
    #expect(try mine.store.operations().rows[0].cause == .deletionsOnHold(zone: "cktop", isWholeZone: true))
    #expect(try mine.store.zones().map(\.held?.records) == [2])

    #expect(try mine.store.restoreDeletions(in: zone, actor: "test").records == 2)
    try await mine.sync()
    #expect(world.onServer("r0") == ["x": .int64(0)])
    #expect(world.onServer("r1") == ["x": .int64(1), "y": .int64(9)])
    #expect(try mine.store.status().isInSync)
  }

  @Test(arguments: ConflictPolicy.allCases)
  func `what is restored takes nothing back that others have done since they restored it`(_ policy: ConflictPolicy)
    async throws
  {
    let late = try world.device("late", policy: policy)
    func list(_ numbers: Int64...) -> FieldChanges {
      FieldChanges(values: ["n": .list(.int64, numbers.map(FieldValue.int64))], rules: ["n": .elements])
    }
    try await share(2) { ["x": .int64(Int64($0)), "n": .list(.int64, [.int64(10)])] }
    try await late.sync()
    try world.emulator.deleteZone(zone.zone, in: world.server, at: world.clock.date)
    try await theirs.sync()
    try await late.sync()
    _ = try theirs.store.restoreDeletions(in: zone, actor: "test")
    var edit = list(10, 12)
    edit["x"] = .int64(77)
    try theirs.store.accept(Change(world.key("r0"), .save(type: "Note", edit)))
    try await theirs.sync()
    world.clock.advance(60)

    try late.store.accept(Change(world.key("r0"), .save(type: "Note", list(10, 13))))
    try late.store.accept(world.put("r1", ["x": .int64(9)]))
    #expect(try late.store.restoreDeletions(in: zone, actor: "test").records == 2)
    try await late.sync()

    #expect(world.onServer("r0") == ["x": .int64(77), "n": .list(.int64, [.int64(10), .int64(12), .int64(13)])])
    #expect(world.onServer("r1") == ["x": .int64(9), "n": .list(.int64, [.int64(10)])])
    #expect(try late.store.queue() == [])
    #expect(try late.store.dropped() == [])
  }

  @Test func `a zone that goes while something is on its way to it is kept, too`() async throws {
    try await share(2)
    try mine.store.accept(world.put("r1", ["y": .int64(9)]))
    mine.transport.interfere { [world, zone] operation, _, _ in
      if operation == "records/modify" {
        try? world.emulator.deleteZone(zone.zone, in: world.server, at: world.clock.date)
      }
      return .pass
    }

    try await mine.sync()

    #expect(try mine.store.queue() == ["save r1 pending"])
    #expect(try mine.store.heldDeletions().map(\.records) == [2])
  }

  @Test func `a deletion that meets no zone has come true here as well`() async throws {
    try await share(2)
    let removal = try mine.store.accept(world.delete("r0"))
    mine.transport.interfere { operation, _, _ in
      operation == "records/modify" ? .answerLost : operation == "records/lookup" ? .offline : .pass
    }
    try await mine.sync()
    #expect(try mine.store.operation(removal).needsVerification)
    _ = try world.emulator.deleteZone(zone.zone, in: world.server, at: world.clock.date)
    // The feed has not heard of it yet.
    mine.transport.answer("changes/database", #"{"zones":[],"syncToken":"same","moreComing":false}"#)
    world.clock.advance(600)
    try await mine.sync()

    #expect(try mine.store.endings() == ["save r0 acknowledged", "save r1 acknowledged", "delete r0 acknowledged"])
    #expect(try mine.store.records(mirrorOnly: true).rows.map(\.record.key.name) == ["r1"])
  }

  @Test func `whatever retries a change of an accepted zone says that it creates the zone again`() async throws {
    try await share(2)
    try mine.store.accept(world.put("r1", ["y": .int64(9)]))
    try mine.store.accept(world.put("elsewhere", zone: "other", ["y": .int64(9)]))
    try world.emulator.deleteZone(zone.zone, in: world.server, at: world.clock.date)
    try await mine.sync()
    _ = try mine.store.acceptDeletions(in: zone, actor: "test")
    try await mine.sync()
    let failed = try #require(try mine.store.operations().rows.first { $0.state == .failed })
    let words = { (text: String) throws in
      var listing = QueueListing()
      listing.filter = try ListFilter.parse(text, of: .queue).get()
      return listing
    }

    #expect(failed.key.name == "r1" && failed.recreatesZone)
    #expect(try mine.store.detail(of: failed.id)?.recreatesZone == true)
    #expect(try mine.store.view { try $0.causes(of: QueueListing()).map(\.recreated) } == [["cktop"]])
    for (listing, zones) in [
      (QueueListing(), ["cktop"]), (try words("error = 'ZONE_NOT_FOUND'"), ["cktop"]),
      (try words("error = 'BAD_REQUEST'"), []),
    ] {
      #expect(try mine.store.view { try $0.recreatedZones(byRetrying: listing) } == zones)
    }
    for (text, zones) in [("r1", ["cktop"]), ("elsewhere", [])] {
      let recreated = try mine.store.view { view in
        var search = QueueSearch(try words(text))
        while !search.isOver { try search.step(in: view) }
        return try search.recreated(in: view)
      }
      #expect(recreated == zones)
    }
    #expect(try mine.store.perform(.discard, on: .all, dryRun: true, actor: "test").recreated == [])
    #expect(try mine.store.perform(.retry, on: .all, dryRun: true, actor: "test").recreated == ["cktop"])
    #expect(try mine.store.perform(.retry, on: .all, actor: "test").recreated == ["cktop"])

    #expect(try mine.store.perform(.retry, on: .all, dryRun: true, actor: "test").recreated == [])
    #expect(try mine.store.view { try $0.recreatedZones(byRetrying: QueueListing()) } == [])
    try await mine.sync()
    #expect(world.onServer("r1") == ["x": .int64(1), "y": .int64(9)])
  }

  @Test func `what is put into a zone after its deletion was accepted is saved in a new zone`() async throws {
    try await share(2)
    try mine.store.accept(world.put("r1", ["y": .int64(9)]))
    try world.emulator.deleteZone(zone.zone, in: world.server, at: world.clock.date)
    try await mine.sync()
    _ = try mine.store.acceptDeletions(in: zone, actor: "test")

    for change in [world.put("r0", ["x": .int64(7)]), world.put("new", [:])] { try mine.store.accept(change) }
    try await mine.sync()

    #expect(world.onServer("r0") == ["x": .int64(7)] && world.onServer("new") == [:])
    // What was edited before the decision still waits for a person.
    #expect(try mine.store.queue() == ["save r1 failed"])
    #expect(try mine.store.heldDeletions() == [])
  }

  @Test func `a deletion alone does not recreate a zone whose deletion was accepted`() async throws {
    try await share(2)
    try world.emulator.deleteZone(zone.zone, in: world.server, at: world.clock.date)
    try await mine.sync()
    _ = try mine.store.acceptDeletions(in: zone, actor: "test")
    let requests = mine.transport.count("zones/modify")

    _ = try mine.store.enqueue([world.delete("r0")])
    try await mine.sync()

    #expect(mine.transport.count("zones/modify") == requests)
    #expect(try mine.store.queue() == [])
  }
}
