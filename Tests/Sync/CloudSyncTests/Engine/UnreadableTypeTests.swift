import CloudKit
import CloudKitEmulator
import Foundation
import Testing

@testable import CloudSync

/// Record types and zones that may no longer be read.
@Suite(.serialized) struct UnreadableTypeTests {
  private let world: World
  private let mine: TestDevice

  init() throws {
    world = try World(.public)
    mine = try world.device("mine")
  }

  /// Refuses queries of a type from now on.
  private func forbid(_ type: String) {
    mine.transport.interfere { operation, _, body in
      guard operation == "records/query", body.contains("\"\(type)\"") else { return .pass }
      return .answer(status: 403, #"{"serverErrorCode":"ACCESS_DENIED","reason":"no READ"}"#)
    }
  }

  private func types() throws -> [String?] { try mine.store.status().unreadable.map(\.type) }

  @Test func `a type that may no longer be read is not in sync, and the others go on`() async throws {
    try world.saveOnServer("a", by: "ben", ["x": .int64(1)])
    try await mine.sync(["Note"])
    let readAt = try mine.store.status().lastSuccessAt
    forbid("Note")
    try mine.store.accept(world.put("t", type: "Task", [:]))
    world.clock.advance(10)

    let summary = try await mine.sync()

    let status = try mine.store.status()
    #expect(!summary.reachedEnd && summary.error == nil)
    #expect(!status.isInSync && status.state == .error && status.lastSuccessAt == readAt)
    #expect(
      status.unreadable == [Unreadable(zone: .defaultZone, type: "Note", message: "no READ", since: world.clock.now)]
    )
    #expect(try world.onServer("t") != nil && mine.store.mirror("a") != nil)
  }

  @Test func `what cannot be read is remembered until a query succeeds`() async throws {
    try await mine.sync(["Note"])
    try world.saveOnServer("a", by: "ben", ["x": .int64(1)])
    try await mine.sync()
    forbid("Note")
    try await mine.sync()
    let since = try mine.store.status().unreadable.first?.since
    world.clock.advance(60)
    try await mine.sync()
    #expect(try mine.store.status().unreadable.first?.since == since)

    mine.transport.interfere(nil)
    try await mine.sync()

    #expect(try types().isEmpty && mine.store.status().isInSync)
  }

  @Test func `an error that is over does not stand because a type cannot be read`() async throws {
    try world.saveOnServer("a", by: "ben", ["x": .int64(1)])
    try await mine.sync(["Note"])
    mine.transport.answer("records/query", status: 400, #"{"serverErrorCode":"BAD_REQUEST","reason":"no index"}"#)
    try await mine.sync()
    #expect(try mine.store.status().errorStands)
    forbid("Note")
    world.clock.advance(3600)

    try await mine.sync()

    #expect(try !mine.store.status().errorStands && types() == ["Note"])
  }

  @Test func `a type that was never read counts only for the sync that asks for it`() async throws {
    try world.saveOnServer("a", by: "ben", ["x": .int64(1)])
    forbid("Note")

    #expect(try await !mine.sync(["Note"]).reachedEnd)
    #expect(try types() == ["Note"])
    #expect(try await mine.sync().reachedEnd)
    #expect(try types().isEmpty)
  }

  @Test func `a zone that may no longer be read is remembered until it is read or gone`() async throws {
    let world = try World()
    let (mine, theirs) = (try world.device("mine"), try world.device("theirs"))
    try theirs.store.accept(world.put("a", [:]))
    try await theirs.sync()
    try await mine.sync()
    try theirs.store.accept(world.put("b", [:]))
    try await theirs.sync()
    let refusal = #"{"zones":[{"zoneID":{"zoneName":"cktop"},"serverErrorCode":"ACCESS_DENIED","reason":"no READ"}]}"#
    mine.transport.answer("changes/zone", refusal)
    world.clock.advance(10)

    try await mine.sync()

    #expect(try mine.store.status().unreadable.map(\.zone) == [ZoneKey(zone: "cktop")])
    #expect(try !mine.store.status().isInSync)
    mine.transport.interfere(nil)
    world.clock.advance(3600)
    try await mine.sync()
    #expect(try mine.store.status().unreadable.isEmpty && mine.store.status().isInSync)
  }
}
