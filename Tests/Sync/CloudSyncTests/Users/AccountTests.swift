import CloudKit
import CloudKitEmulator
import CloudKitEmulatorTransport
import Foundation
import TestSupport
import Testing

@testable import CloudSync

/// One machine, several users: each has a store, and nobody's queue goes as somebody else's.
@Suite(.serialized, .timeLimit(.minutes(40))) struct AccountTests {
  private let world: World
  private let container: CKContainer

  init() throws {
    world = try World()
    container = CKContainer(
      identifier: World.container,
      credential: .webAuth(apiToken: "token", webAuthToken: "ana"),
      transport: EmulatorTransport(world.emulator, now: { [world] in world.clock.date })
    )
  }

  private func engine(for user: CKRecord.ID?, delegate: TestDelegate? = nil) throws -> SyncEngine {
    var configuration = try SyncEngine.Configuration(
      container: container,
      user: user,
      storePath: world.folder.path("store.sqlite")
    )
    configuration.pollInterval = 100_000
    configuration.watchdogInterval = 100_000
    return try SyncEngine(configuration, delegate: delegate)
  }

  private func signIn(_ token: String) async throws -> CKRecord.ID {
    try await container.signIn(callback: try #require(URL(string: "https://callback.test/?ckWebAuthToken=\(token)")))
  }

  private func note(_ name: String) -> CKRecord {
    CKRecord(
      recordType: "Note",
      recordID: CKRecord.ID(recordName: name, zoneID: CKRecordZone.ID(zoneName: "cktop"))
    )
  }

  private func names(of user: String) -> [String] {
    let database = EmulatorDatabase.private(of: user, World.container)
    return world.emulator.records(in: database, zone: "cktop").map(\.recordName).sorted()
  }

  @Test func `from one user to another and back, everybody's changes reach their own database`() async throws {
    let ana = try await container.userRecordID()
    let first = try engine(for: ana)
    try await first.sync()
    container.signOut()
    try first.save([note("a")])
    #expect(try await first.sync().failure?.code == .notAuthenticated)
    #expect(try first.store.status().accountProblem != nil)

    let ben = try await signIn("ben")
    let second = try engine(for: ben)
    try second.save([note("b")])
    try await second.sync()
    // Whoever asks for the wrong store is refused, and nothing goes.
    try first.flush()
    await #expect(throws: StoreError.self) { try await first.sync() }
    #expect(names(of: "ben") == ["b"] && names(of: "ana") == [])
    #expect(second.store.path != first.store.path)

    let again = try await signIn("ana")
    let third = try engine(for: again)
    #expect(again == ana && third.store.path == first.store.path)
    try await third.sync()

    #expect(names(of: "ana") == ["a"] && names(of: "ben") == ["b"])
    #expect(try third.store.status().queue.total == 0)
  }

  @Test(arguments: [false, true])
  func `who signs in to a container of nobody has a store, too, which is sent as nobody else`(isKept: Bool) async throws
  {
    let container = CKContainer(
      identifier: World.container,
      credential: .apiToken("token"),
      transport: EmulatorTransport(world.emulator, now: { [world] in world.clock.date })
    )
    let base = world.folder.path("store.sqlite")
    func engine(_ user: CKRecord.ID?) throws -> SyncEngine {
      try SyncEngine(SyncEngine.Configuration(container: container, user: user, storePath: base))
    }
    func signIn(_ token: String) async throws -> CKRecord.ID {
      try await container.signIn(callback: try #require(URL(string: "https://callback.test/?ckWebAuthToken=\(token)")))
    }
    let ana = try await signIn("ana")
    let first = try engine(isKept ? nil : ana)
    try await first.sync()
    container.signOut()
    try first.save([note("a")])

    let ben = try await signIn("ben")
    if isKept {
      await #expect(throws: StoreError.self) { try await first.sync() }
    } else {
      let second = try engine(ben)
      #expect(second.store.path != first.store.path)
      try second.save([note("b")])
      try await second.sync()
    }
    #expect(names(of: "ben") == (isKept ? [] : ["b"]) && names(of: "ana") == [])
    _ = try await signIn("ana")
    let again = try engine(isKept ? nil : ana)
    #expect(again.store.path == first.store.path)
    try await again.sync()
    #expect(names(of: "ana") == ["a"])
  }

  @Test func `a store is its user's before anything was synced`() async throws {
    let ana = try await container.userRecordID()
    let first = try engine(for: ana)
    try first.save([note("a")])
    container.signOut()

    let ben = try await signIn("ben")
    let second = try engine(for: ben)
    try await second.sync()

    #expect(second.store.path != first.store.path)
    #expect(try first.store.owner() == ana.recordName && first.store.status().queue.total == 1)
    #expect(names(of: "ben") == [])
    #expect(try engine(for: ana).store.path == first.store.path)
  }

  @Test func `what is answered after somebody else signed in is not written down`() async throws {
    let transport = TestTransport(EmulatorTransport(world.emulator, now: { [world] in world.clock.date }))
    let container = CKContainer(
      identifier: World.container,
      credential: .webAuth(apiToken: "token", webAuthToken: "ana"),
      transport: transport
    )
    let path = world.folder.path("switched.sqlite")
    let engine = try SyncEngine(SyncEngine.Configuration(container: container, storePath: path))
    try await engine.sync()
    try engine.save([note("a")])
    try await engine.sync()
    let other = try world.device("other")
    try other.store.accept(world.put("b", [:]))
    try await other.sync()
    let callback = try #require(URL(string: "https://callback.test/?ckWebAuthToken=ben"))
    transport.interfere { operation, _, _ in
      if operation == "changes/zone" { _ = try? await container.signIn(callback: callback) }
      return .pass
    }

    #expect(try await engine.sync().failure?.code == .notAuthenticated)
    transport.interfere(nil)

    #expect(try engine.store.mirror("a") != nil && engine.store.mirror("b") == nil)
    #expect(try engine.store.status().throttles.isEmpty)
    await #expect(throws: StoreError.self) { try await engine.sync() }
  }

  @Test func `a request of one user does not go out as the next`() async throws {
    let client = try container.webServices()
    let anas = client.signIn
    _ = try await signIn("ben")

    let error = await #expect(throws: WebServicesError.self) {
      try await WebServicesClient.$requiredSignIn.withValue(anas) { try await client.listZones(in: .private) }
    }

    #expect(error?.effect == .notSent)
    #expect(try await client.listZones(in: .private).count == 1)
  }

  @Test func `a token that is refused gives nothing up`() async throws {
    let engine = try engine(for: nil, delegate: TestDelegate(policy: .discard))
    try await engine.sync()
    try engine.save([note("a")])
    let other = CKContainer(
      identifier: World.container,
      credential: .apiToken("token"),
      transport: EmulatorTransport(world.emulator, now: { [world] in world.clock.date })
    )
    var configuration = try SyncEngine.Configuration(container: other, storePath: engine.store.path)
    configuration.identity = nil
    let refused = SyncEngine(store: engine.store, configuration, delegate: TestDelegate(policy: .discard))

    #expect(try await refused.sync().failure?.code == .notAuthenticated)

    #expect(try engine.store.status().queue.total == 1)
  }

  @Test func `an app that is silent when its user leaves gives nothing up`() async throws {
    let (gate, opener) = AsyncStream.makeStream(of: Void.self)
    let delegate = SilentDelegate(gate)
    var configuration = try SyncEngine.Configuration(container: container, storePath: world.folder.path("s.sqlite"))
    configuration.delegatePatience = 0.05
    let engine = try SyncEngine(configuration, delegate: delegate)
    try await engine.sync()
    try engine.save([note("a")])
    container.signOut()

    #expect(try await engine.sync().failure?.code == .notAuthenticated)
    opener.finish()

    #expect(try engine.store.status().queue.total == 1)
  }

  @Test func `a driver whose user is replaced parks the queue with the reason, and goes on when the user is back`()
    async throws
  {
    let engine = try engine(for: nil)
    let store = engine.store
    await engine.start()
    try await eventually(store) { try store.status().lastSuccessAt != nil && store.engineRest().rest != nil }
    _ = try await signIn("ben")

    try engine.save([note("a")])
    try await eventually(store) { try store.status().accountProblem != nil }
    #expect(try store.status().accountProblem?.message.contains("belongs to") == true)
    #expect(try store.status().queue.pending == 1)
    #expect(names(of: "ben") == [])
    _ = try await signIn("ana")
    try engine.flush()
    try await eventually(store) { try store.status().queue.total == 0 }
    try await engine.stop()

    #expect(names(of: "ana") == ["a"] && names(of: "ben") == [])
  }

  @Test func `an app may give a queue up whose user has left`() async throws {
    let engine = try engine(for: nil, delegate: TestDelegate(policy: .discard))
    try await engine.sync()
    try engine.save([note("a")])
    var events = engine.events.makeAsyncIterator()
    container.signOut()

    try await engine.sync()

    #expect(try engine.store.status().queue.total == 0)
    #expect(try engine.store.history(limit: 1).first?.ending == .discarded)
    var isTold = false
    while !isTold, let event = await events.next() {
      if case .signedOut = event { isTold = true }
    }
    #expect(isTold)
  }

  @Test func `whose store it is, is known by the sign-in before the server is asked`() throws {
    let base = world.folder.path("store.sqlite")
    #expect(StorePath.path(ofSignIn: "1", base: base) == base)
    let first = try SyncStore(path: base, scope: world.scope)
    #expect(StorePath.path(ofSignIn: "1", base: base) == base)
    #expect(StorePath.path(ofSignIn: "2", base: base) == base)
    first.enqueue(as: Sender(user: nil, credential: "1"))
    try first.accept(world.put("a", [:]))
    #expect(StorePath.path(ofSignIn: "1", base: base) == base)
    #expect(StorePath.path(ofSignIn: "2", base: base) == nil)
    let lease = try #require(try Lease.acquire(first))
    try first.adopt(identity: "ana", signIn: "1", lease)
    #expect(StorePath.path(ofSignIn: "1", base: base) == base)
    #expect(StorePath.path(ofSignIn: "2", base: base) == nil)
    let other = StorePath.path(of: "b/n", base: base)
    #expect(other == world.folder.path("store.b%2Fn.sqlite"))
    let second = try SyncStore(path: other, scope: world.scope)
    try second.adopt(identity: "b/n", signIn: "2", nil)

    #expect(StorePath.path(ofSignIn: "2", base: base) == other)
    #expect(StorePath.path(of: "ana", base: base) == base)
    #expect(StorePath.path(ofSignIn: "3", base: base) == nil)
  }
}

/// Says nothing until a gate is opened.
private final class SilentDelegate: SyncEngineDelegate {
  private let gate: AsyncStream<Void>

  init(_ gate: AsyncStream<Void>) { self.gate = gate }

  func signOutPolicy(of engine: SyncEngine) async -> SignOutPolicy {
    let gate = gate
    await Task.detached { for await _ in gate {} }.value
    return .discard
  }
}
