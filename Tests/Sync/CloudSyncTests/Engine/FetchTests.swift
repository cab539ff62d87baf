import CloudKit
import CloudKitEmulator
import Foundation
import JSONText
import Testing

@testable import CloudSync

/// Reading what others did, from change feeds.
@Suite(.serialized) struct FetchTests {
  private let world: World
  private let mine: TestDevice
  private let theirs: TestDevice

  init() async throws {
    world = try World()
    mine = try world.device("mine")
    theirs = try world.device("theirs")
  }

  /// `count` records known to both devices.
  private func share(_ count: Int) async throws {
    _ = try mine.store.enqueue((0..<count).map { world.put("r\($0)", ["x": .int64(0)]) })
    try await mine.sync()
    try await theirs.sync()
  }

  @Test func `a deletion comes as a tombstone`() async throws {
    try await share(3)
    try theirs.store.accept(world.delete("r1"))
    try await theirs.sync()

    let summary = try await mine.sync()

    #expect(summary.deleted == 1)
    #expect(try mine.store.records(mirrorOnly: true).rows.map(\.record.key.name) == ["r0", "r2"])
  }

  @Test func `what was sent before a zone could be read, and went with it, is not taken for what the next one has`()
    async throws
  {
    mine.transport.interfere { operation, _, _ in
      operation == "changes/zone" ? .answer(status: 500, #"{"serverErrorCode":"INTERNAL_ERROR"}"#) : .pass
    }
    try mine.store.accept(world.put("old", ["x": .int64(0)]))
    try await mine.sync()
    #expect(try mine.store.mirror("old") != nil)
    let zone = world.key("old").zone
    try world.emulator.deleteZone(zone, in: world.server, at: world.clock.date)
    try world.emulator.createZone(zone, in: world.server, at: world.clock.date)
    try world.saveOnServer("new", ["x": .int64(1)])
    mine.transport.interfere(nil)
    world.clock.advance(600)

    try await mine.sync()

    #expect(try mine.store.records(mirrorOnly: true).rows.map(\.record.key.name) == ["new"])
  }

  @Test func `one's own changes are not counted as fetched`() async throws {
    _ = try mine.store.enqueue((0..<10).map { world.put("r\($0)", [:]) })

    let summary = try await mine.sync()

    #expect(summary.fetched == 0)
    #expect(summary.sent == 10)
  }

  @Test func `after a refused token everything is read again, deletions of the gap are found, changes stay`()
    async throws
  {
    try await share(250)
    _ = try theirs.store.enqueue((0..<5).map { world.delete("r\($0)") } + [world.put("new", ["x": .int64(1)])])
    try await theirs.sync()
    try mine.store.accept(world.put("mine", ["x": .int64(1)]))
    world.emulator.faults = FaultPlan(rules: [
      FaultRule(when: FaultCondition(operation: "changes/zone", limit: 1), then: .expiredToken),
      FaultRule(when: FaultCondition(operation: "changes/database", limit: 1), then: .expiredToken),
      // Tombstones are gone with the token, so that only the comparison can find the deletions.
    ])

    let summary = try await mine.sync()

    #expect(summary.reachedEnd)
    #expect(try mine.store.mirror("r0") == nil)
    #expect(try mine.store.records(mirrorOnly: true).total == 247)
    #expect(try mine.store.mirror("mine") == ["x": .int64(1)])
    #expect(try mine.store.queue() == [])
    #expect(try mine.store.status().isInSync)
  }

  @Test func `a deletion that no feed mentions any more is found by reading everything`() async throws {
    try await share(3)
    // As after the server has forgotten its tombstones: the mirror knows a record that no page names.
    try mine.store.execute(
      "INSERT INTO records(zone, name, type, changeTag, fields) VALUES ('cktop', 'ghost', 'Note', 'zz', '{}')"
    )
    try theirs.store.accept(world.put("r0", ["x": .int64(5)]))
    try await theirs.sync()
    world.emulator.faults = FaultPlan(rules: [
      FaultRule(when: FaultCondition(operation: "changes/zone", limit: 1), then: .expiredToken)
    ])

    let summary = try await mine.sync()

    #expect(summary.deleted == 1)
    #expect(try mine.store.mirror("ghost") == nil)
    #expect(try mine.store.records().total == 3)
  }

  @Test func `a reading cut off in the middle goes on where it was`() async throws {
    _ = try theirs.store.enqueue((0..<900).map { world.put("r\($0)", [:]) })
    try await theirs.sync()
    mine.transport.interfere { operation, number, _ in operation == "changes/zone" && number == 3 ? .offline : .pass }

    try await mine.sync()
    #expect(try mine.store.records().total == 400)
    #expect(try !mine.store.status().isInSync)
    let before = mine.transport.count("changes/zone")
    world.clock.advance(10)
    try await mine.sync()

    #expect(try mine.store.records().total == 900)
    #expect(mine.transport.count("changes/zone") == before + 3)
  }

  @Test func `pages without records are read through, a feed that stands still is given up`() async throws {
    try await share(3)
    try theirs.store.accept(world.put("r0", ["x": .int64(9)]))
    try await theirs.sync()
    world.emulator.faults = FaultPlan(rules: [
      FaultRule(when: FaultCondition(operation: "changes/zone", limit: 1000), then: .emptyPageMoreComing)
    ])

    let summary = try await mine.sync()

    #expect(summary.lastItemError?.code == .unexpectedServerResponse && !summary.reachedEnd)
    #expect(mine.transport.count("changes/zone") < 10)
    #expect(try mine.store.status().state == .error)
    world.emulator.faults = FaultPlan()
    world.clock.advance(10)
    try await mine.sync()
    #expect(try mine.store.mirror("r0") == ["x": .int64(9)])
    #expect(try mine.store.status().state == .idle)
  }

  @Test(arguments: [
    ("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"cktop"},"records":[],"moreComing":true}]}"#),
    ("changes/database", #"{"zones":[],"moreComing":true}"#),
  ]) func `a page with more to come and no token to ask for it with ends the reading`(feed: String, page: String)
    async throws
  {
    try await share(1)
    try theirs.store.accept(world.put("r0", ["x": .int64(9)]))
    try await theirs.sync()
    mine.transport.answer(feed, page)

    #expect(try await !mine.sync().reachedEnd)
    #expect(mine.transport.count(feed) < 10)
  }

  @Test func `a zone deleted by another device takes its records once that is accepted, and keeps queued changes`()
    async throws
  {
    try await share(3)
    try mine.store.accept(world.put("r0", ["x": .int64(7)]))
    try mine.store.accept(world.put("fresh", ["x": .int64(7)]))
    try world.emulator.deleteZone("cktop", in: world.server, at: world.clock.date)

    try await mine.sync()
    #expect(try mine.store.queue() == ["save r0 pending", "save fresh pending"])
    let zone = world.scope.zoneForChangesWithoutOne
    #expect(try mine.store.acceptDeletions(in: zone, actor: "test").records == 3)
    try await mine.sync()

    #expect(try mine.store.zones().map(\.state) == ["deleted"])
    #expect(try mine.store.records(mirrorOnly: true).total == 0)
    #expect(try mine.store.queue() == ["save r0 failed", "save fresh failed"])

    _ = try mine.store.perform(.retry, on: .all, actor: "test")
    try await mine.sync()
    #expect(try mine.store.zones().map(\.state) == ["ready"])
    #expect(try mine.store.mirror("fresh") == ["x": .int64(7)])
    #expect(try mine.store.queue() == [])
  }

  @Test func `a zone in trouble holds up itself, not the others`() async throws {
    _ = try theirs.store.enqueue([world.put("a", zone: "one", [:]), world.put("b", zone: "two", [:])])
    try await theirs.sync()
    mine.transport.interfere { operation, _, body in
      operation == "changes/zone" && body.contains(#""one""#)
        ? .answer(
          status: 200,
          #"{"zones":[{"zoneID":{"zoneName":"one"},"serverErrorCode":"THROTTLED","retryAfter":60}]}"#
        ) : .pass
    }

    let summary = try await mine.sync()

    #expect(!summary.reachedEnd)
    #expect(try mine.store.mirror("b") == [:])
    #expect(try !mine.store.status().isInSync)
    #expect(try mine.store.status().throttles.map(\.scope.name) == ["zone:one"])
    let before = mine.transport.count("changes/zone")
    try await mine.sync()
    #expect(mine.transport.count("changes/zone") == before)
    mine.transport.interfere(nil)
    world.clock.advance(61)
    try await mine.sync()
    #expect(try mine.store.mirror("a") == [:])
    #expect(try mine.store.status().isInSync)
  }

  @Test func `what fails about a zone's feed alone does not keep its changes from being sent`() async throws {
    try theirs.store.accept(world.put("a", zone: "one", [:]))
    try await theirs.sync()
    try await mine.sync()
    try theirs.store.accept(world.put("b", zone: "one", [:]))
    try await theirs.sync()
    let trouble = #"{"zones":[{"zoneID":{"zoneName":"one"},"serverErrorCode":"INTERNAL_ERROR"}]}"#
    mine.transport.answer("changes/zone", trouble)
    try mine.store.accept(world.put("mine", zone: "one", [:]))

    try await mine.sync()

    #expect(world.onServer("mine", zone: "one") != nil)
    #expect(try !mine.store.status().isInSync)
  }

  @Test(arguments: [
    #"{"zones":[{"zoneID":{"zoneName":"cktop"},"serverErrorCode":"BAD_REQUEST","reason":"Invalid change token"}]}"#,
    #"{"serverErrorCode":"BAD_REQUEST","reason":"sync token is too old"}"#,
  ]) func `however a refused token is put, the zone is read again from the beginning`(_ refusal: String) async throws {
    try await share(3)
    try theirs.store.accept(world.put("new", [:]))
    try await theirs.sync()
    mine.transport.interfere { operation, _, body in
      operation == "changes/zone" && body.contains("syncToken")
        ? .answer(status: refusal.contains("zoneID") ? 200 : 400, refusal) : .pass
    }

    #expect(try await mine.sync().reachedEnd)
    #expect(try mine.store.mirror("new") == [:])
  }

  @Test func `a zone that is known to have news is not in sync before it has been read`() async throws {
    try await share(1)
    #expect(try mine.store.status().isInSync)
    let told = #"{"zones":[{"zoneID":{"zoneName":"cktop"},"syncToken":"later"}],"syncToken":"t","moreComing":false}"#
    let page = try WireResults<WireZone>(json: Data(told.utf8))
    let lease = try #require(try Lease.acquire(mine.store))

    _ = try mine.store.apply(page, policy: MergePolicy(.server), lease)

    #expect(try !mine.store.status().isInSync)
  }

  @Test(arguments: [#""zoneID":{"zoneName":"one"},"#, ""])
  func `a zone that the database's feed fails to tell of is asked itself`(_ name: String) async throws {
    try theirs.store.accept(world.put("a", zone: "one", [:]))
    try await theirs.sync()
    try await mine.sync()
    try theirs.store.accept(world.put("b", zone: "one", [:]))
    try await theirs.sync()
    mine.transport.interfere { operation, number, _ in
      operation == "changes/database"
        ? .answer(
          status: 200,
          #"{"zones":[{\#(name)"serverErrorCode":"INTERNAL_ERROR"}],"syncToken":"t\#(number)","moreComing":false}"#
        ) : .pass
    }

    try await mine.sync()

    #expect(try mine.store.mirror("b") == [:])
  }

  private func zonePage(_ records: String, token: String) -> String {
    #"{"zones":[{"zoneID":{"zoneName":"cktop"},"syncToken":"\#(token)","moreComing":false,"records":[\#(records)]}]}"#
  }

  private static let misfit =
    #"{"recordName":"r0","recordType":"Note","recordChangeTag":"z","fields":{"x":{"type":"INT64","value":{"a":[1]}}}}"#

  @Test func `a record with a value that does not fit its type does not hold up its zone`() async throws {
    try await share(1)
    let other = #"{"recordName":"new","recordType":"Note","recordChangeTag":"z","fields":{}}"#
    mine.transport.answer("changes/zone", zonePage("\(Self.misfit),\(other)", token: "later"))
    try theirs.store.accept(world.put("r0", ["x": .int64(9)]))
    try await theirs.sync()

    let summary = try await mine.sync()

    #expect(summary.lastItemError?.code == .unexpectedServerResponse && !summary.reachedEnd)
    #expect(try mine.store.read { try $0.zone(world.key("r0").zoneKey)?.token } == "later")
    #expect(try mine.store.mirror("new") == [:] && mine.store.mirror("r0") == ["x": .int64(0)])
    let status = try mine.store.status()
    #expect(status.state == .error && status.throttles.isEmpty && status.lastError == nil && !status.isInSync)
    #expect(status.unreadable.map(\.record) == ["r0"] && status.unreadable.first?.type == nil)
    let events = try mine.store.events(limit: 50).filter { $0.event.kind == "error" }
    #expect(events.count == 1 && events.first?.event.text.contains("r0") == true)

    #expect(try await !mine.sync().reachedEnd, "no later sync forgets it")
    mine.transport.interfere(nil)
    try theirs.store.accept(world.put("r0", ["x": .int64(10)]))
    try await theirs.sync()
    #expect(try await mine.sync().reachedEnd)
    #expect(try mine.store.mirror("r0") == ["x": .int64(10)] && mine.store.status().unreadable.isEmpty)
  }

  @Test func `a full fetch does not take a record whose value does not fit for deleted`() async throws {
    try await share(3)
    let kept = #"{"recordName":"r1","recordType":"Note","recordChangeTag":"z","fields":{}}"#
    let page = zonePage("\(Self.misfit),\(kept)", token: "later")
    mine.transport.interfere { operation, _, body in
      guard operation == "changes/zone" else { return .pass }
      guard body.contains("syncToken") else { return .answer(status: 200, page) }
      return .answer(status: 400, #"{"serverErrorCode":"BAD_REQUEST","reason":"sync token is too old"}"#)
    }
    try theirs.store.accept(world.delete("r2"))
    try await theirs.sync()

    try await mine.sync()

    #expect(try mine.store.records(mirrorOnly: true).rows.map(\.record.key.name) == ["r0", "r1"])
  }

  @Test func `a record that comes without its tag keeps the feed where it is`() async throws {
    try await share(1)
    let token = try mine.store.zones().map(\.tokenAt)
    let odd = #"{"recordName":"odd","recordType":"Note","fields":{}}"#
    mine.transport.answer(
      "changes/zone",
      #"{"zones":[{"zoneID":{"zoneName":"cktop"},"syncToken":"later","moreComing":false,"records":[\#(odd)]}]}"#
    )
    try theirs.store.accept(world.put("new", [:]))
    try await theirs.sync()
    world.clock.advance(1)

    let summary = try await mine.sync()

    #expect(!summary.reachedEnd)
    #expect(try mine.store.zones().map(\.tokenAt) == token)
    #expect(try !mine.store.status().isInSync)
    #expect(try mine.store.status().throttles.map(\.message).contains { $0.contains("odd") })
    mine.transport.interfere(nil)
    world.clock.advance(600)
    try await mine.sync()
    #expect(try mine.store.mirror("new") == [:])
  }

  @Test func `an unfinished fetch counts what it has read in its zone`() async throws {
    try await share(1)
    let zone = try #require(try mine.store.zones().first { $0.key.zone == "cktop" }?.key)
    let lease = try #require(try Lease.acquire(mine.store))
    func fetch() throws -> ZoneRow.Fetch? { try mine.store.zones().first { $0.key == zone }?.fetch }
    func page(_ names: [String], token: String, since: String?, moreComing: Bool) throws {
      let records = names.map {
        #"{"recordName":"\#($0)","recordType":"Note","recordChangeTag":"t","fields":{}}"#
      }
      let text = """
        {"zoneID":{"zoneName":"cktop"},"syncToken":"\(token)","moreComing":\(moreComing),\
        "records":[\(records.joined(separator: ","))]}
        """
      guard case .item(let page) = try WireResult<WireZoneChanges>(json: Data(text.utf8)) else {
        return #expect(Bool(false))
      }
      _ = try mine.store.apply(page, to: zone, since: since, policy: MergePolicy(.server), lease)
    }
    #expect(try fetch() == nil)
    try mine.store.restartFetch(zone, lease)
    #expect(try fetch() == ZoneRow.Fetch(isOfAll: true, fetched: 0))
    try page(["a", "b"], token: "1", since: nil, moreComing: true)
    try page(["c"], token: "2", since: "1", moreComing: true)
    #expect(try fetch() == ZoneRow.Fetch(isOfAll: true, fetched: 3))
    try page(["d"], token: "3", since: "2", moreComing: false)
    #expect(try fetch() == nil)
  }

  @Test(.timeLimit(.minutes(40)))
  func `a server that goes on refusing its own tokens is asked a bounded number of times, and the reason stands`()
    async throws
  {
    _ = try theirs.store.enqueue((0..<450).map { world.put("r\($0)", ["x": .int64(1)]) })
    try await theirs.sync()
    world.emulator.faults = FaultPlan(rules: [
      FaultRule(when: FaultCondition(operation: "changes/zone", after: 1), then: .expiredToken)
    ])

    let summary = try await mine.sync()

    #expect(!summary.reachedEnd)
    #expect(mine.transport.count("changes/zone") < 10)
    #expect(try !mine.store.status().isInSync)
    #expect(try mine.store.status().lastError != nil || !mine.store.status().throttles.isEmpty)
  }
}
