import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization
import Testing

@testable import CloudSync

/// Replies that may be wrong: the server is asked again before anything follows from them.
@Suite(.serialized) struct DoubtfulReplyTests {
  private let world: World
  private let mine: TestDevice
  private let zone: ZoneKey

  init() async throws {
    world = try World()
    mine = try world.device("mine")
    zone = world.scope.zoneForChangesWithoutOne
    _ = try mine.store.enqueue([world.put("a", ["x": .int64(0)]), world.put("b", ["x": .int64(0)])])
    try await mine.sync()
  }

  private static let missing = #"{"serverErrorCode":"ZONE_NOT_FOUND","reason":"Zone does not exist"}"#
  private static let failed = #"{"serverErrorCode":"INTERNAL_ERROR","reason":"oops"}"#

  @Test func `a record that a reply leaves out is not taken for missing`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    for name in ["a", "b", "c"] { try mine.store.accept(world.put(name, [:])) }
    try await mine.sync()
    let zone = world.key("a").zoneKey
    // As much as goes into an answer, then what was left out.
    mine.transport.interfere { operation, number, _ in
      operation == "records/lookup" && number == 1
        ? .answer(
          status: 200,
          #"""
          {"records":[{"recordName":"a","recordType":"Note","recordChangeTag":"1","fields":{}},
          {"recordName":"b","serverErrorCode":"LIMIT_EXCEEDED","reason":"ask for this one again"},
          {"recordName":"gone","serverErrorCode":"NOT_FOUND","reason":"Record not found"}]}
          """#
        ) : .pass
    }

    #expect(try await Set(mine.engine.refetch(["a", "b", "gone"], in: zone).keys.map(\.name)) == ["a", "b"])
    #expect(mine.transport.count("records/lookup") == 2)
    mine.transport.answer(
      "records/lookup",
      #"{"records":[{"recordName":"a","serverErrorCode":"ACCESS_DENIED","reason":"not yours"}]}"#
    )
    await #expect(throws: WebServicesError.self) { try await mine.engine.refetch(["a"], in: zone) }
  }

  // MARK: - Zones that are said to be missing

  @Test(arguments: [
    ("records/modify", missing, 404),
    ("records/modify", #"{"records":[{"recordName":"a","serverErrorCode":"ZONE_NOT_FOUND","reason":"no"}]}"#, 200),
    ("records/lookup", missing, 404),
    ("changes/zone", #"{"zones":[{"zoneID":{"zoneName":"cktop"},"serverErrorCode":"ZONE_NOT_FOUND"}]}"#, 200),
  ]) func `one wrong reply that a zone is missing does not put its records on hold`(
    operation: String,
    text: String,
    status: Int
  ) async throws {
    try mine.store.accept(world.put("a", ["x": .int64(1)]))
    let first = mine.transport.count(operation) + 1
    let firstModify = mine.transport.count("records/modify") + 1
    mine.transport.interfere { reached, number, _ in
      if reached == operation, number == first { return .answer(status: status, text) }
      // Only a lost reply is followed by a look-up.
      if operation == "records/lookup", reached == "records/modify", number == firstModify { return .lost }
      return .pass
    }

    try await mine.sync()

    #expect(mine.transport.count("zones/lookup") == 1)
    #expect(try mine.store.heldDeletions() == [] && mine.store.records(mirrorOnly: true).total == 2)
    #expect(try mine.store.zones().map(\.state) == ["ready"])
    world.clock.advance(600)
    try await mine.sync()
    #expect(world.onServer("a") == ["x": .int64(1)])
    #expect(try mine.store.queue() == [] && mine.store.status().isInSync)
    #expect(mine.transport.count("zones/lookup") == 1)
  }

  @Test func `a delete does not end by one wrong reply that its zone is missing`() async throws {
    let id = try mine.store.accept(world.delete("a"))
    mine.transport.interfere { operation, number, _ in
      operation == "records/modify" && number == 2 ? .answer(status: 404, Self.missing) : .pass
    }

    try await mine.sync()

    let operation = try mine.store.operation(id)
    #expect(operation.state == .waiting && operation.attempts == 1)
    #expect(operation.cause == .backOff(code: "ZONE_NOT_FOUND", attempt: 1, of: operation.maxAttempts))
    world.clock.advance(600)
    try await mine.sync()
    #expect(world.onServer("a") == nil && world.onServer("b") != nil)
  }

  @Test func `a delete does not end by one wrong reply that its record is missing`() async throws {
    let id = try mine.store.accept(world.delete("a"))
    mine.transport.interfere { operation, number, _ in
      operation == "records/modify" && number == 2 ? .refusing("a", "NOT_FOUND", "Record not found") : .pass
    }

    try await mine.sync()

    let operation = try mine.store.operation(id)
    #expect(operation.cause == .backOff(code: "NOT_FOUND", attempt: 1, of: operation.maxAttempts))
    #expect(mine.transport.count("records/lookup") == 1)
    #expect(try mine.store.records(mirrorOnly: true).total == 2)
    world.clock.advance(600)
    try await mine.sync()
    #expect(world.onServer("a") == nil && world.onServer("b") != nil)
    #expect(try mine.store.queue() == [] && mine.store.status().isInSync)
  }

  @Test func `a delete whose record another device has deleted ends after one more question`() async throws {
    let (world, theirs) = (world, try world.device("theirs"))
    try await theirs.sync()
    try mine.store.accept(world.delete("a"))
    mine.beOvertaken(by: theirs, [world.delete("a")], atModify: 2)

    try await mine.sync()

    #expect(mine.transport.count("records/lookup") == 1)
    #expect(try mine.store.endings().last == "delete a acknowledged")
    #expect(try mine.store.queue() == [] && mine.store.status().isInSync)
  }

  @Test(arguments: ["ZONE_NOT_FOUND", "NOT_FOUND"])
  func `a zone's deletion does not end by one wrong reply that the zone is missing`(_ code: String) async throws {
    _ = try mine.store.enqueueZoneDeletion(zone)
    let first = mine.transport.count("zones/modify") + 1
    mine.transport.interfere { operation, number, _ in
      guard operation == "zones/modify", number == first else { return .pass }
      let failure = #"{"zoneID":{"zoneName":"cktop"},"serverErrorCode":"\#(code)","reason":"no"}"#
      return .answer(status: 200, #"{"zones":[\#(failure)]}"#)
    }

    try await mine.sync()

    #expect(mine.transport.count("zones/lookup") == 1)
    #expect(try mine.store.operations().rows.map(\.kind) == [.zoneDelete])
    #expect(world.onServer("a") != nil)
    world.clock.advance(600)
    try await mine.sync()
    #expect(world.onServer("a") == nil)
    #expect(try mine.store.queue() == [] && mine.store.zones() == [])
  }

  // MARK: - A token of another user

  /// The replies that a store gets whose token becomes another user's in the middle of a sync.
  private static let foreign: [[String: Interference]] = [
    ["changes/zone": page(#"{"zones":[{"zoneID":{"zoneName":"cktop"},"serverErrorCode":"ZONE_NOT_FOUND"}]}"#)],
    ["changes/zone": .answer(status: 400, refusedToken)],
    ["changes/database": .answer(status: 400, refusedToken)],
    [
      "changes/database": page(
        #"{"zones":[{"zoneID":{"zoneName":"cktop"},"deleted":true}],"syncToken":"b","moreComing":false}"#
      )
    ],
    ["records/modify": .answer(status: 404, missing)],
    ["records/modify": .refusing("b", "NOT_FOUND", "no"), "records/lookup": .refusing("b", "NOT_FOUND", "no")],
  ]
  private static let refusedToken = #"{"serverErrorCode":"BAD_REQUEST","reason":"Unknown sync continuation type"}"#

  private static func page(_ text: String) -> Interference { .answer(status: 200, text) }

  @Test(arguments: foreign.indices)
  func `a token that becomes another user's is said before anything is taken for deleted`(_ number: Int) async throws {
    let replies = Self.foreign[number]
    let theirs = try world.device("theirs")
    try await theirs.sync()
    try theirs.store.accept(world.put("c", ["x": .int64(1)]))
    try await theirs.sync()
    try mine.store.accept(world.delete("b"))
    let isTheirs = Mutex(false)
    mine.transport.interfere { operation, _, _ in
      if let reply = replies[operation] {
        isTheirs.withLock { $0 = true }
        return reply
      }
      guard isTheirs.withLock(\.self) else { return .pass }
      switch operation {
      case "users/caller": return .answer(status: 200, #"{"userRecordName":"_ben"}"#)
      case "zones/lookup": return .answer(status: 404, Self.missing)
      default: return .pass
      }
    }

    let error = await #expect(throws: StoreError.self) { try await mine.sync() }

    #expect(error?.kind == .otherUser)
    #expect(try mine.store.status().isRefused)
    #expect(try mine.store.heldDeletions() == [] && mine.store.mirror("a") == ["x": .int64(0)])
    #expect(try mine.store.operations().rows.map(\.kind) == [.delete])
    mine.transport.interfere(nil)
    world.clock.advance(600)
    try await mine.sync()
    #expect(world.onServer("b") == nil && world.onServer("c") != nil)
    #expect(try mine.store.queue() == [] && mine.store.status().isInSync)
  }

  @Test func `a zone that the server insists is missing for changes only fails them after all attempts`() async throws {
    let id = try mine.store.accept(world.put("a", ["x": .int64(1)]))
    mine.transport.answer("records/modify", status: 404, Self.missing)
    let before = mine.transport.count("records/modify")

    for _ in 0..<12 {
      try await mine.sync()
      world.clock.advance(600)
    }

    let operation = try mine.store.operation(id)
    #expect(operation.state == .failed && operation.attempts == operation.maxAttempts)
    #expect(operation.errorCode == "ZONE_NOT_FOUND")
    #expect(mine.transport.count("records/modify") - before == operation.maxAttempts)
    #expect(try mine.store.heldDeletions() == [])
  }

  @Test func `a zone that is gone costs one more request, whatever was queued for it`() async throws {
    let (world, zone) = (world, zone)
    _ = try mine.store.enqueue((0..<450).map { world.put("r\($0)", ["x": .int64(1)]) })
    mine.transport.interfere { operation, number, _ in
      if operation == "records/modify", number == 2 {
        try? world.emulator.deleteZone(zone.zone, in: world.server, at: world.clock.date)
      }
      return .pass
    }

    try await mine.sync()
    world.clock.advance(600)
    try await mine.sync()

    #expect(mine.transport.count("zones/lookup") == 1)
    #expect(try mine.store.heldDeletions().map(\.isWholeZone) == [true])
  }

  @Test func `an operation is not left in flight if the zone cannot be asked for`() async throws {
    let id = try mine.store.accept(world.put("a", ["x": .int64(1)]))
    mine.transport.interfere { operation, number, _ in
      switch operation {
      case "records/modify" where number == 2: .answer(status: 404, Self.missing)
      case "zones/lookup" where number == 1: .offline
      default: .pass
      }
    }

    let summary = try await mine.sync()

    #expect(summary.error?.code == .networkError)
    #expect(try mine.store.operation(id).state == .waiting)
    world.clock.advance(600)
    try await mine.sync()
    #expect(world.onServer("a") == ["x": .int64(1)])
    #expect(try mine.store.heldDeletions() == [])
  }

  // MARK: - Writes on which the server failed

  @Test(arguments: [true, false], [true, false])
  func `a write on which the server failed is verified before it is sent again`(isWhole: Bool, isCarriedOut: Bool)
    async throws
  {
    let world = world
    let id = try mine.store.accept(world.put("a", ["x": .int64(1)]))
    let element = #"{"records":[{"recordName":"a","serverErrorCode":"INTERNAL_ERROR","reason":"oops"}]}"#
    mine.transport.interfere { operation, number, body in
      switch operation {
      // The feed must not show first what became of the write.
      case "changes/database": return .answer(status: 200, #"{"zones":[],"syncToken":"same","moreComing":false}"#)
      case "records/modify" where number == 2:
        if isCarriedOut { _ = try? await world.send(body, to: operation) }
        return isWhole ? .answer(status: 500, Self.failed) : .answer(status: 200, element)
      default: return .pass
      }
    }

    try await mine.sync()

    let operation = try mine.store.operation(id)
    #expect(operation.state != .failed && operation.needsVerification && operation.isUnconfirmed)
    #expect(mine.transport.count("records/lookup") == 0)
    world.clock.advance(600)
    try await mine.sync()
    #expect(mine.transport.count("records/lookup") == 1)
    #expect(mine.transport.count("records/modify") == (isCarriedOut ? 2 : 3))
    #expect(world.onServer("a") == ["x": .int64(1)])
    #expect(try mine.store.queue() == [])
  }

  @Test func `a delete on which the server failed has come true where the record is gone`() async throws {
    let world = world
    try mine.store.accept(world.delete("a"))
    mine.transport.interfere { operation, number, body in
      guard operation == "records/modify", number == 2 else { return .pass }
      _ = try? await world.send(body, to: operation)
      return .answer(status: 500, Self.failed)
    }

    try await mine.sync()
    world.clock.advance(600)
    try await mine.sync()

    #expect(mine.transport.count("records/modify") == 2)
    #expect(try mine.store.endings().last == "delete a acknowledged")
  }

  @Test func `a request on which the server keeps failing is sent by halves, and verified before each`() async throws {
    _ = try mine.store.enqueue((0..<64).map { world.put("r\($0)", ["x": .int64(1)]) })
    let sizes = { [mine] in
      mine.transport.bodies("records/modify").dropFirst().map { $0.components(separatedBy: "operationType").count - 1 }
    }
    mine.transport.answer("records/modify", status: 500, Self.failed)
    let lease = try #require(try Lease.acquire(mine.store))

    for _ in 0..<5 {
      _ = try await mine.engine.runSync(lease)
      // Not again before its wait is over.
      _ = try await mine.engine.runSync(lease)
      world.clock.advance(60)
    }

    #expect(sizes() == [64, 32, 16, 8, 4])
    #expect(mine.transport.count("records/lookup") >= 4)
    #expect(try mine.store.status().queue.failed == 0)
  }

  // MARK: - Sets

  @Test(arguments: [true, false])
  func `an element that another device removes returns only if its lost reply had not been verified`(isVerified: Bool)
    async throws
  {
    let (world, theirs) = (world, try world.device("theirs"))
    func set(_ elements: String...) -> [String: FieldValue] {
      ["x": .int64(0), "set": .list(.string, elements.map(FieldValue.string))]
    }
    func change(_ element: String) -> Change {
      let fields = set(element).filter { $0.key == "set" }
      return Change(world.key("a"), .save(type: "Note", FieldChanges(values: fields, rules: ["set": .elements])))
    }
    let isOffline = Mutex(false)
    mine.transport.interfere { operation, _, _ in
      if isOffline.withLock(\.self) { return .offline }
      guard operation == "records/modify" else { return .pass }
      isOffline.withLock { $0 = true }
      return .answerLost
    }
    let id = try mine.store.accept(change("mine"))
    try await mine.sync()
    #expect(try mine.store.operation(id).isUnconfirmed)
    mine.transport.interfere(nil)
    world.clock.advance(600)

    if isVerified { try await mine.sync() }
    try await theirs.sync()
    #expect(try theirs.store.mirror("a") == set("mine"))
    // It replaces the element by another.
    try theirs.store.accept(change("theirs"))
    try await theirs.sync()
    try await mine.sync()
    try await theirs.sync()

    // Not verified, the set looks to its device as if the element had never arrived: an addition is never lost.
    let left = isVerified ? set("theirs") : set("mine", "theirs")
    #expect(try mine.store.mirror("a") == left && theirs.store.mirror("a") == left)
    #expect(try mine.store.queue() == [] && theirs.store.queue() == [])
  }
}
