import Foundation
import GRDB
import TestSupport
import Testing

@testable import CloudSync

/// Stores that are opened only to be read.
@Suite(.onFile) struct ReadOnlyStoreTests {
  private let world: World
  private var path: String { world.folder.path("store.sqlite") }

  init() throws { world = try World() }

  private func files() throws -> [String: Data] {
    var files: [String: Data] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: world.folder.url.path) {
      files[name] = try Data(contentsOf: URL(fileURLWithPath: world.folder.path(name)))
    }
    return files
  }

  private func queue() throws -> [String] {
    try SyncStore(path: path, scope: world.scope, access: .reading).queue()
  }

  /// Leaves a copy of an open store with a log that was not merged, as a killed process does.
  private func makeKilledStore() throws {
    let store = try world.open("live")
    try store.accept(world.put("a", [:]))
    for ending in ["", "-wal", ".driver"] {
      try FileManager.default.copyItem(
        atPath: world.folder.path("live.sqlite\(ending)"),
        toPath: path + ending
      )
    }
    withExtendedLifetime(store) {}
  }

  /// Makes the log's index impossible to make, as on media that cannot be written.
  private func forbidIndex() throws {
    try FileManager.default.createSymbolicLink(atPath: path + "-shm", withDestinationPath: "/nowhere/at/all")
  }

  @Test func `a reader waits for a process that is just making the store`() async throws {
    let path = path
    let isLocked = DispatchSemaphore(value: 0)
    let reader = DispatchSemaphore(value: 0)
    let making = Task.detached {
      try StoreLock.whileMaking(path) { _ in
        let writer = try DatabasePool(path: path)
        try writer.write { try $0.execute(sql: "CREATE TABLE grdb_migrations(identifier TEXT NOT NULL PRIMARY KEY)") }
        isLocked.signal()
        reader.wait()
        try Schema.migrator.migrate(writer)
      }
    }
    let reading = Task.detached {
      isLocked.wait()
      reader.signal()
      return try SQLiteStorage(path: path, access: .reading).read { try $0.operationCount() }
    }

    #expect(try await reading.value == 0)
    try await making.value
  }

  @Test func `a store that is nobody's yet is read all the same`() throws {
    do { _ = try SQLiteStorage(path: path) }

    #expect(try queue() == [])

    #expect(SyncStore.scope(ofStoreAt: path) == nil)
  }

  @Test func `reading a closed store leaves the folder as it was`() throws {
    do { try world.open("store").accept(world.put("a", [:])) }
    let before = try files()
    #expect(before["store.sqlite-wal"] == nil)

    #expect(try queue() == ["save a pending"])

    #expect(try files() == before)
  }

  @Test func `reading beside an open store leaves its log in place`() throws {
    let store = try world.open("store")
    try store.accept(world.put("a", [:]))

    #expect(try queue() == ["save a pending"])
    try store.accept(world.put("b", [:]))

    #expect(try queue() == ["save a pending", "save b pending"])
  }

  @Test func `reading what a killed process left merges nothing into the file`() throws {
    try makeKilledStore()
    let before = try files()

    #expect(try queue() == ["save a pending"])

    let after = try files()
    for ending in ["", "-wal", ".driver"] { #expect(after["store.sqlite\(ending)"] == before["store.sqlite\(ending)"]) }
  }

  @Test func `a try to write leaves the files as they were`() throws {
    do { try world.open("store").accept(world.put("a", [:])) }
    let closed = try files()
    try SyncStore.tryWriting(toStoreAt: path)
    #expect(try files() == closed)

    for name in closed.keys { try FileManager.default.removeItem(atPath: world.folder.path(name)) }
    try makeKilledStore()
    let killed = try files()
    try SyncStore.tryWriting(toStoreAt: path)
    let after = try files()
    for ending in ["", "-wal", ".driver"] { #expect(after["store.sqlite\(ending)"] == killed["store.sqlite\(ending)"]) }
  }

  @Test func `a try to write beside a process that has the store open changes nothing for it`() throws {
    let store = try world.open("store")
    try store.accept(world.put("a", [:]))

    try SyncStore.tryWriting(toStoreAt: path)
    try store.accept(world.put("b", [:]))

    #expect(try queue() == ["save a pending", "save b pending"])
  }

  @Test func `a try to write fails where nothing can be written`() throws {
    do { try world.open("store").accept(world.put("a", [:])) }
    try forbidIndex()

    #expect(throws: StoreError.self) { try SyncStore.tryWriting(toStoreAt: path) }
  }

  @Test func `a store on media that cannot be written is read as it is`() throws {
    do { try world.open("store").accept(world.put("a", [:])) }
    try forbidIndex()

    #expect(try queue() == ["save a pending"])
  }

  @Test func `a store on media that cannot be written is refused while its log holds changes`() throws {
    try makeKilledStore()
    try forbidIndex()

    let error = #expect(throws: StoreError.self) { try queue() }

    #expect(error?.kind == .cannotOpen)
    #expect(error?.message.contains("store.sqlite-wal") == true)
  }

  @Test func `a store without access names its owner, and what is needed even to read it`() {
    let (others, own) = (
      StoreError.noAccess("/s.sqlite", owner: "ana", user: "ben"),
      StoreError.noAccess("/s.sqlite", owner: "ana", user: "ana")
    )

    #expect(others.kind == .cannotOpen && own.kind == .cannotOpen)
    #expect(others.message.contains("belongs to ana"))
    #expect(others.message.hasSuffix("; run cktop as its owner, with sudo -u ana"))
    #expect(!own.message.contains("sudo"))
    for message in [others.message, own.message] { #expect(message.contains("even reading it needs to write files")) }
    #expect(StoreError.noAccess("/s.sqlite", owner: nil, user: "ana") == own)
  }

  @Test(arguments: [StoreAccess.reading, .changing])
  func `neither reading nor changing makes a store`(_ access: StoreAccess) throws {
    let kind = { () -> StoreError.Kind? in
      do throws(StoreError) {
        _ = try SyncStore(path: path, scope: world.scope, access: access)
        return nil
      } catch {
        return error.kind
      }
    }
    #expect(kind() == .missing)
    #expect(try files().isEmpty)
  }

  // MARK: - A full disk

  private static let full = DatabaseError(resultCode: .SQLITE_FULL)

  @Test func `on a full disk a killed process's store is read alone, and its files stay as they are`() throws {
    try makeKilledStore()
    let before = try files()

    let count: Int? = try SQLiteStorage.onFullDisk(path) {
      throw Self.full
    } alone: { queue in
      // Nobody can begin to write meanwhile.
      #expect(throws: DatabaseError.self) { try Self.write(path) }
      return try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM operations") }
    }

    #expect(count == 1)
    #expect(try files() == before)
    try Self.write(path)
  }

  @Test func `a process that opens the store meanwhile is waited for, not passed`() throws {
    try makeKilledStore()
    let other = try SQLiteStorage(path: path, access: .changing)
    var tries = 0

    let isShared = try SQLiteStorage.onFullDisk(path) {
      tries += 1
      guard tries > 1 else { throw Self.full }
      return true
    } alone: { _ in
      false
    }

    #expect(isShared)
    withExtendedLifetime(other) {}
  }

  @Test(arguments: [
    (ResultCode.SQLITE_FULL, true), (.SQLITE_IOERR_SHMSIZE, true), (.SQLITE_IOERR_READ, false),
    (.SQLITE_CANTOPEN, false), (.SQLITE_CORRUPT, false),
  ])
  func `only a lack of room lets a reader be alone`(_ code: ResultCode, _ needsRoom: Bool) {
    #expect(SQLiteStorage.needsRoom(DatabaseError(resultCode: code), path) == needsRoom)
  }

  /// Writes at once or not at all.
  private static func write(_ path: String) throws {
    var configuration = Configuration()
    configuration.busyMode = .immediateError
    try DatabaseQueue(path: path, configuration: configuration).write {
      try $0.execute(sql: "UPDATE operations SET attempts = attempts")
    }
  }
}
