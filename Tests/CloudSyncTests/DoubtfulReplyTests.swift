import CloudKit
import CloudKitEmulator
import Foundation
import Testing

@testable import CloudSync

/// Replies that may be wrong: the server is asked again before anything follows from them.
@Suite(.serialized) struct DoubtfulReplyTests {
  private let world: World
  private let mine: TestDevice

  init() async throws {
    world = try World()
    mine = try world.device("mine")
    _ = try mine.store.enqueue([world.put("a", ["x": .int64(0)]), world.put("b", ["x": .int64(0)])])
    try await mine.sync()
  }

  private static let failed = #"{"serverErrorCode":"INTERNAL_ERROR","reason":"oops"}"#

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
    #expect(operation.state != .failed && operation.needsReadBack && operation.isUnanswered)
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
}
