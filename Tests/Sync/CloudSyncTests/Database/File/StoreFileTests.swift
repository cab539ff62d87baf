import CloudKit
import Foundation
import GRDB
import TestSupport
import Testing

@testable import CloudSync

/// The file itself: what it promises, what is refused and left as it was.
@Suite(.serialized, .onFile) struct StoreFileTests {
  private let world: World

  init() throws { world = try World() }

  private func kind(_ name: String, scope: SyncStore.Scope? = nil) -> StoreError.Kind? {
    do {
      _ = try SyncStore(path: world.folder.path(name), scope: scope ?? world.scope)
      return nil
    } catch {
      return error.kind
    }
  }

  private func bytes(_ name: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: world.folder.path(name)))
  }

  @Test func `the writing connection is synchronous in full, new and reopened`() throws {
    for _ in 0..<2 {
      let writer = try world.open("store").file.writer
      // 2 is FULL.
      #expect(try writer.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") } == 2)
    }
  }

  @Test func `the file and its folder are for the owner alone`() throws {
    let path = world.folder.path("inside/store.sqlite")
    _ = try SyncStore(path: path, scope: world.scope)

    let file = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    let folder =
      try FileManager.default.attributesOfItem(atPath: world.folder.path("inside"))[.posixPermissions] as? Int
    #expect(file == 0o600)
    #expect(folder == 0o700)
  }

  @Test func `a file name that leaves no room for the files beside it is refused as too long`() throws {
    let (longest, longer) = (String(repeating: "s", count: 247), String(repeating: "s", count: 248))
    let path = world.folder.path(longer)

    #expect(throws: StoreError.nameTooLong(path)) { _ = try SyncStore(path: path, scope: world.scope) }
    #expect(kind(longest) == nil)
  }

  @Test func `what was accepted is there after reopening`() throws {
    do {
      let store = try world.open("store")
      try store.accept(world.put("a", ["text": .string("x")]))
    }

    #expect(try world.open("store").queue() == ["save a pending"])
  }

  @Test func `a store with two names is refused for writing under either, and can be read`() throws {
    let (path, other) = (world.folder.path("store.sqlite"), world.folder.path("other.sqlite"))
    do { try SyncStore(path: path, scope: world.scope).accept(world.put("a", [:])) }
    try FileManager.default.linkItem(atPath: path, toPath: other)
    let before = try bytes("store.sqlite")

    for name in [path, other] {
      for access in [StoreAccess.making, .changing] {
        let error = #expect(throws: StoreError.self) {
          try SyncStore(path: name, scope: world.scope, access: access)
        }
        #expect(error?.kind == .cannotOpen && error?.message.contains("2 names (hard links)") == true)
      }
    }
    #expect(try bytes("store.sqlite") == before)
    #expect(try SyncStore(path: path, scope: world.scope, access: .reading).queue() == ["save a pending"])
    try FileManager.default.removeItem(atPath: other)
    #expect(throws: Never.self) { try SyncStore(path: path, scope: world.scope) }
  }

  @Test func `a file that is no database is refused and left as it was`() throws {
    let text = Data(String(repeating: "this is a letter to a friend\n", count: 100).utf8)
    try text.write(to: URL(fileURLWithPath: world.folder.path("letter")))

    #expect(kind("letter") == .notAStore)
    #expect(try bytes("letter") == text)
  }

  @Test func `somebody else's database is refused and left as it was`() throws {
    do {
      let queue = try DatabaseQueue(path: world.folder.path("theirs"))
      try queue.write { try $0.execute(sql: "CREATE TABLE theirs(x); INSERT INTO theirs VALUES (1)") }
    }
    let before = try bytes("theirs")

    #expect(kind("theirs") == .notAStore)
    #expect(try bytes("theirs") == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: world.folder.url.path) == ["theirs"])
  }

  @Test(arguments: [
    ["27 system values", "28 offering deletions"], ["\(Schema.version - 1)"],
    ["\(Schema.version)", "\(Schema.version + 1)"],
  ])
  func `a store of another schema is refused and left as it was`(migrations: [String]) throws {
    do {
      let store = try world.open("other")
      try store.accept(world.put("a", ["x": .int64(1)]))
      try store.execute("DELETE FROM grdb_migrations")
      for name in migrations { try store.execute("INSERT INTO grdb_migrations(identifier) VALUES ('\(name)')") }
    }
    let (path, before) = (world.folder.path("other.sqlite"), try bytes("other.sqlite"))

    for access in [StoreAccess.reading, .changing, .making] {
      let error = #expect(throws: StoreError.self) { _ = try SQLiteStorage(path: path, access: access) }
      #expect(error?.kind == .otherVersion, "\(access)")
    }
    let error = #expect(throws: StoreError.self) {
      _ = try SyncStore.salvage(path, into: world.folder.path("new.sqlite"))
    }
    #expect(error?.kind == .otherVersion)
    #expect(SyncStore.scope(ofStoreAt: path) == nil)
    #expect(try bytes("other.sqlite") == before)
    #expect(!FileManager.default.fileExists(atPath: world.folder.path("new.sqlite")))
  }

  @Test func `a store that is cut by a page gives every operation that can be read`() throws {
    let path = world.folder.path("cut.sqlite")
    do {
      let store = try world.open("cut")
      for number in 0..<200 {
        try store.accept(world.put("r\(number)", ["x": .string(String(repeating: "x", count: 500))]))
      }
      try store.write { try $0.setValue(.identity, "_ana") }
      try store.file.writer.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    }
    let whole = try bytes("cut.sqlite")
    try whole.dropLast(4096).write(to: URL(fileURLWithPath: path))
    #expect(kind("cut.sqlite") == .damaged)

    let salvage = try SyncStore.salvage(path, into: world.folder.path("new.sqlite"))

    let store = try world.open("new")
    let saved = try store.read { try $0.operations(after: 0, limit: 1000) }
    #expect(salvage.saved == saved.count && saved.count >= 180 && salvage.known ?? 200 == 200)
    #expect(saved.allSatisfy { $0.kind == .save && !$0.changes.isEmpty && $0.needsVerification })
    #expect(try store.owner() == "_ana")
    #expect(try bytes("cut.sqlite") == whole.dropLast(4096))
    #expect(throws: StoreError.self) { try SyncStore.salvage(path, into: world.folder.path("new.sqlite")) }
  }

  @Test func `a store that lost its scope gives its operations to the scope that is named`() throws {
    let (path, new) = (world.folder.path("lost.sqlite"), world.folder.path("new.sqlite"))
    do {
      let store = try world.open("lost")
      try store.accept(world.put("a", ["x": .int64(1)]))
      try store.accept(world.put("b", ["x": .int64(2)]))
    }
    try damage("lost.sqlite", "SELECT rootpage FROM sqlite_master WHERE name = 'state'")
    let scope = world.scope

    #expect(throws: StoreError(.damaged, Self.lostScope(path, "--container and --environment and --database"))) {
      try SyncStore.salvage(path, into: new)
    }
    #expect(throws: StoreError(.damaged, Self.lostScope(path, "--environment"))) {
      try SyncStore.salvage(path, into: new, container: scope.container, database: scope.database)
    }
    #expect(!FileManager.default.fileExists(atPath: new))
    let salvage = try SyncStore.salvage(
      path,
      into: new,
      container: scope.container,
      environment: scope.environment,
      database: scope.database
    )

    #expect(salvage.saved == 2 && salvage.known == 2)
    #expect(SyncStore.scope(ofStoreAt: new) == scope)
    #expect(try world.open("new").read { try $0.operations(after: 0, limit: 10).map(\.key.name) } == ["a", "b"])
  }

  @Test func `the scope that a store has counts more than the one that is named when its queue is saved`() throws {
    let new = world.folder.path("new.sqlite")
    _ = try world.open("store")

    let store = world.folder.path("store.sqlite")
    _ = try SyncStore.salvage(store, into: new, container: "iCloud.other", environment: "other", database: .shared)

    #expect(SyncStore.scope(ofStoreAt: new) == world.scope)
  }

  @Test func `a store that lost its schema cannot give its queue, and only a copy helps`() throws {
    let (path, new) = (world.folder.path("blank.sqlite"), world.folder.path("new.sqlite"))
    _ = try world.open("blank")
    // The first page has only the way to the others.
    try damage(
      "blank.sqlite",
      """
      WITH RECURSIVE pages(number) AS (
        SELECT page_count FROM pragma_page_count UNION ALL SELECT number - 1 FROM pages WHERE number > 2
      )
      SELECT number FROM pages
      """
    )

    let error = #expect(throws: StoreError.self) {
      try SyncStore.salvage(path, into: new, container: "iCloud.a", environment: "development", database: .public)
    }
    #expect(error?.kind == .damaged)
    // What was just done is no advice.
    #expect(error?.message.contains("salvage") == false)
    #expect(!FileManager.default.fileExists(atPath: new))
  }

  private static func lostScope(_ path: String, _ options: String) -> String {
    "the container, environment and database of the store \(path) cannot be read; give \(options)"
  }

  /// Overwrites the pages that a statement finds.
  private func damage(_ name: String, _ pages: String) throws {
    let size = 4096
    let numbers = try {
      let queue = try DatabaseQueue(path: world.folder.path(name))
      return try queue.writeWithoutTransaction { database in
        _ = try database.checkpoint(.truncate)
        return try Int.fetchAll(database, sql: pages)
      }
    }()
    var data = try bytes(name)
    try #require(!numbers.isEmpty)
    for number in numbers {
      data.replaceSubrange((number - 1) * size..<number * size, with: Data(repeating: 0xA5, count: size))
    }
    try data.write(to: URL(fileURLWithPath: world.folder.path(name)))
  }

  @Test func `a damaged store is refused and left as it was`() throws {
    do {
      let store = try world.open("damaged")
      _ = try store.enqueue(
        (0..<500).map { world.put("r\($0)", ["text": .string(String(repeating: "x", count: 200))]) }
      )
      try store.file.writer.writeWithoutTransaction { _ = try $0.checkpoint(.truncate) }
    }
    var data = try bytes("damaged.sqlite")
    let page = 4096
    for offset in stride(from: page * 12, to: data.count, by: page) {
      data.replaceSubrange(offset..<(offset + 64), with: Data(repeating: 0xA5, count: 64))
    }
    try data.write(to: URL(fileURLWithPath: world.folder.path("damaged.sqlite")))

    #expect(kind("damaged.sqlite") == .damaged)
    #expect(try bytes("damaged.sqlite") == data)
  }

  @Test func `a row that somebody renames is sent by its new name`() async throws {
    let device = try world.device("store")
    try device.store.accept(world.put("r", ["x": .int64(1)]))
    try device.store.execute("UPDATE operations SET name = 'renamed'")

    try await device.sync()

    #expect(try device.store.queue() == [])
    #expect(world.onServer("renamed") != nil)
  }

  @Test func `a path that cannot be opened is refused`() throws {
    try Data().write(to: URL(fileURLWithPath: world.folder.path("file")))

    #expect(kind("file/below") == .cannotOpen)
  }

  @Test func `a store of another container, environment or database is refused`() throws {
    _ = try world.open("store")
    var scopes = [world.scope, world.scope, world.scope]
    scopes[0].container = "iCloud.other"
    scopes[1].environment = "production"
    scopes[2].database = .public

    for scope in scopes { #expect(kind("store.sqlite", scope: scope) == .otherScope) }
    #expect(kind("store.sqlite") == nil)
  }

  @Test func `an empty file becomes a store`() throws {
    try Data().write(to: URL(fileURLWithPath: world.folder.path("empty")))

    #expect(kind("empty") == nil)
  }

  @Test func `a store that was emptied is no new one`() throws {
    do { try world.open("store").accept(world.put("a", [:])) }
    for file in ["store.sqlite-wal", "store.sqlite-shm"] { unlink(world.folder.path(file)) }
    try Data().write(to: URL(fileURLWithPath: world.folder.path("store.sqlite")))

    #expect(kind("store.sqlite") == .damaged)
    #expect(try bytes("store.sqlite") == Data())
    unlink(world.folder.path("store.sqlite.driver"))
    #expect(kind("store.sqlite") == nil)
  }

  @Test func `a store whose making was cut off is made`() throws {
    do {
      let queue = try DatabaseQueue(path: world.folder.path("begun"))
      // What GRDB writes before the first migration.
      try queue.write { try $0.execute(sql: "CREATE TABLE grdb_migrations(identifier TEXT NOT NULL PRIMARY KEY)") }
    }

    #expect(kind("begun") == nil)
  }

  @Test func `the store belongs to the first identity, another is refused and sends nothing`() async throws {
    let ana = try world.device("store")
    try await ana.sync()
    try ana.store.accept(world.put("a", [:]))
    let ben = try world.device("store", user: "ben")

    let error = await #expect(throws: StoreError.self) { try await ben.sync() }

    #expect(error?.kind == .otherUser)
    #expect(ben.transport.count("records/modify") == 0)
    #expect(try ana.store.queue() == ["save a pending"])
    try await ana.sync()
    #expect(try ana.store.queue() == [])
  }

  @Test func `a credential that the server refuses owns nothing`() async throws {
    let wrong = try world.device("store", identity: "key-1")
    wrong.transport.interfere { _, _, _ in .answer(status: 401, #"{"serverErrorCode":"AUTHENTICATION_FAILED"}"#) }
    try await wrong.sync()
    #expect(try wrong.store.status().identity == nil)
    world.clock.advance(61)

    let right = try world.device("store", identity: "key-2")
    try await right.sync()

    #expect(try right.store.status().identity == "key-2")
  }

  @Test(arguments: [false, true])
  func `a refused credential is forgotten once another cause stops the sync`(_ hasKey: Bool) async throws {
    func device(_ name: String) throws -> TestDevice {
      try world.device("store", user: name, identity: hasKey ? name : nil)
    }
    let owner = try device("ana")
    try await owner.sync()
    await #expect(throws: StoreError.self) { try await device("ben").sync() }
    #expect(try owner.store.status().isRefused)

    let bad = try device("ana")
    bad.transport.interfere { _, _, _ in .answer(status: 401, #"{"serverErrorCode":"AUTHENTICATION_FAILED"}"#) }
    try await bad.sync()

    let status = try owner.store.status()
    #expect(!status.isRefused)
    #expect(status.verdict(hasCredential: true).kind == .signedOut)
  }

  @Test func `a key of the store's user is not called another user's while offline`() async throws {
    let owner = try world.device("store", identity: "key-1")
    try await owner.sync()
    await #expect(throws: StoreError.self) { try await world.device("store", identity: "key-2").sync() }

    let offline = try world.device("store", identity: "key-1")
    offline.transport.interfere { _, _, _ in .offline }
    try await offline.sync()

    #expect(try !owner.store.status().isRefused)
  }

  @Test func `the file refuses what must not be`() throws {
    let store = try world.open("store")
    try store.accept(world.put("a", [:]))

    for sql in [
      "UPDATE operations SET state = 'sleeping'",
      "UPDATE operations SET operation = 'copy'",
      "UPDATE operations SET operation = 'zoneSave'",
      "UPDATE operations SET name = NULL",
      "UPDATE operations SET state = 'inFlight'",
      "UPDATE operations SET sentGeneration = 1, sentOperation = 'save'",
      "UPDATE operations SET state = 'waiting'",
      "UPDATE operations SET nextAttemptAt = 1",
      "UPDATE operations SET state = 'conflict'",
      "UPDATE operations SET conflictAt = 1",
      "UPDATE operations SET reason = NULL",
      "UPDATE operations SET attempts = 'many'",
      "INSERT INTO operations SELECT 99, operation, zone, owner, name, type, changes, base, baseTag, state, reason, "
        + "generation, sentGeneration, sentOperation, sentChanges, isRecreation, needsVerification, conflictRounds, "
        + "attempts, maxAttempts, nextAttemptAt, isServersWait, errorCode, errorMessage, enqueuedAt, editedAt, "
        + "conflictAt, bytes, atomicGroup FROM operations",
      "INSERT INTO history VALUES (1, 1, 'save', 'z', '', 'a', 'T', 'vanished', '', 0, 0)",
      "UPDATE zones SET state = 'gone'",
    ] {
      #expect(throws: DatabaseError.self, "\(sql)") { try store.execute(sql) }
    }
  }

  @Test func `a row that cannot be decoded is reported as damage`() throws {
    let store = try world.open("store")
    try store.execute("DROP TABLE throttles")
    try store.execute("CREATE TABLE throttles(scope, until, seconds, code, message, isOwn, since, isOver, credential)")
    try store.execute("INSERT INTO throttles(scope, until) VALUES ('quota', 1)")

    let error = #expect(throws: StoreError.self) { _ = try store.read { try $0.waits(after: 0) } }

    #expect(error?.kind == .damaged)
  }

  @Test func `neither a folder nor a pipe is taken for a store, nor waited for`() throws {
    try FileManager.default.createDirectory(atPath: world.folder.path("folder"), withIntermediateDirectories: true)
    try #require(mkfifo(world.folder.path("pipe"), 0o600) == 0)

    for name in ["folder", "pipe"] {
      let error = #expect(throws: StoreError.self) { _ = try SQLiteStorage(path: world.folder.path(name)) }
      #expect(error?.kind == .notAStore)
      #expect(error?.message.contains("choose a file with --store") == true)
    }
  }

  private static let failures: [(free: UInt64?, refusal: Int32?, kind: StoreError.Kind)] = [
    (nil, nil, .cannotOpen), (0, nil, .diskFull), (32_767, nil, .diskFull), (32_768, nil, .cannotOpen),
    (1_000_000, ENOSPC, .diskFull), (1_000_000, EDQUOT, .diskFull), (1_000_000, EACCES, .cannotOpen),
  ]

  @Test(arguments: failures.indices)
  func `a disk that fails for want of room or quota is full, not broken`(index: Int) {
    let row = Self.failures[index]

    let error = StoreError.failingDisk("a.sqlite", "disk I/O error", free: row.free, refusal: row.refusal)

    #expect(error.kind == row.kind)
  }

  @Test func `processes that create the same store at once all open it`() async throws {
    let accepted = try await withThrowingTaskGroup(of: [Accepted].self) { group in
      for number in 0..<8 {
        group.addTask { try world.open("new").enqueue([world.put("r\(number)", ["x": .int64(1)])]) }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }

    #expect(accepted.count == 8)
    #expect(try world.open("new").status().queue.pending == 8)
  }
}
