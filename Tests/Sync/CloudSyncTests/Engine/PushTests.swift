import CloudKit
import CloudKitEmulator
import Foundation
import Testing

@testable import CloudSync

/// Pushes, and the polls that do not rely on them.
@Suite(.serialized, .timeLimit(.minutes(40))) struct PushTests {
  private func subscriptions(_ device: TestDevice) async throws -> [WireSubscription] {
    let client = device.engine.client
    return try await client.listSubscriptions(in: device.engine.database).compactMap { result in
      if case .item(let subscription) = result { subscription } else { nil }
    }
  }

  private func unsubscribe(_ device: TestDevice) async throws {
    let client = device.engine.client
    let gone = try await subscriptions(device).map { WebServicesClient.SubscriptionOperation(.delete, $0) }
    _ = try await client.modifySubscriptions(gone, in: device.engine.database)
  }

  /// Until the device has subscribed and its courier's request hangs.
  private func settled(_ device: TestDevice, in world: World) async throws {
    try await eventually(device.store) { try device.store.events(limit: 50).contains { $0.kind == "push" } }
    while world.emulator.waitingPolls == 0 { await Task.yield() }
  }

  @Test func `a push brings what another device has sent`() async throws {
    let world = try World()
    try world.emulator.createZone("cktop", in: world.server, at: world.clock.date)
    let device = try world.device("store", pollInterval: 100_000, watchdogInterval: 100_000, isPushed: true)

    try await whileDriving(device) {
      try await settled(device, in: world)
      try world.saveOnServer("theirs", [:])
      try await eventually(device.store) { try device.store.mirror("theirs") != nil }
    }

    #expect(try await subscriptions(device).map(\.subscriptionID) == ["cktop-changes"])
    #expect(device.transport.count("subscriptions/modify") == 1)
  }

  @Test func `pushes count as coming only when the courier has answered`() async throws {
    let world = try World()
    try world.emulator.createZone("cktop", in: world.server, at: world.clock.date)
    let device = try world.device("store", pollInterval: 100_000, watchdogInterval: 100_000, isPushed: true)

    try await whileDriving(device) {
      try await settled(device, in: world)
      let inbox = PushInbox()
      let listening = await device.engine.listen(inbox)
      while world.emulator.waitingPolls < 2 { await Task.yield() }
      #expect(!inbox.isListening)
      try world.saveOnServer("theirs", [:])
      while !inbox.isFull { await Task.yield() }
      #expect(inbox.isListening)
      listening?.cancel()
    }
  }

  @Test func `a server that asks to wait with subscriptions is left alone, then asked again`() async throws {
    let world = try World()
    let device = try world.device("store", pollInterval: 100_000, watchdogInterval: 100_000, isPushed: true)
    let answer = #"{"serverErrorCode":"THROTTLED","reason":"slow","retryAfter":30}"#
    device.transport.interfere { operation, number, _ in
      operation == "subscriptions/list" && number == 1 ? .answer(status: 429, answer) : .pass
    }

    try await whileDriving(device) {
      try await eventually(device.store) { try !device.store.status().throttles.isEmpty }
      world.clock.advance(60)
      try device.store.accept(world.put("a", [:]))
      try await eventually(device.store) { try device.store.events(limit: 50).contains { $0.kind == "push" } }
    }

    #expect(try await subscriptions(device).map(\.subscriptionID) == ["cktop-changes"])
  }

  @Test func `a push that comes during a pass leads to one more`() async throws {
    let world = try World()
    for zone in ["a", "b"] { try world.emulator.createZone(zone, in: world.server, at: world.clock.date) }
    let device = try world.device("store", pollInterval: 100_000, watchdogInterval: 100_000, isPushed: true)

    try await whileDriving(device) {
      try await settled(device, in: world)
      // What comes to the first zone while the second is read is news to no feed of that pass.
      device.transport.interfere { operation, _, body in
        if operation == "changes/zone", body.contains(#""b""#), world.onServer("late", zone: "a") == nil {
          try? world.saveOnServer("late", zone: "a", [:])
        }
        return .pass
      }
      for zone in ["a", "b"] { try world.saveOnServer("first", zone: zone, [:]) }
      try await eventually(device.store) { try !device.store.records(named: "late").isEmpty }
    }
  }

  @Test func `the public database is watched type by type, also one that comes later`() async throws {
    let world = try World(.public)
    let device = try world.device("store", pollInterval: 30, isPushed: true)
    try device.store.accept(world.put("a", [:]))

    try await whileDriving(device) {
      try await eventually(device.store) { try device.store.events(limit: 50).contains { $0.kind == "push" } }
      try device.store.accept(world.put("b", type: "Task", [:]))
      try await eventually(device.store) { try device.store.events(limit: 50).count { $0.kind == "push" } == 2 }
    }

    let made = try await subscriptions(device).sorted { $0.subscriptionID < $1.subscriptionID }
    #expect(made.map(\.subscriptionID) == ["cktop-changes-Note", "cktop-changes-Task"])
    #expect(made.map(\.query?.recordType) == ["Note", "Task"])
    #expect(Set(made[0].firesOn ?? []) == ["create", "update", "delete"])
  }

  @Test func `a subscription that somebody removed is made again within a day`() async throws {
    let world = try World()
    let device = try world.device("store", isPushed: true)

    try await whileDriving(device) {
      try await settled(device, in: world)
      try await unsubscribe(device)
      world.clock.advance(86_400)
      try device.store.requestSync()
      try await eventually(device.store) { try device.store.events(limit: 50).count { $0.kind == "push" } == 2 }
    }

    #expect(try await subscriptions(device).count == 1)
  }

  @Test func `whatever push says, nothing is older than the watchdog allows`() async throws {
    let world = try World()
    try world.emulator.createZone("cktop", in: world.server, at: world.clock.date)
    let device = try world.device("store", pollInterval: 30, watchdogInterval: 300, isPushed: true)

    try await whileDriving(device) {
      try await settled(device, in: world)
      try await unsubscribe(device)
      let start = try #require(try device.store.status().lastSuccessAt)
      try world.saveOnServer("theirs", [:])
      world.clock.advance(to: start + 300_000)
      // Nobody asks for a pass and there is nothing to send: the driver looks at its clock.
      _ = try device.store.flush(actor: "test")
      try await eventually(device.store) { try device.store.mirror("theirs") != nil }
    }
  }

  @Test func `polls come seldom only while pushes can be relied upon`() {
    var configuration = SyncEngine.Configuration(
      client: WebServicesClient(
        WebServicesClient.Configuration(container: World.container, environment: "development", credential: nil),
        transport: CKHTTPTransport()
      )
    )
    configuration.pollInterval = 30
    configuration.watchdogInterval = 300
    var clock = PollClock(configuration)

    #expect(clock.isDue(at: 1_000_000, isPushed: true))
    clock.polled(at: 1_000_000, reachedEnd: true)
    #expect(!clock.isDue(at: 1_029_999, isPushed: false))
    #expect(clock.isDue(at: 1_030_000, isPushed: false))
    #expect(!clock.isDue(at: 1_299_999, isPushed: true))
    #expect(clock.isDue(at: 1_300_000, isPushed: true))
    // A feed that could not be read, or a subscription that is not there.
    clock.polled(at: 1_300_000, reachedEnd: false)
    #expect(clock.isDue(at: 1_330_000, isPushed: true))
    // The clock was set back.
    #expect(clock.isDue(at: 900_000, isPushed: true))
  }
}
