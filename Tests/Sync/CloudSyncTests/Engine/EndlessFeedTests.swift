import CloudKit
import CloudKitEmulator
import GRDB
import Synchronization
import Testing

@testable import CloudSync

/// Change feeds and queries that do not end, or that give positions which cannot be used.
@Suite(.serialized) struct EndlessFeedTests {
  private let world: World
  private let mine: TestDevice
  private let theirs: TestDevice

  init() throws {
    world = try World { $0.pageLimit = 2 }
    theirs = try world.device("theirs")
    let configure = { (configuration: inout SyncEngine.Configuration) in
      configuration.feedTurn = 3
      configuration.pageLimit = 12
      configuration.zoneListLimit = FeedLength.Limit(pages: 7, milliseconds: 6_000)
    }
    mine = try world.device("mine", configure: configure)
  }

  /// A page of a zone without records and with more to come.
  private static func page(_ zone: String, token: String) -> Interference {
    .answer(
      status: 200,
      #"{"zones":[{"zoneID":{"zoneName":"\#(zone)"},"records":[],"syncToken":"\#(token)","moreComing":true}]}"#
    )
  }

  private func errors(_ device: TestDevice) throws -> Int {
    try device.store.events(limit: 100).filter { $0.event.kind == "error" }.count
  }

  @Test func `a zone's feed that never ends holds up neither other zones nor what is sent, and backs off`() async throws
  {
    _ = try theirs.store.enqueue([world.put("a", zone: "endless", [:]), world.put("b", zone: "other", [:])])
    try await theirs.sync()
    try mine.store.accept(world.put("c", zone: "other", [:]))
    let order = Mutex<[String]>([])
    mine.transport.interfere { operation, number, body in
      if operation == "records/modify" { order.withLock { $0.append("send") } }
      guard operation == "changes/zone" else { return .pass }
      let isEndless = body.contains(#""endless""#)
      order.withLock { $0.append(isEndless ? "endless" : "other") }
      return isEndless ? Self.page("endless", token: "t\(number)") : .pass
    }

    let summary = try await mine.sync()

    #expect(!summary.reachedEnd && summary.lastItemError?.code == .unexpectedServerResponse)
    #expect(order.withLock { Array($0.prefix(5)) } == ["endless", "endless", "endless", "other", "send"])
    #expect(try mine.store.mirror("b") == [:] && world.onServer("c", zone: "other") != nil)
    #expect(order.withLock { $0.filter { $0 == "endless" }.count } < 24)
    #expect(try mine.store.status().throttles.map(\.scope.name) == ["feed:endless"])
    let requests = mine.transport.count("changes/zone")
    _ = try mine.store.enqueue([world.put("d", zone: "other", [:])])
    let lease = try #require(try Lease.acquire(mine.store))
    _ = try await mine.engine.runSync(lease)
    #expect(mine.transport.count("changes/zone") <= requests + 1)
    #expect(try errors(mine) == 1)
  }

  @Test func `the database's feed that never ends holds up nothing either`() async throws {
    try mine.store.accept(world.put("a", [:]))
    mine.transport.interfere { operation, number, _ in
      operation == "changes/database"
        ? .answer(status: 200, #"{"zones":[],"syncToken":"t\#(number)","moreComing":true}"#) : .pass
    }

    let summary = try await mine.sync()

    #expect(!summary.reachedEnd && world.onServer("a") != nil)
    #expect(summary.lastItemError?.code == .unexpectedServerResponse)
    #expect(mine.transport.count("changes/database") == 7)
    #expect(try mine.store.status().throttles.map(\.scope.name) == ["feed:"])
    #expect(try errors(mine) == 1)
  }

  @Test func `the database's feed ends the sync in time where each page of it is slow, and goes on in the next`()
    async throws
  {
    let isEndless = Mutex(true)
    mine.transport.interfere { [clock = world.clock] operation, number, _ in
      guard operation == "changes/database", isEndless.withLock({ $0 }) else { return .pass }
      clock.advance(2)
      return .answer(status: 200, #"{"zones":[],"syncToken":"t\#(number)","moreComing":true}"#)
    }

    #expect(try await !mine.sync().reachedEnd)

    #expect(mine.transport.count("changes/database") == 3)
    #expect(mine.transport.bodies("changes/database").last?.contains("t2") == true)
    world.clock.advance(600)
    isEndless.withLock { $0 = false }
    try await mine.sync()
    #expect(mine.transport.bodies("changes/database")[3].contains("t3"))
  }

  @Test func `what is sent between the pages of a feed makes it no longer`() async throws {
    let configure = { (configuration: inout SyncEngine.Configuration) in
      configuration.turn = (pages: 1, requests: 100)
      configuration.zoneListLimit = FeedLength.Limit(pages: 7, milliseconds: 6_000)
    }
    let device = try world.device("sending", configure: configure)
    try device.store.accept(world.put("first", [:]))
    try await device.sync()
    device.transport.interfere { [clock = world.clock, store = device.store, world] operation, number, _ in
      if operation == "records/modify" { clock.advance(10) }
      guard operation == "changes/database" else { return .pass }
      let hasMore = number < 6
      if hasMore { _ = try? store.enqueue([world.put("r\(number)", [:])]) }
      return .answer(status: 200, #"{"zones":[],"syncToken":"t\#(number)","moreComing":\#(hasMore)}"#)
    }

    let summary = try await device.sync()

    #expect(summary.lastItemError == nil)
    #expect(try errors(device) == 0)
    #expect(device.transport.count("records/modify") > 3)
  }

  /// The number of pages after which a feed is taken to be endless; nil if 200,000 are not enough.
  @Test(
    arguments: [
      (100, true, 2_000, 100), (200_000, true, 2_000, 150), (200_000, true, 200, 1_000), (300_000, false, 2_000, nil),
      (2_000, false, 2_000, 2_000), (5, true, 400_000, 3),
    ] as [(Int, Bool, Int64, Int?)]
  )
  func `a feed is endless by its pages, or by how many empty ones came in a row, or for how long`(
    limit: Int,
    isEmpty: Bool,
    milliseconds: Int64,
    ends: Int?
  ) {
    var length = FeedLength()
    let limit = FeedLength.Limit(pages: limit)

    while length.pages < 200_000, !length.isEndless(limit) {
      length.add(isEmpty: isEmpty, milliseconds: milliseconds)
    }

    #expect(length.pages == ends ?? 200_000)
  }

  @Test func `a feed that goes in circles is left where it is`() async throws {
    try theirs.store.accept(world.put("a", [:]))
    try await theirs.sync()
    mine.transport.interfere { operation, number, _ in
      operation == "changes/zone" ? Self.page("cktop", token: "t\(number % 2)") : .pass
    }

    #expect(try await !mine.sync().reachedEnd)

    #expect(mine.transport.count("changes/zone") == 3)
    #expect(try mine.store.status().throttles.map(\.scope.name) == ["feed:cktop"])
  }

  @Test func `a long feed is fetched to its end in turns, between which changes are sent`() async throws {
    _ = try theirs.store.enqueue((0..<16).map { world.put("r\($0)", [:]) })
    try await theirs.sync()
    try mine.store.accept(world.put("mine", [:]))
    let order = Mutex<[Character]>([])
    mine.transport.interfere { operation, _, _ in
      switch operation {
      case "records/modify": order.withLock { $0.append("w") }
      case "changes/zone": order.withLock { $0.append("r") }
      default: break
      }
      return .pass
    }

    let summary = try await mine.sync()

    #expect(summary.reachedEnd && summary.fetched == 16)
    #expect(try mine.store.records(mirrorOnly: true).total == 17)
    #expect(String(order.withLock { $0 }).hasPrefix("rrrwrrrrr"))
    #expect(try mine.store.status().isInSync)
  }

  // MARK: - Tokens

  private static let huge = String(repeating: "x", count: FetchPositions.byteLimit + 1)

  private func hasSentHuge() -> Bool {
    ["changes/database", "changes/zone", "records/query"].contains { operation in
      mine.transport.bodies(operation).contains { $0.utf8.count > FetchPositions.byteLimit }
    }
  }

  @Test(arguments: [
    (
      "changes/zone", "feed:cktop",
      #"{"zones":[{"zoneID":{"zoneName":"cktop"},"records":[],"syncToken":"TOKEN","moreComing":false}]}"#
    ),
    ("changes/database", "feed:", #"{"zones":[],"syncToken":"TOKEN","moreComing":false}"#),
  ]) func `a token that is too large is refused with its page`(feed: String, scope: String, page: String) async throws {
    try theirs.store.accept(world.put("a", [:]))
    try await theirs.sync()
    mine.transport.answer(feed, page.replacing("TOKEN", with: Self.huge))

    let summary = try await mine.sync()

    #expect(!summary.reachedEnd && summary.lastItemError?.code == .unexpectedServerResponse)
    #expect(try mine.store.status().throttles.map(\.scope.name) == [scope])
    mine.transport.interfere(nil)
    world.clock.advance(600)
    #expect(try await mine.sync().reachedEnd)
    #expect(try mine.store.mirror("a") == [:])
    #expect(!hasSentHuge())
  }

  @Test func `a query's marker that is too large is not sent`() async throws {
    let world = try World(.public)
    let mine = try world.device("mine")
    mine.transport.answer("records/query", #"{"records":[],"continuationMarker":"\#(Self.huge)"}"#)

    #expect(try await !mine.sync(["Note"]).reachedEnd)

    #expect(mine.transport.count("records/query") == 1)
    #expect(try mine.store.status().throttles.map(\.scope.name) == ["feed:_defaultZone/Note"])
  }

  @Test func `a store drops tokens that are too large, and fetches from the start`() async throws {
    _ = try theirs.store.enqueue([world.put("a", [:]), world.put("b", [:])])
    try await theirs.sync()
    try await mine.sync()
    try mine.store.execute("UPDATE zones SET token = ?", [Self.huge])
    try mine.store.write { try $0.setValue(.databaseToken, Self.huge) }
    try theirs.store.accept(world.delete("a"))
    try await theirs.sync()

    let summary = try await mine.sync()

    #expect(summary.reachedEnd && summary.deleted == 1)
    #expect(!hasSentHuge())
    #expect(try mine.store.events(limit: 50).contains { $0.event == .zoneRestarted(zone: "cktop") })
    #expect(try mine.store.status().isInSync)
  }
}
