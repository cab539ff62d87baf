import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import Testing

@testable import CloudSync

/// Requests that arrive after their sender has stopped or has given them up.
@Suite(.serialized) struct LateRequestTests {
  private let world: World
  private let device: TestDevice
  private var store: SyncStore { device.store }
  private var transport: TestTransport { device.transport }

  init() throws {
    world = try World()
    device = try world.device("store")
  }

  /// A driver that stops in the middle of sending these, and whose request reaches the server when told to.
  ///
  /// - Parameter fields: what the request writes.
  private func stopWhileSending(_ ids: [Int64], _ fields: [String: EmulatorValue] = ["x": .int64(1)]) throws
    -> @Sendable () throws -> Void
  {
    let stopped = try #require(try Lease.acquire(store))
    try store.execute("UPDATE zones SET state = 'ready'")
    let sent = try store.begin(ids, stopped)
    world.clock.advance(60)
    try store.execute(
      "UPDATE lease SET fencingToken = fencingToken + 1, expiresAt = NULL WHERE fencingToken = (SELECT max(fencingToken) FROM lease)"
    )
    stopped.release(store)
    let (emulator, server, now) = (world.emulator, world.server, world.clock.date)
    return { @Sendable in
      for operation in sent {
        _ = try emulator.save(
          in: server,
          zone: operation.key.zone,
          recordType: operation.type ?? "",
          recordName: operation.key.name,
          fields: fields,
          at: now
        )
      }
    }
  }

  /// Record `r` with `x` 1 and `y` 2, deleted in a request that is lost for now, and then saved whole, with `x` as given.
  ///
  /// - Returns: the request.
  private func saveBehindLostDeletion(x: Int64) async throws -> String {
    try store.accept(world.put("r", ["x": .int64(1), "y": .int64(2)]))
    try await device.sync()
    let tag = try #require(world.emulator.record("r", in: world.server, zone: "cktop")?.changeTag)
    transport.interfere { operation, number, _ in
      operation == "records/modify" && number == 2 ? .lost : operation == "records/lookup" ? .offline : .pass
    }
    try store.accept(world.delete("r"))
    try await device.sync()
    transport.interfere(nil)
    world.clock.advance(600)
    try store.accept(world.put("r", ["x": .int64(x), "y": .int64(2)]))
    let record = #"{"recordName":"r","recordChangeTag":"\#(tag)"}"#
    let operations = #"[{"operationType":"delete","record":\#(record)}]"#
    return #"{"operations":\#(operations),"zoneID":{"zoneName":"cktop"}}"#
  }

  @Test(arguments: [1, 5] as [Int64])
  func `a deletion that arrives late takes nothing along that was saved after it`(_ x: Int64) async throws {
    let deletion = try await saveBehindLostDeletion(x: x)

    try await device.sync()
    _ = try await world.send(deletion, to: "records/modify")
    try await device.sync()

    #expect(world.onServer("r") == ["x": .int64(x), "y": .int64(2)])
    #expect(try store.queue() == [])
  }

  @Test func `what was saved behind a deletion is there as a whole, also where that arrives before it`() async throws {
    let deletion = try await saveBehindLostDeletion(x: 5)
    let world = world
    transport.interfere { operation, number, _ in
      guard operation == "records/modify", number == 3 else { return .pass }
      _ = try? await world.send(deletion, to: "records/modify")
      return .refusing("r", "INTERNAL_ERROR", "no")
    }

    for _ in 0..<3 {
      try await device.sync()
      world.clock.advance(600)
    }

    #expect(world.onServer("r") == ["x": .int64(5), "y": .int64(2)])
    #expect(try store.queue() == [])
  }

  @Test func `a value that was taken back stays so, though the request that set it arrives late`() async throws {
    try store.accept(world.put("r", ["x": .int64(0)]))
    try await device.sync()
    let tag = try #require(world.emulator.record("r", in: world.server, zone: "cktop")?.changeTag)
    let late =
      #"{"operations":[{"operationType":"update","record":{"recordName":"r","recordType":"Note","#
      + #""recordChangeTag":"\#(tag)","fields":{"x":{"value":1}}}}],"zoneID":{"zoneName":"cktop"}}"#
    transport.interfere { operation, _, _ in operation == "records/modify" ? .lost : .pass }
    try store.accept(world.put("r", ["x": .int64(1)]))
    try await device.sync()

    try store.accept(world.put("r", ["x": .int64(0)]))
    transport.interfere(nil)
    world.clock.advance(600)
    try await device.sync()
    _ = try? await world.send(late, to: "records/modify")
    world.clock.advance(600)
    try await device.sync()

    #expect(world.onServer("r") == ["x": .int64(0)])
    #expect(try store.queue() == [])
  }

  @Test func `a creation that a stopped driver sends late does not outlive its deletion`() async throws {
    try store.accept(world.put("first", [:]))
    try await device.sync()
    let id = try store.accept(world.put("r", ["x": .int64(1)]))
    let arrive = try stopWhileSending([id])
    // The next driver reads back that there is no such record.
    transport.interfere { operation, _, _ in operation == "records/modify" ? .offline : .pass }
    try await device.sync()
    #expect(try store.operation(id).needsVerification == false)

    try store.accept(world.delete("r"))
    try arrive()
    transport.interfere(nil)
    world.clock.advance(60)
    try await device.sync()

    #expect(world.onServer("r") == nil)
    #expect(try store.queue() == [])
    #expect(try store.endings().last == "delete r acknowledged")
  }

  /// Found by simulation, seed 50008851.
  @Test func `what a creation sets that arrives late is not in the record that has taken its place`() async throws {
    try store.accept(world.put("first", [:]))
    try await device.sync()
    let id = try store.accept(world.put("r", ["x": .int64(1), "y": .int64(1)]))
    let arrive = try stopWhileSending([id], ["x": .int64(1), "y": .int64(1)])
    try store.accept(world.delete("r"))
    try store.accept(world.put("r", ["x": .int64(2)]))
    // The next driver reads back that there is no such record.
    transport.interfere { operation, _, _ in operation == "records/modify" ? .offline : .pass }
    try await device.sync()
    #expect(try store.operation(id).needsVerification == false)

    try arrive()
    transport.interfere(nil)
    world.clock.advance(60)
    try await device.sync()

    #expect(world.onServer("r") == ["x": .int64(2)])
    #expect(try store.queue() == [])
  }

  @Test func `a deletion is sent after a creation that was not answered, also where that is not to be seen`()
    async throws
  {
    try store.accept(world.put("first", [:]))
    try await device.sync()
    let id = try store.accept(world.put("r", ["x": .int64(1)]))
    let arrive = try stopWhileSending([id])
    try store.accept(world.delete("r"))
    transport.interfere { operation, _, _ in
      // Between the read-back, which finds nothing, and the deletion.
      if operation == "records/modify" { try? arrive() }
      return .pass
    }

    try await device.sync()

    #expect(transport.bodies("records/modify").last?.contains("elete") == true)
    #expect(world.onServer("r") == nil)
    #expect(try store.queue() == [])
  }

  @Test func `what arrives after its deletion was acknowledged comes back with the feed, and is lost nowhere`()
    async throws
  {
    try store.accept(world.put("first", [:]))
    try await device.sync()
    let id = try store.accept(world.put("r", ["x": .int64(1)]))
    let arrive = try stopWhileSending([id])
    transport.interfere { operation, _, _ in operation == "records/modify" ? .offline : .pass }
    try await device.sync()
    try store.accept(world.delete("r"))
    transport.interfere(nil)
    world.clock.advance(60)
    try await device.sync()
    #expect(try store.queue() == [])

    try arrive()
    try await device.sync()

    #expect(try store.mirror("r") == ["x": .int64(1)])
    #expect(try store.status().isInSync)
  }
}
