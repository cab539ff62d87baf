import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import TestSupport
import Testing

@testable import CloudSync

/// Records that make their whole request fail are found by bisection and affect no other record.
@Suite(.serialized) struct BisectionTests {
  private let world: World
  private let device: TestDevice
  private var store: SyncStore { device.store }
  private var transport: TestTransport { device.transport }

  init() throws {
    world = try World()
    device = try world.device("store")
  }

  /// Makes the zones, so that only what is tested goes over the wire.
  private func warmUp(_ zones: String...) async throws {
    for zone in zones { try store.accept(world.put("first", zone: zone, [:])) }
    try await device.sync()
  }

  private func operations(_ body: String) -> Int { body.components(separatedBy: "operationType").count - 1 }

  /// Requests that held the record, and those that held others of its bisection, up to the last with it.
  private func requests(until name: String, from first: Int) -> Int {
    let bodies = transport.bodies("records/modify").dropFirst(first)
    return (bodies.lastIndex { $0.contains("\"\(name)\"") } ?? first) + 1 - first
  }

  @Test(arguments: [0, 77, 128, 199])
  func `a record for which a request is refused whole is alone after eight halves at most`(_ culprit: Int) async throws
  {
    try await warmUp("notes", "other")
    let first = transport.count("records/modify")
    transport.interfere { operation, _, body in
      guard operation == "records/modify", body.contains("\"r\(culprit)\"") else { return .pass }
      return .answer(status: 400, #"{"serverErrorCode":"BAD_REQUEST","reason":"Unexpected input"}"#)
    }
    _ = try store.enqueue((0..<200).map { world.put("r\($0)", zone: "notes", ["x": .int64(Int64($0))]) })

    let summary = try await device.sync()

    #expect(summary.sent == 199 && summary.failed == 1)
    #expect(try store.queue() == ["save r\(culprit) failed"])
    // The request itself, eight halves, and where it was left over in the last of them its own answer.
    #expect(requests(until: "r\(culprit)", from: first) <= 10)
    #expect(transport.count("records/modify") - first <= 11)
    let row = try #require(try store.operations().rows.first)
    #expect(row.cause == .failed(.rejected(code: "BAD_REQUEST", message: "Unexpected input")))
  }

  @Test func `other zones keep their full requests meanwhile`() async throws {
    try await warmUp("notes", "other")
    let first = transport.count("records/modify")
    transport.interfere { operation, _, body in
      guard operation == "records/modify", body.contains(#""r7""#) else { return .pass }
      return .answer(status: 400, #"{"serverErrorCode":"BAD_REQUEST","reason":"Unexpected input"}"#)
    }
    _ = try store.enqueue((0..<200).map { world.put("r\($0)", zone: "notes", ["x": .int64(1)]) })
    _ = try store.enqueue((0..<600).map { world.put("s\($0)", zone: "other", ["x": .int64(1)]) })

    try await device.sync()

    let others = transport.bodies("records/modify").dropFirst(first).filter { $0.contains(#""zoneName":"other""#) }
    #expect(others.map(operations) == [200, 200, 200])
    #expect(try store.queue() == ["save r7 failed"])
  }

  @Test func `a record whose bytes kill the connection is found, and the others go`() async throws {
    try await warmUp("notes")
    let first = transport.count("records/modify")
    transport.interfere { operation, _, body in
      operation == "records/modify" && body.contains(#""r7""#) ? .lost : .pass
    }
    _ = try store.enqueue((0..<64).map { world.put("r\($0)", zone: "notes", ["x": .int64(1)]) })

    for _ in 0..<60 {
      try await device.sync()
      world.clock.advance(400)
    }

    #expect(try store.queue() == ["save r7 failed"])
    #expect(world.emulator.recordCount(in: world.server) == 64)
    // Twice all of it, six halves, and the attempts of the one that is left.
    #expect(transport.count("records/modify") - first <= 2 + 6 + 1 + 9)
  }

  @Test func `a name that makes a look-up fail is found, and the others are read back`() async throws {
    try await warmUp("notes")
    transport.interfere { operation, number, body in
      switch operation {
      case "records/modify" where number == 2: .lost
      case "records/lookup" where body.contains(#""r7""#):
        .answer(status: 400, #"{"serverErrorCode":"BAD_REQUEST","reason":"Unexpected input"}"#)
      default: .pass
      }
    }
    _ = try store.enqueue((0..<100).map { world.put("r\($0)", zone: "notes", ["x": .int64(1)]) })

    for _ in 0..<20 {
      try await device.sync()
      world.clock.advance(400)
    }

    #expect(try store.queue() == ["save r7 failed"])
    #expect(world.emulator.recordCount(in: world.server) == 100)
  }

  @Test func `an outage of an hour makes no dead letter of a queue, and spends few requests`() async throws {
    try await warmUp("notes")
    let first = transport.count("records/modify")
    transport.interfere { operation, _, _ in
      operation == "records/modify"
        ? .answer(status: 500, #"{"serverErrorCode":"INTERNAL_ERROR","reason":"oops"}"#) : .pass
    }
    _ = try store.enqueue((0..<300).map { world.put("r\($0)", zone: "notes", ["x": .int64(1)]) })
    let lease = try #require(try Lease.acquire(store))

    for _ in 0..<120 {
      _ = try await device.engine.runSync(lease)
      world.clock.advance(30)
    }
    let asked = transport.count("records/modify") - first
    let failed = try store.status().queue.failed
    transport.interfere(nil)
    for _ in 0..<30 {
      world.clock.advance(400)
      _ = try await device.engine.runSync(lease)
    }

    #expect(failed == 0)
    #expect(asked < 40)
    #expect(try store.queue() == [])
  }

  @Test func `an atomic group that is refused without a name ends as one, says so, and blocks nobody`() async throws {
    try await warmUp("notes")
    let first = transport.count("records/modify")
    transport.interfere { operation, _, body in
      guard operation == "records/modify", body.contains(#""r7""#) else { return .pass }
      return .answer(status: 400, #"{"serverErrorCode":"BAD_REQUEST","reason":"Unexpected input"}"#)
    }
    _ = try store.enqueue((0..<200).map { world.put("r\($0)", zone: "notes", ["x": .int64(1)]) }, group: "g")
    try store.accept(world.put("free", zone: "notes", [:]))

    try await device.sync()

    #expect(world.onServer("free", zone: "notes") != nil)
    #expect(world.emulator.recordCount(in: world.server) == 2)
    #expect(transport.count("records/modify") - first <= 9)
    let rows = try store.operations().rows
    #expect(rows.count == 200 && rows.allSatisfy { $0.state == .failed })
    let rejection = FailureCause.rejected(code: "BAD_REQUEST", message: "Unexpected input", group: 200)
    #expect(rows.first?.cause == .failed(rejection))
  }

  // MARK: - Fairness and numbers

  @Test func `many rows of one zone do not starve one row of another`() async throws {
    try await warmUp("big", "small")
    let first = transport.count("records/modify")
    _ = try store.enqueue((0..<2000).map { world.put("r\($0)", zone: "big", ["x": .int64(1)]) })
    try store.accept(world.put("one", zone: "small", ["x": .int64(1)]))

    try await device.sync()

    let bodies = transport.bodies("records/modify").dropFirst(first)
    #expect((bodies.firstIndex { $0.contains(#""one""#) } ?? 99) - first <= 1)
    #expect(bodies.count == 11)
  }

  @Test func `groups that something outside holds do not hide what is free`() async throws {
    world.emulator.faults = FaultPlan(rules: [FaultRule(when: FaultCondition(recordName: "dead"), then: .poison)])
    try store.accept(world.put("dead", [:]))
    let held = FieldValue.reference(WireReference(recordName: "dead", action: "VALIDATE"))
    for number in 0..<450 {
      _ = try store.enqueue(
        [world.put("a\(number)", [:]), world.put("b\(number)", ["parent": held])],
        group: "g\(number)"
      )
    }
    try store.accept(world.put("free", [:]))

    try await device.sync()

    #expect(world.onServer("free") != nil)
  }

  @Test(arguments: [1, 2] as [UInt64])
  func `ten thousand records of five zones with references go in requests that are full`(_ seed: UInt64) async throws {
    var random = SplitMix64(seed: seed)
    var changes: [Change] = []
    for zone in 0..<5 {
      for number in 0..<2000 {
        var fields: [String: FieldValue] = ["x": .int64(Int64(number))]
        if number > 0, random.next() % 2 == 0 {
          let parent = "r\(Int(random.next() % UInt64(number)))"
          fields["parent"] = .reference(WireReference(recordName: parent, action: "VALIDATE"))
        }
        changes.append(world.put("r\(number)", zone: "zone\(zone)", fields))
      }
    }
    _ = try store.enqueue(changes.shuffled(using: &random))

    let summary = try await device.sync()

    #expect(summary.sent == 10_000 && summary.failed == 0)
    #expect(try store.status().queue.total == 0)
    #expect(transport.count("records/modify") <= 52)
    #expect(world.emulator.statistics.itemErrors == 0)
  }
}
