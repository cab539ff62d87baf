import CloudKit
import CloudKitEmulator
import Foundation
import Synchronization
import Testing

struct SyncEngineAccountTests {
  /// A device with the last state of another one, as after a launch with another account.
  private static func relaunched(_ device: Device, _ emulator: Emulator, user: String?) -> Device {
    let next = Device(emulator, user: user)
    let serialization = device.content.withLock { $0.serialization }
    next.content.withLock { $0.serialization = serialization }
    next.start()
    return next
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
    let next = Self.relaunched(device, emulator, user: "ben")
    #expect(next.pending == ["saveRecord(a)"])

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
