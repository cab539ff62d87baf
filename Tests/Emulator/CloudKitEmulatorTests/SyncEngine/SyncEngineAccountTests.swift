import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import Synchronization
import Testing

struct SyncEngineAccountTests {
  /// A device with the last state of another one, as after a launch with another account.
  private static func relaunched(_ device: Device, _ emulator: Emulator, user: String?) -> Device {
    Device(emulator, user: user, from: device.content.withLock { $0.serialization })
  }

  @Test func `the account is reported at the start, without a fetch or a send`() async throws {
    let device = Device(try Emulator())
    await device.engine.waitForTurn()
    #expect(device.events == ["sign in"])

    device.start()
    await device.engine.waitForTurn()

    #expect(device.events == ["sign in"])
  }

  @Test func `changes that the app adds while it handles the sign-in are sent by the first send`() async throws {
    let device = Device(try Emulator()) { event, device in
      guard case .accountChange = event else { return }
      device.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Device.zoneID))])
      device.write("a", "one")
    }

    try await device.engine.sendChanges()

    #expect(device.events == ["sign in", "will send, manual", "sent zones +notes", "sent +a", "did send"])
  }

  @Test func `an engine that is offline at its start reports the account before its first fetch`() async throws {
    let emulator = try Emulator()
    emulator.isOffline = true
    let device = Device(emulator)
    await device.engine.waitForTurn()
    #expect(device.events.isEmpty)

    emulator.isOffline = false
    try await device.engine.fetchChanges()

    #expect(device.events == ["sign in", "will fetch, manual", "did fetch"])
  }

  @Test(.timeLimit(.minutes(40)))
  func `an engine that is released before it knows the account is gone and reports nothing`() async throws {
    let emulator = try Emulator()
    let transport = HeldTransport(EmulatorTransport(emulator))
    let device = Device(emulator, over: transport)
    await wait { transport.isReached }
    weak let engine = device.engine

    device.stop()
    await wait { engine == nil }
    transport.release()
    await wait { transport.isAnswered }

    #expect(engine == nil && device.events.isEmpty)
  }

  @Test(.timeLimit(.minutes(40)))
  func `cancelled operations end the look-up of the account at the start`() async throws {
    let emulator = try Emulator()
    let transport = HeldTransport(EmulatorTransport(emulator))
    let device = Device(emulator, over: transport)
    await wait { transport.isReached }

    await device.engine.cancelOperations()
    await device.engine.waitForTurn()
    #expect(device.events.isEmpty)

    try await device.engine.fetchChanges()
    #expect(device.events == ["sign in", "will fetch, manual", "did fetch"])
  }

  @Test func `the first user signs in, once, and changes that were added before are sent`() async throws {
    let device = Device(try Emulator())
    device.state.add(pendingDatabaseChanges: [.saveZone(CKRecordZone(zoneID: Device.zoneID))])
    device.write("a", "one")

    try await device.engine.sendChanges()
    device.start()
    try await device.engine.fetchChanges()

    let user = try await device.container.userRecordID()
    #expect(device.content.withLock { $0.users } == [.signIn(currentUser: user)])
    #expect(device.events.contains("sent +a"))
  }

  @Test func `another user clears the state, and nothing of the first is sent`() async throws {
    let emulator = try Emulator()
    let device = Device(emulator)
    try await device.setUp()
    device.write("a", "one")
    try await device.engine.fetchChanges()
    #expect(device.content.withLock { $0.states.last?.contains("1 pending record") } == true)
    let next = Self.relaunched(device, emulator, user: "ben")
    await next.engine.waitForTurn()
    #expect(next.events == ["switch accounts"] && next.pending.isEmpty)

    try await next.engine.sendChanges()

    let (ana, ben) = (try await device.container.userRecordID(), try await next.container.userRecordID())
    #expect(next.content.withLock { $0.users } == [.switchAccounts(previousUser: ana, currentUser: ben)])
    #expect(next.events == ["switch accounts", "will send, manual", "did send"])
    #expect(next.pending.isEmpty)
    #expect(try await next.container.privateCloudDatabase.allRecordZones().map(\.zoneID.zoneName) == ["_defaultZone"])
  }

  @Test func `a sign-out clears the state and stops the engine until somebody signs in`() async throws {
    let emulator = try Emulator()
    let device = Device(emulator)
    try await device.setUp()
    device.write("a", "one")
    let ana = try await device.container.userRecordID()
    device.container.signOut()

    #expect(await codeThrown { try await device.engine.sendChanges() } == .notAuthenticated)
    #expect(await codeThrown { try await device.engine.fetchChanges() } == .notAuthenticated)

    #expect(device.events == ["sign out"] && device.pending.isEmpty)
    #expect(device.content.withLock { $0.users.last } == .signOut(previousUser: ana))
    let next = Self.relaunched(device, emulator, user: "ana")
    try await next.engine.fetchChanges()
    #expect(next.content.withLock { $0.users } == [.signIn(currentUser: ana)])
  }

  @Test func `a user's state without a token lacks the user, unless the user signed out`() async throws {
    let emulator = try Emulator()
    let ana = Device(emulator)
    try await ana.setUp()
    let data = try #require(ana.content.withLock { $0.serialization })
    let state = try JSONDecoder().decode(CKSyncEngine.State.Serialization.self, from: data)
    func lacksUser(_ device: Device, _ state: CKSyncEngine.State.Serialization?) -> Bool {
      CKSyncEngine.Configuration(database: device.database, stateSerialization: state, delegate: device).lacksUser
    }
    let without = Device(emulator, user: nil)

    #expect(lacksUser(without, state))
    #expect(!lacksUser(without, nil) && !lacksUser(ana, state))
    ana.container.signOut()
    #expect(!lacksUser(ana, state))
  }

  @Test func `an expired token is no sign-out: the changes wait for the user`() async throws {
    let emulator = try Emulator()
    let device = Device(emulator)
    try await device.setUp()
    device.write("a", "one")
    emulator.fail("users/caller", .authExpired)

    #expect(await codeThrown { try await device.engine.sendChanges() } == .notAuthenticated)
    #expect(await codeThrown { try await device.engine.sendChanges() } == .notAuthenticated)

    #expect(device.events.isEmpty && device.pending == ["saveRecord(a)"])
  }

  @Test func `without a user the engine does nothing and reports nothing`() async throws {
    let device = Device(try Emulator(), user: nil)
    device.write("a", "one")

    #expect(await codeThrown { try await device.engine.fetchChanges() } == .notAuthenticated)

    #expect(device.events.isEmpty && device.pending == ["saveRecord(a)"])
  }
}

/// A transport that keeps the answer to who is signed in until it is released, or the request is cancelled.
private final class HeldTransport: CKTransport {
  private struct Content {
    var isReached = false
    var isAnswered = false
  }

  private let emulator: EmulatorTransport
  private let content = Mutex(Content())
  private let (releases, source) = AsyncStream<Void>.makeStream()

  init(_ emulator: EmulatorTransport) { self.emulator = emulator }

  var isReached: Bool { content.withLock { $0.isReached } }
  var isAnswered: Bool { content.withLock { $0.isAnswered } }

  func release() { source.finish() }

  func send(_ request: CKTransportRequest) async throws(CKTransportError) -> CKTransportResponse {
    guard request.path.hasSuffix("users/caller") else { return try await emulator.send(request) }
    content.withLock { $0.isReached = true }
    for await _ in releases {}
    defer { content.withLock { $0.isAnswered = true } }
    if Task.isCancelled { throw CKTransportError(.unknown, "The request was cancelled.") }
    return try await emulator.send(request)
  }
}
