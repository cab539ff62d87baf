import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import Testing

@testable import CloudSync

/// Creating and deleting zones: rejections, and replies that are lost.
@Suite(.serialized) struct ZoneChangeTests {
  private let world: World
  private let device: TestDevice
  private var store: SyncStore { device.store }
  private var transport: TestTransport { device.transport }

  init() throws {
    world = try World()
    device = try world.device("store")
  }

  private func loseZoneDeletion(_ result: Interference) {
    let first = transport.count("zones/modify") + 1
    transport.interfere { operation, number, _ in operation == "zones/modify" && number == first ? result : .pass }
  }

  @Test func `a zone's deletion whose answer was lost is looked up, not repeated`() async throws {
    try store.accept(world.put("a", zone: "notes", ["x": .int64(1)]))
    try await device.sync()
    _ = try store.enqueueZoneDeletion(ZoneKey(zone: "notes"))
    loseZoneDeletion(.answerLost)

    try await device.sync()

    #expect(try store.queue() == [])
    #expect(transport.count("zones/modify") == 2)
    #expect(transport.count("zones/lookup") == 1)
    #expect(try store.zones() == [])
  }

  @Test func `a server that cannot look up zones holds up nothing but the zone's deletion`() async throws {
    try store.accept(world.put("a", zone: "notes", ["x": .int64(1)]))
    try await device.sync()
    _ = try store.enqueueZoneDeletion(ZoneKey(zone: "notes"))
    let first = transport.count("zones/modify") + 1
    transport.interfere { operation, number, _ in
      if operation == "zones/lookup" { return .answer(status: 404, "no such page") }
      return operation == "zones/modify" && number == first ? .lost : .pass
    }
    try store.accept(world.put("b", zone: "plans", ["x": .int64(2)]))

    for _ in 0..<3 {
      try await device.sync()
      world.clock.advance(600)
    }

    #expect(world.onServer("b", zone: "plans") == ["x": .int64(2)])
    let row = try #require(try store.operations().rows.first)
    #expect(row.kind == .zoneDelete && row.attempts > 0)
  }

  @Test func `a zone's deletion that never arrived is sent again`() async throws {
    try store.accept(world.put("a", zone: "notes", ["x": .int64(1)]))
    try await device.sync()
    _ = try store.enqueueZoneDeletion(ZoneKey(zone: "notes"))
    loseZoneDeletion(.lost)

    try await device.sync()

    #expect(try store.queue() == [])
    #expect(world.emulator.recordCount(in: world.server) == 0)
    #expect(transport.count("zones/modify") == 3)
  }

  @Test func `a zone that somebody made anew is not deleted by a deletion that was answered too late`() async throws {
    try store.accept(world.put("a", zone: "notes", ["x": .int64(1)]))
    try await device.sync()
    _ = try store.enqueueZoneDeletion(ZoneKey(zone: "notes"))
    let now = world.clock.date
    loseZoneDeletion(.answerLost)
    let other = try world.device("other")
    let hook = transport
    hook.interfere { [world] operation, number, _ in
      if operation == "zones/lookup" {
        try? world.emulator.createZone("notes", in: world.server, at: now)
        try? world.saveOnServer("theirs", zone: "notes", ["x": .int64(2)], at: now)
      }
      return operation == "zones/modify" && number == 2 ? .answerLost : .pass
    }

    try await device.sync()
    try await other.sync()

    #expect(world.onServer("theirs", zone: "notes") == ["x": .int64(2)])
    #expect(transport.count("zones/modify") == 2)
    let row = try #require(try store.operations().rows.first)
    #expect(row.state == .failed)
    #expect(row.cause == .failed(.zoneChanged(zone: row.key.zone)))

    // A person has looked: it is to go all the same.
    hook.interfere(nil)
    _ = try store.perform(.retry, on: .ids([row.id]), actor: "test")
    try await device.sync()
    #expect(world.onServer("theirs", zone: "notes") == nil)
    #expect(try store.queue() == [])
  }

  @Test func `zones are told apart by name in an answer, whatever their place`() async throws {
    try store.accept(world.put("a", zone: "bad", ["x": .int64(1)]))
    try store.accept(world.put("b", zone: "good", ["x": .int64(1)]))
    transport.interfere { operation, number, _ in
      guard operation == "zones/modify", number == 1 else { return .pass }
      let bad = #"{"zoneID": {"zoneName": "bad"}, "serverErrorCode": "ACCESS_DENIED", "reason": "no"}"#
      return .answer(status: 200, #"{"zones": [{"zoneID": {"zoneName": "good"}}, \#(bad)]}"#)
    }

    try await device.sync()

    #expect(try store.operations().rows.filter { $0.key.zone == "bad" }.map(\.state) == [.failed])
    #expect(try store.zones().first { $0.key.zone == "good" }?.state == "ready")
  }

  @Test(arguments: [true, false])
  func `changes of a zone that the server will not make are dead letters, and others go on`(isWholeRequest: Bool)
    async throws
  {
    let bad = try store.accept(world.put("a", zone: "bad", ["x": .int64(1)]))
    try store.accept(world.put("b", zone: "good", ["x": .int64(1)]))
    transport.interfere { operation, _, body in
      guard operation == "zones/modify", body.contains("bad") else { return .pass }
      let error = #"{"serverErrorCode": "BAD_REQUEST", "reason": "no such name"}"#
      if isWholeRequest { return .answer(status: 400, error) }
      return .answer(status: 200, #"{"zones": [\#(error), {"zoneID": {"zoneName": "good"}}]}"#)
    }

    try await device.sync()
    let operation = try store.operation(bad)

    #expect(operation.state == .failed)
    #expect(operation.errorCode == "BAD_REQUEST")
    #expect(operation.cause.text.contains("no such name"))
    #expect(try store.status().throttles.isEmpty)

    transport.interfere(nil)
    _ = try store.perform(.retry, on: .all, actor: "test")
    try await device.sync()
    #expect(world.onServer("a", zone: "bad") != nil)
    #expect(world.onServer("b", zone: "good") != nil)
    #expect(try store.queue().isEmpty)
  }

  @Test(arguments: ["QUOTA_EXCEEDED", "INTERNAL_ERROR"], [true, false])
  func `a zone that cannot be made now holds up no other`(code: String, isMissing: Bool) async throws {
    try store.accept(world.put("b", zone: "good", ["x": .int64(1)]))
    try await device.sync()
    try store.accept(world.put("a", zone: "bad", ["x": .int64(1)]))
    if isMissing { try store.accept(world.put("c", zone: "third", ["x": .int64(1)])) }
    try store.accept(world.delete("b", zone: "good"))
    transport.interfere { operation, _, body in
      guard operation == "zones/modify", body.contains("bad") else { return .pass }
      let status = code == "INTERNAL_ERROR" ? 500 : 413
      return .answer(status: status, #"{"serverErrorCode": "\#(code)", "reason": "not now"}"#)
    }

    try await device.sync()

    #expect(world.onServer("b", zone: "good") == nil)
    #expect((world.onServer("c", zone: "third") != nil) == isMissing)
    #expect(try store.queue() == ["save a pending"])
    #expect(try store.status().throttles.map(\.scope.name) == ["zone:bad"])
  }
}
