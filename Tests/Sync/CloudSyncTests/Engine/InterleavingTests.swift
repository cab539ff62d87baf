import CloudKit
import CloudKitEmulator
import Dispatch
import Foundation
import Synchronization
import Testing

@testable import CloudSync

/// Long fetches and long sends take turns.
@Suite(.serialized) struct InterleavingTests {
  @Test(arguments: [DatabaseName.private, .public])
  func `a long reading and a long sending make way for each other`(_ database: DatabaseName) async throws {
    let world = try World(database) { $0.pageLimit = 2 }
    let theirs = try world.device("theirs")
    _ = try theirs.store.enqueue((0..<20).map { world.put("r\($0)", [:]) })
    try await theirs.sync()
    let mine = try world.device("mine", turn: (pages: 3, requests: 2))
    let order = Mutex<[Character]>([])
    mine.transport.interfere { operation, _, _ in
      switch operation {
      case "records/modify": order.withLock { $0.append("w") }
      case "changes/zone", "records/query": order.withLock { $0.append("r") }
      default: break
      }
      return .pass
    }
    _ = try mine.store.enqueue((0..<900).map { world.put("m\($0)", [:]) })

    let summary = try await mine.sync(["Note"])

    #expect(summary.reachedEnd && summary.sent == 900)
    #expect(try mine.store.records(mirrorOnly: true).total == 920)
    // Three pages, as many requests as there may be in a row, and again.
    #expect(String(order.withLock { $0 }).hasPrefix("rrrwwrrrwwrrrwr"))
  }

  @Test func `a pass ends where somebody writes all the time`() async throws {
    let world = try World()
    let mine = try world.device("mine")
    let store = mine.store
    let written = Mutex(0)
    mine.transport.interfere { operation, _, _ in
      guard operation == "changes/database" else { return .pass }
      let number = written.withLock { number in
        number += 1
        return number
      }
      if number < 200 { _ = try? store.enqueue([world.put("r\(number)", [:])]) }
      return .pass
    }

    let summary = try await mine.sync()

    #expect(written.withLock { $0 } < 200)
    #expect(summary.sent > 10 && summary.failure == nil)
    #expect(try store.status().lastSuccessAt != nil)
  }

  /// Found by simulation, seed 20023994.
  @Test func `what goes along with a delete that ends a turn is found gone, too`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine", turn: (pages: 25, requests: 1))
    try mine.store.accept(world.put("owner", [:]))
    let reference = FieldValue.reference(WireReference(recordName: "owner", action: "DELETE_SELF"))
    try mine.store.accept(world.put("owned", ["to": reference]))
    try await mine.sync()
    #expect(try mine.store.records(mirrorOnly: true).total == 2)
    try mine.store.accept(world.delete("owner"))

    try await mine.sync()

    #expect(world.onServer("owned") == nil)
    #expect(try mine.store.records(mirrorOnly: true).total == 0)
    #expect(try mine.store.status().isInSync)
  }

  @Test func `an edit that is sent in the middle of a purge's feed does not escape what holds the purge back`()
    async throws
  {
    let world = try World { $0.pageLimit = 4 }
    let guarded = DeletionGuard(count: 6, share: 0.5)
    let mine = try world.device("mine", deletionGuard: guarded, turn: (pages: 1, requests: 100))
    let theirs = try world.device("theirs")
    _ = try mine.store.enqueue((0..<10).map { world.put("r\($0)", ["x": .int64(0)]) })
    try await mine.sync()
    try await theirs.sync()
    _ = try theirs.store.enqueue((0..<6).map { world.delete("r\($0)") })
    try await theirs.sync()
    // Its tombstone is on the second page.
    let edit = try mine.store.accept(world.put("r5", ["x": .int64(1)]))

    try await mine.sync()

    #expect(mine.transport.bodies("records/modify").last?.contains("r5") == true)
    #expect(try mine.store.heldDeletions().map(\.records) == [6])
    #expect(try mine.store.mirror("r5") == ["x": .int64(0)])
    #expect(try mine.store.operation(edit).state == .pending)
    _ = try mine.store.restoreDeletions(in: world.key("r5").zoneKey, actor: "test")
    try await mine.sync()
    #expect(world.onServer("r5") == ["x": .int64(1)])
  }

  @Test func `the next page is on its way while one is applied`() async throws {
    let world = try World { $0.pageLimit = 4 }
    let theirs = try world.device("theirs")
    _ = try theirs.store.enqueue((0..<8).map { world.put("r\($0)", [:]) })
    try await theirs.sync()
    let pages = Mutex(0)
    let isAhead = Mutex(Bool?.none)
    let second = DispatchGroup()
    second.enter()
    // Nothing is written after the first page is requested until the second one is.
    let mine = try world.device(
      "mine",
      beforeEachWrite: {
        guard pages.withLock({ $0 > 0 }), isAhead.withLock({ $0 == nil }) else { return }
        isAhead.withLock { $0 = second.wait(timeout: .now() + 20) == .success }
      }
    )
    mine.transport.interfere { operation, number, _ in
      guard operation == "changes/zone" else { return .pass }
      pages.withLock { $0 = number }
      if number == 2 { second.leave() }
      return .pass
    }

    let summary = try await mine.sync()

    #expect(summary.fetched == 8)
    #expect(isAhead.withLock { $0 } == true)
    #expect(mine.transport.count("changes/zone") == 2)
  }

  @Test func `no page is requested ahead at the end of a feed's turn`() async throws {
    let world = try World { $0.pageLimit = 2 }
    let theirs = try world.device("theirs")
    _ = try theirs.store.enqueue((0..<8).map { world.put("r\($0)", [:]) })
    try await theirs.sync()
    let mine = try world.device("mine", configure: { $0.feedTurn = 2 })

    let summary = try await mine.sync()

    #expect(summary.fetched == 8)
    #expect(mine.transport.count("changes/zone") == 4)
  }

  @Test func `a wait that sending meets is kept by the reading that it interrupts`() async throws {
    let world = try World { $0.pageLimit = 2 }
    let mine = try world.device("mine", turn: (pages: 1, requests: 100))
    let theirs = try world.device("theirs")
    try mine.store.accept(world.put("own", ["x": .int64(0)]))
    try await mine.sync()
    _ = try theirs.store.enqueue((0..<10).map { world.put("r\($0)", [:]) })
    try await theirs.sync()
    try mine.store.accept(world.put("own", ["x": .int64(1)]))
    let isRefusing = Mutex(true)
    mine.transport.interfere { operation, _, _ in
      guard operation == "records/modify", isRefusing.withLock({ $0 }) else { return .pass }
      let failure = #"{"recordName": "own", "serverErrorCode": "THROTTLED", "reason": "slowly", "retryAfter": 600}"#
      return .answer(status: 200, #"{"records": [\#(failure)]}"#)
    }

    let summary = try await mine.sync()
    let pages = mine.transport.count("changes/zone")
    world.clock.advance(500)
    try await mine.sync()
    #expect(!summary.reachedEnd)
    #expect(mine.transport.count("changes/zone") == pages && mine.transport.count("records/modify") == 2)
    #expect(try mine.store.status().throttles.map(\.scope.name) == ["zone:cktop"])

    isRefusing.withLock { $0 = false }
    world.clock.advance(200)
    try await mine.sync()
    #expect(world.onServer("own") == ["x": .int64(1)])
    #expect(try mine.store.records(mirrorOnly: true).total == 11)
    #expect(try mine.store.status().isInSync)
  }
}
