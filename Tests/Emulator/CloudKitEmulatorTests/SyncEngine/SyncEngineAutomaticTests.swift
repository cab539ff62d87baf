import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(40))) struct SyncEngineAutomaticTests {
  /// Waits as long as the server asks, and counts the waits.
  private final class Clock: Sendable {
    private let lengths = Mutex<[Duration]>([])
    var waits: [Duration] { lengths.withLock { $0 } }
    var pause: @Sendable (Duration) async throws -> Void {
      { length in
        self.lengths.withLock { $0.append(length) }
        try Task.checkCancellation()
        await Task.yield()
      }
    }
  }

  /// The watchdog's waits, which a test ends one by one.
  private final class Watchdog: Sendable {
    private let (ticks, source) = AsyncStream<Void>.makeStream()
    private let stopped = Mutex(false)
    /// Whether the engine ended a wait.
    var isStopped: Bool { stopped.withLock { $0 } }

    func tick() { source.yield() }

    var pause: @Sendable () async throws -> Void {
      {
        for await _ in self.ticks { return }
        self.stopped.withLock { $0 = true }
        throw CancellationError()
      }
    }
  }

  @Test func `changes are sent when they are added, and fetched after a push`() async throws {
    let emulator = try Emulator()
    let first = Device(emulator, isAutomatic: true)
    let second = Device(emulator, isAutomatic: true)
    first.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Device.zoneID))])
    first.write("a", "one")
    await wait { second.notes["a"] == "one" }

    second.write("b", "two")
    await wait { first.notes["b"] == "two" }

    #expect(first.events.contains("will send, scheduled") && first.events.contains("will fetch, scheduled"))
    for device in [first, second] { device.stop() }
  }

  @Test func `without automatic syncs only the account and the state are reported`() async throws {
    let device = Device(try Emulator())
    device.write("a", "one")
    await device.engine.waitForTurn()
    await wait { device.content.withLock { $0.states.last?.contains("1 pending record") } == true }

    #expect(device.events == ["sign in"] && device.pending == ["saveRecord(a)"])
  }

  @Test func `a send is repeated after the wait that the server asks for`() async throws {
    let emulator = try Emulator()
    let clock = Clock()
    emulator.fail("records/modify", limit: 2, .throttled(retryAfter: 30))
    let device = Device(emulator, isAutomatic: true, pause: clock.pause)
    device.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Device.zoneID))])
    device.write("a", "one")

    await wait { device.events.contains("sent +a") }

    #expect(device.events.count { $0 == "sent failed +a requestRateLimited" } == 2)
    #expect(clock.waits.count { $0 == .seconds(30) } == 2)
    device.stop()
  }

  @Test func `a conflict that the app solves is sent again by itself`() async throws {
    let emulator = try Emulator()
    let other = Device(emulator)
    try await other.setUp()
    other.write("a", "one")
    try await other.engine.sendChanges()
    let device = Device(emulator, isAutomatic: true, react: Device.keepOwnVersion)
    await wait { device.notes["a"] == "one" }
    device.content.withLock { $0.known = [:] }

    device.write("a", "two")
    await wait { device.events.contains("sent +a") }

    #expect(device.events.contains("sent failed +a serverRecordChanged"))
    device.stop()
  }

  @Test func `the subscription for pushes is saved once, under the app's name`() async throws {
    let emulator = try Emulator()
    let device = Device(emulator, isAutomatic: true)
    await wait { device.fetches >= 2 }

    let database = device.container.privateCloudDatabase
    #expect(try await database.allSubscriptions().map(\.subscriptionID) == [CKDatabaseSubscription.allChangesID])
    emulator.fail("subscriptions/modify", .offline)
    device.start()
    let fetches = device.fetches
    await wait { device.fetches >= fetches + 2 }

    #expect(emulator.faultCounts.first?.applied == 0)
    device.stop()
  }

  @Test func `an engine that is offline fetches when the network is back`() async throws {
    let emulator = try Emulator()
    let clock = Clock()
    emulator.isOffline = true
    let device = Device(emulator, isAutomatic: true, pause: clock.pause)
    await wait { clock.waits.count >= 3 }
    #expect(Array(clock.waits.prefix(3)) == [.seconds(1), .seconds(2), .seconds(4)] && device.events.isEmpty)

    emulator.isOffline = false
    await wait { device.events.contains("did fetch") }

    device.stop()
  }

  @Test func `a user who signs in starts the engine`() async throws {
    let emulator = try Emulator()
    let pauses = Mutex(0)
    // A wait that only the sign-in ends.
    let device = Device(
      emulator,
      user: nil,
      isAutomatic: true,
      pause: { _ in
        pauses.withLock { $0 += 1 }
        try await Task.sleep(for: .seconds(3600))
      }
    )
    await wait { pauses.withLock { $0 } == 1 }

    let callback = try #require(URL(string: "https://app.example.org/?ckWebAuthToken=ana"))
    _ = try await device.container.signIn(callback: callback)
    await wait { device.events.contains("did fetch") }

    #expect(device.events.first == "sign in")
    device.stop()
  }

  @Test func `a cancelled engine waits for the next change`() async throws {
    let emulator = try Emulator()
    let device = Device(
      emulator,
      isAutomatic: true,
      pause: { _ in try await Task.sleep(for: .seconds(3600)) }
    )
    await wait { device.events.contains("did fetch") }
    emulator.fail("records/modify", limit: 1, .offline)
    device.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Device.zoneID))])
    device.write("a", "one")
    await wait { device.events.contains("sent failed +a networkUnavailable") }

    await device.engine.cancelOperations()
    device.write("b", "two")
    await wait { device.events.contains("sent +a +b") }

    device.stop()
  }

  @Test func `after another user signed in, the pushes are those of this user`() async throws {
    let emulator = try Emulator()
    let device = Device(emulator, isAutomatic: true, pause: { _ in try await Task.sleep(for: .seconds(3600)) })
    await wait { device.fetches >= 2 }
    _ = device.takeEvents()

    device.container.signOut()
    let callback = try #require(URL(string: "https://app.example.org/?ckWebAuthToken=ben"))
    _ = try await device.container.signIn(callback: callback)
    await wait { device.fetches >= 1 }
    let other = Device(emulator, user: "ben")
    try await other.setUp()
    other.write("a", "one")
    try await other.engine.sendChanges()
    await wait { device.notes["a"] == "one" }

    device.stop()
  }

  @Test func `a conflict in each batch does not slow down the rest`() async throws {
    let emulator = try Emulator()
    let other = Device(emulator)
    try await other.setUp()
    for name in ["a", "c", "e"] { other.write(name, "one") }
    try await other.engine.sendChanges()
    let clock = Clock()
    let device = Device(emulator, isAutomatic: true, react: Device.keepOwnVersion, pause: clock.pause)
    await wait { device.notes["e"] == "one" }
    let ids = ["a", "b", "c", "d", "e", "f"].map(Device.id)
    device.content.withLock { content in
      (content.known, content.batchSize) = ([:], 2)
      for id in ids { content.notes[id] = "two" }
    }

    device.state.add(pendingRecordZoneChanges: ids.map { .saveRecord($0) })
    await wait { device.pending.isEmpty }

    #expect(device.events.count { $0.contains("serverRecordChanged") } == 3)
    #expect(clock.waits.isEmpty)
    device.stop()
  }

  @Test func `an engine fetches after each wait of the watchdog, too`() async throws {
    let watchdog = Watchdog()
    let device = Device(try Emulator(), isAutomatic: true, watchdog: watchdog.pause)
    await wait { device.fetches >= 2 }

    watchdog.tick()
    await wait { device.fetches >= 3 }
    watchdog.tick()
    await wait { device.fetches >= 4 }

    device.stop()
    await wait { watchdog.isStopped }
  }

  @Test func `an engine whose pushes ended with an error listens again`() async throws {
    let emulator = try Emulator()
    let watchdog = Watchdog()
    emulator.fail("tokens/create", limit: 1, .tooLarge)
    let device = Device(emulator, isAutomatic: true, watchdog: watchdog.pause)
    await wait {
      watchdog.tick()
      return emulator.faultCounts.first?.matched == 2
    }

    let other = Device(emulator)
    try await other.setUp()
    other.write("a", "one")
    try await other.engine.sendChanges()
    await wait { device.notes["a"] == "one" }
    device.stop()
  }

  @Test func `a subscription that was deleted on the server is saved again at the next start`() async throws {
    let device = Device(try Emulator(), isAutomatic: true)
    await wait { device.fetches >= 2 }
    device.stop()
    let database = device.container.privateCloudDatabase
    try await database.deleteSubscription(withID: CKDatabaseSubscription.allChangesID)

    _ = device.takeEvents()
    device.start()
    await wait { device.fetches >= 2 }

    #expect(try await database.allSubscriptions().map(\.subscriptionID) == [CKDatabaseSubscription.allChangesID])
    device.stop()
  }

  @Test func `an engine whose delegate was released stops`() async throws {
    let clock = Clock()
    let watchdog = Watchdog()
    var device: Device? = Device(try Emulator(), isAutomatic: true, pause: clock.pause, watchdog: watchdog.pause)
    await wait { (device?.fetches ?? 0) >= 2 }
    let engine = try #require(device?.engine)

    device = nil
    watchdog.tick()
    await wait { watchdog.isStopped || clock.waits.count >= 3 }

    #expect(watchdog.isStopped)
    withExtendedLifetime(engine) {}
  }

  @Test func `an engine that starts during a request for another sign-in works for its own`() async throws {
    let emulator = try Emulator()
    let device = WebServicesClient.$requiredSignIn.withValue(-1) { Device(emulator, isAutomatic: true) }
    await wait { device.fetches >= 2 }

    let subscriptions = try await device.container.privateCloudDatabase.allSubscriptions()
    #expect(subscriptions.map(\.subscriptionID) == [CKDatabaseSubscription.allChangesID])
    device.stop()
  }

  @Test func `an engine that is released stops`() async throws {
    let emulator = try Emulator()
    let device = Device(emulator, isAutomatic: true)
    await wait { device.events.contains("did fetch") }
    weak let engine = device.engine

    device.stop()
    await wait { engine == nil }

    #expect(engine == nil)
  }
}
