import CloudKit
import CloudKitEmulator
import Facts
import Foundation
import GRDB
import TestSupport
import Testing

@testable import CloudSync

/// The user that a store belongs to.
struct StoreOwnerTests {
  private let world: World

  init() throws { world = try World() }

  /// One line of the decision: the stored owner, the sender, whether changes are queued, and the access.
  struct Case: Sendable {
    var owner: StoreOwner
    var sender: Sender
    var hasChanges = true
    var access: StoreOwner.Access
  }

  private static let token = CredentialDigest(of: "token")
  private static let cases = [
    Case(owner: .none, sender: Sender(user: nil, credential: "token"), access: .granted),
    Case(owner: .none, sender: Sender(user: "ana"), access: .granted),
    Case(owner: .user("ana"), sender: Sender(user: "ana"), access: .granted),
    Case(owner: .user("ana"), sender: Sender(user: nil, credential: "token"), access: .unknown),
    Case(owner: .user("ana"), sender: Sender(user: "ben"), access: .refused),
    Case(owner: .user("ana"), sender: Sender(user: "ben"), hasChanges: false, access: .refused),
    Case(owner: .queuer("key:1"), sender: Sender(user: "key:1"), access: .granted),
    Case(owner: .queuer("key:1"), sender: Sender(user: "key:2"), access: .refused),
    Case(owner: .queuer("key:1"), sender: Sender(user: "key:2"), hasChanges: false, access: .granted),
    Case(owner: .queuer("key:1"), sender: Sender(user: nil, credential: "token"), access: .unknown),
    Case(owner: .credential(token), sender: Sender(user: nil, credential: "token"), access: .granted),
    Case(owner: .credential(token), sender: Sender(user: "ana", credential: "token"), access: .granted),
    Case(owner: .credential(token), sender: Sender(user: "ana", credential: "other"), access: .refused),
    Case(owner: .credential(token), sender: Sender(user: "key:1"), access: .refused),
    Case(
      owner: .credential(token),
      sender: Sender(user: "ana", credential: "other"),
      hasChanges: false,
      access: .granted
    ),
  ]

  @Test(arguments: cases)
  func `a sender may use the queue of its own store`(_ line: Case) {
    #expect(line.owner.access(of: line.sender, hasChanges: line.hasChanges) == line.access)
  }

  @Test func `two digests of one credential differ, and both recognize it alone`() {
    let (one, two) = (CredentialDigest(of: "token"), CredentialDigest(of: "token"))

    #expect(one.text != two.text)
    for digest in [one, two].map({ CredentialDigest(stored: $0.text) }) {
      #expect(digest.matches("token") && !digest.matches("tokem"))
    }
  }

  private func owners(_ store: SyncStore) throws -> [String: String] {
    try store.read { ledger in
      var values: [String: String] = [:]
      values["identity"] = try ledger.value(.identity)
      values["queuedBy"] = try ledger.value(.queuedBy)
      values["signIn"] = try ledger.value(.signIn)
      return values
    }
  }

  @Test func `a queue belongs to who queued its first change, and once it is empty to the next one`() throws {
    let store = try world.open("store")
    let token = Sender(user: nil, credential: "token")
    store.enqueue(as: Sender(user: "key:0"))
    try store.accept(world.put("old", [:]))
    _ = try store.perform(.discard, on: .all, actor: "test")
    store.enqueue(as: token)
    try store.accept(world.put("new", [:]))
    #expect(try owners(store).keys.sorted() == ["signIn"])
    _ = try store.perform(.discard, on: .all, actor: "test")

    store.enqueue(as: Sender(user: "key:1"))
    try store.accept(world.put("a", [:]))

    #expect(try owners(store) == ["queuedBy": "key:1"])
    store.enqueue(as: Sender(user: "key:2"))
    let error = #expect(throws: StoreError.self) { try store.accept(world.put("b", [:])) }
    #expect(error?.kind == .otherUser)
    #expect(try store.queue() == ["save a pending"])
  }

  @Test func `another user brings nothing back into the queue`() throws {
    let store = try world.open("store")
    store.enqueue(as: Sender(user: "key:1"))
    let dropped = try store.accept(world.put("a", ["x": .int64(1)]))
    try store.write { ledger in
      let operation = try #require(try ledger.operation(dropped))
      try ledger.add(DroppedChange(operation.changes, of: operation, .serverKept(), at: 0))
      try ledger.end(operation, .merged, .serverKept(), now: 0)
    }
    try store.accept(world.put("b", [:]))
    store.enqueue(as: Sender(user: "key:2"))

    let error = #expect(throws: StoreError.self) { try store.undo(dropped, actor: "test") }

    #expect(error?.kind == .otherUser)
    #expect(try store.queue() == ["save b pending"])
    // An empty queue belongs to the next user, but not what was dropped from it.
    _ = try store.perform(.discard, on: .all, actor: "test")
    #expect(throws: StoreError.self) { try store.undo(dropped, actor: "test") }
    #expect(try store.queue().isEmpty)
    store.enqueue(as: Sender(user: "key:1"))
    _ = try store.undo(dropped, actor: "test")
    #expect(try store.queue() == ["save a pending"])
  }

  @Test func `an engine enqueues as the user or the lasting credential of its configuration`() throws {
    let client = WebServicesClient(
      WebServicesClient.Configuration(
        container: "iCloud.org.example.Test",
        environment: "development",
        credential: .webAuth(apiToken: "api", webAuthToken: "token")
      ),
      transport: CKHTTPTransport(baseURL: URL(fileURLWithPath: "/"))
    )
    var configuration = SyncEngine.Configuration(client: client)
    let credential = CredentialDigest.name(ofToken: "token")
    #expect(configuration.sender == nil)
    configuration.signIn = credential
    #expect(configuration.sender == Sender(user: nil, credential: credential))
    configuration.owner = "ana"
    #expect(configuration.sender == Sender(user: "ana", credential: credential))
    configuration.identity = SyncStore.anonymous
    #expect(configuration.sender == nil)
  }

  @Test func `the store keeps no text of the credential that its changes were queued with`() throws {
    let store = try world.open("store")
    let name = CredentialDigest.name(ofToken: "ana")
    store.enqueue(as: Sender(user: nil, credential: name))
    try store.accept(world.put("a", [:]))

    let stored = try #require(try owners(store)["signIn"])
    #expect(!stored.contains(name) && CredentialDigest(stored: stored).matches(name))
  }

  @Test func `the first sync fixes the user of the credential that queued, and refuses another before it asks`()
    async throws
  {
    let ana = try world.device("store")
    ana.store.enqueue(as: Sender(user: nil, credential: CredentialDigest.name(ofToken: "ana")))
    try ana.store.accept(world.put("a", [:]))
    let ben = try world.device("store", user: "ben")

    let error = await #expect(throws: StoreError.self) { try await ben.sync() }

    #expect(error?.kind == .otherUser)
    #expect(ben.transport.total == 0)
    try await ana.sync()
    #expect(try ana.store.owner() != nil)
    #expect(try ana.store.queue() == [])
  }

  @Test func `an API token alone neither syncs a user's store nor makes it one of another user`() async throws {
    let ana = try world.device("store")
    try await ana.sync()
    try ana.store.accept(world.put("a", [:]))
    let anonymous = try world.device("store", identity: SyncStore.anonymous)

    let error = await #expect(throws: StoreError.self) { try await anonymous.sync() }

    #expect(error?.kind == .noUser && anonymous.transport.total == 0)
    let status = try ana.store.status()
    #expect(!status.isRefused && !status.accepts("apiToken") && status.accepts("webAuth"))
    #expect(status.verdict(hasCredential: status.accepts("apiToken")).kind == .signedOut)
    #expect(AccountState(status, credential: "apiToken").status == .noAccount)
    #expect(AccountState(status, credential: "webAuth").status == .available)
    try await ana.sync()
    #expect(try ana.store.queue() == [])
    #expect(try ana.store.status().isInSync)
  }

  @Test func `an engine that has synced looks again whose the store is`() async throws {
    let ana = try world.device("store")
    try await ana.sync()
    try ana.store.adopt(identity: "ben", signIn: nil, takesOver: true, nil)
    try ana.store.accept(world.put("a", ["x": .int64(1)]))

    let error = await #expect(throws: StoreError.self) { try await ana.sync() }

    #expect(error?.kind == .otherUser)
    #expect(world.onServer("a") == nil)
  }

  @Test func `another user's sync ends no back-off and leaves no command`() async throws {
    try await world.device("store").sync()
    let ben = try world.device("store", user: "ben")
    let id = try ben.store.accept(world.put("a", ["x": .int64(1)]))
    let end = world.clock.now + 60_000
    try ben.store.execute("UPDATE operations SET state = 'waiting', nextAttemptAt = \(end)")
    let flushes = try ben.store.count("SELECT count(*) FROM commands WHERE verb = 'flush'")

    let error = await #expect(throws: StoreError.self) { try await ben.engine.syncOnce() }

    #expect(error?.kind == .otherUser)
    #expect(try ben.store.operation(id).nextAttemptAt == end)
    #expect(try ben.store.count("SELECT count(*) FROM commands WHERE verb = 'flush'") == flushes)
  }

  @Test func `taking a store over is a command in the audit log and an event`() throws {
    let store = try world.open("store")
    try store.adopt(identity: "ana", signIn: nil, nil)
    try store.accept(world.put("a", [:]))
    #expect(throws: StoreError.self) { try store.adopt(identity: "ben", signIn: nil, nil) }

    try store.adopt(identity: "ben", signIn: nil, takesOver: true, nil)

    #expect(try store.owner() == "ben")
    let commands = try store.read { try $0.commands(limit: 1) }.map(\.event)
    #expect(commands == [.command(.adopt(by: "ben", from: "ana"), count: 1)])
    #expect(try store.events(limit: 10).contains { if case .takenOver = $0.event { true } else { false } })
    #expect(try store.queue() == ["save a pending"])
  }

  @Test(.onFile) func `a store that is joined brings its pause rules and its copied files along`() throws {
    let (here, other) = (try world.open("here"), try world.open("other"))
    let file = URL(fileURLWithPath: world.folder.path("file"))
    try Data("content".utf8).write(to: file)
    _ = try other.pause(.type("Note"), actor: "ana")
    let change = Change(
      world.key("a"),
      .save(type: "Note", FieldChanges()),
      assets: ["file": [AssetSource(file: file)]]
    )
    _ = try other.enqueue([change], assets: .copied)
    try FileManager.default.removeItem(at: file)

    try here.join(other)
    SyncStore.removeFiles(ofStoreAt: other.path)

    #expect(try here.pauses().map(\.rule) == [.type("Note")])
    let digest = try here.read { try $0.operation(for: world.key("a"))?.assets.first?.digest }
    let vault = try #require(here.storage.assetFolder.map(AssetVault.init))
    let copy = vault.file(try #require(digest))
    #expect(try Data(contentsOf: copy) == Data("content".utf8))
  }

  @Test func `what another user's polls have read is forgotten with the takeover`() throws {
    let store = try world.open("store")
    try store.adopt(identity: "ana", signIn: nil, nil)
    try store.write { try $0.put(PolledQuery(zone: ZoneKey(zone: "Notes"), type: "Note")) }

    try store.adopt(identity: "ben", signIn: nil, takesOver: true, nil)

    #expect(try store.read { try $0.polledQueries() } == [])
  }

  @Test func `joined changes are what they would be had they been enqueued here`() throws {
    let (here, other) = (try world.open("here"), try world.open("other"))
    try here.accept(world.put("a", ["x": .int64(1)]))
    try other.accept(world.put("a", ["y": .int64(2)]))
    let paused = try other.accept(world.put("b", [:]))
    _ = try other.perform(.pause, on: .ids([paused]), actor: "test")
    _ = try other.enqueueZone(ZoneKey(zone: "Home"))

    try here.join(other)
    try here.join(other)

    #expect(try here.queue() == ["save a pending", "save b paused", "zoneSave  pending"])
    #expect(try here.operations(matching: nil).rows.count == 3)
    #expect(try other.queue() == [])
    let error = #expect(throws: StoreError.self) { try other.accept(world.put("late", [:])) }
    #expect(error?.isTransient == true)
  }

  @Test func `a store that is joined moves its groups whole, also when it is interrupted`() throws {
    let (here, other) = (try world.open("here"), try world.open("other"))
    _ = try other.enqueue(["g1", "g2", "g3"].map { world.put($0, [:]) }, group: "g")
    try other.accept(world.put("a", [:]))
    try here.execute(
      "CREATE TRIGGER crash BEFORE INSERT ON operations WHEN new.name = 'g3' BEGIN SELECT RAISE(ABORT, 'no'); END"
    )

    #expect(throws: StoreError.self) { try here.join(other) }
    #expect(try here.queue() == [])
    try here.execute("DROP TRIGGER crash")
    let transactions = try Transactions.of(here)
    try here.join(other)

    #expect(try here.queue() == ["save g1 pending", "save g2 pending", "save g3 pending", "save a pending"])
    #expect(try here.read { try $0.keys(inGroup: "g").count } == 3)
    #expect(transactions.rows == [3, 1])
    #expect(try other.queue() == [])
  }

  @Test func `a paused change of a store that is joined is never there without its pause`() throws {
    let (here, other) = (try world.open("here"), try world.open("other"))
    let id = try other.accept(world.put("a", [:]))
    _ = try other.perform(.pause, on: .ids([id]), actor: "ana")
    try here.execute(
      """
      CREATE TRIGGER crash BEFORE UPDATE OF state ON operations WHEN new.state = 'paused'
      BEGIN SELECT RAISE(ABORT, 'no'); END
      """
    )

    #expect(throws: StoreError.self) { try here.join(other) }
    #expect(try here.queue() == [])
    try here.execute("DROP TRIGGER crash")
    try here.join(other)

    #expect(try here.queue() == ["save a paused"])
    #expect(try here.operations().rows.first?.cause == .paused(by: "ana"))
  }

  @Test func `a paused zone delete of a store that is joined stays paused, and one bad change holds up no other`()
    throws
  {
    let (here, other) = (try world.open("here"), try world.open("other"))
    try other.accept(world.put("a", [:]))
    try other.accept(world.put("b", [:]))
    try here.accept(world.put("a", type: "Other", [:]))
    _ = try other.enqueueZoneDeletion(ZoneKey(zone: "Home"))
    _ = try other.perform(.pause, on: .ids([3]), actor: "ana")

    let error = #expect(throws: StoreError.self) { try here.join(other) }
    #expect(error?.kind == .invalid)
    #expect(try other.queue() == ["save a pending", "zoneDelete  paused"])
    _ = try other.perform(.discard, on: .ids([1]), actor: "ana")
    try here.join(other)

    #expect(try here.queue() == ["save a pending", "save b pending", "zoneDelete  paused"])
    #expect(try other.queue() == [])
  }

  @Test func `taking over a store with 1,200 edits and records takes 500 at once, and survives a crash`()
    async throws
  {
    let ana = try world.device("store")
    try await ana.sync()
    let store = ana.store
    let zone = world.scope.zoneForChangesWithoutOne
    try store.write { try $0.insertZone(zone, state: .ready) }
    try store.fill(1200)
    let changes = FieldChanges(values: ["x": .int64(1)], cleared: ["z"])
    try store.execute("UPDATE operations SET baseTag = '1', changes = ?", [try JSONColumn.text(changes)])
    try store.execute(
      """
      INSERT INTO records(zone, owner, name, type, changeTag, fields)
        SELECT zone, owner, name, type, '1', ? FROM operations
      """,
      [try JSONColumn.text(["x": FieldValue.int64(0), "y": .int64(2), "z": .int64(3)])]
    )
    try store.execute(
      "CREATE TRIGGER crash BEFORE DELETE ON records WHEN old.name = 'r700' BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    let transactions = try Transactions.of(store)
    #expect(throws: StoreError.self) { try store.adopt(identity: "ben", signIn: nil, takesOver: true, nil) }
    #expect(try store.owner() == "ben")
    try store.execute("DROP TRIGGER crash")
    // An edit between the crash and its repair, of a record that is still there.
    try store.execute("DELETE FROM operations WHERE name = 'r701'")
    try store.accept(Change(RecordKey(zone, "r701"), .save(type: "Note", FieldChanges(values: ["x": .int64(1)]))))

    let lease = try #require(try Lease.acquire(store))
    try store.finishChores(lease)
    lease.release(store)

    // An edit changes twice: it becomes whole, and its record leaves the local copy.
    #expect(transactions.rows.allSatisfy { $0 <= 2 * 500 })
    #expect(try store.count("SELECT count(*) FROM records") == 0)
    let operations = try store.read { try $0.operations(after: 0, limit: 1200) }
    #expect(operations.count == 1200)
    for operation in operations {
      #expect(operation.baseTag == nil && operation.base.isEmpty)
      let isLater = operation.key.name == "r701"
      let kept: [String: FieldValue] = isLater ? ["z": .int64(3)] : [:]
      #expect(operation.changes.values == ["x": .int64(1), "y": .int64(2)].merging(kept) { $1 })
    }
    #expect(try store.read { try $0.zone(zone)?.state } == .unconfirmed)
  }
}
