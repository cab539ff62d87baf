import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization
import Testing

@testable import CloudSync

/// Fetches in which single records are refused, or during which zones come and go.
@Suite(.serialized) struct FetchFailureTests {
  private static let refused = #"{"recordName":"r","serverErrorCode":"ACCESS_DENIED","reason":"not yours"}"#

  @Test func `a record that a full scan may not look up holds up nothing, and stays as it was known`() async throws {
    let world = try World(.public)
    let (mine, theirs) = (try world.device("mine"), try world.device("theirs", user: "ben"))
    try theirs.store.accept(world.put("r", ["x": .int64(1)]))
    try await theirs.sync()
    try await mine.sync(["Note"])
    try theirs.store.accept(world.delete("r"))
    try await theirs.sync()
    mine.transport.interfere { operation, _, _ in
      operation == "records/lookup" ? .answer(status: 200, #"{"records":[\#(Self.refused)]}"#) : .pass
    }
    try mine.store.accept(world.put("new", ["x": .int64(1)]))

    try await mine.sync()

    #expect(world.onServer("new") != nil)
    #expect(try mine.store.mirror("r") != nil)
    #expect(try mine.store.status().isInSync)
  }

  @Test func `a record that a feed cannot show holds up that feed and nothing that is to be sent`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    let zone = world.key("r").zone
    mine.transport.interfere { operation, _, _ in
      let page = #"{"zones":[{"zoneID":{"zoneName":"\#(zone)"},"records":[\#(Self.refused)],"syncToken":"x"}]}"#
      return operation == "changes/zone" ? .answer(status: 200, page) : .pass
    }
    try mine.store.accept(world.put("a", [:]))
    try await mine.sync()
    try mine.store.accept(world.put("b", [:]))
    try await mine.sync()

    #expect(world.onServer("b") != nil)
    #expect(try mine.store.status().throttles.map(\.scope.name) == ["feed:\(zone)"])
  }

  @Test func `what was deleted from here is not believed to be there, though nothing has been read yet`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    let stale = Mutex(#"{"records":[]}"#)
    mine.transport.interfere { operation, _, _ in
      operation == "records/query" ? .answer(status: 200, stale.withLock(\.self)) : .pass
    }
    try mine.store.accept(world.put("a", [:]))
    try await mine.sync()
    try mine.store.accept(world.delete("a"))
    try await mine.sync()
    let record = #"{"recordName":"a","recordType":"Note","recordChangeTag":"1","fields":{},"modified":{"timestamp":9}}"#
    stale.withLock { $0 = #"{"records":[\#(record)]}"# }

    try await mine.sync()

    #expect(try mine.store.mirror("a") == nil)
  }

  @Test func `what is to be made is not believed to be there because an old index shows it`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine", policy: .manual)
    let fields = #""fields":{"x":{"value":1}},"modified":{"timestamp":9}"#
    let stale = #"{"records":[{"recordName":"a","recordType":"Note","recordChangeTag":"1",\#(fields)}]}"#
    mine.transport.interfere { operation, number, _ in
      if operation == "records/query" { return .answer(status: 200, stale) }
      guard operation == "records/modify", number == 1 else { return .pass }
      return .refusing("a", "THROTTLED", "busy", retryAfter: 60)
    }
    try mine.store.accept(world.put("a", ["x": .int64(2)]))

    try await mine.sync(["Note"])

    #expect(mine.transport.count("records/lookup") > 0)
    #expect(try mine.store.mirror("a") == nil)
    world.clock.advance(600)
    try await mine.sync()
    #expect(world.onServer("a") == ["x": .int64(2)])
    #expect(try mine.store.queue() == [])
  }

  @Test func `a zone that was gone for a moment is there again, whatever has been read of it`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", [:]))
    try await mine.sync()
    let zone = world.key("a").zoneKey
    let token = try #require(try mine.store.read { try $0.zone(zone)?.token })
    try mine.store.write { try $0.setState(zone, .deleted) }
    mine.transport.interfere { operation, _, _ in
      let page = #"{"zones":[{"zoneID":{"zoneName":"\#(zone.zone)"},"syncToken":"\#(token)"}],"syncToken":"x"}"#
      return operation == "changes/database" ? .answer(status: 200, page) : .pass
    }

    try await mine.sync()

    #expect(try mine.store.zones().map(\.state) == ["ready"])
  }

  @Test func `a zone that is deleted from here while it is read is asked for no more`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    try mine.store.accept(world.put("a", [:]))
    let (store, zone) = (mine.store, world.key("a").zoneKey)
    mine.transport.interfere { operation, _, _ in
      if operation == "changes/zone" { try? store.write { try $0.removeZone(zone) } }
      return .pass
    }

    try await mine.sync()

    #expect(mine.transport.count("changes/zone") < 5)
  }
}
